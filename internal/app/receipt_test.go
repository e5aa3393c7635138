package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
)

// TestReceiptsAgree: what was answered on a page, and the note beside it, is the same on that page, for the
// script, on the page of the job, in the list of its answers, and for its webhook.
func TestReceiptsAgree(t *testing.T) {
	told := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var body struct {
			LastAnswer json.RawMessage `json:"last_answer"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		told <- string(body.LastAnswer)
	}))
	t.Cleanup(server.Close)
	b := apptest.Boot(t)
	const script = `CONFIRM "Pay?" TO "finance" SET ?ok EMIT TO_JSON(!JOB('answer'))`
	a := post(t, b.URL()+"/v1/query", "application/json", `{"auth":{"username":"dev","password":"dev"},"query":`+strconv.Quote(script)+
		`,"options":{"webhook":`+strconv.Quote(server.URL)+`,"webhook_events":["finished"]}}`)
	page := settle(t, post(t, formURL(t, a), "application/x-www-form-urlencoded", url.Values{"approved": {"false"}, "note": {" not\r\nyet <b> "}}.Encode()))
	page.want(t, 200, "you declined")
	receipt := receiptOn(t, page)

	type answered struct {
		Decision, Note, By, Receipt, To string
		At                              string
	}
	read := func(what, text string) answered {
		t.Helper()
		var one answered
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Fatalf("%s: %v in %s", what, err, text)
		}
		return one
	}
	owned := func(path string) []json.RawMessage {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("dev", "dev")
		var body struct {
			Ref     int64
			Answers []json.RawMessage
		}
		p := send(t, req)
		if err := json.Unmarshal([]byte(p.body), &body); err != nil || len(body.Answers) != 1 {
			t.Fatalf("%s: %v in %s", path, err, p.body)
		}
		return append(body.Answers, json.RawMessage(strconv.FormatInt(body.Ref, 10)))
	}
	end := get(t, b.URL()+"/v1/job/"+a.JobID+"?wait=60")
	job := owned("/v1/jobs/" + a.JobID)
	listed := owned("/v1/jobs/" + string(job[1]) + "/answers")
	want := read("the job", string(job[0]))
	if want.Decision != "declined" || want.Note != "not\nyet <b>" || want.By != "link" || want.Receipt != receipt || want.To != "finance" {
		t.Errorf("the job has %+v, and the page %s", want, receipt)
	}
	for what, text := range map[string]string{"the list": string(listed[0]), "the webhook": <-told} {
		if got := read(what, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has %+v, and the job %+v", what, got, want)
		}
	}
	seen := read("the script", end.Result)
	if seen.Decision != want.Decision || seen.Note != want.Note || seen.Receipt != want.Receipt || seen.By != want.By || seen.At[:19] != want.At[:19] {
		t.Errorf("the script read %+v, and the job has %+v", seen, want)
	}
}

// TestHundredAnswers: a hundred people answer a hundred jobs at once, and go on to their second questions,
// within the limits of a plan. Of a hundred who answer one question one counts.
func TestHundredAnswers(t *testing.T) {
	const people = 100
	b := apptest.Boot(t, apptest.Production)
	b.Account("ada", account.Standard)
	jobs := make([]answer, people+1)
	for i := range jobs {
		waitFor(t, "the account may start another job", func() bool {
			jobs[i] = query(t, b.URL(), "ada", apptest.Password, `GATHER "One?" FIELDS a TEXT SET ?f GATHER "Two?" FIELDS b TEXT SET ?g EMIT ?f.a, ?g.b`)
			return jobs[i].status != 429
		})
	}
	// Who is refused since the service is busy sends the form again, as the page says.
	answer := func(page, field, text string) (p answer) {
		waitFor(t, "an answer is taken or late", func() bool {
			p = settle(t, post(t, page, "application/x-www-form-urlencoded", url.Values{field: {text}}.Encode()))
			return p.status != 429 && p.status != 503
		})
		return p
	}
	var group sync.WaitGroup
	for i, j := range jobs[:people] {
		page := formURL(t, j)
		group.Go(func() {
			p := answer(page, "a", strconv.Itoa(i))
			p.want(t, 200, "Two?")
			answer(p.at, "b", "!").want(t, 200, "Thank you")
		})
	}
	group.Wait()
	for i, j := range jobs[:people] {
		if a := get(t, b.URL()+"/v1/job/"+j.JobID+"?wait=60"); a.Status != "complete" || a.Result != fmt.Sprintf("%d!", i) {
			t.Errorf("job %d is %s with %q", i, a.Status, a.Result)
		}
	}
	page := formURL(t, jobs[people])
	pages := make([]string, people)
	for i := range pages {
		group.Go(func() { pages[i] = answer(fmt.Sprintf("%s?once=%d", page, i), "a", "same").body })
	}
	group.Wait()
	won := 0
	for _, p := range pages {
		switch {
		case strings.Contains(p, "Two?"):
			won++
		case !strings.Contains(p, "Already answered"):
			t.Errorf("a page says\n%s", p)
		}
	}
	if won != 1 {
		t.Errorf("%d answers count", won)
	}
}
