package postgres

import (
	"fmt"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/member"
	"ql/internal/store/relational"
)

// TestChangesOfOthers: a member forgets the accounts that others have changed, and no more; of changes that are too
// long ago it forgets all.
func TestChangesOfOthers(t *testing.T) {
	ctx := t.Context()
	o := Options{URL: database(t), Readers: 2, ValidFor: 10 * time.Millisecond}
	here, there := openTest(t, o), openTest(t, o)
	var sessions []*member.Session
	for i, s := range []*Store{here, there} {
		one, err := member.Join(ctx, member.Options{Store: s.Aggregate().Members, Node: member.Node{ID: int64(i) + 1}, Lease: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, one)
	}
	create := func(name string) account.ID {
		t.Helper()
		a, err := here.Accounts().Create(ctx, account.Account{Username: name, Email: name + "@example.com", KeyHash: account.KeyHash{name[0]}, Plan: account.Free, Created: time.Unix(1, 0)})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	ada, bob := create("ada"), create("bob")
	renew := func() {
		t.Helper()
		if err := sessions[1].Renew(ctx); err != nil {
			t.Fatal(err)
		}
	}
	renew()
	wantForgotten := func(what string, want ...bool) {
		t.Helper()
		before := []uint64{there.AccountVersion(ada), there.AccountVersion(bob)}
		renew()
		for i, id := range []account.ID{ada, bob} {
			if got := there.AccountVersion(id) > before[i]; got != want[i] {
				t.Errorf("%s: account %d is forgotten: %t", what, i+1, got)
			}
		}
	}
	wantForgotten("without a change", false, false)
	for _, change := range []struct {
		name string
		do   func() error
	}{
		{"key", func() error { return here.Accounts().RotateKey(ctx, bob, account.KeyHash{9}, nil) }},
		{"plan", func() error { return here.Accounts().SetPlan(ctx, bob, account.Standard) }},
		{"limit", func() error { return here.Accounts().SetLimit(ctx, bob, "rate", new(int64(1))) }},
		{"flag", func() error { return here.Accounts().SetFlag(ctx, bob, account.FlagDisabled, true) }},
		{"rehash", func() error { return here.Accounts().Rehash(ctx, bob, "", "x") }},
		{"look", func() error {
			return here.Accounts().SetLook(ctx, bob, account.LookChange{Accent: new("#1a56db")})
		}},
		{"two of them", func() error {
			if err := here.Accounts().SetPlan(ctx, bob, account.Free); err != nil {
				return err
			}
			return here.Accounts().SetPurged(ctx, bob, time.Unix(5, 0))
		}},
		{"end", func() error { return here.Accounts().Delete(ctx, bob) }},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		wantForgotten(change.name, false, true)
	}
	create("eve")
	wantForgotten("a new one", false, false)

	// What was changed by who knows not whose.
	if err := here.Write(ctx, func(relational.Tx) error {
		_, err := here.writer.conn.Exec(ctx, "UPDATE accounts SET plan = plan WHERE id = ?", []any{int64(ada)})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	wantForgotten("an unknown one", true, true)

	// Many changes while it did not renew.
	if err := here.Write(ctx, func(relational.Tx) error {
		return here.writer.conn.run(ctx, fmt.Sprintf("UPDATE head SET last = last + %d", 2*keptChanges))
	}); err != nil {
		t.Fatal(err)
	}
	if err := here.Accounts().SetPlan(ctx, ada, account.Standard); err != nil {
		t.Fatal(err)
	}
	wantForgotten("very many", true, true)
	last, err := here.Members().LastChange(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := here.Read(ctx, func(x relational.Tx) error {
		known, of, err := x.ChangedAccounts(0, last)
		if known != 1 || len(of) != 1 || !of[ada] {
			t.Errorf("%d changes are kept, of %v", known, of)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
