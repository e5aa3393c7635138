// Package guard runs what works in the background of the service, so that a
// panic in one part does not end the process and with it the work of all
// others. It recovers the panic, logs it with its stack under an id, counts it,
// and lets a loop go on after a pause. All goroutines of the service are started
// by it, but for the few that a test of the architecture lists.
package guard

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Guard recovers panics. A nil one does too, and tells nobody. It may be used
// by any number of goroutines.
type Guard struct {
	log     *slog.Logger
	counted func(part string)
	total   atomic.Uint64
}

// New returns a guard that logs panics, and tells counted of the part that each
// was in; nil for nobody. Part names are few and fixed: they label a metric.
func New(log *slog.Logger, counted func(part string)) *Guard {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if counted == nil {
		counted = func(string) {}
	}
	return &Guard{log: log, counted: counted}
}

// Panic is the error of a function that panicked.
type Panic struct {
	Part  string
	ID    string // in the log
	Value any
}

// Error names the part, the value and the id. It is for logs, not for callers.
func (p *Panic) Error() string {
	return fmt.Sprintf("%s panicked: %v (id %s)", p.Part, p.Value, p.ID)
}

// Unwrap returns the value where it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// maxStack bounds what is logged of a stack: the frames near the panic.
const maxStack = 16 << 10

// Do runs f. Where f panics, the error is a *Panic, which is logged and counted.
// What f holds then, it must release by defer.
func (g *Guard) Do(part string, f func()) error {
	return g.DoErr(part, func() error { f(); return nil })
}

// DoErr is Do for a function that returns an error of its own.
func (g *Guard) DoErr(part string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = g.Report(part, v)
		}
	}()
	return f()
}

// Go is Do in a goroutine of its own.
func (g *Guard) Go(part string, f func()) {
	go func() { _ = g.Do(part, f) }() // it was logged
}

// The pauses of a loop that panics: twice as long each time, until it has
// worked for so long that the next panic is another matter.
const (
	firstPause   = time.Second
	longestPause = time.Minute
	recovered    = 10 * time.Minute
)

// Loop runs f until it returns or ctx ends; where f panics, it is run again
// after a pause.
func (g *Guard) Loop(ctx context.Context, part string, f func(context.Context)) {
	pause := firstPause
	for {
		began := time.Now()
		if g.Do(part, func() { f(ctx) }) == nil {
			return
		}
		if time.Since(began) >= recovered {
			pause = firstPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		pause = min(2*pause, longestPause)
	}
}

// Panics returns how many panics were recovered.
func (g *Guard) Panics() uint64 {
	if g == nil {
		return 0
	}
	return g.total.Load()
}

// Report logs and counts a panic that somebody has recovered, and returns its
// error. It is for paths too hot for a closure.
func (g *Guard) Report(part string, v any) *Panic {
	p := &Panic{Part: part, ID: newID(), Value: v}
	if g == nil {
		return p
	}
	g.total.Add(1)
	g.counted(part)
	stack := debug.Stack()
	g.log.Error("a part of the service panicked and was recovered", "part", part, "id", p.ID,
		"panic", fmt.Sprint(v), "stack", string(stack[:min(len(stack), maxStack)]))
	return p
}

func newID() string {
	var random [4]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}
