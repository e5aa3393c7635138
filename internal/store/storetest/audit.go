package storetest

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/audit"
	"ql/internal/principal"
)

// auditLog returns a whole log, the oldest first, and fails where it is broken.
func auditLog(t *testing.T, s Stores, id account.ID) (list []audit.Entry) {
	t.Helper()
	v, err := audit.Verify(t.Context(), s.Audit, id)
	must(t, err)
	_, err = s.Audit.Scan(t.Context(), id, func(e audit.Entry) error {
		list = append(list, e)
		return nil
	})
	must(t, err)
	if int64(len(list)) != v.Entries {
		t.Errorf("Verify counted %d entries of %d", v.Entries, len(list))
	}
	return list
}

// acts are what the entries say, in one line each.
func acts(list []audit.Entry) (lines []string) {
	for _, e := range list {
		line := string(e.By) + " " + string(e.Act)
		if e.On != "" {
			line += " " + e.On
		}
		lines = append(lines, line)
	}
	return lines
}

func wantActs(t *testing.T, what string, list []audit.Entry, want ...string) {
	t.Helper()
	if got := acts(list); !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// actor is somebody who calls by a named key.
var actor = audit.Actor{By: principal.ByNamedKey, Key: "deploy", From: audit.NetworkOf(netip.MustParseAddr("203.0.113.7"))}

func testAuditActs(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	ctx := audit.By(t.Context(), actor)
	_, err := s.Accounts.CreateNamedKey(ctx, account.NamedKey{Account: ada.ID, Name: "ci", Hash: account.KeyHash{7}, Shown: "qln_x", Scopes: scope.Of(scope.Run), Created: noon}, 0)
	must(t, err)
	_, _, err = s.Accounts.Publish(ctx, script(ada.ID, "cart", "EMIT 1\n"), noon, account.PublishedLimits{})
	must(t, err)
	for _, err := range []error{
		s.Accounts.RevokeNamedKey(ctx, ada.ID, "ci"),
		s.Accounts.Unpublish(ctx, ada.ID, "cart"),
		s.Accounts.SetPassword(ctx, ada.ID, "x"),
		s.Accounts.RotateKey(ctx, ada.ID, account.KeyHash{1}, nil),
		s.Accounts.SetPlan(ctx, ada.ID, account.Free),
		s.Accounts.SetLimit(ctx, ada.ID, "rate", new(int64(9))),
		s.Accounts.SetLimit(ctx, ada.ID, "rate", nil),
		s.Accounts.SetFlag(ctx, ada.ID, account.FlagRequireAuthOnJobs, true),
		s.Accounts.AddDomain(ctx, domain(t, ada.ID, "a.example.com")),
		s.Accounts.RemoveDomain(ctx, ada.ID, pattern(t, "a.example.com")),
		setSecret(ctx, s, account.Secret{Account: ada.ID, Name: "s", Sealed: []byte("x"), Set: noon}),
		s.Accounts.RemoveSecret(ctx, ada.ID, "s"),
		s.Accounts.RotateWebhookSecret(ctx, account.WebhookSecret{Account: ada.ID, Number: 1, Sealed: []byte("x"), Made: noon}, noon),
		s.Audit.Append(ctx, audit.Event{Account: ada.ID, Act: audit.LogInFailed, Result: audit.Failed, Count: 12}),
	} {
		must(t, err)
	}
	// What fails is not logged, and a use of a key is no act.
	wantError(t, "a key that is not there", s.Accounts.RevokeNamedKey(ctx, ada.ID, "ci"), account.ErrNotFound)
	wantError(t, "the log of nobody", s.Audit.Append(ctx, audit.Event{Account: 999, Act: audit.LoggedIn}), account.ErrNotFound)
	log := auditLog(t, s, ada.ID)
	wantActs(t, "the log", log,
		"service account_created",
		"named_key key_created ci: run", "named_key script_published cart@1",
		"named_key key_revoked ci", "named_key script_removed cart",
		"named_key password_changed", "named_key api_key_rotated", "named_key plan_changed free", "named_key limit_changed rate=9", "named_key limit_changed rate",
		"named_key account_changed require_auth_on_jobs=true",
		"named_key domain_added https://a.example.com", "named_key domain_removed https://a.example.com",
		"named_key secret_set s", "named_key secret_removed s", "named_key webhook_secret_rotated 1", "named_key log_in_failed")
	last := log[len(log)-1]
	if last.Key != "deploy" || last.From != "203.0.113.0/24" || last.Result != audit.Failed || last.Count != 12 || last.Number != int64(len(log)) {
		t.Errorf("the last entry is %+v", last)
	}
	if age := time.Since(last.At); age < -time.Minute || age > time.Minute {
		t.Errorf("the last entry is of %s", last.At)
	}

	page, err := s.Audit.Entries(t.Context(), ada.ID, 0, 2)
	must(t, err)
	wantActs(t, "the first page", page, "named_key log_in_failed", "named_key webhook_secret_rotated 1")
	page, err = s.Audit.Entries(t.Context(), ada.ID, page[1].Number, 2)
	must(t, err)
	wantActs(t, "the second page", page, "named_key secret_removed s", "named_key secret_set s")

	// What the operator does is in both logs.
	operator := audit.By(t.Context(), audit.Actor{By: audit.ByOperator})
	must(t, s.Accounts.SetPlan(operator, ada.ID, account.Standard))
	must(t, s.Audit.Append(operator, audit.Event{Account: audit.Operator, Act: audit.Exported, On: "backup"}))
	wantActs(t, "the operator's log", auditLog(t, s, audit.Operator), "service account_created ada", "operator plan_changed ada standard", "operator exported backup")
	wantActs(t, "the log's end", auditLog(t, s, ada.ID)[len(log):], "operator plan_changed standard")
}

func testAuditChain(t *testing.T, s Stores) {
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	for i := range 100 {
		must(t, setSecret(audit.By(t.Context(), actor), s, account.Secret{Account: ada.ID, Name: "s" + strconv.Itoa(i), Sealed: []byte("x"), Set: noon}))
	}
	if n := len(auditLog(t, s, ada.ID)); n != 101 {
		t.Errorf("of 100 acts and a creation, %d are in the log", n)
	}
	if n := len(auditLog(t, s, bob.ID)); n != 1 {
		t.Errorf("the log of another account has %d entries", n)
	}
	if none := auditLog(t, s, 999); none != nil {
		t.Errorf("the log of nobody has %d entries", len(none))
	}
}

func testAuditPrune(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	const most = 4 << 10
	bounded := actor
	bounded.Most = most
	for range 200 {
		must(t, s.Audit.Append(audit.By(t.Context(), bounded), audit.Event{Account: ada.ID, Act: audit.LoggedIn}))
		head, err := s.Audit.Scan(t.Context(), ada.ID, func(audit.Entry) error { return nil })
		must(t, err)
		if head.Bytes > most+512 { // the anchor may come on top
			t.Fatalf("the log has %d bytes", head.Bytes)
		}
	}
	log := auditLog(t, s, ada.ID)
	if len(log) < 10 || log[0].Number < 100 {
		t.Errorf("%d entries are left, from number %d on", len(log), log[0].Number)
	}
	anchors := 0
	for _, e := range log {
		if e.Act == audit.Pruned {
			anchors++
		}
	}
	if anchors == 0 {
		t.Error("the log has no anchor")
	}

	// One that is larger than all that fits stays, alone.
	bounded.Most = 1
	must(t, s.Audit.Append(audit.By(t.Context(), bounded), audit.Event{Account: ada.ID, Act: audit.LoggedIn}))
	wantActs(t, "the least log", auditLog(t, s, ada.ID), "named_key logged_in", "service log_pruned "+auditLog(t, s, ada.ID)[1].On)
}

func testAuditDeleted(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	must(t, s.Accounts.SetPlan(t.Context(), ada.ID, account.Free))
	if _, err := s.Accounts.Purge(t.Context(), ada.ID, 100); err != nil {
		t.Fatal(err)
	}
	if n := len(auditLog(t, s, ada.ID)); n != 2 {
		t.Errorf("after a purge, the log of an account that stays has %d entries", n)
	}
	must(t, s.Accounts.MarkDeleted(t.Context(), ada.ID, noon))
	must(t, s.Accounts.MarkDeleted(t.Context(), ada.ID, noon))
	for {
		n, err := s.Accounts.Purge(t.Context(), ada.ID, 1)
		must(t, err)
		if n == 0 {
			break
		}
	}
	must(t, s.Accounts.Delete(t.Context(), ada.ID))
	wantActs(t, "the log of an account that is gone", auditLog(t, s, ada.ID))
	wantActs(t, "the operator's", auditLog(t, s, audit.Operator), "service account_created ada", "service account_deleted ada")
}

func testAuditRace(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bounded := actor
	bounded.Most = 8 << 10
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 25 {
				if err := s.Audit.Append(audit.By(context.Background(), bounded), audit.Event{Account: ada.ID, Act: audit.LoggedIn, On: strconv.Itoa(i)}); err != nil {
					t.Error(err)
				}
				if _, err := audit.Verify(context.Background(), s.Audit, ada.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	auditLog(t, s, ada.ID)
}
