package sqlite

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
)

func benchmarkAccount(b *testing.B, s *Store, name string) account.ID {
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
	r := job.NewRecorder(s.Jobs(), job.RecorderOptions{})
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
