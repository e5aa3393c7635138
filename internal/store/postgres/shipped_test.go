package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/member"
	"ql/internal/resource/databases/ship"
	"ql/internal/store/relational"
)

// newHome makes a node the home of an account, of which each of some databases has a first change.
func newHome(t *testing.T, s *Store, m member.Member, username string, databases int) ship.Home {
	t.Helper()
	a, err := s.Accounts().Create(t.Context(), account.Account{Username: username, Email: username + "@example.com", KeyHash: account.KeyHash([]byte(fmt.Sprintf("%-32s", username))), Plan: account.Free, Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.Shipped().Claim(t.Context(), a, m)
	if err != nil {
		t.Fatal(err)
	}
	for i := range databases {
		if err := s.Aggregate().Shipped.Append(t.Context(), h, databaseName(i), partOf(1)); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func databaseName(i int) string { return fmt.Sprintf("d%d", i) }

// partMark is in what parts contain.
const partMark = "what a part contains"

func partOf(change int64) ship.Part {
	return ship.Part{First: change, Last: change, Size: change, Content: []byte(fmt.Sprint(partMark, change))}
}

// wantChanges checks that a database has so many changes, each once.
func wantChanges(t *testing.T, s *Store, h ship.Home, name string, changes int64) {
	t.Helper()
	parts, err := s.Shipped().Parts(t.Context(), h.Account, name, 0, int(changes)+10)
	if err != nil || int64(len(parts)) != changes {
		t.Fatalf("database %s has %d parts, want %d: %v", name, len(parts), changes, err)
	}
	for i := range parts {
		if want := partOf(int64(i) + 1); parts[i].First != want.First || parts[i].Size != want.Size || !bytes.Equal(parts[i].Content, want.Content) {
			t.Errorf("part %d is %+v", i, parts[i])
		}
	}
	d, err := s.Shipped().Database(t.Context(), h.Account, name)
	if err != nil || d.Last != changes || d.Size != changes {
		t.Errorf("database %s is %+v, want %d changes: %v", name, d, changes, err)
	}
}

// TestAppendTogether: changes of several databases that come at the same time share commits, and who is refused among
// them is alone in that.
func TestAppendTogether(t *testing.T) {
	s := openTest(t, Options{Readers: 2})
	m, _, err := s.Members().Join(t.Context(), member.Node{ID: 3})
	if err != nil {
		t.Fatal(err)
	}
	const databases, changes = 6, 40
	homes := []ship.Home{newHome(t, s, m, "ada", databases), newHome(t, s, m, "bob", databases)}
	log := s.Aggregate().Shipped
	before := s.Stats()
	stale := homes[0]
	stale.Epoch++
	var group sync.WaitGroup
	for _, h := range homes {
		for i := range databases {
			group.Go(func() {
				for n := int64(2); n <= changes; n++ {
					if err := log.Append(t.Context(), h, databaseName(i), partOf(n)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	group.Go(func() {
		for range 5 {
			if err := log.Append(t.Context(), stale, databaseName(0), partOf(2)); !errors.Is(err, ship.ErrNotHome) {
				t.Errorf("of another epoch: %v", err)
			}
			if err := log.Append(t.Context(), homes[0], databaseName(0), partOf(changes+5)); !errors.Is(err, ship.ErrNotNext) {
				t.Errorf("which is not the next: %v", err)
			}
		}
	})
	group.Wait()
	for _, h := range homes {
		for i := range databases {
			wantChanges(t, s, h, databaseName(i), changes)
		}
	}
	after := s.Stats()
	if writes, commits := after.Writes-before.Writes, after.Commits-before.Commits; commits > writes*2/3 {
		t.Errorf("%d changes were %d commits", writes, commits)
	}
}

// TestTakeoverWaits has a home be taken over while a change of it is on its way: it waits for that, and what comes
// later is refused.
func TestTakeoverWaits(t *testing.T) {
	s := openTest(t, Options{Readers: 2})
	ctx := t.Context()
	m, _, err := s.Members().Join(ctx, member.Node{ID: 3})
	if err != nil {
		t.Fatal(err)
	}
	next, _, err := s.Members().Join(ctx, member.Node{ID: 4})
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t, s, m, "ada", 1)
	log := s.Aggregate().Shipped
	// What keeps the change on its way: the row of its database.
	other, err := connect(ctx, s.config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.close() }()
	if err := other.run(ctx, "BEGIN; SELECT FROM shipped_databases FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	appended, claimed := make(chan error, 1), make(chan error, 1)
	go func() { appended <- log.Append(ctx, h, databaseName(0), partOf(2)) }()
	awaitBlocked(t, s, 1)
	if err := s.Members().Leave(ctx, m); err != nil {
		t.Fatal(err)
	}
	var taken ship.Home
	go func() {
		var err error
		taken, err = log.Claim(ctx, h.Account, next)
		claimed <- err
	}()
	awaitBlocked(t, s, 2)
	if err := other.run(ctx, "COMMIT"); err != nil {
		t.Fatal(err)
	}
	for what, done := range map[string]chan error{"the change": appended, "the takeover": claimed} {
		if err := <-done; err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	wantChanges(t, s, h, databaseName(0), 2)
	if err := log.Append(ctx, h, databaseName(0), partOf(3)); !errors.Is(err, ship.ErrNotHome) {
		t.Errorf("a change of the home before: %v", err)
	}
	if err := log.Append(ctx, taken, databaseName(0), partOf(3)); err != nil {
		t.Error(err)
	}
}

// awaitBlocked returns when so many statements wait for locks.
func awaitBlocked(t *testing.T, s *Store, want int64) {
	t.Helper()
	c, err := connect(t.Context(), s.config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	for until := time.Now().Add(lockTimeout); time.Now().Before(until); {
		var n int64
		if err := c.Query(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'", nil, func(r relational.Row) bool {
			n = r.Int(0)
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if n >= want {
			return
		}
	}
	t.Fatalf("%d statements do not wait", want)
}

// TestPromiseLostAppends is TestPromiseLostCommits for changes of databases: what becomes of each is known.
func TestPromiseLostAppends(t *testing.T) {
	changes, databases := int64(100), 4
	if full() {
		changes, databases = 4_000, 8
	}
	s := openTest(t, Options{Readers: 2})
	m, _, err := s.Members().Join(t.Context(), member.Node{ID: 3})
	if err != nil {
		t.Fatal(err)
	}
	h := newHome(t, s, m, "ada", databases)
	log := s.Aggregate().Shipped
	faults := &lineFaults{share: 0.2, of: regexp.MustCompile(partMark)}
	s.config.DialFunc = faults.dial
	var all sync.WaitGroup
	for i := range databases {
		all.Go(func() {
			for n := int64(2); n <= changes; {
				switch err := log.Append(context.Background(), h, databaseName(i), partOf(n)); {
				case err == nil:
					n++
				case fault.Is(err, fault.StorageUnavailable): // it is not there: the same again
				default:
					t.Errorf("change %d of database %d: %v", n, i, err)
					return
				}
			}
		})
	}
	all.Wait()
	faults.sendLate()
	faults.all.Wait()
	for i := range databases {
		wantChanges(t, s, h, databaseName(i), changes)
	}
	for f := vanishes; f < fates; f++ {
		if faults.met[f].Load() == 0 {
			t.Errorf("no commit had fate %d", f)
		}
	}
}
