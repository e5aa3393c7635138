package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"ql/internal/store/relational"
)

var errRefused = errors.New("a row is refused")

// TestLast: what is queued to the end of a change is done with it, and where it comes to change nothing the change is made anew,
// with nothing queued.
func TestLast(t *testing.T) {
	ctx := t.Context()
	for name, of := range map[string]func(*Store) *writer{
		"serializable":   func(s *Store) *writer { return s.writer },
		"read committed": func(s *Store) *writer { return s.locker },
	} {
		t.Run(name, func(t *testing.T) {
			w := of(openTest(t, Options{Readers: 1}))
			_, count := tally(t, w)
			insert := func(n int) error {
				_, err := w.conn.Exec(ctx, "INSERT INTO tally (n) VALUES (?)", []any{n})
				return err
			}
			last := func(from int, to any) (changed int64, queued bool, err error) {
				return w.conn.ExecLast(ctx, "UPDATE tally SET n = ? WHERE n = ?", []any{to, from})
			}
			for what, c := range map[string]struct {
				from int // what is queued looks for it
				to   any
				runs []bool
				end  error
				want map[int64]int
			}{
				"changes":         {from: 1, to: 2, runs: []bool{true}, want: map[int64]int{2: 1}},
				"changes nothing": {from: 5, to: 2, runs: []bool{true, false}, want: map[int64]int{1: 1}},
				"is not reached":  {from: 1, to: 2, runs: []bool{true, false}, end: errors.New("the change fails"), want: map[int64]int{}},
				"is refused":      {from: 1, runs: []bool{true, false, false}, end: errRefused, want: map[int64]int{}}, // a number is null
			} {
				t.Run(what, func(t *testing.T) {
					var runs []bool
					err := w.write(ctx, func(relational.Tx) error {
						if err := insert(1); err != nil {
							return err
						}
						_, queued, err := last(c.from, c.to)
						runs = append(runs, queued)
						if codeOf(err) == "23502" { // which the change is told of
							return errRefused
						}
						if c.to == nil {
							return err
						}
						return errors.Join(err, c.end)
					})
					if !errors.Is(err, c.end) || !slices.Equal(runs, c.runs) || fmt.Sprint(count()) != fmt.Sprint(c.want) {
						t.Errorf("queued %v, then %v in the table: %v", runs, count(), err)
					}
					if err := w.write(ctx, func(relational.Tx) error {
						_, err := w.conn.Exec(ctx, "DELETE FROM tally", nil)
						return err
					}); err != nil {
						t.Fatal(err)
					}
				})
			}
			// What is queued is done before what follows looks.
			if err := w.write(ctx, func(relational.Tx) error {
				if err := insert(1); err != nil {
					return err
				}
				if _, queued, err := last(1, 2); err != nil || !queued {
					return fmt.Errorf("queued: %v, %w", queued, err)
				}
				if got := count(); len(got) != 1 || got[2] != 1 {
					return fmt.Errorf("it finds %v", got)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			// However many are queued, few wait, and all are done.
			const many = 3 * mostQueued
			if err := w.write(ctx, func(relational.Tx) error {
				for n := range many {
					if _, queued, err := last(2+n, 3+n); err != nil || !queued || len(w.conn.queue) > mostQueued {
						return fmt.Errorf("queued: %v, %d wait, %w", queued, len(w.conn.queue), err)
					}
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
			if got := count(); len(got) != 1 || got[2+many] != 1 {
				t.Errorf("after many: %v", got)
			}
			if err := w.write(ctx, func(relational.Tx) error { return nil }); err != nil {
				t.Errorf("a change of nothing: %v", err)
			}
		})
	}
}

// countedLine counts the messages to the server.
type countedLine struct {
	net.Conn
	written *atomic.Int64
}

func (l countedLine) Write(b []byte) (int, error) {
	l.written.Add(1)
	return l.Conn.Write(b)
}

// TestWays counts how often a change goes to the server: that it begins, what it counts and its commit are no ways of their own.
func TestWays(t *testing.T) {
	s := openTest(t, Options{Readers: 1})
	w, ctx := s.writer, context.Background()
	tally(t, w)
	var written atomic.Int64
	dial := s.config.DialFunc
	s.config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return countedLine{c, &written}, err
	}
	_ = w.conn.close() // the next one is counted
	for round := range 2 {
		began := written.Load()
		if err := w.write(ctx, func(relational.Tx) error {
			_, err := w.conn.Exec(ctx, "INSERT INTO tally (n) VALUES (?)", []any{1})
			if err == nil {
				_, _, err = w.conn.ExecLast(ctx, "UPDATE tally SET n = n + 1", nil)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if ways := written.Load() - began; round > 0 && ways != 2 { // first the statements are prepared
			t.Errorf("a change takes %d ways to the server", ways)
		}
	}
	// Whoever makes no change tries whether the server can be used.
	began := written.Load()
	if err := w.write(ctx, func(relational.Tx) error { return nil }); err != nil || written.Load() != began+1 {
		t.Errorf("a change of nothing takes %d ways to the server: %v", written.Load()-began, err)
	}
}
