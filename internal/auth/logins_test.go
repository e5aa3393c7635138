package auth

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
)

// toldLog notes what it is told.
type toldLog struct {
	mu   sync.Mutex
	told []string
	fail error
}

func (l *toldLog) Append(ctx context.Context, e audit.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	by, _ := audit.FromContext(ctx)
	l.told = append(l.told, fmt.Sprintf("%s × %d from %s within %d", e.Act, e.Count, by.From, by.Most))
	return l.fail
}

// TestLogInsAreSampled logs in and fails to, over and over: entries are few, and none is lost of
// those that failed.
func TestLogInsAreSampled(t *testing.T) {
	log := &toldLog{fail: errors.New("no store")} // which is in nobody's way
	l := newLogins(log, nil, nil)
	ada := account.Account{ID: 7, Plan: account.Free}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	here, there := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("198.51.100.7")
	told := func(want ...string) {
		t.Helper()
		if err := l.flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(log.told, want) {
			t.Errorf("got %q, want %q", log.told, want)
		}
		log.told = nil
	}
	for i := range 100 {
		l.noteSuccess(&ada, here, now.Add(time.Duration(i)*time.Second))
	}
	told("logged_in × 0 from 203.0.113.0/24 within 262144")
	l.noteSuccess(&ada, there, now)
	told("logged_in × 0 from 198.51.100.0/24 within 262144")
	l.noteSuccess(&ada, here, now.Add(loginInterval))
	told("logged_in × 0 from 203.0.113.0/24 within 262144")

	for i := range 1000 { // from wherever
		l.noteFailure(&ada, netip.AddrFrom4([4]byte{10, byte(i / 256), byte(i), 1}), now.Add(time.Duration(i)*time.Second))
	}
	told("log_in_failed × 1 from 10.0.0.0/24 within 262144")
	l.noteFailure(&ada, there, now.Add(failedInterval))
	told("log_in_failed × 1000 from 198.51.100.0/24 within 262144")
}

// TestLogInsAreLogged has what Password finds in the log.
func TestLogInsAreLogged(t *testing.T) {
	log := &toldLog{}
	f := newFixture(t, func(o *Options) { o.Log = log })
	from := Source{Addr: netip.MustParseAddr("203.0.113.7")}
	for range 3 {
		if _, err := f.Password(t.Context(), "ada", secret, from); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Password(t.Context(), "ada", other, from); err == nil {
		t.Fatal("a wrong password was let in")
	}
	if _, err := f.Password(t.Context(), "nobody", other, from); err == nil {
		t.Fatal("nobody was let in")
	}
	if err := f.FlushUses(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(log.told) != 2 {
		t.Errorf("got %q", log.told)
	}
}
