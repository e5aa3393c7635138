package storetest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/webhook"
)

// openedBy returns the job whose open question a token opens; job.ErrNotFound where there is none.
func openedBy(t *testing.T, s Stores, token [32]byte) (job.ID, error) {
	t.Helper()
	q, err := s.Queue.QuestionByToken(t.Context(), token)
	if err != nil {
		return job.ID{}, err
	}
	if q.State != job.QuestionOpen {
		return job.ID{}, job.ErrNotFound
	}
	return q.Job.ID, nil
}

// questions lists questions of an account.
func questions(t *testing.T, s Stores, a account.ID, q job.QuestionQuery) []job.Question {
	t.Helper()
	list, err := s.Queue.ListQuestions(t.Context(), a, q)
	must(t, err)
	return list
}

// prompts are the ids of the prompts of questions.
func prompts(list []job.Question) (ids []string) {
	for i := range list {
		ids = append(ids, list[i].Prompt)
	}
	return ids
}

// testQuestionStates follows questions to each of their ends. What became of each is told after the
// job has ended too, and goes with its record.
func testQuestionStates(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	look := func(n int, want job.QuestionState, ended time.Time) job.Question {
		t.Helper()
		q, err := s.Queue.QuestionByToken(ctx, prompt(n).Token)
		must(t, err)
		if q.State != want || !q.Ended.Equal(ended) {
			t.Errorf("question %d is %s, ended %s, want %s, %s", n, q.State, q.Ended, want, ended)
		}
		return q
	}
	_, err := s.Queue.QuestionByToken(ctx, prompt(1).Token)
	wantError(t, "a question that was never asked", err, job.ErrNotFound)

	// One that is announced, and then asked and answered.
	l := running(t, s, ada.ID, 1)
	announces := waitingUntil(seconds(70))
	token := prompt(1).Token
	announces.Announced = &token
	must(t, s.Queue.Suspend(ctx, l, announces))
	if q := look(1, job.QuestionAnnounced, time.Time{}); q.Job.ID != l.ID || q.Prompt != "" {
		t.Errorf("it is of %s, prompt %q", q.Job.ID, q.Prompt)
	}
	_, err = s.Queue.Question(ctx, l.ID, "")
	wantError(t, "the last question of a job that has asked none", err, job.ErrNotFound)
	l = claimJob(t, s, due(t, s, l.Seq))
	asked := pausedAt(1)
	asked.At = seconds(75)
	must(t, s.Queue.Suspend(ctx, l, asked))
	q := look(1, job.QuestionOpen, time.Time{})
	p := prompt(1)
	same(t, "the open question", []any{q.Prompt, q.Kind, q.Audience, q.Title, q.Asked, q.Expires, q.Seq, q.Job.Account},
		[]any{p.ID, p.Kind, p.To, p.Message, asked.At, p.Expires, l.Seq, ada.ID})
	given := answer(1)
	given.By, given.ByName, given.Decision, given.Note = principal.ByNamedKey, "ci", "approved", "gern\n✓"
	l, err = s.Queue.Answer(ctx, l.ID, given, node(t, s), claimTime)
	must(t, err)
	wantAnswer := func() {
		t.Helper()
		q := look(1, job.QuestionAnswered, given.At)
		same(t, "the answer", []any{q.By, q.ByName, q.Decision, q.Note, q.Reply, q.Prompt}, []any{given.By, given.ByName, given.Decision, given.Note, given.Reply, p.ID})
	}
	wantAnswer()

	// One that expires, one that is withdrawn by a cancel, one by an end, and one that is announced
	// and never asked.
	must(t, s.Queue.Suspend(ctx, l, pausedAt(2)))
	l = claimJob(t, s, due(t, s, l.Seq))
	look(2, job.QuestionExpired, claimTime)
	four := prompt(4).Token
	announces = waitingUntil(seconds(80))
	announces.Announced = &four
	must(t, s.Queue.Suspend(ctx, l, announces))
	l = claimJob(t, s, due(t, s, l.Seq))
	must(t, s.Queue.Finish(ctx, l, end(task(ada.ID, 1), job.Complete)))
	look(4, job.QuestionWithdrawn, seconds(200))
	wantAnswer()
	look(2, job.QuestionExpired, claimTime)
	other := running(t, s, bob.ID, 3)
	must(t, s.Queue.Suspend(ctx, other, pausedAt(3)))
	_, _, err = s.Queue.Cancel(ctx, other.ID, seconds(90), nil, "")
	must(t, err)
	look(3, job.QuestionWithdrawn, seconds(90))

	// By the job and the prompt, the last of all where no prompt is named, and of no other job.
	last, err := s.Queue.Question(ctx, l.ID, "")
	must(t, err)
	same(t, "the last question", last.Prompt, prompt(2).ID)
	first, err := s.Queue.Question(ctx, l.ID, prompt(1).ID)
	must(t, err)
	same(t, "the first question", first.Note, given.Note)
	_, err = s.Queue.Question(ctx, other.ID, prompt(1).ID)
	wantError(t, "a question of another job", err, job.ErrNotFound)

	// They count, and go with the record.
	kept, err := s.Jobs.RecordBytes(ctx, ada.ID)
	must(t, err)
	e := end(task(ada.ID, 1), job.Complete)
	want := e.Bytes() + 2*job.QuestionBytes(nil) + job.QuestionBytes(prompt(1)) + job.QuestionBytes(prompt(2)) + given.Bytes()
	same(t, "the bytes of the record", kept, want)
	n, err := s.Jobs.Forget(ctx, ada.ID, claimTime, 10)
	must(t, err)
	same(t, "the jobs that went", n, 1)
	_, err = s.Queue.QuestionByToken(ctx, prompt(1).Token)
	wantError(t, "a question whose job is gone", err, job.ErrNotFound)
	kept, err = s.Jobs.RecordBytes(ctx, ada.ID)
	must(t, err)
	same(t, "the bytes that are left", kept, int64(0))
	look(3, job.QuestionWithdrawn, seconds(90))
}

// testQuestionList lists a hundred open questions in pages, by what a listing can ask for.
func testQuestionList(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	const open = 100
	for n := range open {
		task := task(ada.ID, n)
		standing := pausedAt(n)
		if n%2 == 1 {
			standing.Prompt.To = "finance"
		}
		if n == 7 {
			standing.Prompt.Schema = []byte(`{"description":"` + strings.Repeat("x", job.AlwaysShownBytes) + `"}`)
		}
		if n%10 == 0 {
			task.KeyID, task.Credential = 6, principal.ByNamedKey
		}
		task.State, task.Mode = job.Paused, job.Sync
		_, err := s.Queue.Adopt(ctx, task, standing)
		must(t, err)
	}
	theirs := running(t, s, bob.ID, open)
	must(t, s.Queue.Suspend(ctx, theirs, pausedAt(open)))
	seqOf := func(n int) int64 { return view(t, s, task(ada.ID, n).ID).Seq }
	done, err := s.Queue.Answer(ctx, task(ada.ID, 3).ID, answer(3), node(t, s), claimTime)
	must(t, err)

	all := questions(t, s, ada.ID, job.QuestionQuery{Limit: 1000})
	if len(all) != open || all[0].Prompt != prompt(open-1).ID || all[open-1].Prompt != prompt(0).ID {
		t.Fatalf("%d questions are listed: %v", len(all), prompts(all))
	}
	if one := all[open-1-7]; !one.Large || one.Schema != nil || one.Sealed == nil {
		t.Errorf("a large schema: %t, %.20q", one.Large, one.Schema)
	}
	if one := all[open-1-8]; one.Large || string(one.Schema) != string(prompt(8).Schema) || string(one.Sealed) != string(prompt(8).Sealed) || one.Job.ID != task(ada.ID, 8).ID {
		t.Errorf("an open one is listed as %+v", one)
	}
	if one := all[open-1-3]; one.State != job.QuestionAnswered || one.Job.ID != done.ID || one.Schema != nil {
		t.Errorf("an answered one is listed as %+v", one)
	}
	for what, test := range map[string]struct {
		q    job.QuestionQuery
		want int
	}{
		"open":                {job.QuestionQuery{State: job.QuestionOpen}, open - 1},
		"answered":            {job.QuestionQuery{State: job.QuestionAnswered}, 1},
		"expired":             {job.QuestionQuery{State: job.QuestionExpired}, 0},
		"for finance":         {job.QuestionQuery{Audience: "finance"}, open / 2},
		"open for finance":    {job.QuestionQuery{Audience: "finance", State: job.QuestionOpen}, open/2 - 1},
		"of a key":            {job.QuestionQuery{KeyID: 6}, open / 10},
		"by a named key":      {job.QuestionQuery{Credential: principal.ByNamedKey}, open / 10},
		"of programs":         {job.QuestionQuery{Programs: []string{numbered("program", 1), numbered("program", 2), "other"}}, 2},
		"of a job":            {job.QuestionQuery{Job: seqOf(5)}, 1},
		"of another's job":    {job.QuestionQuery{Job: theirs.Seq}, 0},
		"before what is none": {job.QuestionQuery{Before: "none"}, 0},
		"before another's":    {job.QuestionQuery{Before: prompt(open).ID}, 0},
	} {
		test.q.Limit = 1000
		if list := questions(t, s, ada.ID, test.q); len(list) != test.want {
			t.Errorf("%s: %d are listed, want %d", what, len(list), test.want)
		}
	}
	var paged []string
	for before := ""; ; {
		page := questions(t, s, ada.ID, job.QuestionQuery{Limit: 30, Before: before})
		paged = append(paged, prompts(page)...)
		if len(page) < 30 {
			break
		}
		before = page[len(page)-1].Prompt
	}
	same(t, "the pages together", paged, prompts(all))
	same(t, "a listing of nothing", len(questions(t, s, ada.ID, job.QuestionQuery{})), 0)
}

// testNextQuestion: after a question comes the first of the same job that is for the same, open or
// answered. One that nobody answered is passed over.
func testNextQuestion(t *testing.T, s Stores) {
	ctx := t.Context()
	a := create(t, s.Accounts, person("ada"))
	l, other := running(t, s, a.ID, 1), running(t, s, a.ID, 2)
	const (
		open = iota
		answered
		expired
	)
	ask := func(l job.Lease, n int, kind, to string, end int) job.Lease {
		t.Helper()
		asked := pausedAt(n)
		asked.Prompt.Kind, asked.Prompt.To, asked.At = kind, to, seconds(75)
		must(t, s.Queue.Suspend(ctx, l, asked))
		var err error
		switch end {
		case answered:
			l, err = s.Queue.Answer(ctx, l.ID, answer(n), node(t, s), claimTime)
			must(t, err)
		case expired:
			l = claimJob(t, s, due(t, s, l.Seq))
		}
		return l
	}
	next := func(what string, n, want int) job.Question {
		t.Helper()
		q, err := s.Queue.QuestionByToken(ctx, prompt(n).Token)
		must(t, err)
		after, err := s.Queue.NextQuestion(ctx, &q)
		if want == 0 {
			wantError(t, what, err, job.ErrNotFound)
			return after
		}
		must(t, err)
		same(t, what, after.Prompt, prompt(want).ID)
		return after
	}
	ask(other, 100, "gather", "", open) // of another job, and nobody's next
	l = ask(l, 1, "gather", "", answered)
	next("before another is asked", 1, 0)
	l = ask(l, 2, "confirm", "", answered)
	l = ask(l, 3, "gather", "team", answered)
	next("of another kind, and of another audience", 1, 0)
	next("after a decision", 2, 0)
	l = ask(l, 4, "gather", "", expired)
	next("one that expired", 1, 0)
	l = ask(l, 5, "confirm", "team", answered)
	if q := next("of the same audience, and of another kind", 3, 5); q.State != job.QuestionAnswered || q.Sealed != nil {
		t.Errorf("it is %s, with the token %q", q.State, q.Sealed)
	}
	l = ask(l, 7, "gather", "", open)
	if q := next("the open one", 1, 7); q.State != job.QuestionOpen || string(q.Sealed) != string(prompt(7).Sealed) || !q.Sent || q.Job.ID != l.ID {
		t.Errorf("it is %+v", q)
	}
	l, err := s.Queue.Answer(ctx, l.ID, answer(7), node(t, s), claimTime)
	must(t, err)
	ask(l, 8, "gather", "", open)
	next("the first of several", 1, 7)
	if q := next("the last", 7, 8); q.Sent {
		t.Errorf("it is %+v", q)
	}
	_, err = s.Queue.NextQuestion(ctx, &job.Question{Seq: l.Seq, Prompt: prompt(100).ID, Kind: "gather"})
	wantError(t, "after a question of another job", err, job.ErrNotFound)
}

// testQuestionRace ends one question in all ways at once: one of them holds.
func testQuestionRace(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	for n := range 8 {
		h := bring(t, s, a.ID, n, job.Paused)
		errs := atOnce(3, func(i int) (err error) {
			switch i {
			case 0:
				_, err = s.Queue.Answer(t.Context(), h.task.ID, answer(n), node(t, s), claimTime)
			case 1:
				_, err = s.Queue.ClaimListed(t.Context(), node(t, s), h.due, claimTime)
			default:
				_, _, err = s.Queue.Cancel(t.Context(), h.task.ID, seconds(90), nil, "")
			}
			return err
		})
		q, err := s.Queue.QuestionByToken(t.Context(), prompt(n).Token)
		must(t, err)
		want := job.QuestionWithdrawn
		switch {
		case errs[0] == nil:
			want = job.QuestionAnswered
		case errs[1] == nil:
			want = job.QuestionExpired
		case !errors.Is(errs[0], job.ErrNotPaused) || !isLost(errs[1]):
			t.Errorf("the errors are %v", errs)
		}
		if q.State != want {
			t.Errorf("the question is %s, want %s: %v", q.State, want, errs)
		}
	}
}

// testQuestionWebhooks: the webhook of a job is told what its caller chose, in the transaction of what
// it is told of, and of each question once.
func testQuestionWebhooks(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	events := func(id job.ID) (list []string) {
		t.Helper()
		all, err := s.Deliveries.ByJob(t.Context(), id)
		must(t, err)
		for _, d := range slices.Backward(all) {
			list = append(list, strings.TrimSpace(d.Event+" "+d.Prompt))
			if d.Account != a.ID || d.Job != id || d.State != webhook.Pending || d.Due.IsZero() || d.URL == "" {
				t.Errorf("it is %+v", d)
			}
		}
		return list
	}
	n := 0
	for _, test := range []struct {
		events job.WebhookEvents
		want   func(a, b string) []string
	}{
		{0, func(string, string) []string { return []string{"finished"} }},
		{job.EventFinished, func(string, string) []string { return []string{"finished"} }},
		{job.EventPaused, func(a, b string) []string { return []string{"paused " + a, "paused " + b} }},
		{job.EventFinished | job.EventPaused, func(a, b string) []string { return []string{"paused " + a, "paused " + b, "finished"} }},
	} {
		task := task(a.ID, n)
		task.State, task.WebhookEvents = job.Running, test.events
		l := accept(t, s, task)
		first, second := n, n+1
		n += 2
		for _, k := range []int{first, second} {
			asked := pausedAt(k)
			asked.At = seconds(75)
			must(t, s.Queue.Suspend(t.Context(), l, asked))
			var err error
			l, err = s.Queue.Answer(t.Context(), l.ID, answer(k), node(t, s), claimTime)
			must(t, err)
		}
		must(t, s.Queue.Finish(t.Context(), l, end(task, job.Complete)))
		same(t, "what is told", events(task.ID), test.want(prompt(first).ID, prompt(second).ID))
	}
	// Where it ran for its caller, and where it ends as it is stored.
	adopted := task(a.ID, n)
	adopted.State, adopted.Mode, adopted.WebhookEvents = job.Paused, job.Sync, job.EventPaused
	asked := pausedAt(n)
	asked.At = seconds(75)
	_, err := s.Queue.Adopt(t.Context(), adopted, asked)
	must(t, err)
	_, _, err = s.Queue.Cancel(t.Context(), adopted.ID, seconds(90), nil, "msg-cancel")
	must(t, err)
	same(t, "what a call tells that was suspended", events(adopted.ID), []string{"paused " + prompt(n).ID})
	// And one that is over when it is accepted.
	over := task(a.ID, n+1)
	over.WebhookEvents = job.EventPaused
	_, err = s.Queue.AcceptEnded(t.Context(), over, end(over, job.Complete))
	must(t, err)
	same(t, "what one tells that has ended", events(over.ID), []string(nil))
}
