package storetest

import (
	"bytes"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/names"
)

func testCreate(t *testing.T, s Stores) {
	full := person("ada")
	full.Phone, full.PhoneVerified = "+12025550143", true
	full.SealedKey = []byte("sealed\x00")
	full.Admin, full.Disabled, full.RequireAuthOnJobs = true, true, true
	full.ID, full.Epoch = 77, 99 // both are the store's to give
	full = create(t, s.Accounts, full)
	bare := create(t, s.Accounts, account.Account{Username: "bare", Plan: account.Free, Created: noon})
	if full.ID == 0 || bare.ID == 0 || full.ID == bare.ID {
		t.Errorf("the ids are %d and %d", full.ID, bare.ID)
	}
	for _, want := range []account.Account{full, bare} {
		got, err := s.Accounts.ByID(t.Context(), want.ID)
		must(t, err)
		same(t, want.Username, got, want)
	}
	got, err := s.Accounts.ByKeyHash(t.Context(), full.KeyHash)
	must(t, err)
	same(t, "by key", got, full)
	_, err = s.Accounts.ByKeyHash(t.Context(), account.KeyHash{})
	wantError(t, "the zero key", err, account.ErrNotFound)

	twin := person("twin")
	twin.KeyHash = full.KeyHash
	_, err = s.Accounts.Create(t.Context(), twin)
	wantError(t, "another's key", err, account.ErrConflict)
	_, err = s.Accounts.ByAlias(t.Context(), names.Alias{Kind: names.Username, Name: "twin"})
	wantError(t, "what failed", err, account.ErrNotFound)
}

func testNames(t *testing.T, s Stores) {
	ada := person("ada")
	ada.Phone, ada.PhoneVerified = "+12025550143", true
	ada = create(t, s.Accounts, ada)
	for _, alias := range ada.Aliases() {
		got, err := s.Accounts.ByAlias(t.Context(), alias)
		must(t, err)
		same(t, alias.Name, got, ada)
	}
	for _, alias := range []names.Alias{
		{Kind: names.Username, Name: "bob"},
		{Kind: names.Username, Name: "ada@example.com"},
		{Kind: names.Email, Name: "ada"},
		{Kind: names.Phone, Name: "ada@example.com"},
		{Kind: names.Username, Name: ""},
	} {
		_, err := s.Accounts.ByAlias(t.Context(), alias)
		wantError(t, string(alias.Kind)+" "+alias.Name, err, account.ErrNotFound)
	}

	for field, change := range map[string]func(*account.Account){
		"username": func(a *account.Account) { a.Username, a.Email = "ada", "ada@example.com" }, // the first of them
		"email":    func(a *account.Account) { a.Email = "ada@example.com" },
		"phone":    func(a *account.Account) { a.Phone, a.PhoneVerified = "+12025550143", true },
	} {
		bob := person("bob")
		change(&bob)
		_, err := s.Accounts.Create(t.Context(), bob)
		var taken *account.Taken
		if !errors.As(err, &taken) || taken.Field != field {
			t.Errorf("%s of another: %v", field, err)
		}
	}
	list, err := s.Accounts.List(t.Context(), "", 10)
	must(t, err)
	same(t, "the accounts", list, []account.Account{ada})

	// What is not verified names nobody, so several may have it.
	for _, name := range []string{"bob", "eve"} {
		a := person(name)
		a.Email, a.EmailVerified = "ada@example.com", false
		a.Phone = "+12025550143"
		a = create(t, s.Accounts, a)
		got, err := s.Accounts.ByID(t.Context(), a.ID)
		must(t, err)
		same(t, name, got, a)
	}
	got, err := s.Accounts.ByAlias(t.Context(), names.Alias{Kind: names.Email, Name: "ada@example.com"})
	must(t, err)
	same(t, "whose the address is", got.ID, ada.ID)
}

func testList(t *testing.T, s Stores) {
	for _, name := range []string{"dave", "ada", "carl", "bob", "a-b"} {
		create(t, s.Accounts, person(name))
	}
	for _, test := range []struct {
		after string
		limit int
		want  []string
	}{
		{"", 10, []string{"a-b", "ada", "bob", "carl", "dave"}},
		{"", 2, []string{"a-b", "ada"}},
		{"ada", 2, []string{"bob", "carl"}},
		{"b", 1, []string{"bob"}},
		{"dave", 5, nil},
		{"", 0, nil},
		{"", -1, nil},
	} {
		list, err := s.Accounts.List(t.Context(), test.after, test.limit)
		must(t, err)
		var got []string
		for _, a := range list {
			got = append(got, a.Username)
		}
		same(t, "after "+test.after, got, test.want)
	}
}

func testCredentials(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	other := create(t, s.Accounts, person("bob"))
	check := func(what string) {
		t.Helper()
		got, err := s.Accounts.ByID(t.Context(), a.ID)
		must(t, err)
		same(t, what, got, a)
	}

	must(t, s.Accounts.SetPassword(t.Context(), a.ID, "new"))
	a.PasswordHash, a.Epoch = "new", 2
	check("a new password")

	must(t, s.Accounts.Rehash(t.Context(), a.ID, "new", "stronger"))
	a.PasswordHash = "stronger"
	check("a stronger hash")
	wantError(t, "Rehash of what was", s.Accounts.Rehash(t.Context(), a.ID, "new", "x"), account.ErrConflict)
	check("after it")

	old := a.KeyHash
	copy(a.KeyHash[:], "the second key")
	a.SealedKey, a.Epoch = []byte("sealed"), 3
	must(t, s.Accounts.RotateKey(t.Context(), a.ID, a.KeyHash, a.SealedKey))
	check("a new key")
	_, err := s.Accounts.ByKeyHash(t.Context(), old)
	wantError(t, "the old key", err, account.ErrNotFound)
	got, err := s.Accounts.ByKeyHash(t.Context(), a.KeyHash)
	must(t, err)
	same(t, "by the new key", got, a)
	wantError(t, "RotateKey to another's", s.Accounts.RotateKey(t.Context(), a.ID, other.KeyHash, nil), account.ErrConflict)
	check("after it")

	must(t, s.Accounts.SealKey(t.Context(), a.ID, a.KeyHash, []byte("sealed again")))
	a.SealedKey = []byte("sealed again")
	check("another copy")
	wantError(t, "SealKey of the old key", s.Accounts.SealKey(t.Context(), a.ID, old, []byte("x")), account.ErrConflict)
	must(t, s.Accounts.RotateKey(t.Context(), a.ID, old, nil))
	a.KeyHash, a.SealedKey, a.Epoch = old, nil, 4
	check("a key without a copy")

	got, err = s.Accounts.ByID(t.Context(), other.ID)
	must(t, err)
	same(t, "the other account", got, other)
}

func testSettings(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	other := create(t, s.Accounts, person("bob"))
	must(t, s.Accounts.SetPlan(t.Context(), a.ID, account.Unlimited))
	a.Plan = account.Unlimited
	for flag, field := range map[account.Flag]*bool{
		account.FlagAdmin:             &a.Admin,
		account.FlagDisabled:          &a.Disabled,
		account.FlagRequireAuthOnJobs: &a.RequireAuthOnJobs,
		account.FlagShowEffects:       &a.ShowEffects,
	} {
		for _, on := range []bool{true, true, false, true} {
			must(t, s.Accounts.SetFlag(t.Context(), a.ID, flag, on))
			*field = on
			got, err := s.Accounts.ByID(t.Context(), a.ID)
			must(t, err)
			same(t, string(flag), got, a)
		}
	}
	for _, change := range []struct {
		name  string
		value *int64
		want  []account.Override
	}{
		{"rate", new(int64(5)), []account.Override{{Name: "rate", Value: 5}}},
		{"files", new(int64(1 << 53)), []account.Override{{Name: "files", Value: 1 << 53}, {Name: "rate", Value: 5}}},
		{"rate", new(int64(0)), []account.Override{{Name: "files", Value: 1 << 53}, {Name: "rate", Value: 0}}},
		{"memory", nil, []account.Override{{Name: "files", Value: 1 << 53}, {Name: "rate", Value: 0}}},
		{"files", nil, []account.Override{{Name: "rate", Value: 0}}},
		{"rate", nil, nil},
		{"running_per_month", new(int64(math.MaxInt64)), []account.Override{{Name: "running_per_month", Value: math.MaxInt64}}},
	} {
		must(t, s.Accounts.SetLimit(t.Context(), a.ID, change.name, change.value))
		a.Overrides = change.want
		got, err := s.Accounts.ByID(t.Context(), a.ID)
		must(t, err)
		same(t, change.name, got, a)
	}
	testContact(t, s, &a)
	for _, change := range []account.LookChange{
		{DisplayName: new("Ada & Co."), Accent: new("#1a56db")}, {Logo: new("/logo.png")}, {DisplayName: new("")}, {},
	} {
		must(t, s.Accounts.SetLook(t.Context(), a.ID, change))
		change.Apply(&a)
		got, err := s.Accounts.ByID(t.Context(), a.ID)
		must(t, err)
		same(t, "look", got, a)
	}
	if err := s.Accounts.SetFlag(t.Context(), a.ID, "username", true); err == nil {
		t.Error("a flag that is none was set")
	}
	got, err := s.Accounts.ByID(t.Context(), other.ID)
	must(t, err)
	same(t, "the other account", got, other)
}

// testContact changes how an account is reached: a verified address leads to it, another does not,
// and one that leads to another account is refused.
func testContact(t *testing.T, s Stores, a *account.Account) {
	ctx := t.Context()
	leads := func(kind names.Kind, name string, want bool) {
		t.Helper()
		got, err := s.Accounts.ByAlias(ctx, names.Alias{Kind: kind, Name: name})
		switch {
		case want && (err != nil || got.ID != a.ID):
			t.Errorf("%s leads to %v, %v", name, got.ID, err)
		case !want:
			wantError(t, name, err, account.ErrNotFound)
		}
	}
	former := a.Email
	taken := person("carl")
	taken.Email, taken.EmailVerified = "carl@example.com", true
	create(t, s.Accounts, taken)
	for _, change := range []account.ContactChange{
		{Email: new("new@example.com")},
		{Email: new("new@example.com"), Verified: true},
		{Email: new("new@example.com")}, // stays verified
		{Email: new("carl@example.com")},
		{Email: new("new@example.com"), Phone: new("+12025550111"), Verified: true},
		{Phone: new("")},
	} {
		must(t, s.Accounts.SetContact(ctx, a.ID, change))
		change.Apply(a)
		got, err := s.Accounts.ByID(ctx, a.ID)
		must(t, err)
		same(t, "contact", got, *a)
		leads(names.Username, a.Username, true)
		leads(names.Email, "new@example.com", a.Email == "new@example.com" && a.EmailVerified)
		leads(names.Phone, "+12025550111", a.Phone != "")
	}
	var refused *account.Taken
	if err := s.Accounts.SetContact(ctx, a.ID, account.ContactChange{Email: new("carl@example.com"), Verified: true}); !errors.As(err, &refused) || refused.Field != "email" {
		t.Errorf("an address of another account: %v", err)
	}
	leads(names.Email, "new@example.com", true)
	if former != "" {
		leads(names.Email, former, false)
	}
}

func testMissingAccount(t *testing.T, s Stores) {
	const nobody = account.ID(12345)
	for _, id := range []account.ID{nobody, 0, -1} {
		_, err := s.Accounts.ByID(t.Context(), id)
		_, noSecret := s.Accounts.Secret(t.Context(), id, "a")
		_, noKey := s.Accounts.CreateNamedKey(t.Context(), namedKey(id, "a"), 0)
		_, _, noScript := s.Accounts.Publish(t.Context(), account.Published{Account: id, Name: "a", Added: noon}, noon, account.PublishedLimits{})
		_, noVersion := s.Accounts.PublishedScript(t.Context(), id, "a", 0)
		_, noSite := s.Accounts.AddSiteDomain(t.Context(), siteDomain(id, "a.example.com"), 0)
		_, noProof := s.Accounts.ProveSiteDomain(t.Context(), id, "a.example.com", noon)
		for what, err := range map[string]error{
			"ByID":                err,
			"Delete":              s.Accounts.Delete(t.Context(), id),
			"SetPassword":         s.Accounts.SetPassword(t.Context(), id, "x"),
			"Rehash":              s.Accounts.Rehash(t.Context(), id, "", "x"),
			"RotateKey":           s.Accounts.RotateKey(t.Context(), id, account.KeyHash{1}, nil),
			"SealKey":             s.Accounts.SealKey(t.Context(), id, account.KeyHash{}, nil),
			"SetContact":          s.Accounts.SetContact(t.Context(), id, account.ContactChange{Email: new("x@example.com")}),
			"SetLook":             s.Accounts.SetLook(t.Context(), id, account.LookChange{Accent: new("#1a56db")}),
			"SetPlan":             s.Accounts.SetPlan(t.Context(), id, account.Free),
			"SetLimit":            s.Accounts.SetLimit(t.Context(), id, "rate", new(int64(1))),
			"SetFlag":             s.Accounts.SetFlag(t.Context(), id, account.FlagAdmin, true),
			"CreateNamedKey":      noKey,
			"RevokeNamedKey":      s.Accounts.RevokeNamedKey(t.Context(), id, "a"),
			"AddDomain":           s.Accounts.AddDomain(t.Context(), domain(t, id, "a.example.com")),
			"RequestDomain":       s.Accounts.RequestDomain(t.Context(), domain(t, id, "a.example.com"), 0),
			"RemoveDomain":        s.Accounts.RemoveDomain(t.Context(), id, pattern(t, "a.example.com")),
			"AddSiteDomain":       noSite,
			"ProveSiteDomain":     noProof,
			"RemoveSiteDomain":    s.Accounts.RemoveSiteDomain(t.Context(), id, "a.example.com"),
			"Publish":             noScript,
			"PublishedScript":     noVersion,
			"Unpublish":           s.Accounts.Unpublish(t.Context(), id, "a"),
			"SetSecret":           setSecret(t.Context(), s, account.Secret{Account: id, Name: "a", Sealed: []byte("x"), Set: noon}),
			"Secret":              noSecret,
			"RemoveSecret":        s.Accounts.RemoveSecret(t.Context(), id, "a"),
			"RotateWebhookSecret": s.Accounts.RotateWebhookSecret(t.Context(), account.WebhookSecret{Account: id, Number: 1, Sealed: []byte("x"), Made: noon}, noon),
		} {
			wantError(t, what, err, account.ErrNotFound)
		}
		domains, err1 := s.Accounts.Domains(t.Context(), id)
		scripts, err2 := s.Accounts.PublishedScripts(t.Context(), id, "", 10)
		has, err3 := s.Accounts.HasPublished(t.Context(), id, account.ScriptHash{}, noon)
		secrets, err4 := s.Accounts.Secrets(t.Context(), id)
		webhooks, err5 := s.Accounts.WebhookSecrets(t.Context(), id, noon)
		keys, err6 := s.Accounts.NamedKeys(t.Context(), id)
		must(t, errors.Join(err1, err2, err3, err4, err5, err6))
		if len(domains)+len(scripts)+len(secrets)+len(webhooks)+len(keys) > 0 || has {
			t.Errorf("account %d has something", id)
		}
	}
}

func testDelete(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	other := create(t, s.Accounts, person("bob"))
	for i, id := range []account.ID{a.ID, other.ID} {
		must(t, s.Accounts.AddDomain(t.Context(), domain(t, id, numbered("d", i)+".example.com")))
		publish(t, s, script(id, "p", "EMIT 1\n"))
		must(t, setSecret(t.Context(), s, account.Secret{Account: id, Name: "s", Sealed: []byte("x"), Set: noon}))
		must(t, s.Accounts.RotateWebhookSecret(t.Context(), account.WebhookSecret{Account: id, Number: 1, Sealed: []byte("x"), Made: noon}, noon))
		must(t, s.Sessions.Create(t.Context(), key(id, "s"), noon, never))
	}
	must(t, s.Jobs.Record(t.Context(), append(records(a.ID, 3), record(other.ID, 9))))

	must(t, s.Accounts.Delete(t.Context(), a.ID))
	wantError(t, "a second Delete", s.Accounts.Delete(t.Context(), a.ID), account.ErrNotFound)
	_, err := s.Accounts.ByAlias(t.Context(), a.Aliases()[0])
	wantError(t, "its name", err, account.ErrNotFound)
	_, err = s.Jobs.ByID(t.Context(), record(a.ID, 1).ID)
	if err == nil {
		t.Error("its job is still there")
	}
	_, found, err := s.Sessions.Load(t.Context(), key(a.ID, "s"))
	must(t, err)
	if found {
		t.Error("its session is still there")
	}
	again := create(t, s.Accounts, person("ada"))
	if again.ID == a.ID {
		t.Error("its id was given again")
	}
	for _, id := range []account.ID{a.ID, again.ID} {
		domains, err1 := s.Accounts.Domains(t.Context(), id)
		scripts, err2 := s.Accounts.PublishedScripts(t.Context(), id, "", 10)
		secrets, err3 := s.Accounts.Secrets(t.Context(), id)
		webhooks, err4 := s.Accounts.WebhookSecrets(t.Context(), id, noon)
		must(t, errors.Join(err1, err2, err3, err4))
		if len(domains)+len(scripts)+len(secrets)+len(webhooks) > 0 {
			t.Errorf("account %d has something left", id)
		}
	}
	must(t, s.Accounts.AddDomain(t.Context(), domain(t, again.ID, numbered("d", 0)+".example.com")))

	// The other's things are all there.
	domains, err1 := s.Accounts.Domains(t.Context(), other.ID)
	scripts, err2 := s.Accounts.PublishedScripts(t.Context(), other.ID, "", 10)
	secrets, err3 := s.Accounts.Secrets(t.Context(), other.ID)
	webhooks, err4 := s.Accounts.WebhookSecrets(t.Context(), other.ID, noon)
	_, found, err5 := s.Sessions.Load(t.Context(), key(other.ID, "s"))
	_, err6 := s.Jobs.ByID(t.Context(), record(other.ID, 9).ID)
	must(t, errors.Join(err1, err2, err3, err4, err5, err6))
	if len(domains) != 1 || len(scripts) != 1 || len(secrets) != 1 || len(webhooks) != 1 || !found {
		t.Error("something of the other account went too")
	}
}

// testNameRace lets many ask for one name at once: one gets it.
func testNameRace(t *testing.T, s Stores) {
	const runs = 32
	ids := make([]account.ID, runs)
	errs := atOnce(runs, func(i int) (err error) {
		a := person(numbered("user", i))
		a.Email = "same@example.com"
		ids[i], err = s.Accounts.Create(t.Context(), a)
		return err
	})
	won := winners(t, errs, func(err error) bool {
		var taken *account.Taken
		return errors.As(err, &taken) && taken.Field == "email"
	})
	if len(won) != 1 {
		t.Fatalf("%d got the name", len(won))
	}
	got, err := s.Accounts.ByAlias(t.Context(), names.Alias{Kind: names.Email, Name: "same@example.com"})
	must(t, err)
	if got.ID != ids[won[0]] || got.Username != numbered("user", won[0]) {
		t.Errorf("it leads to %s", got.Username)
	}
	list, err := s.Accounts.List(t.Context(), "", 100)
	must(t, err)
	if len(list) != 1 {
		t.Errorf("%d accounts were stored", len(list))
	}
}

// testRehashRace lets many replace one hash: one does.
func testRehashRace(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	errs := atOnce(16, func(i int) error {
		return s.Accounts.Rehash(t.Context(), a.ID, a.PasswordHash, numbered("hash", i))
	})
	won := winners(t, errs, func(err error) bool { return errors.Is(err, account.ErrConflict) })
	if len(won) != 1 {
		t.Fatalf("%d replaced it", len(won))
	}
	got, err := s.Accounts.ByID(t.Context(), a.ID)
	must(t, err)
	if got.PasswordHash != numbered("hash", won[0]) || got.Epoch != 1 {
		t.Errorf("got %s, epoch %d", got.PasswordHash, got.Epoch)
	}
}

// testRotationAgainstLookup rotates a key while others look it up: once a
// rotation has returned, nobody finds the old one.
func testRotationAgainstLookup(t *testing.T, s Stores) {
	const rotations, lookers = 30, 4
	a := create(t, s.Accounts, person("ada"))
	hash := func(n int) (h account.KeyHash) {
		copy(h[:], numbered("rotated", n))
		return h
	}
	var mu sync.Mutex
	dead := 0 // keys below this number were rotated away
	done := make(chan struct{})
	var group sync.WaitGroup
	for range lookers {
		group.Go(func() {
			for n := 0; ; n = (n + 1) % rotations {
				select {
				case <-done:
					return
				default:
				}
				mu.Lock()
				isDead := n < dead
				mu.Unlock()
				got, err := s.Accounts.ByKeyHash(t.Context(), hash(n))
				switch {
				case err == nil && isDead:
					t.Errorf("key %d was found after its end", n)
				case err == nil && (got.KeyHash != hash(n) || got.Epoch != int64(n)+2):
					t.Errorf("key %d came with epoch %d", n, got.Epoch)
				case err != nil && !errors.Is(err, account.ErrNotFound):
					t.Errorf("key %d: %v", n, err)
				}
			}
		})
	}
	for n := range rotations {
		if err := s.Accounts.RotateKey(t.Context(), a.ID, hash(n), nil); err != nil {
			t.Error(err)
			break
		}
		mu.Lock()
		dead = n
		mu.Unlock()
		if got, err := s.Accounts.ByKeyHash(t.Context(), hash(n)); err != nil || got.ID != a.ID {
			t.Errorf("the key just made: %v", err)
		}
	}
	close(done)
	group.Wait()
}

// testAccountVersions: the version that a cache goes by is another after each change
// of an account, when it has returned; also after one that adds a name. So is the number
// of the last change that members must see.
func testAccountVersions(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	last, ok := s.Versions.AccountsVersion()
	if !ok {
		t.Fatal("there is no version")
	}
	ctx, id := t.Context(), a.ID
	number, err := s.Members.LastChange(ctx)
	must(t, err)
	for _, change := range []struct {
		name string
		do   func() error
	}{
		{"a name", func() error { _, err := s.Accounts.Create(ctx, person("bob")); return err }},
		{"password", func() error { return s.Accounts.SetPassword(ctx, id, "new") }},
		{"rehash", func() error { return s.Accounts.Rehash(ctx, id, "new", "newer") }},
		{"key", func() error { return s.Accounts.RotateKey(ctx, id, account.KeyHash{1}, nil) }},
		{"sealed key", func() error { return s.Accounts.SealKey(ctx, id, account.KeyHash{1}, []byte("sealed")) }},
		{"contact", func() error { return s.Accounts.SetContact(ctx, id, account.ContactChange{Phone: new("+12025550199")}) }},
		{"look", func() error { return s.Accounts.SetLook(ctx, id, account.LookChange{Accent: new("#1a56db")}) }},
		{"plan", func() error { return s.Accounts.SetPlan(ctx, id, account.Free) }},
		{"limit", func() error { return s.Accounts.SetLimit(ctx, id, "rate", new(int64(1))) }},
		{"flag", func() error { return s.Accounts.SetFlag(ctx, id, account.FlagDisabled, true) }},
		{"named key", func() error { _, err := s.Accounts.CreateNamedKey(ctx, namedKey(id, "a"), 0); return err }},
		{"revoked key", func() error { return s.Accounts.RevokeNamedKey(ctx, id, "a") }},
		{"site domain", func() error { _, err := s.Accounts.AddSiteDomain(ctx, siteDomain(id, "a.example.com"), 0); return err }},
		{"proof", func() error { _, err := s.Accounts.ProveSiteDomain(ctx, id, "a.example.com", noon); return err }},
		{"removed site domain", func() error { return s.Accounts.RemoveSiteDomain(ctx, id, "a.example.com") }},
		{"emptied", func() error { return s.Accounts.SetPurged(ctx, id, noon) }},
		{"departure", func() error { return s.Accounts.MarkDeleted(ctx, id, noon) }},
		{"end", func() error { return s.Accounts.Delete(ctx, id) }},
	} {
		must(t, change.do())
		version, ok := s.Versions.AccountsVersion()
		if !ok || version <= last {
			t.Errorf("%s: version %d after %d, %t", change.name, version, last, ok)
		}
		last = version
		next, err := s.Members.LastChange(ctx)
		must(t, err)
		if next <= number {
			t.Errorf("%s: the last change is %d after %d", change.name, next, number)
		}
		number = next
	}
}

func testKeepCheck(t *testing.T, s Stores) {
	for range 2 {
		none, err := s.Accounts.EnsureKeyCheck(t.Context(), nil)
		must(t, err)
		if none != nil {
			t.Errorf("before there is any: %q", none)
		}
	}
	kept := make([][]byte, 8)
	errs := atOnce(len(kept), func(i int) (err error) {
		kept[i], err = s.Accounts.EnsureKeyCheck(t.Context(), []byte(numbered("check", i)))
		return err
	})
	must(t, errors.Join(errs...))
	for i := range kept {
		if len(kept[i]) == 0 || !bytes.Equal(kept[i], kept[0]) {
			t.Errorf("%q and %q were kept", kept[0], kept[i])
		}
	}
	again, err := s.Accounts.EnsureKeyCheck(t.Context(), []byte("later"))
	must(t, err)
	same(t, "what stands", string(again), string(kept[0]))
	must(t, s.Accounts.ReplaceKeyCheck(t.Context(), []byte("rotated")))
	rotated, err := s.Accounts.EnsureKeyCheck(t.Context(), []byte("later"))
	must(t, err)
	same(t, "after a rotation", string(rotated), "rotated")
	must(t, s.Accounts.ReplaceKeyCheck(t.Context(), again))
	asked, err := s.Accounts.EnsureKeyCheck(t.Context(), nil)
	must(t, err)
	same(t, "what stands, when asked", string(asked), string(kept[0]))
}

// testInvitations: an invitation makes one account, whatever becomes of that, and whoever comes at the
// same time.
func testInvitations(t *testing.T, s Stores) {
	ctx := t.Context()
	one, other := account.InvitationHash{1}, account.InvitationHash{2}
	taken := create(t, s.Accounts, person("taken"))
	_, err := s.Accounts.CreateInvited(ctx, person("taken"), one, noon)
	if is := (*account.Taken)(nil); !errors.As(err, &is) {
		t.Errorf("a name that is taken: %v", err)
	}
	errs := atOnce(8, func(i int) error {
		_, err := s.Accounts.CreateInvited(ctx, person(numbered("a", i)), one, noon)
		return err
	})
	won := winners(t, errs, func(err error) bool { return errors.Is(err, account.ErrInvitationUsed) })
	if len(won) != 1 {
		t.Fatalf("%d accounts were made by an invitation", len(won))
	}
	made, err := s.Accounts.ByAlias(ctx, names.Alias{Kind: names.Username, Name: numbered("a", won[0])})
	must(t, err)
	want := person(made.Username)
	want.ID, want.Epoch = made.ID, 1
	same(t, "the account", made, want)
	must(t, s.Accounts.Delete(ctx, made.ID))
	_, err = s.Accounts.CreateInvited(ctx, person("b"), one, noon)
	wantError(t, "after its account is deleted", err, account.ErrInvitationUsed)
	_, err = s.Accounts.CreateInvited(ctx, person("b"), other, noon.Add(time.Hour))
	must(t, err)
	n, err := s.Accounts.SweepInvitations(ctx, noon, 10)
	must(t, err)
	again, err := s.Accounts.SweepInvitations(ctx, noon, 10)
	must(t, err)
	if n != 1 || again != 0 {
		t.Errorf("%d and %d were swept", n, again)
	}
	_, err = s.Accounts.CreateInvited(ctx, person("c"), other, noon.Add(time.Hour))
	wantError(t, "one that has not ended", err, account.ErrInvitationUsed)

	// What is out is listed, the newest first, and no more are than may be.
	sent := func(n byte, expires time.Time) account.SentInvitation {
		return account.SentInvitation{
			Hash: account.InvitationHash{n}, Created: noon, Expires: expires,
			Invitation: account.Invitation{Plan: account.Standard, Email: numbered("x", int(n)) + "@example.com", Admin: n%2 == 0, By: "ada"},
		}
	}
	listed := func(what string, now time.Time, limit int, want ...account.SentInvitation) {
		t.Helper()
		list, err := s.Accounts.Invitations(ctx, now, limit)
		must(t, err)
		same(t, what, list, want)
	}
	listed("none", noon, 10)
	out := []account.SentInvitation{sent(10, noon.Add(2*time.Hour)), sent(11, noon.Add(time.Hour)), sent(12, noon.Add(2*time.Hour))}
	for i := range out {
		out[i].Number, err = s.Accounts.AddInvitation(ctx, out[i], 3)
		must(t, err)
	}
	_, err = s.Accounts.AddInvitation(ctx, sent(13, noon.Add(time.Hour)), 3)
	wantError(t, "one more", err, account.ErrTooManyInvitations)
	listed("all", noon, 10, out[2], out[1], out[0])
	listed("the newest", noon, 1, out[2])
	listed("an hour later", noon.Add(time.Hour), 10, out[2], out[0])
	wantError(t, "revoking one that has ended", s.Accounts.RevokeInvitation(ctx, out[1].Number, noon.Add(time.Hour)), account.ErrNotFound)
	must(t, s.Accounts.RevokeInvitation(ctx, out[0].Number, noon))
	wantError(t, "revoking it again", s.Accounts.RevokeInvitation(ctx, out[0].Number, noon), account.ErrNotFound)
	listed("one revoked", noon, 10, out[2], out[1])
	_, err = s.Accounts.CreateInvited(ctx, person("d"), out[0].Hash, out[0].Expires)
	wantError(t, "by what was revoked", err, account.ErrInvitationRevoked)
	_, err = s.Accounts.CreateInvited(ctx, person("d"), out[2].Hash, out[2].Expires)
	must(t, err)
	listed("one used", noon, 10, out[1])
	wantError(t, "revoking what was used", s.Accounts.RevokeInvitation(ctx, out[2].Number, noon), account.ErrNotFound)
	again13, err := s.Accounts.AddInvitation(ctx, sent(13, noon.Add(time.Hour)), 3)
	must(t, err)
	if again13 <= out[2].Number {
		t.Errorf("a number was given again: %d", again13)
	}
	// What has ended goes, whether it was out or not.
	for n := -1; n != 0; {
		n, err = s.Accounts.SweepInvitations(ctx, noon.Add(3*time.Hour), 1)
		must(t, err)
	}
	_, err = s.Accounts.CreateInvited(ctx, person("e"), out[0].Hash, out[0].Expires)
	must(t, err) // whose token would have been refused for its time

	must(t, s.Accounts.ResetPassword(ctx, taken.ID, 1, "new"))
	wantError(t, "a second time", s.Accounts.ResetPassword(ctx, taken.ID, 1, "newer"), account.ErrConflict)
	wantError(t, "of nobody", s.Accounts.ResetPassword(ctx, 12345, 1, "newer"), account.ErrNotFound)
	got, err := s.Accounts.ByID(ctx, taken.ID)
	must(t, err)
	taken.PasswordHash, taken.Epoch = "new", 2
	same(t, "the account with its new password", got, taken)
}
