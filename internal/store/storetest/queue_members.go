package storetest

import (
	"testing"
	"time"

	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/member"
)

// node returns the member that a test's process is: the newest incarnation of node 1.
func node(t *testing.T, s Stores) member.Member {
	t.Helper()
	list, err := s.Members.List(t.Context())
	must(t, err)
	if len(list) > 0 && list[0].ID == 1 {
		return list[0].Member
	}
	return restart(t, s)
}

// restart makes the next process of node 1 a member, in place of the last one.
func restart(t *testing.T, s Stores) member.Member {
	t.Helper()
	m, _, err := s.Members.Join(t.Context(), member.Node{ID: 1})
	must(t, err)
	return m
}

// heldBy lists the jobs of a state that belong to an incarnation.
func heldBy(t *testing.T, s Stores, incarnation int64, state job.State) (list []job.Due) {
	t.Helper()
	for after := (job.Due{}); ; {
		page, err := s.Queue.ListHeld(t.Context(), incarnation, state, after, 2)
		must(t, err)
		if len(page) == 0 {
			return list
		}
		list = append(list, page...)
		after = page[len(page)-1]
	}
}

// orphans lists the jobs that belong to dead members.
func orphans(t *testing.T, s Stores) (list []job.Due) {
	t.Helper()
	dead, err := s.Queue.DeadHolders(t.Context())
	must(t, err)
	for _, m := range dead {
		list = append(list, heldBy(t, s, m, job.Accepted)...)
		list = append(list, heldBy(t, s, m, job.Running)...)
	}
	return list
}

func testMembers(t *testing.T, s Stores) {
	ctx := t.Context()
	wantMembers := func(what string, want ...member.Info) {
		t.Helper()
		got, err := s.Members.List(ctx)
		must(t, err)
		for i := range got {
			got[i].Knows = 0 // as its engine has it: all here are of one program
		}
		same(t, what, got, want)
	}
	wantMembers("of nobody")
	b, last, err := s.Members.Join(ctx, member.Node{ID: 2, Version: "v1", Formats: 3, Address: "10.0.0.2:7000"})
	must(t, err)
	infoB := member.Info{Member: b, Seen: last, Version: "v1", Formats: 3, Address: "10.0.0.2:7000"}
	// That there is another member is a change that the first must see.
	a, last, err := s.Members.Join(ctx, member.Node{ID: 1})
	must(t, err)
	if a.ID != 1 || b.ID != 2 || a.Incarnation <= b.Incarnation || b.Incarnation <= 0 {
		t.Errorf("they are %v and %v", a, b)
	}
	wantMembers("two", member.Info{Member: a, Seen: last}, infoB)

	must(t, s.Members.Renew(ctx, b, last))
	wantError(t, "with a change that is none", s.Members.Renew(ctx, b, last+1), member.ErrBehind)
	seen, err := s.Members.LastChange(ctx)
	must(t, err)
	same(t, "the last change", seen, last)
	done, err := s.Members.Bury(ctx, infoB)
	must(t, err)
	same(t, "whether one that has renewed was buried", done, false)
	infoB.Counter, infoB.Seen = 1, last
	wantMembers("after a renewal", member.Info{Member: a, Seen: last}, infoB)

	// The next process of a node.
	later, last, err := s.Members.Join(ctx, member.Node{ID: 2})
	must(t, err)
	if later.Incarnation <= a.Incarnation {
		t.Errorf("it is %v", later)
	}
	wantError(t, "the one before", s.Members.Renew(ctx, b, last), member.ErrReplaced)
	must(t, s.Members.Leave(ctx, b))
	done, err = s.Members.Bury(ctx, infoB)
	must(t, err)
	same(t, "whether the one before was buried", done, false)
	must(t, s.Members.Renew(ctx, later, last))

	done, err = s.Members.Bury(ctx, member.Info{Member: later, Counter: 1})
	must(t, err)
	same(t, "whether one that stands still was buried", done, true)
	wantError(t, "one that was buried", s.Members.Renew(ctx, later, last), member.ErrBuried)
	must(t, s.Members.Leave(ctx, a))
	wantMembers("when all have gone")
	next, _, err := s.Members.Join(ctx, member.Node{ID: 1})
	must(t, err)
	if next.Incarnation <= later.Incarnation {
		t.Errorf("an incarnation was given again: %v", next)
	}
}

// RunPair runs what a store must do that two processes share. open returns two handles
// on one empty store, which live until the end of the test it is given. The clocks of
// the two are hours apart: none of them decides who holds a job.
func RunPair(t *testing.T, open func(t *testing.T) (a, b Stores)) {
	for name, test := range map[string]func(t *testing.T, a, b *process){
		"dead":           testDeadMember,
		"alive":          testLiveMember,
		"fenced":         testFencedMember,
		"restart":        testRestartedMember,
		"race":           testOrphanRace,
		"claims":         testClaimsOfTwo,
		"claims at once": testClaimsAtOnceOfTwo,
		"usage":          testUsageOfTwo,
		"cache":          testCacheOfTwo,
		"blobs":          testBlobDeletionOfTwo,
		"keys":           testKeyOfTwo,
		"turns":          testSessionTurnsOfTwo,
		"sessions owed":  testSessionsOwed,
		"buckets":        testBucketsOfTwo,
		"duties":         testDutyOfTwo,
		"allotments":     testAllotmentsOfTwo,
	} {
		for skew, by := range map[string]time.Duration{"behind": -time.Hour, "ahead": time.Hour} {
			t.Run(name+"/"+skew, func(t *testing.T) {
				first, second := open(t)
				test(t, startProcess(t, first, 1, 0), startProcess(t, second, 2, by))
			})
		}
	}
}

// process is one of two that share a store.
type process struct {
	Stores
	t       *testing.T
	session *member.Session
	skew    time.Duration // of its wall clock
	boot    time.Duration // its other clock
}

const pairLease = 3 * time.Second

func startProcess(t *testing.T, s Stores, id int64, skew time.Duration) *process {
	t.Helper()
	p := &process{Stores: s, t: t, skew: skew, boot: time.Duration(id) * 1000 * time.Hour}
	var err error
	p.session, err = member.Join(t.Context(), member.Options{Store: s.Members, Node: member.Node{ID: id}, Lease: pairLease, Boot: func() time.Duration { return p.boot }})
	must(t, err)
	return p
}

func (p *process) member() member.Member { return p.session.Member() }

func (p *process) now() time.Time { return noon.Add(p.skew) }

// tick lets a part of the lease pass, renews, and buries who is dead. It returns how
// many that were.
func (p *process) tick() int {
	p.t.Helper()
	p.boot += pairLease / 5
	must(p.t, p.session.Renew(p.t.Context()))
	others, _, err := p.session.Others(p.t.Context())
	must(p.t, err)
	n, err := p.session.BuryDead(p.t.Context(), others)
	must(p.t, err)
	return n
}

// buryOther has a process find out that the other is dead.
func (p *process) buryOther() {
	p.t.Helper()
	for range 20 {
		if p.tick() > 0 {
			return
		}
	}
	p.t.Fatal("a member that renews no more was not buried")
}

// submit stores jobs of each kind that a process holds: accepted ones, and one that
// runs. It returns that one's lease, and how many they are.
func (p *process) submit(n int) (running job.Lease, held int) {
	p.t.Helper()
	a := create(p.t, p.Accounts, person(numbered("user", n)))
	for i := range 4 {
		task := task(a.ID, 10*n+i)
		task.Created = p.now()
		if i == 3 {
			task.State = job.Running
		}
		l, _, err := p.Queue.Accept(p.t.Context(), task, p.member(), p.now())
		must(p.t, err)
		running = l
	}
	return running, 4
}

// wantNothing checks that a process finds nothing to claim.
func (p *process) wantNothing(what string) {
	p.t.Helper()
	for _, s := range []job.State{job.Accepted, job.Running, job.Waiting, job.Paused} {
		list, err := p.Queue.ListDue(p.t.Context(), job.DueQuery{State: s, Now: p.now().AddDate(1, 0, 0), Limit: 10})
		must(p.t, err)
		same(p.t, what+": "+string(s)+" jobs that are due", len(list), 0)
	}
	same(p.t, what+": jobs of dead members", len(orphans(p.t, p.Stores)), 0)
}

// runAll claims jobs, and finishes them.
func (p *process) runAll(list []job.Due) {
	p.t.Helper()
	for _, d := range list {
		l, err := p.Queue.ClaimListed(p.t.Context(), p.member(), d, p.now())
		must(p.t, err)
		stored := load(p.t, p.Stores, l.Seq)
		same(p.t, "the lease", stored.Lease, l)
		e := end(&job.Task{Summary: stored.Summary}, job.Complete)
		must(p.t, p.Queue.Finish(p.t.Context(), l, e))
	}
}

// testDeadMember: what a dead member had in its hands, or in its queue, is not stranded.
func testDeadMember(t *testing.T, a, b *process) {
	running, held := a.submit(1)
	must(t, a.Queue.AppendJournal(t.Context(), running, job.JournalEntry{Step: 1, Entries: []byte("journal")}))
	b.wantNothing("while it lives")
	b.buryOther()
	list := orphans(t, b.Stores)
	same(t, "how many jobs are left by it", len(list), held)
	must(t, b.Queue.RecordCrashes(t.Context(), b.now().Add(-2*time.Hour-time.Second)))
	h, err := b.Queue.Head(t.Context(), running.ID)
	must(t, err)
	if h.Crashes == 0 {
		t.Error("its end was not counted")
	}
	must(t, b.Queue.RecordCrashes(t.Context(), b.now()))
	if again, err := b.Queue.Head(t.Context(), running.ID); err != nil || again.Crashes != h.Crashes {
		t.Errorf("its end was counted twice: %d after %d, %v", again.Crashes, h.Crashes, err)
	}
	same(t, "the journal", load(t, b.Stores, running.Seq).Journal, [][]byte{[]byte("journal")})
	b.runAll(list)
	b.wantNothing("when they were run")
}

// testLiveMember: nobody takes what a member has that renews, whatever the clocks say.
func testLiveMember(t *testing.T, a, b *process) {
	running, _ := a.submit(1)
	held := append(heldBy(t, b.Stores, a.member().Incarnation, job.Accepted), heldBy(t, b.Stores, a.member().Incarnation, job.Running)...)
	for range 30 {
		a.tick()
		if n := b.tick(); n > 0 {
			t.Fatal("a member was buried that renews")
		}
	}
	b.wantNothing("of one that lives")
	for _, d := range held {
		_, err := b.Queue.ClaimListed(t.Context(), b.member(), d, b.now())
		wantError(t, "a claim of another's job", err, job.ErrLeaseLost)
	}
	must(t, b.Queue.RecordCrashes(t.Context(), b.now()))
	h, err := a.Queue.Head(t.Context(), running.ID)
	must(t, err)
	same(t, "the crashes of one that runs", h.Crashes, 0)
	must(t, a.Queue.Finish(t.Context(), running, end(&job.Task{Summary: h.Summary}, job.Complete)))
	a.runAll(heldBy(t, a.Stores, a.member().Incarnation, job.Accepted))
}

// testFencedMember: a process that was stopped for long, and taken for dead, changes
// nothing of what others have taken over when it comes back.
func testFencedMember(t *testing.T, a, b *process) {
	ctx := t.Context()
	lost, _ := a.submit(1)
	b.buryOther()
	list := orphans(t, b.Stores)
	taken := map[job.ID]job.Lease{}
	for _, d := range list {
		l, err := b.Queue.ClaimListed(ctx, b.member(), d, b.now())
		must(t, err)
		taken[l.ID] = l
	}
	before := load(t, b.Stores, lost.Seq)

	wantError(t, "its renewal", a.session.Renew(ctx), member.ErrBuried)
	old := held{task: &job.Task{Summary: before.Summary}, lease: lost}
	for _, name := range leaseOperations {
		wantError(t, name+" by a member that was buried", operations(t, a.Stores, 1)[name](old), job.ErrLeaseLost)
	}
	same(t, "the job", load(t, b.Stores, lost.Seq), before)
	for _, d := range list {
		_, err := a.Queue.ClaimListed(ctx, a.member(), d, a.now())
		wantError(t, "its claim", err, member.ErrBuried)
	}
	must(t, b.Queue.Suspend(ctx, taken[lost.ID], pausedAt(1)))
	_, err := a.Queue.Answer(ctx, lost.ID, answer(1), a.member(), a.now())
	wantError(t, "its answer", err, member.ErrBuried)
	if code := fault.Of(err).Code; code != fault.StorageUnavailable { // who answered is to do it again
		t.Errorf("its answer is refused with %q", code)
	}

	// What it accepts before it knows is there for others.
	late, held := a.submit(2)
	same(t, "what it accepted", len(orphans(t, b.Stores)), held)
	must(t, a.session.Rejoin(ctx))
	same(t, "what it accepted, when it is a member again", len(orphans(t, b.Stores)), held)
	a.runAll(orphans(t, a.Stores))
	wantError(t, "the attempt of before", a.Queue.AppendJournal(ctx, late, job.JournalEntry{Step: 1, Entries: []byte("x")}), job.ErrLeaseLost)
}

// testRestartedMember: what a process held ends with the next one of its node, and
// what others hold does not.
func testRestartedMember(t *testing.T, a, b *process) {
	mine, held := a.submit(1)
	others, _ := b.submit(2)
	next := startProcess(t, a.Stores, 1, a.skew)
	same(t, "what is left by the process before", len(orphans(t, next.Stores)), held)
	wantError(t, "its renewal", a.session.Renew(t.Context()), member.ErrReplaced)
	next.runAll(orphans(t, next.Stores))
	wantError(t, "a change by it", a.Queue.AppendJournal(t.Context(), mine, job.JournalEntry{Step: 1, Entries: []byte("x")}), job.ErrLeaseLost)
	must(t, b.Queue.AppendJournal(t.Context(), others, job.JournalEntry{Step: 1, Entries: []byte("x")}))
	must(t, b.session.Renew(t.Context()))
}

// testOrphanRace: of several who claim a dead member's job one gets it.
func testOrphanRace(t *testing.T, a, b *process) {
	a.submit(1)
	b.buryOther()
	c := startProcess(t, a.Stores, 3, -b.skew)
	for _, d := range orphans(t, b.Stores) {
		errs := atOnce(8, func(i int) error {
			p := []*process{b, c}[i%2]
			_, err := p.Queue.ClaimListed(t.Context(), p.member(), d, p.now())
			return err
		})
		if won := winners(t, errs, isLost); len(won) != 1 {
			t.Errorf("%d got it", len(won))
		}
	}
	if list := orphans(t, b.Stores); len(list) > 0 {
		t.Errorf("%d jobs are left", len(list))
	}
}
