package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/webhook"
)

// delivery returns the delivery with a number, as it stands when it was made:
// one each minute, at noon the first.
func delivery(a account.ID, n int) webhook.Delivery {
	made := noon.Add(time.Duration(n-1) * time.Minute)
	return webhook.Delivery{
		ID: numbered("msg", n), Account: a, Job: record(a, n).ID, URL: "https://example.com/" + numbered("hook", n),
		Event: "finished", State: webhook.Pending, Due: made, Made: made,
	}
}

// deliver finishes a job, which is to tell of it.
func deliver(t *testing.T, s Stores, d webhook.Delivery) error {
	t.Helper()
	end := job.End{Record: record(d.Account, 0), Delivery: d.ID}
	end.ID, end.Created, end.Finished = d.Job, d.Made, d.Made
	task := job.Task{Summary: end.Summary, Webhook: d.URL, Spec: []byte("x")}
	task.State, task.Mode, task.Finished = job.Running, job.Async, time.Time{}
	lease, _, err := s.Queue.Accept(t.Context(), &task, node(t, s), d.Made.Add(time.Hour))
	must(t, err)
	return s.Queue.Finish(t.Context(), lease, &end)
}

// deliveries stores those with the numbers from 1 and returns them as they
// stand.
func deliveries(t *testing.T, s Stores, a account.ID, n int) []webhook.Delivery {
	t.Helper()
	list := make([]webhook.Delivery, n)
	for i := range list {
		must(t, deliver(t, s, delivery(a, i+1)))
		list[i] = reload(t, s, delivery(a, i+1))
	}
	return list
}

// reload returns a delivery as it stands, which must be as expected apart from
// its number in the store.
func reload(t *testing.T, s Stores, want webhook.Delivery) webhook.Delivery {
	t.Helper()
	got, err := s.Deliveries.ByID(t.Context(), want.ID)
	must(t, err)
	want.Seq = got.Seq
	same(t, want.ID, got, want)
	return got
}

// claim takes one delivery until a moment.
func claim(t *testing.T, s Stores, d webhook.Delivery, until time.Time) webhook.Delivery {
	t.Helper()
	got, err := s.Deliveries.Claim(t.Context(), []webhook.Delivery{d}, until)
	must(t, err)
	if len(got) != 1 {
		t.Fatalf("%d were claimed", len(got))
	}
	d.Due = until
	same(t, "what was claimed", got[0], d)
	return d
}

func attempt(n int) webhook.Attempt {
	return webhook.Attempt{
		Number: n, At: noon.Add(time.Duration(n) * time.Hour), Took: time.Duration(n) * time.Millisecond,
		Status: 500 + n, Answer: numbered("answer", n), Error: numbered("error", n),
	}
}

func wantDue(t *testing.T, s Stores, a account.ID, what string, now time.Time, after webhook.Delivery, limit int, want ...webhook.Delivery) {
	t.Helper()
	got, err := s.Deliveries.DueOf(t.Context(), a, now, after, limit)
	must(t, err)
	same(t, what+", of the account", got, want)
	if after.Seq == 0 { // the account is the only one
		got, err = s.Deliveries.Due(t.Context(), now, limit)
		must(t, err)
		same(t, what, got, want)
	}
}

func testDeliveryTurns(t *testing.T, s Stores) {
	ada, bob, cyd := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob")), create(t, s.Accounts, person("cyd"))
	var later webhook.Delivery
	of := map[account.ID][]webhook.Delivery{}
	for n, id := range []account.ID{1: cyd.ID, 2: bob.ID, 3: ada.ID, 4: ada.ID, 5: cyd.ID, 6: ada.ID} {
		if n == 0 {
			continue
		}
		must(t, deliver(t, s, delivery(id, n)))
		d := reload(t, s, delivery(id, n))
		if id == bob.ID {
			later = claim(t, s, d, noon.Add(time.Hour))
			continue
		}
		of[id] = append(of[id], d)
	}
	due := noon.Add(10 * time.Minute)
	for id, want := range of {
		wantDue(t, s, id, "all", due, webhook.Delivery{Seq: -1}, 10, want...)
	}
	wantDue(t, s, bob.ID, "none", due, webhook.Delivery{Seq: -1}, 10)
	for _, test := range []struct {
		name  string
		now   time.Time
		after account.ID
		limit int
		want  []account.ID
	}{
		{"too early", noon.Add(-time.Second), 0, 10, nil},
		{"some", due, 0, 10, []account.ID{ada.ID, cyd.ID}},
		{"all", later.Due, 0, 10, []account.ID{ada.ID, bob.ID, cyd.ID}},
		{"from the second on", later.Due, ada.ID, 10, []account.ID{bob.ID, cyd.ID, ada.ID}},
		{"from the third on", later.Due, bob.ID, 10, []account.ID{cyd.ID, ada.ID, bob.ID}},
		{"after the last", later.Due, cyd.ID, 10, []account.ID{ada.ID, bob.ID, cyd.ID}},
		{"two", later.Due, bob.ID, 2, []account.ID{cyd.ID, ada.ID}},
		{"one", later.Due, bob.ID, 1, []account.ID{cyd.ID}},
		{"without a limit", later.Due, 0, 0, nil},
	} {
		got, err := s.Deliveries.DueAccounts(t.Context(), test.now, test.after, test.limit)
		must(t, err)
		same(t, test.name, got, test.want)
	}
}

func testDeliveries(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	list := deliveries(t, s, ada.ID, 3)
	if list[0].Seq >= list[1].Seq || list[1].Seq >= list[2].Seq {
		t.Errorf("the numbers are %d, %d and %d", list[0].Seq, list[1].Seq, list[2].Seq)
	}
	_, err := s.Deliveries.ByID(t.Context(), "msg-none")
	wantError(t, "another id", err, webhook.ErrNotFound)
	twin := delivery(ada.ID, 1)
	twin.Job = job.NewID()
	if err := deliver(t, s, twin); err == nil {
		t.Error("an id was stored twice")
	}
	silent := delivery(ada.ID, 4)
	silent.URL = ""
	must(t, deliver(t, s, silent))
	_, err = s.Deliveries.ByID(t.Context(), silent.ID)
	wantError(t, "a job that tells nobody", err, webhook.ErrNotFound)

	got, err := s.Deliveries.ByJob(t.Context(), list[0].Job)
	must(t, err)
	same(t, "by job", got, list[:1])
	got, err = s.Deliveries.ByJob(t.Context(), job.NewID())
	must(t, err)
	same(t, "by another job", got, []webhook.Delivery(nil))

	must(t, s.Accounts.Delete(t.Context(), ada.ID))
	_, err = s.Deliveries.ByID(t.Context(), list[0].ID)
	wantError(t, "after its account", err, webhook.ErrNotFound)
}

func testDeliveryList(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	list := deliveries(t, s, ada.ID, 5)
	must(t, deliver(t, s, delivery(bob.ID, 100)))
	for _, i := range []int{1, 3} {
		d := claim(t, s, list[i], noon.Add(time.Hour))
		must(t, s.Deliveries.Settle(t.Context(), d, attempt(1), webhook.Delivered, noon.Add(time.Hour)))
		list[i].State, list[i].Attempts, list[i].Due, list[i].Settled = webhook.Delivered, 1, time.Time{}, noon.Add(time.Hour)
	}
	for _, test := range []struct {
		name  string
		query webhook.Query
		want  []int
	}{
		{"all", webhook.Query{Limit: 10}, []int{5, 4, 3, 2, 1}},
		{"some", webhook.Query{Limit: 2}, []int{5, 4}},
		{"the next", webhook.Query{Limit: 2, Before: list[3].ID}, []int{3, 2}},
		{"none left", webhook.Query{Limit: 10, Before: list[0].ID}, nil},
		{"by state", webhook.Query{Limit: 10, State: webhook.Delivered}, []int{4, 2}},
		{"by state, the next", webhook.Query{Limit: 10, State: webhook.Delivered, Before: list[3].ID}, []int{2}},
		{"by state, none", webhook.Query{Limit: 10, State: webhook.Exhausted}, nil},
		{"after another's", webhook.Query{Limit: 10, Before: delivery(bob.ID, 100).ID}, nil},
		{"after an unknown one", webhook.Query{Limit: 10, Before: "msg-none"}, nil},
		{"without a limit", webhook.Query{}, nil},
	} {
		got, err := s.Deliveries.List(t.Context(), ada.ID, test.query)
		must(t, err)
		var want []webhook.Delivery
		for _, n := range test.want {
			want = append(want, list[n-1])
		}
		same(t, test.name, got, want)
	}
}

func testDeliveryDue(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	list := deliveries(t, s, ada.ID, 4)
	none := webhook.Delivery{}
	wantNext := func(after, want time.Time) {
		t.Helper()
		got, err := s.Deliveries.Next(t.Context(), after)
		must(t, err)
		same(t, "the next", got, want)
	}
	wantDue(t, s, ada.ID, "before the first", noon.Add(-time.Microsecond), none, 10)
	wantDue(t, s, ada.ID, "at the first", noon, none, 10, list[0])
	wantDue(t, s, ada.ID, "all", noon.Add(time.Hour), none, 10, list...)
	wantDue(t, s, ada.ID, "some", noon.Add(time.Hour), none, 2, list[:2]...)
	wantDue(t, s, ada.ID, "the next", noon.Add(time.Hour), list[1], 2, list[2:]...)
	wantDue(t, s, ada.ID, "without a limit", noon.Add(time.Hour), none, 0)
	wantNext(noon.Add(-time.Hour), list[0].Due)
	wantNext(list[0].Due, list[1].Due)
	wantNext(list[3].Due, time.Time{})

	// One that is claimed is due again when the claim ends, after the others.
	first := claim(t, s, list[0], list[3].Due)
	wantDue(t, s, ada.ID, "with one claimed", list[2].Due, none, 10, list[1:3]...)
	wantDue(t, s, ada.ID, "when the claim has ended", list[3].Due, none, 10, list[1], list[2], first, list[3])
	wantDue(t, s, ada.ID, "after one that is due at the same time", list[3].Due, first, 10, list[3])
	wantNext(list[2].Due, list[3].Due)
}

func testDeliverySettle(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	d := deliveries(t, s, ada.ID, 1)[0]
	until := noon.Add(time.Minute)
	wantAttempts := func(want ...webhook.Attempt) {
		t.Helper()
		got, err := s.Deliveries.Attempts(t.Context(), d.ID)
		must(t, err)
		same(t, "the attempts", got, want)
	}
	lost := func(what string, d webhook.Delivery) {
		t.Helper()
		wantError(t, what+": settle", s.Deliveries.Settle(t.Context(), d, attempt(d.Attempts+1), webhook.Delivered, until), webhook.ErrClaimLost)
		wantError(t, what+": release", s.Deliveries.Release(t.Context(), d, until), webhook.ErrClaimLost)
		got, err := s.Deliveries.Claim(t.Context(), []webhook.Delivery{d}, until.Add(time.Hour))
		must(t, err)
		same(t, what+": claim", got, []webhook.Delivery(nil))
	}
	wantAttempts()

	// Claimed, and not sent after all.
	claimed := claim(t, s, d, until)
	lost("what is claimed", d)
	must(t, s.Deliveries.Release(t.Context(), claimed, noon.Add(time.Second)))
	lost("what was released", claimed)
	d.Due = noon.Add(time.Second)
	d = reload(t, s, d)

	// Sent in vain.
	claimed = claim(t, s, d, until)
	must(t, s.Deliveries.Settle(t.Context(), claimed, attempt(1), webhook.Pending, noon.Add(time.Hour)))
	lost("what was settled", claimed)
	d.Attempts, d.Due = 1, noon.Add(time.Hour)
	d = reload(t, s, d)
	wantAttempts(attempt(1))

	// Claimed by a process that dies, and by another afterwards.
	dead := claim(t, s, d, noon.Add(2*time.Hour))
	claimed = claim(t, s, dead, noon.Add(3*time.Hour))
	lost("what another has", dead)

	// Taken by the server.
	good := webhook.Attempt{Number: 2, At: noon.Add(2 * time.Hour), Status: 204}
	must(t, s.Deliveries.Settle(t.Context(), claimed, good, webhook.Delivered, noon.Add(2*time.Hour)))
	d.Attempts, d.Due, d.State, d.Settled = 2, time.Time{}, webhook.Delivered, noon.Add(2*time.Hour)
	d = reload(t, s, d)
	wantAttempts(attempt(1), good)
	lost("what is done", claimed)
	lost("what is done, as it stands", d)
	wantDue(t, s, ada.ID, "when it is done", noon.Add(100*time.Hour), webhook.Delivery{}, 10)
	next, err := s.Deliveries.Next(t.Context(), noon.Add(-time.Hour))
	must(t, err)
	same(t, "the next", next, time.Time{})
	none, err := s.Deliveries.Attempts(t.Context(), "msg-none")
	must(t, err)
	same(t, "attempts of another", none, []webhook.Attempt(nil))
}

func testDeliveryRepeat(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	list := deliveries(t, s, ada.ID, 2)
	d, other := list[0], list[1]
	for n, state := range []webhook.State{webhook.Exhausted, webhook.Stopped, webhook.Delivered} {
		claimed := claim(t, s, d, noon.Add(time.Minute))
		must(t, s.Deliveries.Settle(t.Context(), claimed, attempt(n+1), state, noon.Add(time.Minute)))
		at := noon.Add(time.Duration(n+1) * time.Hour)
		got, err := s.Deliveries.Repeat(t.Context(), d.ID, at)
		must(t, err)
		d.Attempts, d.Due = n+1, at
		same(t, "what is repeated", got, d)
		reload(t, s, d)
	}
	attempts, err := s.Deliveries.Attempts(t.Context(), d.ID)
	must(t, err)
	same(t, "the attempts", attempts, []webhook.Attempt{attempt(1), attempt(2), attempt(3)})

	// One that is on its way is sent again, whatever becomes of it.
	claimed := claim(t, s, d, noon.Add(30*time.Hour))
	_, err = s.Deliveries.Repeat(t.Context(), d.ID, noon.Add(29*time.Hour))
	must(t, err)
	wantError(t, "the attempt before", s.Deliveries.Settle(t.Context(), claimed, attempt(4), webhook.Delivered, noon), webhook.ErrClaimLost)
	reload(t, s, other)
	_, err = s.Deliveries.Repeat(t.Context(), "msg-none", noon)
	wantError(t, "another id", err, webhook.ErrNotFound)
}

func testDeliveryForget(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	list := deliveries(t, s, ada.ID, 4)
	must(t, deliver(t, s, delivery(bob.ID, 5)))
	list = append(list, reload(t, s, delivery(bob.ID, 5)))
	for i, d := range list[1:] { // the first is pending, however old
		at := noon.Add(time.Duration(i+1) * time.Hour)
		must(t, s.Deliveries.Settle(t.Context(), claim(t, s, d, noon.Add(time.Hour)), attempt(1), webhook.Delivered, at))
	}
	forget := func(before time.Time, limit, want int) {
		t.Helper()
		n, err := s.Deliveries.Forget(t.Context(), before, limit)
		must(t, err)
		if n != want {
			t.Errorf("%d were removed", n)
		}
	}
	forget(noon.Add(3*time.Hour), 0, 0)
	forget(noon.Add(3*time.Hour), 1, 1)
	forget(noon.Add(3*time.Hour), 10, 1)
	forget(noon.Add(3*time.Hour), 10, 0)
	for i, d := range list {
		_, err := s.Deliveries.ByID(t.Context(), d.ID)
		if gone := i == 1 || i == 2; gone != errors.Is(err, webhook.ErrNotFound) {
			t.Errorf("number %d: %v", i+1, err)
		}
	}
	forget(noon.Add(100*time.Hour), 10, 2)
	reload(t, s, list[0])
	attempts, err := s.Deliveries.Attempts(t.Context(), list[1].ID)
	must(t, err)
	same(t, "the attempts of a forgotten one", attempts, []webhook.Attempt(nil))
}

// testDeliveryRace lets many claim the same deliveries: each is claimed once.
func testDeliveryRace(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	list := deliveries(t, s, ada.ID, 20)
	var mu sync.Mutex
	claims := map[string]int{}
	errs := atOnce(8, func(i int) error {
		got, err := s.Deliveries.Claim(context.WithoutCancel(t.Context()), list, noon.Add(time.Duration(i+1)*time.Hour))
		mu.Lock()
		defer mu.Unlock()
		for _, d := range got {
			claims[d.ID]++
		}
		return err
	})
	must(t, errors.Join(errs...))
	for _, d := range list {
		if claims[d.ID] != 1 {
			t.Errorf("%s was claimed %d times", d.ID, claims[d.ID])
		}
	}
}

// testDeliveryCount counts deliveries that are not settled, up to a bound.
func testDeliveryCount(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	count := func(what string, now time.Time, most int, want webhook.Counts) {
		t.Helper()
		got, err := s.Deliveries.Count(t.Context(), now, most)
		must(t, err)
		same(t, what, got, want)
	}
	count("of nothing", noon, 10, webhook.Counts{})
	list := deliveries(t, s, a.ID, 3)
	count("before any is due", noon.Add(-time.Microsecond), 10, webhook.Counts{Pending: 3})
	count("when some are", noon.Add(time.Hour), 10, webhook.Counts{Pending: 3, OldestDue: noon})
	count("of up to two", noon.Add(time.Hour), 2, webhook.Counts{Pending: 2, OldestDue: noon})
	count("of less than none", noon, -1, webhook.Counts{OldestDue: noon})
	claimed, err := s.Deliveries.Claim(t.Context(), list[:1], noon.Add(2*time.Hour))
	must(t, err)
	count("of which one is claimed", noon.Add(time.Hour), 10, webhook.Counts{Pending: 3, OldestDue: list[1].Due})
	must(t, s.Deliveries.Settle(t.Context(), claimed[0], webhook.Attempt{Number: 1, At: noon, Status: 200}, webhook.Delivered, noon))
	count("of which one is settled", noon.Add(time.Hour), 10, webhook.Counts{Pending: 2, OldestDue: list[1].Due})
}
