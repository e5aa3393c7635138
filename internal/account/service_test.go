package account_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ql/internal/account"
	"ql/internal/account/accounttest"
	"ql/internal/account/names"
	"ql/internal/account/seal"
	"ql/internal/fault"
	"ql/internal/password"
	"ql/internal/redacted"
)

const strong = "violet mouse climbing"

func newVault(t *testing.T) *seal.Vault {
	t.Helper()
	v, err := seal.NewVault(seal.MasterKey{Text: redacted.Text(bytes.Repeat([]byte{1}, 32))})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// fixture is a service over a store in memory, with a clock of its own.
type fixture struct {
	*account.Service
	store *accounttest.Memory
	now   time.Time
}

func newFixture(t *testing.T, o account.Options) *fixture {
	t.Helper()
	f := &fixture{store: &accounttest.Memory{}, now: time.Date(2026, 1, 2, 3, 4, 5, 6789, time.UTC)}
	o.Now = func() time.Time { return f.now }
	o.Gate = password.NewGate(password.GateOptions{Slots: 1})
	f.Service = account.NewService(f.store, newVault(t), o)
	return f
}

func (f *fixture) create(t *testing.T, username string) (account.Account, account.Key) {
	t.Helper()
	a, key, err := f.Create(context.Background(), account.New{Username: username, Password: strong, Plan: account.Standard})
	if err != nil {
		t.Fatal(err)
	}
	return a, key
}

// wantField checks for an invalid_request that names a field.
func wantField(t *testing.T, err error, field string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.InvalidRequest || f.Field != field {
		t.Errorf("got %v, want invalid_request for %q", err, field)
	}
}

func wantNotFound(t *testing.T, err error) {
	t.Helper()
	if !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v, want not_found", err)
	}
}

func TestCreate(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{})
	a, key, err := f.Create(ctx, account.New{
		Username: "Ada", Email: "Ada@Example.com", Phone: "+12025550143", Password: strong, Plan: account.Standard, Admin: true, Verified: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := password.Matches(strong, a.PasswordHash); !ok || err != nil {
		t.Errorf("the password does not match: %v", err)
	}
	want := account.Account{
		ID: a.ID, Username: "ada", Email: "ada@example.com", EmailVerified: true, Phone: "+12025550143", PhoneVerified: true,
		PasswordHash: a.PasswordHash, KeyHash: key.Hash(), SealedKey: a.SealedKey, Epoch: 1, Plan: account.Standard, Admin: true,
		Created: f.now.Truncate(time.Microsecond),
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
	if a.ID == 0 || a.SealedKey == nil {
		t.Errorf("got id %d and %d bytes of sealed key", a.ID, len(a.SealedKey))
	}
	for _, name := range []string{"ada", "ADA", "ada@example.com", "+12025550143"} {
		if found, err := f.Find(ctx, name); err != nil || found.ID != a.ID {
			t.Errorf("%s: got account %d, %v", name, found.ID, err)
		}
	}
	if shown, err := f.ShowKey(ctx, a.ID); err != nil || shown != key {
		t.Errorf("the key shown again is another: %v", err)
	}

	for field, n := range map[string]account.New{
		"username": {Username: "ADA", Password: strong, Plan: account.Free},
		"email":    {Username: "eve", Email: "ADA@example.com", Password: strong, Plan: account.Free, Verified: true},
		"phone":    {Username: "eve", Phone: "+12025550143", Password: strong, Plan: account.Free, Verified: true},
	} {
		_, _, err := f.Create(ctx, n)
		wantField(t, err, field)
	}
	for field, n := range map[string]account.New{
		"username": {Username: "no", Password: strong, Plan: account.Free},
		"email":    {Username: "eve", Email: "eve", Password: strong, Plan: account.Free},
		"phone":    {Username: "eve", Phone: "555", Password: strong, Plan: account.Free},
		"password": {Username: "evelyn", Password: "evelyn12345", Plan: account.Free},
		"plan":     {Username: "eve", Password: strong, Plan: "gold"},
	} {
		_, _, err := f.Create(ctx, n)
		wantField(t, err, field)
	}
	_, _, err = f.Create(ctx, account.New{Username: "admin", Password: strong, Plan: account.Free})
	wantField(t, err, "username")
	if list, err := f.List(ctx, "", 10); err != nil || len(list) != 1 {
		t.Errorf("%d accounts, %v, want ada alone", len(list), err)
	}
}

// TestUnverifiedNamesLeadNowhere is about an attacker who signs up with the
// address of another.
func TestUnverifiedNamesLeadNowhere(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{})
	for _, username := range []string{"eve", "mallory"} {
		n := account.New{Username: username, Email: "ada@example.com", Phone: "+12025550143", Password: strong, Plan: account.Free}
		if _, _, err := f.Create(ctx, n); err != nil {
			t.Fatal(err)
		}
	}
	_, err := f.Find(ctx, "ada@example.com")
	wantNotFound(t, err)
	n := account.New{Username: "ada", Email: "ada@example.com", Phone: "+12025550143", Password: strong, Plan: account.Free, Verified: true}
	ada, _, err := f.Create(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ada@example.com", "+12025550143"} {
		if a, err := f.Find(ctx, name); err != nil || a.ID != ada.ID {
			t.Errorf("%s leads to %s, %v", name, a.Username, err)
		}
	}
}

func TestRotateKey(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{})
	a, old := f.create(t, "ada")
	b, key, err := f.RotateKey(ctx, "ada")
	if err != nil {
		t.Fatal(err)
	}
	if key == old || b.Epoch != a.Epoch+1 || b.KeyHash != key.Hash() || b.PasswordHash != a.PasswordHash {
		t.Errorf("got %+v", b)
	}
	if _, err := f.store.ByKeyHash(ctx, old.Hash()); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("the old key: got %v, want ErrNotFound", err)
	}
	if shown, err := f.ShowKey(ctx, a.ID); err != nil || shown != key {
		t.Errorf("the key shown is not the new one: %v", err)
	}
	_, _, err = f.RotateKey(ctx, "nobody")
	wantNotFound(t, err)
}

func TestKeysOnce(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{KeysOnce: true})
	a, _ := f.create(t, "ada")
	b, _, err := f.RotateKey(ctx, "ada")
	if err != nil {
		t.Fatal(err)
	}
	if a.SealedKey != nil || b.SealedKey != nil {
		t.Error("a copy of the key is kept")
	}
	_, err = f.ShowKey(ctx, a.ID)
	wantNotFound(t, err)
}

func TestSetPassword(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{})
	a, key := f.create(t, "ada")
	const other = "seven quiet anchors"
	if err := f.SetPassword(ctx, "ada", other); err != nil {
		t.Fatal(err)
	}
	b, err := f.Find(ctx, "ada")
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := password.Matches(other, b.PasswordHash); !ok || err != nil || b.Epoch != a.Epoch+1 || b.KeyHash != key.Hash() {
		t.Errorf("got %+v, %v", b, err)
	}
	wantField(t, f.SetPassword(ctx, "ada", "short"), "password")
	wantNotFound(t, f.SetPassword(ctx, "nobody", other))
}

func TestSettings(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{})
	f.create(t, "ada")
	for _, flag := range []string{"admin", "disabled", "require_auth_on_jobs"} {
		if err := f.SetFlag(ctx, "ada", flag, true); err != nil {
			t.Errorf("%s: %v", flag, err)
		}
	}
	if err := f.SetPlan(ctx, "ada", "unlimited"); err != nil {
		t.Error(err)
	}
	a, err := f.Find(ctx, "ada")
	if err != nil || !a.Admin || !a.Disabled || !a.RequireAuthOnJobs || a.Plan != account.Unlimited {
		t.Errorf("got %+v, %v", a, err)
	}
	wantField(t, f.SetFlag(ctx, "ada", "shiny", true), "setting")
	wantField(t, f.SetPlan(ctx, "ada", "gold"), "plan")
	wantNotFound(t, f.SetPlan(ctx, "nobody", "free"))
	if err := f.Delete(ctx, "ada"); err != nil {
		t.Error(err)
	}
	wantNotFound(t, f.Delete(ctx, "ada"))
}

func TestDevelopmentAccount(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{})
	wantMissing := func(name, message string) {
		t.Helper()
		var e *fault.Error
		if _, err := f.Find(ctx, name); !errors.As(err, &e) || e.Code != fault.NotFound || e.Message != message {
			t.Errorf("%s: got %v, want %s", name, err, message)
		}
	}
	wantMissing("dev", `there is no account "dev"`)
	a, err := f.EnsureDevelopment(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := f.EnsureDevelopment(ctx); err != nil || b.ID != a.ID {
		t.Errorf("a second time: got %d, %v, want %d", b.ID, err, a.ID)
	}
	if a.Username != "user_test" || a.Plan != account.Free || a.PasswordHash != "" || a.KeyHash != (account.KeyHash{}) {
		t.Errorf("got %+v", a)
	}
	if _, err := f.store.ByKeyHash(ctx, account.KeyHash{}); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("the zero key finds an account: %v", err)
	}
	wantMissing("dev", `there is no account "dev": the development account is called user_test here`)
	wantMissing("devel", `there is no account "devel"`)
	_, _, rotate := f.RotateKey(ctx, "user_test")
	for _, err := range []error{rotate, f.SetPassword(ctx, "user_test", strong), f.SetFlag(ctx, "user_test", "admin", true)} {
		if !fault.Is(err, fault.InvalidRequest) {
			t.Errorf("got %v, want a refusal", err)
		}
	}
}

func TestServiceDomains(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{})
	f.create(t, "ada")
	f.create(t, "eve")
	add := func(name, entry string, publishedOnly bool) error {
		_, err := f.AddDomain(ctx, name, entry, publishedOnly)
		return err
	}
	for _, err := range []error{
		add("ada", "Shop.example.com", false), add("ada", "*.shops.example.com", true), add("ada", "shop.example.com", true),
		add("ada", "http://shop.example.com", false), add("eve", "other.example.com", false),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	for _, entry := range []string{"shop.example.com", "https://shop.example.com:8443", "a.shops.example.com", "*.b.shops.example.com", "*.example.com"} {
		wantField(t, add("eve", entry, false), "domain")
	}
	wantField(t, add("ada", "http://localhost:3000", false), "domain")
	wantField(t, add("ada", "https://shop.example.com/x", false), "domain")
	wantNotFound(t, add("nobody", "x.example.com", false))

	list, err := f.Domains(ctx, "ada")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range list {
		text := d.Pattern.String()
		if d.PublishedOnly {
			text += " published"
		}
		got = append(got, text)
	}
	want := []string{"http://shop.example.com", "https://*.shops.example.com published", "https://shop.example.com published"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	if err := f.RemoveDomain(ctx, "ada", "shop.example.com"); err != nil {
		t.Error(err)
	}
	wantNotFound(t, f.RemoveDomain(ctx, "ada", "shop.example.com"))
	wantNotFound(t, f.RemoveDomain(ctx, "ada", "http://localhost:3000"))
	wantField(t, add("eve", "shop.example.com", false), "domain") // ada has it by http
	if err := f.RemoveDomain(ctx, "ada", "http://shop.example.com"); err != nil {
		t.Error(err)
	}
	if err := add("eve", "shop.example.com", false); err != nil {
		t.Errorf("a domain set free: %v", err)
	}

	dev := newFixture(t, account.Options{Dev: true})
	dev.create(t, "ada")
	if _, err := dev.AddDomain(ctx, "ada", "http://localhost:3000", false); err != nil {
		t.Error(err)
	}
}

// TestNobodysDomains: where anybody may take a domain, no account lists all of
// them. What was listed before can be removed.
func TestNobodysDomains(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{Dev: true})
	ada, _ := f.create(t, "ada")
	for entry, good := range map[string]bool{
		"*.co.uk":                  false,
		"co.uk":                    false,
		"http://*.co.uk:8080":      false,
		"*.github.io":              false,
		"*.xn--fiqs8s.xn--fiqs8s":  true, // 中国 alone is the suffix
		"*.xn--55qx5d.xn--j6w193g": false,
		"*.公司.香港":                  false,
		"github.io":                true, // a site
		"me.github.io":             true,
		"*.me2.github.io":          true,
		"example.co.uk":            true,
		"*.example.co.uk":          true,
		"*.corp.internal":          true,
		"*.printers.local":         true,
		"intranet.internal":        true,
		"http://dev":               true, // a name of one's own network
		"http://localhost:3000":    true,
		"http://127.0.0.1":         true,
	} {
		_, err := f.AddDomain(ctx, "ada", entry, false)
		if good && err != nil {
			t.Errorf("%s: %v", entry, err)
		}
		if !good {
			wantField(t, err, "domain")
		}
	}
	_, err := f.AddDomain(ctx, "ada", "*.co.uk", false)
	if want := "*.co.uk is nobody's own: anybody may have a domain below co.uk, so an entry names one, such as shop.co.uk or *.shop.co.uk"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	listed := names.Pattern{Scheme: "https", Host: "*.com.au"}
	if err := f.store.AddDomain(ctx, account.Domain{Account: ada.ID, Pattern: listed}); err != nil {
		t.Fatal(err)
	}
	if err := f.RemoveDomain(ctx, "ada", "*.com.au"); err != nil {
		t.Error(err)
	}
}

func TestServiceSecrets(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{})
	a, _ := f.create(t, "ada")
	for _, value := range []string{"first", "canary-4711"} {
		if err := f.SetSecret(ctx, "ada", "api_key", value); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := f.Secret(ctx, a.ID, "api_key"); err != nil || got != "canary-4711" {
		t.Errorf("got %q, %v", got, err)
	}
	row, err := f.store.Secret(ctx, a.ID, "api_key")
	if err != nil || bytes.Contains(row.Sealed, []byte("canary")) {
		t.Errorf("the store can read it, %v", err)
	}
	list, err := f.Secrets(ctx, "ada")
	if err != nil || len(list) != 1 || list[0].Name != "api_key" || list[0].Sealed != nil {
		t.Errorf("got %v, %v", list, err)
	}
	wantField(t, f.SetSecret(ctx, "ada", "1st", "x"), "name")
	wantField(t, f.SetSecret(ctx, "ada", "", "x"), "name")
	wantField(t, f.SetSecret(ctx, "ada", "big", strings.Repeat("x", 64<<10+1)), "value")
	wantField(t, f.SetSecret(ctx, "ada", "raw", "\xff"), "value")
	if _, err := f.Secret(ctx, a.ID, "other"); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	if err := f.RemoveSecret(ctx, "ada", "api_key"); err != nil {
		t.Error(err)
	}
	wantNotFound(t, f.RemoveSecret(ctx, "ada", "api_key"))
}

func TestWebhookSecret(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{})
	a, _ := f.create(t, "ada")
	get := func(rotate bool) redacted.Text {
		t.Helper()
		s, err := f.WebhookSecret(ctx, "ada", rotate)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	signers := func() []redacted.Text {
		t.Helper()
		s, err := f.WebhookSecrets(ctx, a.ID)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	want := func(secrets ...redacted.Text) {
		t.Helper()
		if diff := cmp.Diff(secrets, signers()); diff != "" {
			t.Error(diff)
		}
	}
	first := get(false)
	if !strings.HasPrefix(first.Reveal(), "whsec_") || len(first) != 6+44 || get(false) != first {
		t.Errorf("got %q", first)
	}
	want(first)
	second := get(true)
	want(second, first)
	f.now = f.now.Add(24*time.Hour - time.Microsecond)
	want(second, first)
	f.now = f.now.Add(time.Microsecond)
	want(second)
	third := get(true)
	fourth := get(true)
	want(fourth, third) // never more than two
}

// racingStore lets somebody else be faster, once.
type racingStore struct {
	*accounttest.Memory
	first func()
}

func (s *racingStore) RotateWebhookSecret(ctx context.Context, row account.WebhookSecret, keep time.Time) error {
	if first := s.first; first != nil {
		s.first = nil
		first()
	}
	return s.Memory.RotateWebhookSecret(ctx, row, keep)
}

// TestFirstWebhookSecretIsOne has two callers ask at once for a secret that is
// not there yet, and two rotate it at once.
func TestFirstWebhookSecretIsOne(t *testing.T) {
	ctx := context.Background()
	store := &racingStore{Memory: &accounttest.Memory{}}
	s := account.NewService(store, newVault(t), account.Options{})
	a, _, err := s.Create(ctx, account.New{Username: "ada", Password: strong, Plan: account.Free})
	if err != nil {
		t.Fatal(err)
	}
	for _, rotate := range []bool{false, true} {
		var faster redacted.Text
		store.first = func() {
			var err error
			if faster, err = s.WebhookSecret(ctx, "ada", rotate); err != nil {
				t.Error(err)
			}
		}
		got, err := s.WebhookSecret(ctx, "ada", rotate)
		if err != nil {
			t.Fatal(err)
		}
		want := []redacted.Text{faster}
		if rotate {
			want = []redacted.Text{got, faster}
		} else if got != faster {
			t.Errorf("two callers were told two first secrets")
		}
		signing, err := s.WebhookSecrets(ctx, a.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, signing); diff != "" {
			t.Errorf("rotate %v: %s", rotate, diff)
		}
	}
}

// TestOwnLimits: an account's own limits stand in the place of its plan's, and go no further than
// some plan does.
func TestOwnLimits(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{})
	f.create(t, "ada")
	limits := func() account.Limits {
		t.Helper()
		a, err := f.Find(ctx, "ada")
		if err != nil {
			t.Fatal(err)
		}
		return a.Limits(account.Plan.Limits)
	}
	want := account.Standard.Limits()
	set := func(name, text string, change func()) {
		t.Helper()
		if err := f.SetLimit(ctx, "ada", name, text); err != nil {
			t.Fatal(err)
		}
		change()
		if got := limits(); got != want {
			t.Errorf("%s = %s gives %+v", name, text, got)
		}
	}
	set("rate", "5", func() { want.Rate = 5 })
	set("rate", "0", func() { want.Rate = 0 })
	set("storage_bytes", "20 GiB", func() { want.StorageBytes = 20 << 30 })
	set("sync_time", "1m", func() { want.SyncTime = time.Minute })
	set("rate_per_address", "true", func() { want.RatePerAddress = true })
	set("jobs_kept", "1h", func() { want.JobRetention = time.Hour })
	for name, text := range map[string]string{
		"memory": "513 MiB", "sync_time": "121s", "body_bytes": "17 MiB", "fetch_bytes": "1 TiB", "concurrent": "201", // more than any plan
		"databases": "0", "files": "-1", "sessions": "0", "async_time": "10", "rate_per_address": "yes", "script_bytes": "9 EiB",
		"fetch_time": "0", // while scripts may FETCH
	} {
		wantField(t, f.SetLimit(ctx, "ada", name, text), name)
	}
	wantField(t, f.SetLimit(ctx, "ada", "raet", "5"), "limit")
	wantField(t, f.UnsetLimit(ctx, "ada", "raet"), "limit")
	wantNotFound(t, f.SetLimit(ctx, "nobody", "rate", "5"))
	if got := limits(); got != want {
		t.Errorf("refused limits changed %+v", got)
	}

	// What is half said after a change of plan allows nothing.
	set("fetches", "30", func() { want.Fetches = 30 })
	if err := f.SetPlan(ctx, "ada", "free"); err != nil {
		t.Fatal(err)
	}
	if l := limits(); l.Fetches != 0 {
		t.Errorf("an account without fetch_time may fetch: %+v", l)
	}
	for _, name := range account.LimitNames() {
		if err := f.UnsetLimit(ctx, "ada", name); err != nil {
			t.Fatal(err)
		}
	}
	if got := limits(); got != account.Free.Limits() {
		t.Errorf("without its own it has %+v", got)
	}
}

// TestFormatLimit: what is shown of a limit can be set.
func TestFormatLimit(t *testing.T) {
	for _, p := range account.Plans() {
		full, read := p.Limits(), account.Limits{}
		for _, name := range account.LimitNames() {
			n, err := account.ParseLimit(name, account.FormatLimit(name, full.Limit(name)))
			if err != nil {
				t.Fatalf("%s of %s: %v", name, p, err)
			}
			read.SetLimit(name, n)
		}
		if read != full {
			t.Errorf("%s comes back as %+v", p, read)
		}
	}
}
