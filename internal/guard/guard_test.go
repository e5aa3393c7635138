package guard_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/guard"
)

func TestDo(t *testing.T) {
	var log bytes.Buffer
	var parts []string
	g := guard.New(slog.New(slog.NewTextHandler(&log, nil)), func(part string) { parts = append(parts, part) })
	if err := g.Do("quiet", func() {}); err != nil {
		t.Errorf("a function that returns: %v", err)
	}
	if err := g.DoErr("quiet", func() error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("a function that fails: %v", err)
	}
	err := g.Do("pond", func() { panic("the frog jumps") })
	var p *guard.Panic
	if !errors.As(err, &p) || p.Part != "pond" || p.Value != "the frog jumps" || len(p.ID) != 8 {
		t.Fatalf("the error of a panic: %#v", err)
	}
	for _, want := range []string{"part=pond", "id=" + p.ID, "the frog jumps", "guard_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not have %q:\n%s", want, log.String())
		}
	}
	if len(parts) != 1 || parts[0] != "pond" || g.Panics() != 1 {
		t.Errorf("counted %q, %d", parts, g.Panics())
	}
	if err := g.Do("pond", func() { panic(io.EOF) }); !errors.Is(err, io.EOF) {
		t.Errorf("the cause of a panic with an error: %v", err)
	}
}

// TestNil checks that a part which nobody gave a guard is guarded too.
func TestNil(t *testing.T) {
	var g *guard.Guard
	if err := g.Do("pond", func() { panic("splash") }); err == nil || g.Panics() != 0 {
		t.Errorf("%v, %d", err, g.Panics())
	}
}

func TestGo(t *testing.T) {
	reported := make(chan string)
	g := guard.New(nil, func(part string) { reported <- part })
	g.Go("pond", func() { panic("splash") })
	if part := <-reported; part != "pond" {
		t.Error(part)
	}
}

// TestLoop checks that a loop goes on after a panic, later each time, and that it
// begins anew with its pauses once it has worked for long.
func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := guard.New(nil, nil)
		began := time.Now()
		var at []time.Duration
		g.Loop(t.Context(), "pond", func(context.Context) {
			at = append(at, time.Since(began))
			switch len(at) {
			case 4:
				time.Sleep(time.Hour)
			case 6:
				return
			}
			panic("splash")
		})
		want := []int{0, 1, 3, 7, 7 + 3600 + 1, 7 + 3600 + 1 + 2}
		for i := range want {
			if at[i] != time.Duration(want[i])*time.Second {
				t.Errorf("began the %d. time after %s", i+1, at[i])
			}
		}
	})
}

// TestLoopEnds checks that the pause of a loop ends with its context.
func TestLoopEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		guard.New(nil, nil).Loop(ctx, "pond", func(context.Context) {
			cancel()
			panic("splash")
		})
		if took := time.Since(began); took != 0 {
			t.Errorf("it ended after %s", took)
		}
	})
}
