package storetest

import (
	"slices"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
)

// anyFormat is newer than all snapshots of these tests.
const anyFormat = 100

// claims asks for jobs of accounts, so many of each, that are theirs by whatever way.
func claims(m member.Member, now time.Time, n int, accounts ...account.ID) *job.ClaimQuery {
	c := &job.ClaimQuery{Member: m, Formats: anyFormat, Limit: 1000, Now: now}
	for _, a := range accounts {
		c.Free = append(c.Free, job.Places{Account: a, N: n, Due: true})
	}
	return c
}

// wantClaimed claims jobs, and checks which they are, and that each is as it is stored then.
func wantClaimed(t *testing.T, s Stores, what string, c *job.ClaimQuery, want ...job.Due) []job.Claimed {
	t.Helper()
	claimed, err := s.Queue.Claim(t.Context(), c)
	must(t, err)
	var got []job.ID
	for _, one := range claimed {
		got = append(got, one.ID)
	}
	var ids []job.ID
	for _, d := range want {
		ids = append(ids, d.ID)
	}
	if !slices.Equal(got, ids) {
		t.Fatalf("%s: %v were claimed, want %v", what, got, ids)
	}
	for i, one := range claimed {
		h, err := s.Queue.Head(t.Context(), one.ID)
		must(t, err)
		same(t, what+": what is known", &one.Head, h)
		same(t, what+": the state before", one.From, want[i].State)
		want[i].Attempt++
		same(t, what+": the lease", one.Lease, want[i].Lease)
		same(t, what+": when it was claimed", load(t, s, one.Lease.Seq).Until, c.Now)
		must(t, s.Queue.AppendJournal(t.Context(), one.Lease, job.JournalEntry{Step: 40, Entries: []byte("x")}))
	}
	return claimed
}

// testQueueClaim claims jobs that are the member's, or nobody's and due, within the places
// of their accounts.
func testQueueClaim(t *testing.T, s Stores) {
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	m := node(t, s)
	wait := func(a account.ID, n, until int) job.Due {
		l := running(t, s, a, n)
		must(t, s.Queue.Suspend(t.Context(), l, waitingUntil(seconds(until))))
		return due(t, s, l.Seq)
	}
	accepted := func(a account.ID, n, created int) job.Due {
		task := task(a, n)
		task.Created = seconds(created)
		return due(t, s, accept(t, s, task).Seq)
	}
	wantClaimed(t, s, "of nothing", claims(m, claimTime, 10, ada.ID, bob.ID))
	one, two, three := accepted(ada.ID, 1, 100), accepted(ada.ID, 2, 300), accepted(ada.ID, 3, 500)
	early, late, future := wait(ada.ID, 4, 200), wait(ada.ID, 5, 400), wait(ada.ID, 6, 601)
	released := bring(t, s, ada.ID, 7, released).due // due at 60
	asked := bring(t, s, ada.ID, 8, job.Paused).due
	others := []job.Due{accepted(bob.ID, 9, 0), wait(bob.ID, 10, 1)}
	bring(t, s, ada.ID, 11, job.Running) // its own, and under way
	now := seconds(600)

	for what, c := range map[string]*job.ClaimQuery{
		"no account":         claims(m, now, 10),
		"no places":          claims(m, now, 0, ada.ID, bob.ID),
		"less than none":     claims(m, now, -1, ada.ID, bob.ID),
		"without a limit":    {Member: m, Formats: anyFormat, Now: now, Free: claims(m, now, 1, ada.ID).Free},
		"an unknown account": claims(m, now, 10, 12345),
	} {
		wantClaimed(t, s, what, c)
	}
	wantClaimed(t, s, "the longest due", claims(m, now, 1, ada.ID), released)
	wantClaimed(t, s, "one of each account", claims(m, now, 1, bob.ID, ada.ID), others[0], one)
	limited := claims(m, now, 5, ada.ID, bob.ID)
	limited.Limit = 2
	wantClaimed(t, s, "within the limit", limited, early, two)
	known := claims(m, now, 1, ada.ID, bob.ID)
	known.Free[0].Due, known.Free[1].Due = false, false
	wantClaimed(t, s, "without those that are due", known, three)
	four := accepted(ada.ID, 12, 0)
	known = claims(m, now, 1, ada.ID)
	known.Free[0].NoneAccepted = true
	wantClaimed(t, s, "without those that are accepted", known, late)
	wantClaimed(t, s, "the rest", claims(m, now, 10, bob.ID, ada.ID), others[1], four)
	wantClaimed(t, s, "when all were claimed", claims(m, now, 10, bob.ID, ada.ID))
	wantClaimed(t, s, "later", claims(m, seconds(601), 10, bob.ID, ada.ID), future)

	// A question whose time is over is gone.
	wantClaimed(t, s, "an expired question", claims(m, asked.At, 10, ada.ID), asked)
	_, err := openedBy(t, s, prompt(8).Token)
	wantError(t, "its token", err, job.ErrNotFound)

	// Who is no member claims nothing.
	last := accepted(ada.ID, 20, 0)
	next := restart(t, s)
	_, err = s.Queue.Claim(t.Context(), claims(m, now, 10, ada.ID))
	wantError(t, "by the process before", err, member.ErrReplaced)
	must(t, s.Members.Leave(t.Context(), next))
	_, err = s.Queue.Claim(t.Context(), claims(next, now, 10, ada.ID))
	wantError(t, "by one that has left", err, member.ErrBuried)
	same(t, "what nobody claimed", due(t, s, last.Seq), last)
}

// testQueueClaimKinds claims what only some may claim: jobs of the dead, of newer formats,
// suspects, and those that are to stop.
func testQueueClaimKinds(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	ctx, former := t.Context(), node(t, s)
	accepted, begun := bring(t, s, a.ID, 1, job.Accepted).due, bring(t, s, a.ID, 2, job.Running).due
	other, _, err := s.Members.Join(ctx, member.Node{ID: 2})
	must(t, err)
	theirs := task(a.ID, 3)
	l, _, err := s.Queue.Accept(ctx, theirs, other, claimTime)
	must(t, err)
	alive := due(t, s, l.Seq)

	m := restart(t, s)
	now := claimTime.Add(time.Minute)
	wantClaimed(t, s, "of the dead, not named", claims(m, now, 10, a.ID))
	c := claims(m, now, 10, a.ID)
	c.Dead = []int64{former.Incarnation, other.Incarnation, 12345}
	wantClaimed(t, s, "of the dead", c, accepted, begun)
	must(t, s.Members.Leave(ctx, other))
	wantClaimed(t, s, "of one that has left", c, alive)

	// A snapshot of a newer format.
	l = running(t, s, a.ID, 4)
	standing := waitingUntil(seconds(70))
	standing.Format = 4
	must(t, s.Queue.Suspend(ctx, l, standing))
	newer := due(t, s, l.Seq)
	c = claims(m, now, 10, a.ID)
	c.Formats = 3
	wantClaimed(t, s, "by one that cannot read it", c)
	c.Formats = 4
	l = wantClaimed(t, s, "by one that can", c, newer)[0].Lease
	must(t, s.Queue.SaveSnapshot(ctx, l, []byte("snapshot"), job.Progress{Format: 3}))
	must(t, s.Queue.Release(ctx, l, now, 0, 0))
	c.Formats = 3
	l = wantClaimed(t, s, "when it was saved in an older one", c, due(t, s, l.Seq))[0].Lease
	must(t, s.Queue.Finish(ctx, l, end(task(a.ID, 4), job.Complete)))

	// Suspects.
	suspect := running(t, s, a.ID, 5)
	for range 2 {
		m = restart(t, s)
		must(t, s.Queue.RecordCrashes(ctx, now))
		suspect = claimJob(t, s, due(t, s, suspect.Seq))
		must(t, s.Queue.MarkStarted(ctx, suspect))
	}
	dead := m
	m = restart(t, s)
	must(t, s.Queue.RecordCrashes(ctx, now))
	d := due(t, s, suspect.Seq)
	c = claims(m, now, 10, a.ID)
	c.Dead = []int64{dead.Incarnation}
	harmless := bring(t, s, a.ID, 6, job.Accepted).due
	wantClaimed(t, s, "no suspects", c, harmless)
	c.Suspects = true
	l = wantClaimed(t, s, "suspects", c, d)[0].Lease
	must(t, s.Queue.Finish(ctx, l, end(task(a.ID, 5), job.Complete)))

	// Those that somebody asked to stop.
	stopped := bring(t, s, a.ID, 7, stopping)
	must(t, s.Queue.Release(ctx, stopped.lease, seconds(70), 0, 0))
	bring(t, s, a.ID, 8, job.Accepted)
	bring(t, s, a.ID, 9, job.Waiting)
	c = claims(m, now, 10, a.ID)
	c.Free[0].Stopping = true
	wantClaimed(t, s, "those that are to stop", c, due(t, s, stopped.lease.Seq))
}

// testQueueClaimRace has many claim at once: each job is claimed once, and all are.
func testQueueClaimRace(t *testing.T, s Stores) {
	var accounts []account.ID
	want := map[job.ID]bool{}
	for i := range 3 {
		a := create(t, s.Accounts, person(numbered("user", i)))
		accounts = append(accounts, a.ID)
		for n := range 20 {
			state := []job.State{job.Accepted, job.Waiting, released, job.Paused}[n%4]
			want[bring(t, s, a.ID, 100*i+n, state).task.ID] = true
		}
	}
	m, now := node(t, s), claimTime.Add(time.Hour)
	var mu sync.Mutex
	got := map[job.ID]int{}
	for _, err := range atOnce(16, func(i int) error {
		turns := slices.Concat(accounts[i%3:], accounts[:i%3])
		for {
			claimed, err := s.Queue.Claim(t.Context(), claims(m, now, 1+i%3, turns...))
			if err != nil || len(claimed) == 0 {
				return err
			}
			by := map[account.ID]int{}
			mu.Lock()
			for _, one := range claimed {
				got[one.ID]++
				if by[one.Account]++; by[one.Account] > 1+i%3 {
					t.Errorf("%d jobs were claimed for %d places", by[one.Account], 1+i%3)
				}
			}
			mu.Unlock()
		}
	}) {
		must(t, err)
	}
	for id := range want {
		if got[id] != 1 {
			t.Errorf("a job was claimed %d times", got[id])
		}
	}
	same(t, "how many were claimed", len(got), len(want))
}

// testClaimsAtOnceOfTwo: two processes claim what is due at the same time, while more becomes due; each job is claimed once.
func testClaimsAtOnceOfTwo(t *testing.T, a, b *process) {
	ada := create(t, a.Accounts, person("ada"))
	const jobs = 60
	now := claimTime.Add(time.Hour)
	var mu sync.Mutex
	got := map[job.ID]int{}
	claim := func(p *process) error {
		claimed, err := p.Queue.Claim(t.Context(), claims(p.member(), now, 5, ada.ID))
		mu.Lock()
		defer mu.Unlock()
		for _, one := range claimed {
			got[one.ID]++
		}
		return err
	}
	for _, err := range atOnce(6, func(i int) error {
		for n := range jobs / 2 {
			if i < 2 {
				task := task(ada.ID, i*jobs+n)
				task.Created, task.Elsewhere = claimTime.Add(time.Duration(n)*time.Second), true
				if _, _, err := a.Queue.Accept(t.Context(), task, a.member(), task.Created); err != nil {
					return err
				}
				continue
			}
			if err := claim([]*process{a, b}[i%2]); err != nil {
				return err
			}
		}
		return nil
	}) {
		must(t, err)
	}
	for range jobs { // what they left to each other
		must(t, claim(a))
	}
	same(t, "how many were claimed", len(got), jobs)
	for _, n := range got {
		same(t, "how often one was claimed", n, 1)
	}
}

// testClaimsOfTwo: two processes claim what a third has left, and what is due, by clocks
// that are hours apart; nothing that one of them has.
func testClaimsOfTwo(t *testing.T, a, b *process) {
	ctx := t.Context()
	mine, held := a.submit(1)
	c := startProcess(t, a.Stores, 3, 0)
	_, left := c.submit(2)
	users, err := a.Accounts.List(ctx, "", 10)
	must(t, err)
	claim := func(p *process, dead ...int64) []job.Claimed {
		t.Helper()
		q := claims(p.member(), p.now(), 2, users[0].ID, users[1].ID)
		q.Dead = dead
		claimed, err := p.Queue.Claim(ctx, q)
		must(t, err)
		return claimed
	}
	same(t, "what is claimed of those that live", len(claim(b, a.member().Incarnation, c.member().Incarnation)), 0)
	own := claim(a)
	same(t, "what is claimed of its own", len(own), 2)

	// The third dies, and the two take turns.
	for range 20 {
		a.tick()
		b.tick()
	}
	total := 0
	for _, p := range []*process{b, a, b, a} {
		for _, one := range claim(p, c.member().Incarnation) {
			total++
			must(t, p.Queue.Finish(ctx, one.Lease, end(&job.Task{Summary: one.Summary}, job.Complete)))
		}
	}
	same(t, "how many were claimed", total, left+held-1-len(own))
	for _, one := range append(own, job.Claimed{Head: job.Head{Lease: mine, Summary: load(t, a.Stores, mine.Seq).Summary}}) {
		must(t, a.Queue.Finish(ctx, one.Lease, end(&job.Task{Summary: one.Summary}, job.Complete)))
	}
	b.wantNothing("in the end")
	_, err = c.Queue.Claim(ctx, claims(c.member(), c.now(), 1, users[0].ID))
	wantError(t, "a claim by the dead", err, member.ErrBuried)
}
