package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const jobID = "3f2b8c1e-7d64-4a0b-9c55-0e8f1a2b3c4d"

var (
	moment = time.Date(2026, 11, 15, 10, 30, 0, 250_000_000, time.FixedZone("CET", 3600))
	steps  = []Step{
		{Step: "EMIT", Status: "Ok", Class: "Cpu", Line: 1, Duration: 12 * time.Microsecond},
		{Step: "START SESSION", Status: "Ok", Class: "Db", Line: 2, Start: 1500 * time.Microsecond, Duration: 2*time.Millisecond + 999*time.Microsecond},
	}
	pollURL = "https://api.example.com/v1/job/" + jobID
	failure = Error{Code: "division_by_zero", Message: "1 / 0 has no result", Line: 3, Column: 8, Step: "SET"}
)

func output() *Output {
	return &Output{Result: []byte("Hello, \"Ada\" ✓\n"), Trace: AppendTrace(nil, steps)}
}

// jobs are the answers about jobs, one of each shape.
func jobs() map[string]*Job {
	return map[string]*Job{
		"ok": {Status: StatusOK, ID: jobID, Output: output()},
		"ok-json": {Status: StatusOK, ID: jobID, Output: &Output{Result: []byte(`{"name":"Zoë \"Z\"","n":[1,2.5,null]}`), JSON: true, Trace: AppendTrace(nil, steps[:1]),
			Response: (&Response{Headers: []Pair{{"Content-Type", "application/json"}}}).AppendJSON(nil)}},
		"event-json": {Status: StatusComplete, ID: jobID, Value: Raw(`null`)},
		"ok-empty":   {Status: StatusOK, ID: jobID, Output: &Output{}},
		"ok-binary": {Status: StatusOK, ID: jobID, Output: &Output{
			Result: []byte("a\xff\x00"), Trace: AppendTrace(nil, steps[:1]), Dropped: 12,
			Response: (&Response{
				Status:  404,
				Headers: []Pair{{"Content-Type", "image/png"}, {"X-Name", "Zoë 🦊"}},
				Cookies: []Cookie{{Name: "theme", Value: "dark"}, {Name: "old", Removed: true}},
			}).AppendJSON(nil),
		}},
		"paused-confirm": {
			Status: StatusPaused, ID: jobID, Output: output(),
			Prompt:     &Prompt{ID: "p1", Kind: "confirm", To: "the \"team\"", Message: "Send it?", ExpiresAt: moment},
			ConfirmURL: "https://api.example.com/v1/confirm/" + jobID, FormURL: "https://example.com/form/tok", PollURL: pollURL,
		},
		"paused-gather": {
			Status: StatusPaused, ID: jobID, Output: &Output{Response: (&Response{Cookies: []Cookie{{Name: "a", Value: ""}}}).AppendJSON(nil)},
			Prompt:     &Prompt{ID: "p2", Kind: "gather", Message: "Who?", Schema: Raw(`{"type":"object","properties":{"name":{"type":"string"}}}`), ExpiresAt: moment},
			ConfirmURL: "https://api.example.com/v1/confirm/" + jobID, FormURL: "https://example.com/form/tok", PollURL: pollURL,
		},
		"waiting":          {Status: StatusWaiting, ID: jobID, Output: output(), ResumeAt: moment, PollURL: pollURL},
		"accepted":         {Status: StatusAccepted, ID: jobID, PollURL: pollURL},
		"poll-accepted":    {Status: StatusAccepted, ID: jobID, PollURL: pollURL},
		"poll-running":     {Status: StatusRunning, ID: jobID, Output: output(), PollURL: pollURL},
		"poll-complete":    {Status: StatusComplete, ID: jobID, Output: output()},
		"poll-declined":    {Status: StatusDeclined, ID: jobID, Output: output()},
		"poll-cancelled":   {Status: StatusCancelled, ID: jobID, Output: output()},
		"poll-expired":     {Status: StatusExpired, ID: jobID, Output: output()},
		"failed":           {Status: StatusFailed, ID: jobID, Output: output(), Error: failure.AppendJSON(nil)},
		"failed-syntax":    {Status: StatusFailed, ID: jobID, Output: &Output{}, Error: syntaxError.AppendJSON(nil)},
		"failed-limit":     {Status: StatusFailed, ID: jobID, Output: &Output{}, Error: timeError.AppendJSON(nil)},
		"webhook-large":    {Status: StatusComplete, ID: jobID, Truncated: true},
		"failed-in-a-file": {Status: StatusFailed, ID: jobID, Output: &Output{}, Error: (&Error{Code: "wrong_kind", Message: "no", File: "lib/a.ql", Line: 2, Column: 1}).AppendJSON(nil)},
	}
}

var (
	syntaxError = Error{
		Code: "syntax_error", Message: `found END where an expression should stand`, Line: 1, Column: 6,
		Details: []Detail{
			{Code: "syntax_error", Message: "found END where an expression should stand", Line: 1, Column: 6},
			{Code: "unknown_name", Message: "?x is not set", File: "lib/a.ql", Line: 4, Column: 2},
			{Code: "unknown_name", Message: "?y is not set", Line: 5, Column: 2},
		},
	}
	timeError = Error{Code: "limit_exceeded", Message: "the call took longer than 30 s: mode async has more time", Limit: "sync_time", Max: 30000, Line: 9, Column: 1, Step: "FOR"}
)

// answers are all JSON answers.
func answers() map[string][]byte {
	all := map[string][]byte{}
	for name, j := range jobs() {
		all[name] = j.AppendJSON(nil)
	}
	for name, e := range map[string]*Error{
		"error-field":    invalid("request.get.page", "is a number: a text fits").Answer(),
		"error-large":    tooLarge("body", "body_bytes", 1<<20).Answer(),
		"error-internal": {Code: "internal", Message: "something went wrong here", ID: "9f86d081"},
		"error-fields":   {Code: "invalid_fields", Message: "2 fields do not fit", Fields: []Pair{{"age", "is below 18"}, {"e-mail", "is missing"}}},
		"error-odd-text": {Code: "rate_limited", Message: "a\x00b\u2028c\xffd\x7f<&>\t\r\b"},
	} {
		all[name] = e.AppendAnswer(nil)
	}
	all["jobs"] = AppendJobs(nil, []JobEntry{
		{ID: jobID, Ref: 7, Name: "Weekly report", Status: StatusRunning, Mode: "async", Convention: "json", By: "named_key", Key: "ci", Program: "greet", CreatedAt: moment, Steps: 12},
		{ID: jobID, Ref: 6, Status: StatusFailed, Error: "file_not_found", Mode: "sync", Convention: "form", By: "key", CreatedAt: moment, FinishedAt: moment.Add(time.Second), Ran: 120_400 * time.Microsecond, Steps: 3},
	}, "1700")
	all["jobs-none"] = AppendJobs(nil, nil, "")
	all["limits"] = AppendLimits(nil, "standard", []AccountLimit{{"storage", 10 << 30, ptr(int64(512))}, {"script_bytes", 262144, nil}, {"requests", -1, nil}})
	return all
}

// TestAnswers compares every answer with its golden line.
func TestAnswers(t *testing.T) {
	golden := filepath.Join("testdata", "answers.txt")
	all := answers()
	var got strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		got.WriteString(name + "\n" + string(all[name]) + "\n\n")
	}
	compareGolden(t, golden, got.String())
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// TestAnswersAreJSON checks that every answer is strict and compact JSON, whose
// status is a text, as a decoder of others reads it.
func TestAnswersAreJSON(t *testing.T) {
	for name, text := range answers() {
		limits := Default()
		if _, r := check(name, string(text), &limits); r != nil {
			t.Error(r)
			continue
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, text); err != nil || compact.Len() != len(text) {
			t.Errorf("%s is not compact: %v", name, err)
		}
		var all map[string]any
		if err := json.Unmarshal(text, &all); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if status, ok := all["status"].(string); !ok || status == "" {
			t.Errorf("%s: status is %v", name, all["status"])
		}
	}
}

// TestJobsReadBack checks that encoding/json reads the data of every answer
// about a job back as it went in.
func TestJobsReadBack(t *testing.T) {
	for name, want := range jobs() {
		var got struct {
			Status     string
			JobID      string `json:"job_id"`
			Truncated  bool
			Result     *string
			Encoding   string          `json:"result_encoding"`
			JSON       json.RawMessage `json:"result_json"`
			Trace      json.RawMessage `json:"trace"`
			Dropped    int64           `json:"trace_dropped"`
			Response   json.RawMessage
			Prompt     *clientPrompt
			ConfirmURL string    `json:"confirm_url"`
			FormURL    string    `json:"form_url"`
			ResumeAt   time.Time `json:"resume_at"`
			PollURL    string    `json:"poll_url"`
			Error      json.RawMessage
		}
		d := json.NewDecoder(bytes.NewReader(want.AppendJSON(nil)))
		d.DisallowUnknownFields()
		if err := d.Decode(&got); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		back := &Job{
			Status: got.Status, ID: got.JobID, Truncated: got.Truncated, ConfirmURL: got.ConfirmURL, FormURL: got.FormURL,
			ResumeAt: got.ResumeAt, PollURL: got.PollURL, Error: Raw(got.Error),
		}
		if got.Prompt != nil {
			back.Prompt = &Prompt{ID: got.Prompt.ID, Kind: got.Prompt.Kind, To: got.Prompt.To, Message: got.Prompt.Message, Schema: Raw(got.Prompt.Schema), ExpiresAt: got.Prompt.ExpiresAt}
		}
		if got.Result == nil {
			back.Value = Raw(got.JSON)
		} else {
			result := []byte(*got.Result)
			if got.Encoding == "base64" {
				var err error
				if result, err = base64.StdEncoding.DecodeString(*got.Result); err != nil {
					t.Fatal(err)
				}
			}
			back.Output = &Output{Result: result, Trace: Raw(got.Trace), Dropped: got.Dropped, Response: Raw(got.Response)}
			if back.Output.JSON = got.JSON != nil; back.Output.JSON && string(got.JSON) != string(result) {
				t.Errorf("%s: the value is %s, and its text %s", name, got.JSON, result)
			}
			if want.Output.Trace == nil {
				want.Output.Trace = Raw("[]")
			}
			if want.Output.Result == nil {
				want.Output.Result = []byte{}
			}
		}
		if d := cmp.Diff(want, back); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// clientPrompt is a prompt as a client would declare it.
type clientPrompt struct {
	ID, Kind, To, Message string
	Schema                json.RawMessage
	ExpiresAt             time.Time `json:"expires_at"`
}

func TestErrorsReadBack(t *testing.T) {
	for _, want := range []Error{failure, syntaxError, timeError, {Code: "internal", Message: "x", ID: "1"}, {Code: "invalid_request", Message: "m", Field: "f"},
		{Code: "invalid_fields", Message: "m", Fields: []Pair{{"z", "must be \"a\""}, {"a", "no"}}}, {Code: "invalid_fields", Message: "m", Fields: []Pair{}}} {
		got, err := ReadError(want.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, *got); d != "" {
			t.Error(d)
		}
	}
	if _, err := ReadError(Raw("{")); err == nil {
		t.Error("half an error is read")
	}
}

func TestTraceReadsBack(t *testing.T) {
	var got []struct {
		Step       string `json:"step"`
		Status     string `json:"status"`
		DurationMS int    `json:"duration_ms"`
		ExecClass  string `json:"exec_class"`
		Line       int    `json:"line"`
		StartMS    int    `json:"start_ms"`
		DurationUS int    `json:"duration_us"`
	}
	if err := json.Unmarshal(AppendTrace(nil, steps), &got); err != nil {
		t.Fatal(err)
	}
	second := got[1]
	if second.Step != "START SESSION" || second.Status != "Ok" || second.DurationMS != 2 || second.ExecClass != "Db" ||
		second.Line != 2 || second.StartMS != 1 || second.DurationUS != 2999 {
		t.Errorf("got %+v", second)
	}
}

func TestHTTP(t *testing.T) {
	for status, want := range map[string]int{
		StatusOK: 200, StatusComplete: 200, StatusDeclined: 200, StatusAccepted: 202, StatusPaused: 202, StatusWaiting: 202, StatusRunning: 202, StatusFailed: 422,
	} {
		if got := (&Job{Status: status}).HTTPStatus(); got != want {
			t.Errorf("%s: %d, want %d", status, got, want)
		}
	}
}

// FuzzAnswerText checks that any text and any result survive their encoding.
func FuzzAnswerText(f *testing.F) {
	f.Add([]byte("plain"), "plain")
	f.Add([]byte("\"\\\n\r\t\x00\x1f\x7f\u2028✓"), "a\"b\xff")
	f.Add([]byte{0xff, 0xfe}, "")
	f.Add([]byte{}, strings.Repeat("x", maxResponse))
	f.Add([]byte{}, strings.Repeat("ä", maxResponse/4))
	f.Fuzz(func(t *testing.T, result []byte, text string) {
		j := Job{Status: StatusOK, ID: text, Output: &Output{Result: result, Response: (&Response{Headers: []Pair{{"X", text}}}).AppendJSON(nil)}}
		var got struct {
			ID       string `json:"job_id"`
			Result   string
			Encoding string `json:"result_encoding"`
		}
		encoded := j.AppendJSON(nil)
		if err := json.Unmarshal(encoded, &got); err != nil {
			t.Fatalf("%s: %v", encoded, err)
		}
		if want := strings.ToValidUTF8(text, "\ufffd"); utf8.ValidString(text) && got.ID != want {
			t.Errorf("text: got %q, want %q", got.ID, want)
		}
		back := []byte(got.Result)
		if got.Encoding != "" {
			back, _ = base64.StdEncoding.DecodeString(got.Result)
		}
		if !bytes.Equal(back, result) {
			t.Errorf("result: got %q, want %q", back, result)
		}

		h := Header{}
		j.SetText(h, HeaderOptions{}, nil)
		if len(asciiJSON(j.Output.Response)) > maxResponse {
			if h["QL-Response"] != nil || h["QL-Response-Omitted"] == nil {
				t.Errorf("a long response: %v", h)
			}
			return
		}
		inHeader := strings.Join(h["QL-Response"], " and ")
		var fromHeader, fromBody any
		if strings.ContainsFunc(inHeader, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("not ASCII: %q", inHeader)
		}
		if err := json.Unmarshal([]byte(inHeader), &fromHeader); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(j.Output.Response, &fromBody); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(fromHeader, fromBody) {
			t.Errorf("QL-Response: got %v, want %v", fromHeader, fromBody)
		}
	})
}

// A script that does not compile gets its errors one by one, and no more lines
// than a reader takes.
func TestErrorLines(t *testing.T) {
	e := Error{Code: "syntax_error", Message: "first", Line: 1, Column: 2}
	for n, want := range map[int]string{
		0: "error: syntax_error: first (line 1, column 2)\n",
		1: "error: syntax_error: m (/f.ql, line 1, column 7)\n",
		2: "error: syntax_error: m (/f.ql, line 1, column 7)\nerror: syntax_error: m (/f.ql, line 2, column 7)\n",
	} {
		e.Details = details(n)
		if got := string(e.AppendLines(nil)); got != want {
			t.Errorf("%d errors: got %q, want %q", n, got, want)
		}
	}
	e.Details = details(100)
	got := string(e.AppendLines(nil))
	if lines := strings.Count(got, "\n"); lines != maxLines || !strings.HasSuffix(got, "(/f.ql, line 20, column 7, and 80 more)\n") {
		t.Errorf("100 errors are %d lines: %s", lines, got)
	}
}

func details(n int) []Detail {
	var all []Detail
	for i := range n {
		all = append(all, Detail{Code: "syntax_error", Message: "m", File: "/f.ql", Line: i + 1, Column: 7})
	}
	return all
}

func TestErrorLine(t *testing.T) {
	e := Error{Code: "a\nb", Message: "c\r\nd", File: "e\nf", Line: 1, Column: 2}
	if got, want := string(e.AppendLines([]byte("so far\n"))), "so far\nerror: a b: c  d (e f, line 1, column 2)\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func BenchmarkAnswer(b *testing.B) {
	for _, n := range []int{1, 20} {
		b.Run(strconv.Itoa(n)+"-steps", func(b *testing.B) {
			trace := slices.Repeat(steps[:1], n)
			result := []byte("Hello, Ada\n")
			buffer := make([]byte, 0, 8<<10)
			b.ReportAllocs()
			for b.Loop() {
				encoded := AppendTrace(buffer[:0], trace)
				j := Job{Status: StatusOK, ID: jobID, Output: &Output{Result: result, Trace: encoded}}
				j.AppendJSON(buffer[len(encoded):len(encoded)])
			}
		})
	}
}

func BenchmarkAnswerLarge(b *testing.B) {
	result := bytes.Repeat([]byte("a line of text, with \"quotes\" and ü\n"), 1<<15)
	j := Job{Status: StatusOK, ID: jobID, Output: &Output{Result: result}}
	buffer := make([]byte, 0, 2<<20)
	b.SetBytes(int64(len(result)))
	b.ReportAllocs()
	for b.Loop() {
		j.AppendJSON(buffer[:0])
	}
}

// TestReadTrace checks that a trace is read as it was written.
func TestReadTrace(t *testing.T) {
	want := []Step{
		{Step: "SET", Status: "Ok", Class: "Cpu", Line: 4, Start: 3 * time.Millisecond, Duration: 2*time.Millisecond + 7*time.Microsecond, Order: 3, Open: true},
		{Step: "EMIT", Status: "Ok", Class: "Cpu", Line: 1, Order: 1},
		{Step: "CONFIRM", Status: StepPaused, Class: "Human", Line: 2, Order: 2},
	}
	written := AppendTrace(nil, want)
	got, err := ReadTrace(written)
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
	// Only what is not in its place says so.
	const flat = `[{"step":"EMIT","status":"Ok","duration_ms":0,"exec_class":"Cpu","line":1,"start_ms":0,"duration_us":0}]`
	if text := string(AppendTrace(nil, want[1:2])); text != flat {
		t.Errorf("%s, want %s", text, flat)
	}
	over := []bool{false, true, false}
	for i := range want {
		if want[i].HasEnded() != over[i] {
			t.Errorf("%+v is over: %t", want[i], !over[i])
		}
	}
	if steps, err := ReadTrace(nil); err != nil || len(steps) > 0 {
		t.Errorf("no trace: %v %v", steps, err)
	}
	for _, bad := range []string{"", "{}", `[{"line":"x"}]`} {
		if _, err := ReadTrace(Raw(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}
