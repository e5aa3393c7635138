package storetest

import (
	"crypto/sha256"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

// told leaves a signal for a job, and returns whether it was new.
func told(t *testing.T, s Stores, a account.ID, id job.ID, name, data, repeat string) bool {
	t.Helper()
	g := job.Signal{Name: name, Data: []byte(data), At: seconds(80)}
	if repeat != "" {
		sum := sha256.Sum256([]byte(repeat))
		g.Key = &sum
	}
	left, err := s.Queue.Signal(t.Context(), a, id, &g)
	must(t, err)
	return left
}

// nextSignal returns the data of the oldest signal of a name, and consumes it where asked to; "" for none.
func nextSignal(t *testing.T, s Stores, a account.ID, id job.ID, name string, consume bool) string {
	t.Helper()
	g, err := s.Queue.NextSignal(t.Context(), a, id, name)
	must(t, err)
	if g == nil {
		return ""
	}
	if consume {
		must(t, s.Queue.ConsumeSignal(t.Context(), a, id, g.Number))
	}
	return string(g.Data)
}

// testSignals: signals are buffered by job and name, and come in their order.
func testSignals(t *testing.T, s Stores) {
	ada, bob := create(t, s.Accounts, person("ada")).ID, create(t, s.Accounts, person("bob")).ID
	l, other := running(t, s, ada, 1), running(t, s, ada, 2)
	for i, one := range []string{"paid", "sent", "paid"} {
		same(t, "new", told(t, s, ada, l.ID, one, numbered(one, i), ""), true)
	}
	next := func(what string, id job.ID, name string, consume bool, want string) {
		t.Helper()
		same(t, what, nextSignal(t, s, ada, id, name, consume), want)
	}
	next("of another name", l.ID, "lost", false, "")
	next("of another job", other.ID, "paid", false, "")
	next("the first", l.ID, "paid", false, "paid-000")
	same(t, "of another account", nextSignal(t, s, bob, l.ID, "paid", false), "")
	must(t, s.Queue.ConsumeSignal(t.Context(), bob, l.ID, 1))
	next("the first again", l.ID, "paid", true, "paid-000")
	next("the next", l.ID, "paid", true, "paid-002")
	next("no more", l.ID, "paid", true, "")
	next("of the other name", l.ID, "sent", true, "sent-001")

	_, err := s.Queue.Signal(t.Context(), bob, l.ID, &job.Signal{Name: "paid", Data: []byte("x")})
	wantError(t, "to a job of another account", err, job.ErrNotFound)
	_, err = s.Queue.Signal(t.Context(), ada, record(ada, 50).ID, &job.Signal{Name: "paid", Data: []byte("x")})
	wantError(t, "to no job", err, job.ErrNotFound)
}

// testAwaitedSignals has a job wait for a signal that comes before that or after.
func testAwaitedSignals(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada")).ID
	for n, until := range []time.Time{{}, seconds(9000)} {
		l := running(t, s, a, n+1)
		awaits(t, s, l, until, job.ID{}, "paid")
		told(t, s, a, l.ID, "sent", "x", "")
		dueAt(t, s, "with a signal of another name", l.Seq, until)
		told(t, s, a, l.ID, "paid", "x", "")
		dueAt(t, s, "with the signal", l.Seq, seconds(80))
		l = claimJob(t, s, due(t, s, l.Seq))
		awaits(t, s, l, until, job.ID{}, "paid")
		dueAt(t, s, "with one that came before", l.Seq, seconds(60))
		l = claimJob(t, s, due(t, s, l.Seq))
		nextSignal(t, s, a, l.ID, "paid", true)
		awaits(t, s, l, until, job.ID{}, "paid")
		dueAt(t, s, "when that was consumed", l.Seq, until)
		told(t, s, a, l.ID, "paid", "x", "")
		l = claimJob(t, s, due(t, s, l.Seq))
		nextSignal(t, s, a, l.ID, "paid", true)
		must(t, s.Queue.Suspend(t.Context(), l, waitingUntil(seconds(9999))))
		told(t, s, a, l.ID, "paid", "x", "")
		dueAt(t, s, "who waits for a moment", l.Seq, seconds(9999))
	}
}

// testSignalBounds: so many signals wait for a job, and so many bytes for an account.
func testSignalBounds(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada")).ID
	one, two := running(t, s, a, 1), running(t, s, a, 2)
	leave := func(id job.ID, most int, bytes int64, data string) error {
		_, err := s.Queue.Signal(t.Context(), a, id, &job.Signal{Name: "n", Data: []byte(data), At: noon, Most: most, MostBytes: bytes})
		return err
	}
	const row = job.SignalRow
	must(t, leave(one.ID, 2, 0, "12345"))
	must(t, leave(one.ID, 2, 0, "12345"))
	wantError(t, "one more", leave(one.ID, 2, 0, ""), job.ErrSignalLimit)
	wantError(t, "a byte more of the account", leave(two.ID, 2, 3*row+14, "12345"), job.ErrSignalLimit)
	must(t, leave(two.ID, 2, 3*row+15, "12345"))
	nextSignal(t, s, a, one.ID, "n", true)
	must(t, leave(one.ID, 2, 3*row+15, "12345"))
	must(t, s.Queue.Finish(t.Context(), one, end(task(a, 1), job.Complete)))
	must(t, leave(two.ID, 2, 2*row+10, "12345"))
}

// testSignalRepeats: a signal that is told twice is there once, also when it was consumed, and when the job
// has ended.
func testSignalRepeats(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada")).ID
	l, other := running(t, s, a, 1), running(t, s, a, 2)
	repeat := func(what string, id job.ID, key string, want bool) {
		t.Helper()
		same(t, what, !told(t, s, a, id, "paid", "x", key), want)
	}
	repeat("the first", l.ID, "k", false)
	repeat("the same", l.ID, "k", true)
	repeat("another", l.ID, "k2", false)
	repeat("to another job", other.ID, "k", false)
	nextSignal(t, s, a, l.ID, "paid", true)
	repeat("one that was consumed", l.ID, "k", true)
	same(t, "the next", nextSignal(t, s, a, l.ID, "paid", true), "x")
	same(t, "no more", nextSignal(t, s, a, l.ID, "paid", true), "")
	repeat("one that nothing tells", l.ID, "", false)

	must(t, s.Queue.Finish(t.Context(), l, end(task(a, 1), job.Complete)))
	repeat("when it has ended", l.ID, "k2", true)
	_, err := s.Queue.Signal(t.Context(), a, l.ID, &job.Signal{Name: "paid", Data: []byte("x")})
	wantError(t, "a new one then", err, job.ErrEnded)
	same(t, "nothing is left", nextSignal(t, s, a, l.ID, "paid", false), "")

	// The last are remembered: fewer of a job that has ended.
	for i := range job.MaxSignalKeysEnded + 1 {
		repeat("one of many", other.ID, numbered("many", i), false)
		nextSignal(t, s, a, other.ID, "paid", true)
	}
	repeat("the first of many", other.ID, numbered("many", 0), true)
	_, _, err = s.Queue.Cancel(t.Context(), other.ID, seconds(300), nil, "")
	must(t, err)
	must(t, s.Queue.Finish(t.Context(), other, end(task(a, 2), job.Cancelled)))
	repeat("the second of many", other.ID, numbered("many", 1), true)
	_, err = s.Queue.Signal(t.Context(), a, other.ID, &job.Signal{Name: "paid", Data: []byte("x"), At: noon, Key: new(sha256.Sum256([]byte(numbered("many", 0))))})
	wantError(t, "the first of many then", err, job.ErrEnded)
}

// testSignalRace tells a job the same many times at once, while it begins to wait.
func testSignalRace(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada")).ID
	l := running(t, s, a, 1)
	key := sha256.Sum256([]byte("k"))
	const n = 8
	left := make([]bool, n)
	for i, err := range atOnce(n+1, func(i int) (err error) {
		if i == n {
			w := waitingUntil(time.Time{})
			w.At, w.AwaitsSignal = seconds(60), "paid"
			return s.Queue.Suspend(t.Context(), l, w)
		}
		left[i], err = s.Queue.Signal(t.Context(), a, l.ID, &job.Signal{Name: "paid", Data: []byte("x"), Key: &key, At: seconds(80)})
		return err
	}) {
		if err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	count := 0
	for _, one := range left {
		if one {
			count++
		}
	}
	same(t, "those that were new", count, 1)
	if load(t, s, l.Seq).Until.IsZero() {
		t.Error("the signal was missed")
	}
	same(t, "the signal", nextSignal(t, s, a, l.ID, "paid", true), "x")
	same(t, "no other", nextSignal(t, s, a, l.ID, "paid", true), "")
}
