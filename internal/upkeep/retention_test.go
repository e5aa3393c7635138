package upkeep

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/config"
	"ql/internal/job"
)

// recordsOf sets how many bytes the records of plans may take.
func recordsOf(free, standard int64) func(*config.Settings) {
	return func(s *config.Settings) {
		for plan, bytes := range map[account.Plan]int64{account.Free: free, account.Standard: standard} {
			l := s.Plans[plan]
			l.RecordsBytes = bytes
			s.Plans[plan] = l
		}
		s.Dev = false
	}
}

func signUp(t *testing.T, a *node, name string, plan account.Plan) account.Account {
	t.Helper()
	made, _, err := a.accounts.Create(t.Context(), account.New{Username: name, Password: "a rather long sentence", Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// keepJobs stores finished jobs with so many bytes each, and returns their ids.
func keepJobs(t *testing.T, a *node, who account.ID, n, size int) (ids []job.ID) {
	t.Helper()
	for range n {
		now := time.Now()
		r := job.Record{Summary: job.Summary{ID: job.NewID(), Account: who, State: job.Complete, Mode: job.Sync, Convention: job.JSON,
			Created: now, Finished: now}, Result: make([]byte, size-job.RowBytes)}
		if err := a.store.Jobs().Record(t.Context(), []job.Record{r}); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

func (n *node) keeps(t *testing.T, who account.ID) int64 {
	t.Helper()
	bytes, err := n.store.Jobs().RecordBytes(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// TestRecordsKeepWithinThePlan: an account that writes much keeps what finished
// last, without any upkeep, and nobody else loses anything.
func TestRecordsKeepWithinThePlan(t *testing.T) {
	const size, bound = 100_000, 20 * 100_000
	a := start(t, recordsOf(bound, 10*bound))
	ada, bob, eve := signUp(t, a, "ada", account.Free), signUp(t, a, "bob", account.Standard), signUp(t, a, "eve", account.Unlimited)
	for _, who := range []account.ID{bob.ID, eve.ID} {
		keepJobs(t, a, who, 30, size)
	}
	var ids []job.ID
	for range 30 {
		ids = append(ids, keepJobs(t, a, ada.ID, 5, size)...)
		a.upkeep.trimDue(t.Context()) // or the one who waits for it is at it
		if kept := a.keeps(t, ada.ID); kept > bound+slack(bound)+5*size {
			t.Fatalf("%d bytes are kept of %d", kept, bound)
		}
	}
	a.growth.request(ada.ID)
	a.upkeep.trimDue(t.Context())
	if kept := a.keeps(t, ada.ID); kept != bound {
		t.Errorf("%d bytes are kept of %d", kept, bound)
	}
	list, err := a.store.Jobs().List(t.Context(), ada.ID, job.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var left []job.ID
	for _, one := range slices.Backward(list) {
		left = append(left, one.ID)
	}
	if !slices.Equal(left, ids[len(ids)-20:]) {
		t.Errorf("%d are left, not those that finished last", len(left))
	}
	for _, who := range []account.ID{bob.ID, eve.ID} {
		if kept := a.keeps(t, who); kept != 30*size {
			t.Errorf("of another %d bytes are kept", kept)
		}
	}
}

// TestUpkeepTrims: an account whose plan has less than it keeps is found by the
// upkeep.
func TestUpkeepTrims(t *testing.T) {
	const size, bound = 10_000, 5 * 10_000
	a := start(t, recordsOf(bound, 1<<30))
	ada := signUp(t, a, "ada", account.Standard)
	keepJobs(t, a, ada.ID, 20, size)
	upkeep := func(want int64) {
		t.Helper()
		if err := a.upkeep.Run(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		a.upkeep.trimDue(t.Context())
		if kept := a.keeps(t, ada.ID); kept != want {
			t.Errorf("%d bytes are kept, want %d", kept, want)
		}
	}
	upkeep(20 * size)
	if err := a.accounts.SetPlan(t.Context(), "ada", string(account.Free)); err != nil {
		t.Fatal(err)
	}
	upkeep(5 * size)
	upkeep(5 * size)
}

// TestOneKeepsAllRecords: a developer's own service bounds none.
func TestOneKeepsAllRecords(t *testing.T) {
	a := start(t, func(s *config.Settings) { recordsOf(1, 1)(s); s.Dev = true })
	dev, err := a.accounts.EnsureDevelopment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	keepJobs(t, a, dev.ID, 3, 10_000)
	if err := a.upkeep.Run(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	a.upkeep.trimDue(t.Context())
	if kept := a.keeps(t, dev.ID); kept != 30_000 {
		t.Errorf("%d bytes are kept", kept)
	}
}

// TestGrowth: an account is due when it could be over its bound by a share, and
// once until it was looked at.
func TestGrowth(t *testing.T) {
	const ada, bob = account.ID(1), account.ID(2)
	g := NewGrowth([]int64{0, 32_000, 3_200})
	want := func(what string, ids ...account.ID) {
		t.Helper()
		if got := g.takeDue(); !slices.Equal(got, ids) {
			t.Errorf("%s: due are %v, want %v", what, got, ids)
		}
	}
	g.Add(ada, 199)
	g.Add(bob, 1)
	want("less than the least share")
	g.Add(ada, 1)
	g.Add(ada, 1000)
	want("the least share", ada)
	if came := g.reset(ada); came != 1200 {
		t.Errorf("%d came", came)
	}
	g.schedule(ada, 1200, 32_000)
	g.Add(ada, 32_799)
	want("while it has room")
	g.Add(ada, 1)
	want("over its bound by a share", ada)
	g.reset(ada)
	g.schedule(ada, 40_000, 32_000)
	g.Add(ada, 1_999)
	want("right after")
	g.Add(ada, 1)
	want("a share more", ada)
	g.clear()
	g.Add(ada, 200)
	want("when it was forgotten", ada)
	if g = NewGrowth([]int64{0, 0}); g.least != 0 {
		t.Errorf("the least share is %d", g.least)
	}
	g.Add(ada, math.MaxInt64)
	want("where nobody is bound")
}

// TestJobsAreForgotten: finished jobs are kept as long as their account's plan
// says.
func TestJobsAreForgotten(t *testing.T) {
	a := start(t, nil)
	ctx := t.Context()
	dev, err := a.accounts.EnsureDevelopment(ctx)
	if err != nil {
		t.Fatal(err)
	}
	now, kept := time.Now(), dev.Limits(a.settings.Limits).JobRetention
	old := job.Record{Summary: job.Summary{ID: job.NewID(), Account: dev.ID, State: job.Complete, Mode: job.Sync, Convention: job.JSON,
		Created: now.Add(-kept - 24*time.Hour), Finished: now.Add(-kept - 24*time.Hour)}}
	young := old
	young.ID, young.Finished = job.NewID(), now.Add(-kept+24*time.Hour)
	for _, r := range []job.Record{old, young} {
		if err := a.recorder.Record(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.recorder.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := a.upkeep.Run(ctx, now); err != nil {
		t.Fatal(err)
	}
	if _, err := a.store.Jobs().ByID(ctx, old.ID); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("the old job: %v", err)
	}
	if _, err := a.store.Jobs().ByID(ctx, young.ID); err != nil {
		t.Errorf("the young job: %v", err)
	}
}
