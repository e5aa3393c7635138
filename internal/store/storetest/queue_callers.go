package storetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/webhook"
)

// testQueueKeys repeats calls with idempotency keys.
func testQueueKeys(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	k := job.Key{Hash: [32]byte{1}, Body: [32]byte{2}, Until: seconds(100)}
	other, next := k, k
	other.Body = [32]byte{3}
	next.Hash = [32]byte{4}

	first := task(ada.ID, 1)
	first.Key = &k
	accept(t, s, first)
	repeat := func(what string, n int, k job.Key, want job.ID, wantErr error) {
		t.Helper()
		again := task(ada.ID, n)
		again.Key = &k
		for range 2 {
			l, earlier, err := s.Queue.Accept(t.Context(), again, node(t, s), claimTime)
			wantError(t, what, err, wantErr)
			same(t, what, earlier, want)
			same(t, what+": its lease", l, job.Lease{})
			_, err = s.Queue.View(t.Context(), again.ID)
			wantError(t, what+": the new job", err, job.ErrNotFound)
			if _, err := s.Queue.Program(t.Context(), again.Program); err == nil {
				t.Errorf("%s: its program was stored", what)
			}
			earlier, err = s.Queue.ReserveKey(t.Context(), ada.ID, k, again.ID, again.Created)
			wantError(t, what+": reserve", err, wantErr)
			same(t, what+": reserve", earlier, want)
			earlier, err = s.Queue.FindKey(t.Context(), ada.ID, k, again.Created)
			wantError(t, what+": reserved", err, wantErr)
			same(t, what+": reserved", earlier, want)
		}
	}
	repeat("the same request", 2, k, first.ID, nil)
	repeat("another request", 3, other, job.ID{}, job.ErrOtherBody)
	repeat("in the last moment", 99, k, first.ID, nil)

	// Another key, another account, and no key are no repeats.
	for _, task := range []*job.Task{task(ada.ID, 4), task(bob.ID, 5), task(ada.ID, 6)} {
		switch {
		case task.Account == bob.ID:
			task.Key = &other
		case task.ID == record(ada.ID, 4).ID:
			task.Key = &next
		}
		accept(t, s, task)
	}

	// After its end a key leads to the new job, whatever the request.
	after := task(ada.ID, 100)
	other.Until = seconds(300)
	after.Key = &other
	accept(t, s, after)
	repeat("after the end of the first", 101, other, after.ID, nil)
	repeat("the first request again", 102, k, job.ID{}, job.ErrOtherBody)

	// A key may lead to a job that is not stored, or no longer.
	reserved := job.NewID()
	k.Hash = [32]byte{9}
	for range 2 { // a look leaves it free
		earlier, err := s.Queue.FindKey(t.Context(), ada.ID, k, noon)
		must(t, err)
		same(t, "a free key", earlier, job.ID{})
	}
	earlier, err := s.Queue.ReserveKey(t.Context(), ada.ID, k, reserved, noon)
	must(t, err)
	same(t, "at first", earlier, job.ID{})
	repeat("of a call under way", 7, k, reserved, nil)
	earlier, err = s.Queue.ReserveKey(t.Context(), ada.ID, k, after.ID, seconds(100))
	must(t, err)
	same(t, "a reservation after its end", earlier, job.ID{})
}

// testQueueKeyCallers repeats calls of owners and pages with the same key. One
// that an earlier version stored stands by the key alone, whoever called: it is
// the pages' where its job is, and else the owner's.
func testQueueKeyCallers(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	key, shop, blog := [32]byte{1}, [32]byte{2}, [32]byte{3}
	until := seconds(100)
	owner := job.Key{Hash: key, Body: [32]byte{7}, Until: until}
	page := func(k job.Key, entry [32]byte) job.Key {
		k.Legacy, k.Hash = k.Hash, entry
		return k
	}
	body := func(k job.Key, b byte) job.Key {
		k.Body = [32]byte{b}
		return k
	}
	submit := func(n int, by principal.Credential, k job.Key) job.ID {
		t.Helper()
		task := task(ada.ID, n)
		task.Credential, task.Key = by, &k
		accept(t, s, task)
		return task.ID
	}
	leads := func(what string, k job.Key, want job.ID, wantErr error) {
		t.Helper()
		earlier, err := s.Queue.FindKey(t.Context(), ada.ID, k, seconds(50))
		wantError(t, what, err, wantErr)
		same(t, what, earlier, want)
	}

	// Each has a job of its own under the same key, and finds no other's.
	jobs := map[string]job.ID{}
	keys := map[string]job.Key{"owner": owner, "shop": page(owner, shop), "blog": page(owner, blog)}
	for n, who := range []string{"shop", "owner", "blog"} {
		leads(who+" at first", keys[who], job.ID{}, nil)
		by := principal.ByOrigin
		if who == "owner" {
			by = principal.ByPassword
		}
		jobs[who] = submit(n, by, keys[who])
	}
	for who, k := range keys {
		leads(who, k, jobs[who], nil)
		leads(who+" with another request", body(k, 8), job.ID{}, job.ErrOtherBody)
	}
	// A call under way is its caller's too.
	for n, who := range []string{"owner", "shop", "blog"} {
		k := keys[who]
		k.Hash[31], k.Legacy[31] = 9, 9
		if who == "owner" {
			k.Legacy = [32]byte{}
		}
		running := job.NewID()
		earlier, err := s.Queue.ReserveKey(t.Context(), ada.ID, k, running, seconds(n))
		must(t, err)
		same(t, who+" reserves", earlier, job.ID{})
		leads(who+" under way", k, running, nil)
		leads(who+" under way, another request", body(k, 8), job.ID{}, job.ErrOtherBody)
	}

	// As an earlier version stored them.
	old := func(n int, by principal.Credential, h byte) (job.Key, job.ID) {
		k := job.Key{Hash: [32]byte{h}, Body: [32]byte{7}, Until: until}
		return k, submit(n, by, k)
	}
	k, id := old(10, principal.ByKey, 20)
	leads("the owner's of before", k, id, nil)
	leads("the owner's of before, another request", body(k, 8), job.ID{}, job.ErrOtherBody)
	leads("the owner's of before, to a page", page(k, [32]byte{21}), job.ID{}, nil)
	leads("the owner's of before, to a page with another request", page(body(k, 8), [32]byte{21}), job.ID{}, nil)
	k, id = old(11, principal.ByOrigin, 30)
	leads("a page's of before", page(k, [32]byte{31}), id, nil)
	leads("a page's of before, another request", page(body(k, 8), [32]byte{31}), job.ID{}, job.ErrOtherBody)
	leads("a page's of before, to the owner", k, job.ID{}, nil)
	mine := submit(12, principal.ByPassword, k)
	leads("the owner's instead of a page's of before", k, mine, nil)
}

// testQueueKeyRace has one call be made by many at once: one job comes of it,
// and all learn which.
func testQueueKeyRace(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	k := &job.Key{Hash: [32]byte{1}, Until: claimTime}
	var mu sync.Mutex
	known := map[job.ID]int{}
	accepted := 0
	errs := atOnce(64, func(i int) error {
		task := task(a.ID, i)
		task.Key = k
		_, earlier, err := s.Queue.Accept(t.Context(), task, node(t, s), claimTime)
		mu.Lock()
		defer mu.Unlock()
		if earlier == (job.ID{}) {
			accepted++
			earlier = task.ID
		}
		known[earlier]++
		return err
	})
	must(t, errors.Join(errs...))
	list, err := s.Jobs.List(t.Context(), a.ID, job.Query{Limit: 100})
	must(t, err)
	if len(list) != 1 || accepted != 1 || known[list[0].ID] != 64 {
		t.Errorf("%d jobs, %d accepted, %v", len(list), accepted, known)
	}
}

// testQueueAnswers follows a job from question to question.
func testQueueAnswers(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	l := running(t, s, a.ID, 1)
	must(t, s.Queue.AppendJournal(t.Context(), l, job.JournalEntry{Step: 1, Entries: []byte("before")}))
	for n := 1; n <= 3; n++ {
		standing := pausedAt(n)
		if n == 2 { // a CONFIRM
			standing.Prompt.Kind, standing.Prompt.Schema = "confirm", nil
		}
		must(t, s.Queue.Suspend(t.Context(), l, standing))
		same(t, "the question", load(t, s, l.Seq).Prompt, standing.Prompt)
		for k := 1; k <= 3; k++ {
			id, err := openedBy(t, s, prompt(k).Token)
			if k == n {
				must(t, err)
				same(t, "what the token opens", id, l.ID)
			} else {
				wantError(t, "the token of another question", err, job.ErrNotFound)
			}
			_, found, err := s.Queue.FindAnswer(t.Context(), l.ID, prompt(k).ID)
			must(t, err)
			if found != (k < n) {
				t.Errorf("at question %d, question %d is answered: %t", n, k, found)
			}
		}
		got, err := s.Queue.Answer(t.Context(), l.ID, answer(n), node(t, s), claimTime)
		must(t, err)
		l.Attempt++
		same(t, "the lease", got, l)
		stored := load(t, s, l.Seq)
		same(t, "the job then", []any{stored.State, stored.Until, stored.Prompt, stored.Lease}, []any{job.Running, claimTime, (*job.Prompt)(nil), l})
		same(t, "the journal", stored.Journal, [][]byte{answer(n).Entries})
		reply, found, err := s.Queue.FindAnswer(t.Context(), l.ID, prompt(n).ID)
		must(t, err)
		same(t, "the reply", []any{reply, found}, []any{answer(n).Reply, true})
		_, err = openedBy(t, s, prompt(n).Token)
		wantError(t, "the token of a question that is answered", err, job.ErrNotFound)
	}
	_, found, err := s.Queue.FindAnswer(t.Context(), job.NewID(), prompt(1).ID)
	must(t, err)
	if found {
		t.Error("another job's question is answered")
	}

	// Who answered is kept with the finished job, and goes with it.
	must(t, s.Queue.Finish(t.Context(), l, end(task(a.ID, 1), job.Complete)))
	_, found, err = s.Queue.FindAnswer(t.Context(), l.ID, prompt(3).ID)
	must(t, err)
	if !found {
		t.Error("the answers were lost with the end")
	}
	forgotten, err := s.Jobs.Forget(t.Context(), a.ID, claimTime, 10)
	must(t, err)
	_, found, err = s.Queue.FindAnswer(t.Context(), l.ID, prompt(3).ID)
	must(t, err)
	if forgotten != 1 || found {
		t.Errorf("%d were forgotten, and the answers are there: %t", forgotten, found)
	}
}

// testQueueAnswerRace has many answer one question: one does.
func testQueueAnswerRace(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	h := bring(t, s, a.ID, 1, job.Paused)
	reply := func(i int) job.Answer {
		r := answer(1)
		r.Reply, r.Entries = [32]byte{byte(i)}, []byte(numbered("entries", i))
		return r
	}
	leases := make([]job.Lease, 64)
	won := winners(t, atOnce(64, func(i int) (err error) {
		leases[i], err = s.Queue.Answer(t.Context(), h.task.ID, reply(i), node(t, s), claimTime)
		return err
	}), func(err error) bool { return errors.Is(err, job.ErrNotPaused) })
	if len(won) != 1 {
		t.Fatalf("%d answers were taken", len(won))
	}
	stored := load(t, s, h.lease.Seq)
	same(t, "the lease", leases[won[0]], stored.Lease)
	same(t, "the attempt", stored.Lease.Attempt, h.lease.Attempt+1)
	same(t, "the journal", stored.Journal, [][]byte{reply(won[0]).Entries})
	kept, _, err := s.Queue.FindAnswer(t.Context(), h.task.ID, prompt(1).ID)
	must(t, err)
	same(t, "the reply", kept, reply(won[0]).Reply)
}

// testQueueTakeRace has many take one job: one does. Then one job is answered,
// taken at its expiry and cancelled at once.
func testQueueTakeRace(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	for n, state := range []job.State{job.Accepted, job.Running, released, job.Paused, job.Waiting} {
		h := bring(t, s, a.ID, n, state)
		leases := make([]job.Lease, 64)
		won := winners(t, atOnce(64, func(i int) (err error) {
			leases[i], err = s.Queue.ClaimListed(t.Context(), node(t, s), h.due, claimTime)
			return err
		}), isLost)
		if len(won) != 1 {
			t.Fatalf("%d took a job that is %s", len(won), state)
		}
		same(t, "the lease", leases[won[0]], load(t, s, h.lease.Seq).Lease)
		same(t, "the attempt", leases[won[0]].Attempt, h.due.Attempt+1)
	}
	for n := range 16 {
		h := bring(t, s, a.ID, 100+n, job.Paused)
		did := make([]bool, 30)
		won := winners(t, atOnce(30, func(i int) (err error) {
			switch i % 3 {
			case 0:
				_, err = s.Queue.Answer(t.Context(), h.task.ID, answer(100+n), node(t, s), claimTime)
			case 1:
				_, err = s.Queue.ClaimListed(t.Context(), node(t, s), h.due, claimTime)
			default:
				if _, did[i], err = s.Queue.Cancel(t.Context(), h.task.ID, noon, nil, ""); !did[i] && err == nil {
					err = job.ErrLeaseLost
				}
			}
			return err
		}), func(err error) bool { return isLost(err) || errors.Is(err, job.ErrNotPaused) })
		if len(won) != 1 {
			t.Errorf("%d left one state", len(won))
		}
	}
}

// testQueueCancel cancels jobs that nobody runs: what they have to show is their
// record, and their end is told.
func testQueueCancel(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	failure := []byte(`{"code":"cancelled"}`)
	for n, test := range []struct {
		state  job.State
		output []string // its pieces
		want   string
		bare   bool // nothing to show but output
		json   bool // the output is one value
	}{
		{state: job.Accepted, bare: true},
		{state: job.Paused, output: []string{"[1,2]"}, want: "[1,2]", json: true},
		{state: job.Paused, output: []string{"one ", "two ", "three"}, want: "one two three"},
		{state: job.Waiting, output: []string{"a\xff", "b"}, want: "a\xffb"},
		{state: job.Waiting, bare: true},
	} {
		task := task(a.ID, n)
		l := accept(t, s, task)
		var so job.Progress
		if test.state != job.Accepted {
			l = claimJob(t, s, due(t, s, l.Seq))
			if so = shown(); test.bare {
				so = job.Progress{}
			}
			so.Output, so.JSON = nil, test.json
			for _, piece := range test.output {
				so.Output = []byte(piece)
				must(t, s.Queue.SaveSnapshot(t.Context(), l, []byte("s"), so))
				so.From += int64(len(piece))
			}
			so.Output = nil
			standing := pausedAt(n)
			if test.state == job.Waiting {
				standing = waitingUntil(seconds(300))
			}
			standing.Progress = so
			must(t, s.Queue.Suspend(t.Context(), l, standing))
		}
		delivery := numbered("msg", n)
		for round := range 2 {
			state, did, err := s.Queue.Cancel(t.Context(), task.ID, seconds(100+round), failure, delivery)
			must(t, err)
			if state != job.Cancelled || did != (round == 0) {
				t.Errorf("time %d: %s, %t", round+1, state, did)
			}
		}
		want := job.Record{Summary: task.Summary, Result: []byte(test.want), Trace: []byte("[]"), Error: failure}
		want.State, want.Finished, want.Encoding = job.Cancelled, seconds(100), job.EncodingOf(want.Result)
		if test.json {
			want.Encoding = job.JSONText
		}
		if !test.bare {
			want.Trace, want.TraceDropped, want.Response, want.Steps, want.Ran = so.Trace, so.TraceDropped, so.Response, so.Steps, so.Ran
		}
		wantFinished(t, s, l.Seq, want)
		got, err := s.Deliveries.ByJob(t.Context(), task.ID)
		must(t, err)
		same(t, "what is told", got, []webhook.Delivery{{
			Seq: got[0].Seq, ID: delivery, Account: a.ID, Job: task.ID, URL: task.Webhook, Event: "finished", State: webhook.Pending, Due: seconds(100), Made: seconds(100),
		}})
	}

	// Where nobody is to be told, nobody is.
	silent := task(a.ID, 50)
	accept(t, s, silent)
	_, _, err := s.Queue.Cancel(t.Context(), silent.ID, noon, nil, "")
	must(t, err)
	deaf := task(a.ID, 51)
	deaf.Webhook = ""
	accept(t, s, deaf)
	_, _, err = s.Queue.Cancel(t.Context(), deaf.ID, noon, nil, "msg-deaf")
	must(t, err)
	for _, task := range []*job.Task{silent, deaf} {
		got, err := s.Deliveries.ByJob(t.Context(), task.ID)
		must(t, err)
		same(t, "what is told", got, []webhook.Delivery(nil))
	}
}

// wantFinished holds a job to be finished with a record, to the byte, for all
// who ask.
func wantFinished(t *testing.T, s Stores, seq int64, want job.Record) {
	t.Helper()
	got, err := s.Jobs.ByID(t.Context(), want.ID)
	must(t, err)
	same(t, "the record", got, want)
	same(t, "the view's record", view(t, s, want.ID).Record, want)
	_, err = s.Queue.Load(t.Context(), seq)
	wantError(t, "loading a finished job", err, job.ErrLeaseLost)
}

// testQueueFinish finishes jobs in each of the ways.
func testQueueFinish(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	for n, test := range []struct {
		from job.State
		end  job.State
		bare bool
	}{
		{from: job.Running, end: job.Complete, bare: true},
		{from: job.Running, end: job.Complete},
		{from: job.Running, end: job.Failed},
		{from: answered, end: job.Declined},
		{from: job.Paused, end: job.Expired},
		{from: released, end: job.Failed},
		{from: job.Waiting, end: job.Complete},
		{from: stopping, end: job.Cancelled},
	} {
		h := bring(t, s, a.ID, n, test.from)
		if d := due(t, s, h.lease.Seq); d.Lease != h.lease || d.State != job.Running {
			h.lease = claimJob(t, s, d)
		}
		e := end(h.task, test.end)
		if test.bare {
			e.Leftovers, e.Result, e.Trace, e.TraceDropped, e.Error, e.Response, e.Delivery = false, []byte{}, nil, 0, nil, nil, ""
		}
		if n == 1 {
			e.Result, e.Encoding = []byte{0, 0xff, 0xfe}, job.Base64
		}
		must(t, s.Queue.Finish(t.Context(), h.lease, e))
		wantFinished(t, s, h.lease.Seq, e.Record)
		_, err := openedBy(t, s, prompt(n).Token)
		wantError(t, "its question", err, job.ErrNotFound)
		got, err := s.Deliveries.ByJob(t.Context(), h.task.ID)
		must(t, err)
		var want []webhook.Delivery
		if !test.bare {
			want = []webhook.Delivery{{
				Seq: got[0].Seq, ID: e.Delivery, Account: a.ID, Job: h.task.ID, URL: h.task.Webhook, Event: "finished", State: webhook.Pending, Due: e.Finished, Made: e.Finished,
			}}
		}
		same(t, "what is told", got, want)
	}

	// An end that cannot be told is none: both or nothing.
	h := bring(t, s, a.ID, 100, job.Running)
	e := end(h.task, job.Complete)
	e.Delivery = end(task(a.ID, 1), job.Complete).Delivery
	if err := s.Queue.Finish(t.Context(), h.lease, e); err == nil || isLost(err) {
		t.Errorf("a delivery with the id of another: %v", err)
	}
	same(t, "the job then", load(t, s, h.lease.Seq).Lease, h.lease)
	e.Delivery = "msg-100"
	must(t, s.Queue.Finish(t.Context(), h.lease, e))
	wantFinished(t, s, h.lease.Seq, e.Record)
}

// testQueueAcceptEnded accepts jobs that have ended already.
func testQueueAcceptEnded(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	for n, state := range []job.State{job.Complete, job.Failed, job.Declined} {
		one := task(a.ID, n)
		e := end(one, state)
		if n == 0 {
			one.Webhook = ""
			e.Result, e.Trace, e.Error, e.Response = []byte{}, nil, nil, nil
		}
		earlier, err := s.Queue.AcceptEnded(t.Context(), one, e)
		must(t, err)
		same(t, "an earlier job", earlier, job.ID{})
		wantFinished(t, s, view(t, s, one.ID).Seq, e.Record)
		got, err := s.Deliveries.ByJob(t.Context(), one.ID)
		must(t, err)
		var want []webhook.Delivery
		if one.Webhook != "" {
			want = []webhook.Delivery{{
				Seq: got[0].Seq, ID: e.Delivery, Account: a.ID, Job: one.ID, URL: one.Webhook, Event: "finished", State: webhook.Pending, Due: e.Finished, Made: e.Finished,
			}}
		}
		same(t, "what is told", got, want)
		used, err := s.Usage.Used(t.Context(), a.ID, usage.MonthOf(e.Finished))
		must(t, err)
		if used.Calls != int64(n+1) || used.Running != time.Duration(n+1)*e.Ran {
			t.Errorf("after %d jobs of %v %+v are counted", n+1, e.Ran, used)
		}
		if state, done, err := s.Queue.Cancel(t.Context(), one.ID, e.Finished, nil, ""); err != nil || done || state != e.State {
			t.Errorf("cancelled: %v %v %v", state, done, err)
		}
	}

	// One that is there already stays as it is, and is counted once.
	for _, kept := range []*job.Task{task(a.ID, 0), task(a.ID, 5)} {
		kept.Webhook = ""
		e := end(kept, job.Complete)
		before, err := s.Usage.Used(t.Context(), a.ID, usage.MonthOf(e.Finished))
		must(t, err)
		must(t, s.Jobs.Record(t.Context(), []job.Record{e.Record}))
		was := view(t, s, kept.ID)
		e.Result = []byte("another")
		earlier, err := s.Queue.AcceptEnded(t.Context(), kept, e)
		must(t, err)
		same(t, "an earlier job", earlier, job.ID{})
		same(t, "the job that was there", view(t, s, kept.ID), was)
		after, err := s.Usage.Used(t.Context(), a.ID, usage.MonthOf(e.Finished))
		must(t, err)
		if after.Calls > before.Calls+1 {
			t.Errorf("%d calls were counted for one", after.Calls-before.Calls)
		}
	}

	// A key leads to it, and where it was used before, nothing is stored.
	k := job.Key{Hash: [32]byte{1}, Body: [32]byte{2}, Until: seconds(100)}
	first, again := task(a.ID, 10), task(a.ID, 11)
	first.Key, again.Key = &k, &k
	_, err := s.Queue.AcceptEnded(t.Context(), first, end(first, job.Complete))
	must(t, err)
	earlier, err := s.Queue.AcceptEnded(t.Context(), again, end(again, job.Complete))
	must(t, err)
	same(t, "the job of the key", earlier, first.ID)
	_, earlier, err = s.Queue.Accept(t.Context(), again, node(t, s), claimTime)
	must(t, err)
	same(t, "the job of the key, accepted", earlier, first.ID)
	other := k
	other.Body = [32]byte{3}
	again.Key = &other
	_, err = s.Queue.AcceptEnded(t.Context(), again, end(again, job.Complete))
	wantError(t, "another request", err, job.ErrOtherBody)
	_, err = s.Queue.View(t.Context(), again.ID)
	wantError(t, "the job that was not accepted", err, job.ErrNotFound)

	nobody := task(a.ID+1, 12)
	_, err = s.Queue.AcceptEnded(t.Context(), nobody, end(nobody, job.Complete))
	wantError(t, "of an account that is not there", err, account.ErrNotFound)

	// One that cannot be told is not accepted.
	untold := task(a.ID, 13)
	e := end(untold, job.Complete)
	e.Delivery = end(task(a.ID, 1), job.Failed).Delivery
	if _, err := s.Queue.AcceptEnded(t.Context(), untold, e); err == nil {
		t.Error("a delivery with the id of another was taken")
	}
	_, err = s.Queue.View(t.Context(), untold.ID)
	wantError(t, "the job that could not be told", err, job.ErrNotFound)
}

// testQueueForget removes old jobs: none that is not finished, however old, and
// of the others all that is left of them.
func testQueueForget(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	n := 0
	var stay, gone []held
	for from := range transitions {
		n++
		h := bring(t, s, a.ID, n, from)
		if from.Finished() {
			gone = append(gone, h)
		} else {
			stay = append(stay, h)
		}
	}
	forgotten, err := s.Jobs.Forget(t.Context(), a.ID, noon.AddDate(100, 0, 0), 1000)
	must(t, err)
	same(t, "how many went", forgotten, len(gone))
	for _, h := range stay {
		load(t, s, h.lease.Seq)
	}
	for _, h := range gone {
		_, err := s.Queue.View(t.Context(), h.task.ID)
		wantError(t, "what is forgotten", err, job.ErrNotFound)
		told, err := s.Deliveries.ByJob(t.Context(), h.task.ID)
		must(t, err)
		same(t, "what is told of it", len(told), 1)
	}
	// A number is never given twice: a lease of then cannot hit another job.
	l := running(t, s, a.ID, 1000)
	for _, h := range append(stay, gone...) {
		if h.lease.Seq >= l.Seq {
			t.Errorf("number %d came after %d", l.Seq, h.lease.Seq)
		}
	}
}

// testQueueRemoval removes an account: nothing of its jobs is left.
func testQueueRemoval(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	n := 0
	var all []held
	for from := range transitions {
		n++
		h := bring(t, s, ada.ID, n, from)
		all = append(all, h)
		if from == job.Running {
			must(t, s.Queue.AppendJournal(t.Context(), h.lease, job.JournalEntry{Step: 1, Entries: []byte("x")}))
		}
	}
	k := job.Key{Hash: [32]byte{1}, Until: claimTime}
	_, err := s.Queue.ReserveKey(t.Context(), ada.ID, k, job.NewID(), noon)
	must(t, err)
	others := bring(t, s, bob.ID, 100, job.Paused)
	must(t, s.Accounts.Delete(t.Context(), ada.ID))
	for i, h := range all {
		_, err := s.Queue.View(t.Context(), h.task.ID)
		wantError(t, "View", err, job.ErrNotFound)
		_, err = s.Queue.Load(t.Context(), h.lease.Seq)
		wantError(t, "Load", err, job.ErrLeaseLost)
		_, err = openedBy(t, s, prompt(i+1).Token)
		wantError(t, "ByToken", err, job.ErrNotFound)
		_, found, err := s.Queue.FindAnswer(t.Context(), h.task.ID, prompt(i+1).ID)
		must(t, err)
		if found {
			t.Error("an answer is left")
		}
		for name, operation := range operations(t, s, i+1) {
			switch name {
			case "restart", "Cancel":
			case "Answer", "another answer":
				wantError(t, name, operation(h), job.ErrNotPaused)
			default:
				wantError(t, name, operation(h), job.ErrLeaseLost)
			}
		}
		_, _, err = s.Queue.Cancel(t.Context(), h.task.ID, noon, nil, "msg")
		wantError(t, "Cancel", err, job.ErrNotFound)
	}
	for _, state := range []job.State{job.Accepted, job.Running, job.Waiting, job.Paused} {
		list, err := s.Queue.ListDue(t.Context(), job.DueQuery{State: state, Now: noon.AddDate(100, 0, 0), Limit: 100})
		must(t, err)
		if state == job.Paused {
			same(t, "what is due", list, []job.Due{others.due})
		} else {
			same(t, "what is due", list, []job.Due(nil))
		}
	}
	pruned, err := s.Queue.Prune(t.Context(), noon.Add(2*job.ProgramRetention), 1000)
	must(t, err)
	same(t, "the programs that went", pruned, len(all))
	code, err := s.Queue.Program(t.Context(), others.task.Program)
	must(t, err)
	same(t, "another's program", code, others.task.Code)
	same(t, "another's job", load(t, s, others.lease.Seq).Prompt.Expires, claimTime.Add(time.Hour))
}
