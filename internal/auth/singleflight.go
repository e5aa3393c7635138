package auth

import (
	"context"
	"errors"
	"sync"
)

// flightGroup lets one of several callers with the same digest do the work. The
// zero value is ready.
type flightGroup struct {
	mu   sync.Mutex
	open map[digest]*flight
}

type flight struct {
	done chan struct{}
	err  error // once done
}

// errAbandoned says that whoever did the work did not bring it to an end.
var errAbandoned = errors.New("abandoned")

// do returns what work answers, done here or by another caller at this moment.
// Work that ended because its own caller went away is done again.
func (f *flightGroup) do(ctx context.Context, p digest, work func() error) error {
	for {
		f.mu.Lock()
		running, ok := f.open[p]
		if !ok {
			running = &flight{done: make(chan struct{}), err: errAbandoned}
			if f.open == nil {
				f.open = map[digest]*flight{}
			}
			f.open[p] = running
			f.mu.Unlock()
			f.lead(p, running, work)
			return running.err
		}
		f.mu.Unlock()
		select {
		case <-running.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !isAbandoned(running.err) {
			return running.err
		}
	}
}

func (f *flightGroup) lead(p digest, own *flight, work func() error) {
	defer func() {
		f.mu.Lock()
		delete(f.open, p)
		f.mu.Unlock()
		close(own.done)
	}()
	own.err = work()
}

func isAbandoned(err error) bool {
	return errors.Is(err, errAbandoned) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
