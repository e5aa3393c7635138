package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"ql/internal/account"
	"ql/internal/service"
)

// question is one of a listing.
type question struct {
	ID, State, Kind, To, Title, Program string
	JobID                               string `json:"job_id"`
	Ref                                 int64
	AskedAt                             string `json:"asked_at"`
	ExpiresAt                           string `json:"expires_at"`
	EndedAt                             string `json:"ended_at"`
	Schema                              json.RawMessage
	ConfirmURL                          string `json:"confirm_url"`
	FormURL                             string `json:"form_url"`
	Decision, Note, By, Receipt         string
}

// questions lists questions.
func (w *world) questions(query string, headers ...string) (list []question, next string) {
	w.t.Helper()
	r := w.send("GET", "/v1/questions"+query, "", "", headers...)
	var page struct {
		Questions []question
		Next      string
	}
	if err := json.Unmarshal([]byte(r.body), &page); err != nil || r.status != 200 {
		w.t.Fatalf("%s: %d %s", query, r.status, r.body)
	}
	return page.Questions, page.Next
}

// receiptOf is what the answer to a reply has of that.
func receiptOf(t *testing.T, r response) (answer struct{ PromptID, Decision, At, Receipt string }) {
	t.Helper()
	var body struct {
		Answer struct {
			PromptID string `json:"prompt_id"`
			Decision string
			At       string
			Receipt  string
		}
	}
	check(t, json.Unmarshal([]byte(r.body), &body))
	answer.PromptID, answer.Decision, answer.At, answer.Receipt = body.Answer.PromptID, body.Answer.Decision, body.Answer.At, body.Answer.Receipt
	return answer
}

// TestQuestions follows questions through their list, for the owner, for keys and for others.
func TestQuestions(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	owner := []string{"Authorization", basic(ada.name, ada.password)}
	confirm := w.query(ada, `CONFIRM "Pay?" TO "finance" SET ?ok EMIT TO_JSON(!JOB('answer'))`, "").read(t)
	gather := w.query(ada, `GATHER "Who?" FIELDS name TEXT REQUIRED TO "customer" SET ?form EMIT !JOB('answer').decision`, "").read(t)
	byKey := w.form(ada, `CONFIRM "By the key?"`, nil)
	theirs := w.query(bob, `CONFIRM "Of Bob?" TO "finance"`, "").read(t)

	open, next := w.questions("", owner...)
	titles := func(list []question) (all []string) {
		for _, q := range list {
			all = append(all, q.Title)
		}
		return all
	}
	if got := titles(open); !slices.Equal(got, []string{"By the key?", "Who?", "Pay?"}) || next != "" {
		t.Fatalf("%v are listed, next %q", got, next)
	}
	if q := open[2]; q.ID != confirm.Prompt.ID || q.JobID != confirm.JobID || q.State != "open" || q.Kind != "confirm" || q.To != "finance" || q.FormURL != confirm.FormURL ||
		q.ConfirmURL != confirm.ConfirmURL || q.AskedAt == "" || q.ExpiresAt == "" || q.EndedAt != "" || q.Schema != nil || q.Ref == 0 || q.Receipt != "" {
		t.Errorf("a CONFIRM is listed as %+v", q)
	}
	if q := open[1]; q.FormURL != gather.FormURL || !strings.Contains(string(q.Schema), `"name"`) {
		t.Errorf("a GATHER is listed as %+v", q)
	}
	if list, _ := w.questions("?to=customer", owner...); !slices.Equal(titles(list), []string{"Who?"}) {
		t.Errorf("for the customer: %v", titles(list))
	}
	page, next := w.questions("?limit=2", owner...)
	rest, end := w.questions("?limit=2&before="+next, owner...)
	if got := append(titles(page), titles(rest)...); !slices.Equal(got, titles(open)) || end != "" {
		t.Errorf("in pages: %v, then %q", got, end)
	}

	// Keys see what they may answer, or see; the API key what it started; nobody another's.
	of := func(name string, scopes ...string) []string { return bearer(w.key(ada, name, scopes...)) }
	answers, sees, runs, files := of("answers", "answer"), of("sees", "jobs"), of("runs", "run"), of("files", "files")
	for name, test := range map[string]struct {
		headers []string
		want    int
	}{
		"answer": {answers, 3}, "jobs": {sees, 3}, "run": {runs, 0}, "answer of a program": {of("greets", "answer", "run:greet"), 0},
		"the API key": {[]string{"Authorization", basic(ada.name, ada.key)}, 1}, "Bob": {[]string{"Authorization", basic(bob.name, bob.password)}, 1},
	} {
		if list, _ := w.questions("", test.headers...); len(list) != test.want {
			t.Errorf("%s sees %v, want %d", name, titles(list), test.want)
		}
	}
	w.send("GET", "/v1/questions", "", "", files...).wantError(t, 403, "scope_missing")
	w.send("GET", "/v1/questions?state=answered", "", "", answers...).wantError(t, 403, "scope_missing")
	w.send("GET", "/v1/questions", "", "").wantError(t, 401, "bad_credentials")
	w.send("GET", "/v1/questions", "", "", "Origin", listed).wantError(t, 401, "bad_credentials")
	w.send("GET", "/v1/questions?state=announced", "", "", owner...).wantError(t, 400, "invalid_request")

	// What became of each.
	r := w.confirm(confirm.JobID, `{"approved":true,"note":"within\nbudget"}`, answers...)
	receipt := receiptOf(t, r)
	var seen map[string]any
	check(t, json.Unmarshal([]byte(*r.read(t).Result), &seen))
	if seen["decision"] != "approved" || seen["note"] != "within\nbudget" || seen["by"] != "key answers" || seen["receipt"] != receipt.Receipt || seen["audience"] != "finance" ||
		!strings.HasPrefix(receipt.At, strings.TrimSuffix(seen["at"].(string), "Z")) {
		t.Errorf("the script reads %v, and the answer has %+v", seen, receipt)
	}
	w.send("DELETE", "/v1/job/"+gather.JobID, "", "")
	for state, want := range map[string][]string{"answered": {"Pay?"}, "withdrawn": {"Who?"}, "expired": nil, "open": {"By the key?"}, "all": {"By the key?", "Who?", "Pay?"}} {
		if list, _ := w.questions("?state="+state, sees...); !slices.Equal(titles(list), want) {
			t.Errorf("%s: %v", state, titles(list))
		}
	}
	list, _ := w.questions("?state=answered", owner...)
	if q := list[0]; q.Decision != "approved" || q.Note != "within\nbudget" || q.By != "key answers" || q.Receipt != receipt.Receipt || q.ID != receipt.PromptID || q.EndedAt != receipt.At || q.FormURL != "" {
		t.Errorf("an answered one is listed as %+v", q)
	}
	r = w.send("GET", fmt.Sprintf("/v1/jobs/%d/answers", list[0].Ref), "", "", sees...)
	if want := fmt.Sprintf(`"answers":[{"prompt_id":%q,"title":"Pay?","to":"finance","by":"key answers","at":%q,"decision":"approved","note":"within\nbudget","receipt":%q}],"next":null}`, receipt.PromptID, receipt.At, receipt.Receipt); r.status != 200 || !strings.HasSuffix(r.body, want) {
		t.Errorf("the answers of its job: %d %s, want %s", r.status, r.body, want)
	}
	w.send("GET", fmt.Sprintf("/v1/jobs/%d/answers", list[0].Ref), "", "", "Authorization", basic(bob.name, bob.password)).wantError(t, 404, "job_not_found")
	if list, _ := w.questions("?before="+theirs.Prompt.ID, owner...); len(list) != 0 {
		t.Errorf("behind another's question: %v", titles(list))
	}
	if id := byKey.header.Get("QL-Job-Id"); id == "" || byKey.status != 202 {
		t.Errorf("%d %v", byKey.status, byKey.header)
	}
}

// TestAddressesOfQuestions: whoever has the address of a question's page answers it, so a key that may
// not answer is told none, wherever a job is shown to it.
func TestAddressesOfQuestions(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	check(t, w.accounts.SetFlag(t.Context(), "ada", "require_auth_on_jobs", true))
	w.publishAs(ada, "sure", `CONFIRM "Sure?" CONFIRM "Really?"`, account.Switches{Callers: account.CallersKeys})
	const body = `{"query":"CONFIRM \"Sure?\" CONFIRM \"Really?\""}`
	for name, test := range map[string]struct {
		headers []string
		shown   bool
	}{
		"the owner":                 {[]string{"Authorization", basic(ada.name, ada.password)}, true},
		"a key that answers":        {bearer(w.key(ada, "answers", "run", "jobs", "answer")), true},
		"a key that does not":       {bearer(w.key(ada, "asks", "run", "jobs")), false},
		"a key of one program":      {bearer(w.key(ada, "one", "run:sure", "jobs")), false},
		"one of it that answers it": {bearer(w.key(ada, "both", "run:sure", "jobs", "answer")), true},
	} {
		t.Run(name, func(t *testing.T) {
			look := func(what, text string) {
				t.Helper()
				if !strings.Contains(text, "Sure?") {
					t.Fatalf("%s does not show the question: %s", what, text)
				}
				for _, address := range []string{"form_url", "/form/", "confirm_url", "/v1/confirm/"} {
					if strings.Contains(text, address) != test.shown {
						t.Errorf("%s has %s: %t, want %t: %s", what, address, !test.shown, test.shown, text)
					}
				}
			}
			call := func() response {
				return w.send("POST", "/run/ada/sure", jsonType, `{}`, append(test.headers, "Idempotency-Key", name)...)
			}
			if name == "a key that answers" || name == "a key that does not" {
				call = func() response {
					return w.send("POST", "/v1/query", jsonType, body, append(test.headers, "Idempotency-Key", name)...)
				}
			}
			r := call()
			look("the call", r.body)
			look("the call again", call().body)
			if link := r.header.Get("Link"); !test.shown && strings.Contains(link, "/v1/confirm/") {
				t.Errorf("the call has the link %q", link)
			}
			id := r.read(t).JobID
			look("a poll", w.poll(id, "", test.headers...).body)
			look("the list", w.send("GET", "/v1/questions", "", "", test.headers...).body)
			look("the history", w.send("GET", "/v1/jobs/"+id, "", "", test.headers...).body)
			look("the events", w.pausedEvent(t, id, test.headers[1]))
			if r = w.confirm(id, `{"approved":true}`, test.headers...); test.shown != (r.status == 200) {
				t.Errorf("an answer: %d %s", r.status, r.body)
			}
			w.send("DELETE", "/v1/job/"+id, "", "", test.headers...)
		})
	}
}

// pausedEvent is the event that says that a job asks.
func (w *world) pausedEvent(t *testing.T, id, auth string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/v1/job/"+id+"/events", nil)
	check(t, err)
	req.Header.Set("Authorization", auth)
	res, err := w.client.Do(req)
	check(t, err)
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if strings.Contains(lines.Text(), `"status":"paused"`) {
			return lines.Text()
		}
	}
	t.Fatal("no event says that the job asks")
	return ""
}

// TestNotes looks at notes that do not fit.
func TestNotes(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	id := w.query(ada, `CONFIRM "Sure?" SET ?ok EMIT LENGTH(!JOB('answer').note), !JOB('answer').by`, "").read(t).JobID
	long := strings.Repeat("ä", 1001)
	for _, body := range []string{`{"approved":true,"note":"` + long + `"}`, `{"approved":true,"note":1}`, `{"fields":{},"note":"x"}`, `{"note":"x"}`,
		`{"approved":true,"note":"a\u0000b"}`, `{"approved":true,"note":"a\u001b[2Jb"}`, `{"approved":true,"note":"a\u0085b"}`, `{"approved":true,"note":"a\rb"}`,
		`{"approved":true,"note":"a\u202eb"}`, `{"approved":true,"note":"a\u2066b"}`} {
		w.confirm(id, body).wantError(t, 400, "invalid_request")
	}
	if a := w.confirm(id, `{"approved":false,"note":"`+long[:2000]+`"}`).read(t); *a.Result != "1000link" {
		t.Errorf("the script read %q", *a.Result)
	}
	paused := w.query(ada, `CONFIRM "Sure?" SET ?ok EMIT !JOB('answer').note DEFAULT "none"`, "").read(t)
	token := strings.TrimPrefix(paused.FormURL, "http://ql.example")
	post := func(values url.Values, headers ...string) response {
		return w.send("POST", token, "application/x-www-form-urlencoded", values.Encode(), headers...)
	}
	if r := post(url.Values{"approved": {"true"}, "note": {long}}); r.status != 422 || !strings.Contains(r.body, `id="wnote">At most 1,000 characters</span>`) || !strings.Contains(r.body, long+"</textarea>") {
		t.Errorf("a long note on the page: %d %s", r.status, r.body)
	}
	if r := post(url.Values{"approved": {"true"}, "note": {"a\u202eb"}}, "Accept-Language", "de"); r.status != 422 || !strings.Contains(r.body, "Zeichen, die man nicht sieht") || !strings.Contains(r.body, "b</textarea>") {
		t.Errorf("a note with a control character on the page: %d %s", r.status, r.body)
	}
	// An Origin that anybody can write makes nobody a page: whoever has the link answers.
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	r := post(url.Values{"approved": {"true"}, "note": {" a\r\nb "}}, "Origin", listed)
	if r.status != 200 || !strings.Contains(r.body, "you approved") || !strings.Contains(r.body, "Your receipt is") {
		t.Errorf("an answer on the page: %d %s", r.status, r.body)
	}
	answered, _ := w.questions("?state=answered&limit=1", "Authorization", basic(ada.name, ada.password))
	if q := answered[0]; q.Note != "a\nb" || q.By != "link" || !strings.Contains(r.body, q.Receipt) {
		t.Errorf("it is listed as %+v, and the page was %s", q, r.body)
	}
	// Who has the link reads when and how it ended, and nothing else.
	if r := w.send("GET", token, "", ""); r.status != 410 || !strings.Contains(r.body, "Already answered") || strings.Contains(r.body, "approved") {
		t.Errorf("afterwards: %d %s", r.status, r.body)
	}
	if r := w.send("GET", "/form/"+strings.Repeat("x", 43), "", ""); r.status != 404 || !strings.Contains(r.body, "no such question") {
		t.Errorf("a link that is none: %d %s", r.status, r.body)
	}
}

// TestLosersKnowWhoWon: of two answers one counts, and the other is told by whom and when it was
// given, in no more words than it may know.
func TestLosersKnowWhoWon(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	owner := []string{"Authorization", basic(ada.name, ada.password)}
	key := bearer(w.key(ada, "robot", "answer"))
	message := func(r response) string {
		t.Helper()
		return r.wantError(t, 409, "not_paused").Error.Message
	}
	for _, test := range []struct {
		winner         []string
		toOwner, toAll string
	}{
		{owner, "by the owner of the account", "by the owner of the account"},
		{key, "by the key robot", "by a key of the account"},
		{nil, "by somebody who had its link or its job's id", "by somebody who had its link or its job's id"},
	} {
		paused := w.query(ada, `CONFIRM "Sure?" SET ?ok CONFIRM "And now?" SET ?ok`, "").read(t)
		reply := fmt.Sprintf(`{"approved":true,"prompt_id":%q}`, paused.Prompt.ID)
		other := fmt.Sprintf(`{"approved":false,"prompt_id":%q}`, paused.Prompt.ID)
		if r := w.confirm(paused.JobID, reply, test.winner...); r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		for who, headers := range map[string][]string{"owner": owner, "key": key, "stranger": nil, "page": {"Origin", listed}} {
			want := test.toAll
			if who == "owner" || who == "key" {
				want = test.toOwner
			}
			if got := message(w.confirm(paused.JobID, other, headers...)); !strings.HasPrefix(got, "the question was answered at 2") || !strings.Contains(got, want) || who == "stranger" && strings.Contains(got, "robot") {
				t.Errorf("%s reads %q, want %q", who, got, want)
			}
		}
	}
	// A page that started a job answers it as that page.
	paused := w.send("POST", "/v1/query", jsonType, `{"query":"CONFIRM \"?\" SET ?ok EMIT !JOB('answer').by"}`, "Origin", listed).read(t)
	if a := w.confirm(paused.JobID, `{"approved":true}`, "Origin", listed).read(t); *a.Result != "page "+listed {
		t.Errorf("it was answered by %q", *a.Result)
	}
	if got := message(w.confirm(paused.JobID, fmt.Sprintf(`{"approved":false,"prompt_id":%q}`, paused.Prompt.ID), owner...)); !strings.Contains(got, "by the page "+listed) {
		t.Errorf("the owner reads %q", got)
	}
	// At once.
	paused = w.query(ada, `CONFIRM "Sure?" SET ?ok EMIT ?ok`, "").read(t)
	replies := make([]response, 6)
	var group sync.WaitGroup
	for i := range replies {
		group.Go(func() { replies[i] = w.confirm(paused.JobID, fmt.Sprintf(`{"approved":%t}`, i%2 == 0)) })
	}
	group.Wait()
	won := 0
	for _, r := range replies {
		if r.status == 200 {
			won++
		} else if got := message(r); !strings.Contains(got, "answered at 2") {
			t.Errorf("a loser reads %q", got)
		}
	}
	if won != 1 {
		t.Errorf("%d answers count", won)
	}
	// One that was cancelled, by its prompt and without.
	paused = w.query(ada, `CONFIRM "Sure?"`, "").read(t)
	w.send("DELETE", "/v1/job/"+paused.JobID, "", "")
	for _, body := range []string{`{"approved":true}`, fmt.Sprintf(`{"approved":true,"prompt_id":%q}`, paused.Prompt.ID)} {
		if got := message(w.confirm(paused.JobID, body)); !strings.Contains(got, "the question was withdrawn at 2") {
			t.Errorf("after a cancel: %q", got)
		}
	}
	if r := w.send("GET", strings.TrimPrefix(paused.FormURL, "http://ql.example"), "", ""); r.status != 410 || !strings.Contains(r.body, "No longer asked") {
		t.Errorf("the page after a cancel: %d %s", r.status, r.body)
	}
}

// TestQuestionsAreCounted: a list of questions counts as a call.
func TestQuestionsAreCounted(t *testing.T) {
	w := boot(t, settings{service: func(o *service.Options) {
		limits := o.Limits
		o.Limits = func(p account.Plan) account.Limits {
			l := limits(p)
			l.Rate, l.RateBurst = 1, 2
			return l
		}
	}})
	ada := w.member("ada", account.Standard)
	list := func() response {
		return w.send("GET", "/v1/questions", "", "", "Authorization", basic(ada.name, ada.password))
	}
	if r := list(); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
	untilRefused(t, list).wantError(t, 429, "rate_limited")
}
