package service

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/job"
)

// oneJob is a job that changes when its test says so, and counts who looks at it.
type oneJob struct {
	Jobs
	mu           sync.Mutex
	view         job.View
	looks, loads int
}

func (o *oneJob) ViewWithin(_ context.Context, _ job.ID, most int64) (*job.View, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	v := o.view
	v.Output, v.TraceBytes = int64(len(v.Result)), int64(len(v.Trace))
	v.Bytes = recordBytes(&v.Record)
	if v.Omitted = v.Bytes > most; v.Omitted {
		o.looks++
		v.Result, v.Trace = nil, nil
	} else {
		o.loads++
	}
	return &v, nil
}

func (o *oneJob) change(f func(v *job.View)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f(&o.view)
}

func (o *oneJob) counts() (looks, loads int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	looks, loads = o.looks, o.loads
	o.looks, o.loads = 0, 0
	return looks, loads
}

type noRecords struct{ Records }

func (noRecords) Pending(job.ID) (job.Record, bool) { return job.Record{}, false }

type oneAccount struct{ Accounts }

func (oneAccount) ByID(_ context.Context, id account.ID) (account.Account, error) {
	return account.Account{ID: id}, nil
}

// TestListenersReadWhatIsNew listens to one job with many: while nothing changes they
// look at its state every ten seconds, and read and hold nothing; when it ends, one
// reads it for all.
func TestListenersReadWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const listeners, size = 20, 1 << 20
		ledger := admit.NewLedger(admit.LedgerOptions{Budget: 64 << 20})
		jobs := &oneJob{view: job.View{Record: job.Record{Summary: job.Summary{ID: job.NewID(), Account: 1, State: job.Running}, Result: []byte("so far")}}}
		jobs.view.Trace = []byte("[" + strings.Repeat(" ", UnreservedBytes) + "]")
		s := New(Options{Accounts: oneAccount{}, Jobs: jobs, Records: noRecords{}, Ledger: ledger})
		var told sync.Map // listener to what it was told
		var changed []chan struct{}
		var group sync.WaitGroup
		for i := range listeners {
			c := make(chan struct{}, 1)
			changed = append(changed, c)
			e := &Events{s: s, id: jobs.view.ID, changed: c, unwatch: func() {}, leave: func() {}}
			e.memory.Reservation = ledger.Open(admit.AccountHolder(1))
			s.traces.watch(e.id)
			group.Go(func() {
				defer e.Stop()
				text := ""
				for {
					list, more, err := e.Next(t.Context(), time.Hour)
					if err != nil {
						t.Error(err)
					}
					if err != nil || !more {
						told.Store(i, text)
						return
					}
					for _, one := range list {
						text += one.Kind + string(one.Data)
					}
				}
			})
		}
		synctest.Wait()
		if _, loads := jobs.counts(); loads != listeners {
			t.Errorf("at first it is read %d times", loads)
		}
		if s := ledger.Stats(); s.Held != 0 {
			t.Errorf("%d bytes are held while nothing changes", s.Held)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if looks, loads := jobs.counts(); looks > 7*listeners || loads != 0 {
			t.Errorf("in a minute without a change: %d looks, read %d times", looks, loads)
		}
		jobs.change(func(v *job.View) {
			v.State, v.Result = job.Complete, []byte("so far"+strings.Repeat("\x01", size))
		})
		for _, c := range changed {
			c <- struct{}{}
		}
		group.Wait()
		if _, loads := jobs.counts(); loads < 1 || loads > 2 {
			t.Errorf("at its end it is read %d times", loads)
		}
		for i := range listeners {
			text, _ := told.Load(i)
			all, _ := text.(string)
			if strings.Count(all, `\u0001`) != size || !strings.Contains(all, `"status":"complete"`) || !strings.HasPrefix(all, `output{"output":"so far"}state`) {
				t.Errorf("listener %d was told %d bytes: %.100s", i, len(all), all)
			}
		}
		if s := ledger.Stats(); s.Held != 0 || s.Holders != 0 || s.MostHeld > 16<<20 {
			t.Errorf("afterwards the ledger has %+v", s)
		}
	})
}
