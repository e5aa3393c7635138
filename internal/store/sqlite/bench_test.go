package sqlite

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/principal"
	"ql/internal/record"
	"ql/internal/store/relational"
)

func benchmarkAccount(b testing.TB, s *Store, name string) account.ID {
	b.Helper()
	id, err := s.Accounts().Create(b.Context(), account.Account{Username: name, Plan: account.Standard, PasswordHash: "hash", Created: time.Unix(1, 0)})
	if err != nil {
		b.Fatal(err)
	}
	return id
}

// BenchmarkGroupCommit has 64 goroutines make one durable change after the
// other.
func BenchmarkGroupCommit(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := openTest(b, Options{Own: true})
			id := benchmarkAccount(b, s, "ada")
			next := make(chan struct{}, b.N)
			for range b.N {
				next <- struct{}{}
			}
			close(next)
			b.ResetTimer()
			var group sync.WaitGroup
			for range writers {
				group.Go(func() {
					for range next {
						record := job.Record{Summary: job.Summary{ID: job.NewID(), Account: id, State: job.Accepted, Mode: job.Async, Convention: job.JSON, Created: time.Unix(1, 0)}}
						if err := s.Jobs().Record(b.Context(), []job.Record{record}); err != nil {
							b.Error(err)
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}

// BenchmarkAccountRead reads accounts by their primary key.
func BenchmarkAccountRead(b *testing.B) {
	s := openTest(b, Options{Own: true})
	var ids []account.ID
	for i := range 100 {
		ids = append(ids, benchmarkAccount(b, s, fmt.Sprintf("user-%d", i)))
	}
	b.Run("one", func(b *testing.B) {
		for i := range b.N {
			if _, err := s.Accounts().ByID(b.Context(), ids[i%len(ids)]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for i := 0; p.Next(); i++ {
				if _, err := s.Accounts().ByID(b.Context(), ids[i%len(ids)]); err != nil {
					b.Error(err)
				}
			}
		})
	})
}

// BenchmarkRecorder records synchronous runs as a server does.
func BenchmarkRecorder(b *testing.B) {
	s := openTest(b, Options{Own: true})
	id := benchmarkAccount(b, s, "ada")
	r := record.NewRecorder(s.Jobs(), record.Options{})
	b.ResetTimer()
	for range b.N {
		record := job.Record{Summary: job.Summary{ID: job.NewID(), Account: id, State: job.Complete, Mode: job.Sync, Convention: job.JSON, Created: time.Unix(1, 0), Finished: time.Unix(1, 0)}, Result: []byte("hello"), Trace: []byte("[]")}
		if err := r.Record(b.Context(), record); err != nil {
			b.Fatal(err)
		}
	}
	if err := r.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// fill stores records of finished jobs until there are n rows.
func fill(b *testing.B, s *Store, a account.ID, n int) {
	b.Helper()
	const batch = 1000
	for range n / batch {
		list := make([]job.Record, batch)
		for i := range list {
			list[i] = job.Record{
				Summary: job.Summary{ID: job.NewID(), Account: a, State: job.Complete, Mode: job.Async, Convention: job.JSON, Created: time.Unix(1, 0), Finished: time.Unix(2, 0)},
				Result:  []byte("hello"), Trace: []byte(`[{"step":"EMIT"}]`),
			}
		}
		if err := s.Jobs().Record(b.Context(), list); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDurableJob accepts and finishes jobs, as a worker does with those that
// have effects, beside finished ones: with QL_PROMISES=1 beside a million, too.
func BenchmarkDurableJob(b *testing.B) { benchmarkJobs(b, durableJob) }

// BenchmarkEndedJob accepts jobs with their ends.
func BenchmarkEndedJob(b *testing.B) { benchmarkJobs(b, endedJob) }

func benchmarkJobs(b *testing.B, one func(context.Context, *Store, account.ID) error) {
	sizes := []int{1_000}
	if os.Getenv("QL_PROMISES") != "" {
		sizes = append(sizes, 1_000_000)
	}
	for _, rows := range sizes {
		s := openTest(b, Options{Own: true})
		id := benchmarkAccount(b, s, "ada")
		fill(b, s, id, rows)
		for _, runs := range []int{1, 32, 256} {
			b.Run(fmt.Sprintf("rows=%d/runs=%d", rows, runs), func(b *testing.B) {
				var left atomic.Int64
				left.Store(int64(b.N))
				before := s.Stats()
				b.ResetTimer()
				var group sync.WaitGroup
				for range runs {
					group.Go(func() {
						for left.Add(-1) >= 0 {
							if err := one(b.Context(), s, id); err != nil {
								b.Error(err)
							}
						}
					})
				}
				group.Wait()
				after := s.Stats()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
				b.ReportMetric(float64(after.Writes-before.Writes)/float64(after.Commits-before.Commits), "writes/commit")
			})
		}
	}
}

func durableJob(ctx context.Context, s *Store, a account.ID) error {
	e := endOf(s, a)
	task := &job.Task{Summary: e.Summary, Spec: make([]byte, 300)}
	task.State = job.Running
	l, _, err := s.Queue().Accept(ctx, task, member.Member{}, e.Created)
	if err != nil {
		return err
	}
	return s.Queue().Finish(ctx, l, e)
}

func endedJob(ctx context.Context, s *Store, a account.ID) error {
	_, err := s.Queue().AcceptEnded(ctx, &job.Task{}, endOf(s, a))
	return err
}

func endOf(s *Store, a account.ID) *job.End {
	now := time.Now()
	return &job.End{Record: job.Record{
		Summary: job.Summary{
			ID: s.NewID(), Account: a, State: job.Complete, Mode: job.Async, Convention: job.JSON, Credential: principal.ByKey, Created: now, Finished: now,
		},
		Result: []byte("hello"), Trace: []byte(`[{"step":"EMIT"}]`),
	}}
}

// BenchmarkClaim accepts, claims and finishes jobs, as a worker does with those that come
// while all slots are taken: claimed one by one as they were listed, and by the store's
// choice.
func BenchmarkClaim(b *testing.B) {
	const jobs = 64
	for _, most := range []int{0, 1, 16} {
		b.Run(fmt.Sprintf("most=%d", most), func(b *testing.B) {
			s := openTest(b, Options{Own: true})
			a := benchmarkAccount(b, s, "ada")
			m, _, err := s.Members().Join(b.Context(), member.Node{ID: 1})
			if err != nil {
				b.Fatal(err)
			}
			var busy time.Duration
			b.ReportAllocs()
			for range b.N {
				// One transaction, as where many come together.
				err := s.write(b.Context(), func(t tx) error {
					began := time.Now()
					defer func() { busy += time.Since(began) }()
					return claimRound(t, s, m, a, jobs, most)
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(busy.Nanoseconds())/float64(b.N)/jobs, "ns/job")
		})
	}
}

// inTx runs all in a transaction that is under way.
type inTx struct{ t tx }

func (e inTx) Read(_ context.Context, f func(relational.Tx) error) error  { return f(e.t.relational()) }
func (e inTx) Write(_ context.Context, f func(relational.Tx) error) error { return f(e.t.relational()) }
func (e inTx) WriteLocking(_ context.Context, f func(relational.Tx) error) error {
	return f(e.t.relational())
}
func (e inTx) WriteFreeing(_ context.Context, f func(relational.Tx) error) error {
	return f(e.t.relational())
}
func (e inTx) Freed() {}

func claimRound(t tx, s *Store, m member.Member, a account.ID, jobs, most int) error {
	ctx, q := t.ctx, relational.New(inTx{t}, t.conn.session.IDs).Queue()
	var listed []job.Due
	for range jobs {
		e := endOf(s, a)
		task := &job.Task{Summary: e.Summary, Spec: make([]byte, 300)}
		task.State = job.Accepted
		l, _, err := q.Accept(ctx, task, m, e.Created)
		if err != nil {
			return err
		}
		listed = append(listed, job.Due{Lease: l, State: job.Accepted, At: e.Created})
	}
	var leases []job.Lease
	for len(leases) < jobs {
		if most == 0 {
			l, err := q.ClaimListed(ctx, m, listed[len(leases)], time.Now())
			if err != nil {
				return err
			}
			leases = append(leases, l)
			continue
		}
		claimed, err := q.Claim(ctx, &job.ClaimQuery{Member: m, Free: []job.Places{{Account: a, N: most}}, Limit: most, Now: time.Now()})
		if err != nil {
			return err
		}
		for _, one := range claimed {
			leases = append(leases, one.Lease)
		}
	}
	for _, l := range leases {
		e := endOf(s, a)
		if err := q.Finish(ctx, l, e); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkRecord stores synchronous runs of a short script, as many at once as a busy server does. What
// counts is the processor time.
func BenchmarkRecord(b *testing.B) {
	s := openTest(b, Options{Own: true})
	id := benchmarkAccount(b, s, "ada")
	source := &job.Source{Text: `EMIT "hello"`, Hash: [32]byte{1}}
	records := make([]job.Record, 512)
	began := processorTime(b)
	for b.Loop() {
		now := time.Now()
		for i := range records {
			records[i] = job.Record{
				Summary: job.Summary{ID: s.NewID(), Account: id, State: job.Complete, Mode: job.Sync, Convention: job.JSON, Credential: principal.ByPassword, Created: now, Finished: now, Steps: 1},
				Result:  []byte("hello"), Encoding: job.Text, Ran: time.Microsecond, Cost: job.Cost{Fuel: 12, Memory: 345}, Call: job.Call{Source: source},
				Trace: []byte(`[{"step":"EMIT","status":"Ok","duration_ms":0,"exec_class":"Cpu","line":1,"start_ms":0,"duration_us":3}]`),
			}
		}
		if err := s.Jobs().Record(b.Context(), records); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processorTime(b)-began).Nanoseconds())/float64(b.N*len(records)), "cpu-ns/record")
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
