package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/argon2"

	"ql/internal/account"
	"ql/internal/account/accounttest"
	"ql/internal/account/names"
	"ql/internal/fault"
	"ql/internal/hostname"
	"ql/internal/password"
	"ql/internal/principal"
)

const (
	secret = "violet mouse climbing"
	other  = "seven quiet anchors"
)

// cheap hashes a password with so little work that tests can check many. A log-in
// with it is followed by a rehash, which counts the hashes that matched.
func cheap(text string) string { return salted(text, "saltsalt") }

func salted(text, with string) string {
	salt := []byte(with)
	tag := argon2.IDKey([]byte(text), salt, 1, 8, 1, 32)
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=19$m=8,t=1,p=1$%s$%s", b64(salt), b64(tag))
}

// countingStore counts what is asked of it, and forgets rehashes, so that every
// match asks for one.
type countingStore struct {
	*accounttest.Memory
	mu       sync.Mutex
	rehashes int
	aliases  int
	fail     error
}

func (s *countingStore) Rehash(context.Context, account.ID, string, string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rehashes++
	return nil
}

func (s *countingStore) ByAlias(ctx context.Context, alias names.Alias) (account.Account, error) {
	s.mu.Lock()
	s.aliases++
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		return account.Account{}, fail
	}
	return s.Memory.ByAlias(ctx, alias)
}

func (s *countingStore) matches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rehashes
}

type fixture struct {
	*Authenticator
	store *countingStore
	gate  *password.Gate
	mu    sync.Mutex
	now   time.Time
	ada   account.Account
	key   account.Key
}

// newFixture has an account ada with an API key and a cheaply hashed password.
func newFixture(t *testing.T, set func(*Options)) *fixture {
	t.Helper()
	f := &fixture{
		store: &countingStore{Memory: &accounttest.Memory{}},
		now:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
	o := Options{Now: f.clock}
	if set != nil {
		set(&o)
	}
	f.gate = NewGate(1, o.Unthrottled)
	o.Gate = f.gate
	var err error
	if f.Authenticator, err = New(f.store, o); err != nil {
		t.Fatal(err)
	}
	f.dummy = cheap("nobody's")
	f.ada, f.key = f.add(t, account.Account{
		Username: "ada", Email: "ada@example.com", EmailVerified: true, Phone: "+12025550143", PhoneVerified: true,
	})
	return f
}

// closeGate takes the gate's one turn, until the function that it returns is
// called.
func (f *fixture) closeGate(t *testing.T) (open func()) {
	t.Helper()
	open, err := f.gate.Acquire(t.Context(), password.Request{})
	if err != nil {
		t.Fatal(err)
	}
	return open
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *fixture) add(t *testing.T, a account.Account) (account.Account, account.Key) {
	t.Helper()
	key, err := account.NewKey(strings.NewReader(a.Username + strings.Repeat("x", 32)))
	if err != nil {
		t.Fatal(err)
	}
	a.KeyHash, a.PasswordHash, a.Plan = key.Hash(), cheap(secret), account.Standard
	id, err := f.store.Create(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	a, err = f.store.ByID(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a, key
}

var home = Source{Addr: netip.MustParseAddr("192.0.2.1")}

func from(addr string) Source { return Source{Addr: netip.MustParseAddr(addr)} }

// wantCode checks an error's code; "" is none.
func wantCode(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if code == "" && err != nil || code != "" && !fault.Is(err, code) {
		t.Errorf("%s: got %v, want %q", what, err, code)
	}
}

func TestPasswordConvention(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, func(o *Options) { o.Unthrottled = true })
	f.add(t, account.Account{Username: "eve", Email: "eve@example.com", Phone: "+12025550144"})
	off, _ := f.add(t, account.Account{Username: "off"})
	if err := f.store.SetFlag(ctx, off.ID, account.FlagDisabled, true); err != nil {
		t.Fatal(err)
	}
	if _, err := f.store.Create(ctx, account.Account{Username: "blank"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ada", "ADA", "ada@example.com", "Ada@Example.com", "+12025550143"} {
		c, err := f.Password(ctx, name, secret, home)
		if err != nil || c.Account.ID != f.ada.ID || c.By != principal.ByPassword || !c.IsOwner() {
			t.Errorf("%s: got %+v, %v", name, c, err)
		}
	}
	for _, test := range []struct{ why, name, password string }{
		{"a wrong password", "ada", other},
		{"an empty password", "ada", ""},
		{"the hash", "ada", f.ada.PasswordHash},
		{"a password too long", "ada", strings.Repeat("x", 257)},
		{"an unknown name", "bob", secret},
		{"an unknown e-mail", "bob@example.com", secret},
		{"an unknown phone", "+12025550199", secret},
		{"no name at all", "", secret},
		{"a name out of grammar", "a b c", secret},
		{"an unverified e-mail", "eve@example.com", secret},
		{"an unverified phone", "+12025550144", secret},
		{"a disabled account", "off", secret},
		{"an account without a password", "blank", ""},
		{"an account without a password, any", "blank", "nobody's"},
	} {
		c, err := f.Password(ctx, test.name, test.password, home)
		if c.Account.ID != 0 || c.By != "" {
			t.Errorf("%s: got a caller %+v", test.why, c)
		}
		var e *fault.Error
		if !errors.As(err, &e) || e.Status() != 401 || e.Message != wrong {
			t.Errorf("%s: got %v, want the one answer", test.why, err)
		}
	}
	// What looks like an API key is told to be out of place, whether it is one or not.
	for _, key := range []string{f.key.Reveal(), account.KeyPrefix + "of nobody"} {
		for _, name := range []string{"ada", "bob"} {
			_, err := f.Password(ctx, name, key, home)
			var e *fault.Error
			if !errors.As(err, &e) || e.Status() != 401 || e.Message != wrong+passwordHint {
				t.Errorf("an API key as password of %s: got %v", name, err)
			}
		}
	}
}

func TestKeyConvention(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, nil)
	_, eves := f.add(t, account.Account{Username: "eve", Email: "eve@example.com"})
	off, offs := f.add(t, account.Account{Username: "off"})
	if err := f.store.SetFlag(ctx, off.ID, account.FlagDisabled, true); err != nil {
		t.Fatal(err)
	}
	for _, identity := range []string{"ada", "ADA", "ada@example.com", "ADA@example.com"} {
		c, err := f.Key(ctx, identity, f.key.Reveal(), home)
		if err != nil || c.Account.ID != f.ada.ID || c.By != principal.ByKey || !c.IsOwner() {
			t.Errorf("%s: got %+v, %v", identity, c, err)
		}
	}
	good := f.key.Reveal()
	for _, test := range []struct {
		why, identity, key string
		hint               bool
	}{
		{"the password", "ada", secret, true},
		{"nothing", "ada", "", true},
		{"a mistyped key", "ada", good[:10] + "!" + good[11:], false},
		{"a key cut off", "ada", good[:30], false},
		{"a key with a space", "ada", " " + good, true},
		{"another's key", "ada", eves.Reveal(), false},
		{"another's name", "eve", good, false},
		{"an unknown name", "bob", good, false},
		{"no name", "", good, false},
		{"a phone number", "+12025550143", good, false},
		{"an unverified e-mail", "eve@example.com", eves.Reveal(), false},
		{"a disabled account", "off", offs.Reveal(), false},
	} {
		_, err := f.Key(ctx, test.identity, test.key, home)
		want := wrong
		if test.hint {
			want = wrong + ": the field password takes the account's API key, which starts with qlk_"
		}
		var e *fault.Error
		if !errors.As(err, &e) || e.Status() != 401 || e.Message != want {
			t.Errorf("%s: got %v, want %q", test.why, err, want)
		}
	}
}

func TestRotatedCredentialsAreDead(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, func(o *Options) { o.Unthrottled = true })
	login := func(text string) error {
		_, err := f.Password(ctx, "ada", text, home)
		return err
	}
	wantCode(t, "before", login(secret), "")
	if err := f.store.SetPassword(ctx, f.ada.ID, cheap(other)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "the old password, remembered", login(secret), fault.BadCredentials)
	wantCode(t, "the new password", login(other), "")
	if err := f.store.SetPassword(ctx, f.ada.ID, salted(secret, "pepper!!")); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "the password between", login(other), fault.BadCredentials)
	wantCode(t, "the first one again", login(secret), "")
	if f.store.matches() != 3 {
		t.Errorf("%d hashes matched, want 3: nothing may be remembered across changes of the password", f.store.matches())
	}

	key, err := account.NewKey(strings.NewReader(strings.Repeat("n", 32)))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.store.RotateKey(ctx, f.ada.ID, key.Hash(), nil); err != nil {
		t.Fatal(err)
	}
	_, err = f.Key(ctx, "ada", f.key.Reveal(), home)
	wantCode(t, "the old key", err, fault.BadCredentials)
	_, err = f.Key(ctx, "ada", key.Reveal(), home)
	wantCode(t, "the new key", err, "")
	wantCode(t, "the password after the key was rotated", login(secret), "")
	wantCode(t, "a wrong one", login(other), fault.BadCredentials)
	if f.store.matches() != 3 {
		t.Errorf("%d hashes matched, want 3: a rotated key says nothing of the password", f.store.matches())
	}
	if err := f.store.SetFlag(ctx, f.ada.ID, account.FlagDisabled, true); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a remembered password of an account disabled since", login(secret), fault.BadCredentials)
}

func TestVerifiedPasswordsAreRemembered(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, nil)
	login := func(name string) {
		t.Helper()
		if _, err := f.Password(ctx, name, secret, home); err != nil {
			t.Fatal(err)
		}
	}
	wantMatches := func(n int) {
		t.Helper()
		if got := f.store.matches(); got != n {
			t.Errorf("%d hashes matched, want %d", got, n)
		}
	}
	login("ada")
	reads := f.store.aliases
	login("ada@example.com") // the account, not the name, is remembered
	if f.store.aliases != reads+1 {
		t.Error("a remembered password was taken without reading the account's row")
	}
	f.pass(verifiedFor - time.Second)
	login("ada")
	wantMatches(1)
	f.pass(time.Second) // the use in between does not prolong it
	login("ada")
	wantMatches(2)

	for range 100 {
		_, err := f.Password(ctx, "ada", other, home)
		if err == nil {
			t.Fatal("a wrong password is taken")
		}
	}
	if n := f.verified.until.Len(); n != 1 {
		t.Errorf("%d digests are remembered, want the one of the right password", n)
	}
	wantMatches(2)
}

func TestMemoryIsBounded(t *testing.T) {
	m := newVerifiedCache()
	now := time.Unix(0, 0)
	nth := func(i int) (p digest) {
		copy(p[:], fmt.Sprint(i))
		return p
	}
	for i := range maxVerified {
		m.add(nth(i), now)
	}
	if !m.has(nth(0), now) { // now the last used
		t.Fatal("the first is forgotten too early")
	}
	m.add(nth(maxVerified), now)
	if m.until.Len() != maxVerified {
		t.Errorf("%d are remembered, want %d", m.until.Len(), maxVerified)
	}
	if m.has(nth(1), now) || !m.has(nth(0), now) || !m.has(nth(maxVerified), now) {
		t.Error("not the least used one was forgotten")
	}
	if m.has(nth(0), now.Add(verifiedFor)) || m.until.Len() != maxVerified-1 {
		t.Error("what is over its time is still there")
	}
}

// TestOneHashForManyCalls has a thousand calls with the same password arrive
// while the gate is closed.
func TestOneHashForManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		f := newFixture(t, nil)
		open := f.closeGate(t)
		var group sync.WaitGroup
		for range 1_000 {
			group.Go(func() {
				if _, err := f.Password(ctx, "ada", secret, home); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := f.gate.Stats().Waiting; n != 1 {
			t.Errorf("%d calls wait for the gate, want 1", n)
		}
		open()
		group.Wait()
		if n := f.store.matches(); n != 1 {
			t.Errorf("%d hashes matched, want 1", n)
		}
	})
}

// TestLeaderGoesAway has the call that does the work for others end early.
func TestLeaderGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		open := f.closeGate(t)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := f.Password(ctx, "ada", secret, home); !errors.Is(err, context.Canceled) {
				t.Errorf("the leader: got %v, want context.Canceled", err)
			}
		})
		synctest.Wait()
		for range 10 {
			group.Go(func() {
				if _, err := f.Password(t.Context(), "ada", secret, home); err != nil {
					t.Errorf("a follower: %v", err)
				}
			})
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		open()
		group.Wait()
		if n := f.store.matches(); n != 1 {
			t.Errorf("%d hashes matched, want 1", n)
		}
		if n := f.throttle.names.Len() + f.throttle.sources.Len(); n != 5 || len(f.flights.open) != 0 {
			t.Errorf("%d buckets and %d flights are left", n, len(f.flights.open))
		}
	})
}

func TestFollowerGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		open := f.closeGate(t)
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := f.Password(t.Context(), "ada", secret, home); err != nil {
				t.Errorf("the leader: %v", err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		group.Go(func() {
			if _, err := f.Password(ctx, "ada", secret, home); !errors.Is(err, context.Canceled) {
				t.Errorf("the follower: got %v, want context.Canceled", err)
			}
		})
		synctest.Wait()
		cancel()
		synctest.Wait()
		open()
		group.Wait()
	})
}

// TestQueueIsBounded fills the line before the gate.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		open := f.closeGate(t)
		call := func(i int) error {
			// Each from a network of its own, so that none is throttled.
			_, err := f.Password(t.Context(), "ada", fmt.Sprint("guess ", i), from(fmt.Sprintf("10.0.%d.1", i)))
			return err
		}
		wantBusy := func(what string, err error) {
			var e *fault.Error
			if !errors.As(err, &e) || e.Status() != 503 || e.RetryAfter != time.Second {
				t.Errorf("%s: got %v, want 503 and a second", what, err)
			}
		}
		start := time.Now()
		var group sync.WaitGroup
		for i := range maxWaiting {
			group.Go(func() {
				wantBusy("a call that waited", call(i))
				if waited := time.Since(start); waited != maxWait {
					t.Errorf("it waited %s, want %s", waited, maxWait)
				}
			})
		}
		synctest.Wait()
		wantBusy("one more", call(maxWaiting))
		if time.Since(start) != 0 {
			t.Error("one more had to wait for its refusal")
		}
		group.Wait()
		open()
		if err := call(99); !fault.Is(err, fault.BadCredentials) {
			t.Errorf("afterwards: got %v, want bad_credentials", err)
		}
		// What was refused for want of room is no failed log-in.
		used := func(b bucket) time.Duration { return f.throttle.debt(b, f.clock()) / b.class.allowance().token() }
		for i, want := range map[int]time.Duration{0: 0, maxWaiting: 0, 99: 1} {
			of := sourceOfName("ada", from(fmt.Sprintf("10.0.%d.1", i)).Addr)
			if failures := used(of.pair()); failures != want {
				t.Errorf("%d log-ins of caller %d count as failed, want %d", failures, i, want)
			}
			// But each has cost the address its token.
			if tried := used(bucket{class: sourceClass, prefix: of.exact}); tried != 1 {
				t.Errorf("%d log-ins of caller %d count for its address, want 1", tried, i)
			}
		}
		if failures := used(sourceOfName("ada", home.Addr).byName()); failures != 1 {
			t.Errorf("%d log-ins count as failed, want the last alone", failures)
		}
	})
}

func TestQueueIsUnboundedInDevelopment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, func(o *Options) { o.Unthrottled = true })
		open := f.closeGate(t)
		var group sync.WaitGroup
		for i := range 3 * maxWaiting {
			group.Go(func() {
				_, err := f.Password(t.Context(), "ada", fmt.Sprint("guess ", i), home)
				wantCode(t, "a wrong password", err, fault.BadCredentials)
			})
		}
		time.Sleep(time.Minute) // of the bubble's clock
		open()
		group.Wait()
	})
}

func TestStoreErrorsAreNotRefusals(t *testing.T) {
	f := newFixture(t, nil)
	f.store.fail = errors.New("disk on fire")
	_, err := f.Password(context.Background(), "ada", secret, home)
	if !errors.Is(err, f.store.fail) || fault.Is(err, fault.BadCredentials) {
		t.Errorf("got %v, want the store's error", err)
	}
}

func TestWeakHashesAreReplaced(t *testing.T) {
	ctx := context.Background()
	store := &accounttest.Memory{}
	a, err := New(store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := store.Create(ctx, account.Account{Username: "ada", PasswordHash: cheap(secret)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Password(ctx, "ada", secret, home); err != nil {
		t.Fatal(err)
	}
	row, err := store.ByID(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := password.Matches(secret, row.PasswordHash); !ok || err != nil || password.NeedsRehash(row.PasswordHash) || row.Epoch != 1 {
		t.Errorf("got %v, %v, epoch %d, want a new hash of the same password and epoch", ok, err, row.Epoch)
	}
}

func TestDevelopmentCredentials(t *testing.T) {
	ctx := context.Background()
	own, err := hostname.ParseOrigin("http://localhost:8080")
	if err != nil {
		t.Fatal(err)
	}
	dev := &Development{Username: "dev", Password: "dev"}
	f := newFixture(t, func(o *Options) {
		o.Development, o.Unthrottled = dev, true
		o.Own = []hostname.Origin{own}
	})
	row, _ := f.add(t, account.Account{Username: "user_test"})
	dev.Account = row.ID
	for _, test := range []struct {
		name, password string
		from           Source
		want           fault.Code // "" is let in
	}{
		{"dev", "dev", home, ""},
		{"dev", "dev", Source{FetchSite: "none"}, ""},
		{"dev", "dev", Source{FetchSite: "same-origin", Origin: ReadOrigin([]string{"http://localhost:8080"})}, ""},
		{"dev", "dev", Source{FetchSite: "same-origin", Origin: ReadOrigin([]string{"http://127.0.0.1:8080"})}, ""},
		{"dev", "dev", Source{FetchSite: "same-origin", Origin: ReadOrigin([]string{"http://[::1]:8080"})}, ""},
		{"dev", "dev", Source{Origin: ReadOrigin([]string{"https://127.0.0.1:8080"})}, fault.OriginNotAllowed},
		{"dev", "dev", Source{Origin: ReadOrigin([]string{"http://127.0.0.1:3000"})}, fault.OriginNotAllowed},
		{"dev", "dev", Source{Origin: ReadOrigin([]string{"http://evil.localhost:8080"})}, fault.OriginNotAllowed},
		{"dev", "dev", Source{Origin: ReadOrigin([]string{"http://localhost:3000"})}, fault.OriginNotAllowed},
		{"dev", "dev", Source{Origin: ReadOrigin([]string{"https://evil.example"})}, fault.OriginNotAllowed},
		{"dev", "dev", Source{Origin: ReadOrigin([]string{"null"})}, fault.OriginNotAllowed},
		{"dev", "dev", Source{Origin: ReadOrigin([]string{""})}, fault.OriginNotAllowed},
		{"dev", "dev", Source{Origin: ReadOrigin([]string{"http://localhost:8080", "http://localhost:8080"})}, fault.OriginNotAllowed},
		{"dev", "dev", Source{FetchSite: "cross-site"}, fault.OriginNotAllowed},
		{"dev", "dev", Source{FetchSite: "cross-site", Origin: ReadOrigin([]string{"http://localhost:8080"})}, fault.OriginNotAllowed},
		{"dev", "no", home, fault.BadCredentials},
		{"Dev", "dev", home, fault.BadCredentials},
		{"user_test", "dev", home, fault.BadCredentials},
		// Wrong ones are wrong whatever the page.
		{"dev", "no", Source{FetchSite: "cross-site"}, fault.BadCredentials},
	} {
		what := fmt.Sprintf("%s/%s from %+v", test.name, test.password, test.from)
		c, err := f.Password(ctx, test.name, test.password, test.from)
		wantCode(t, "password "+what, err, test.want)
		if err == nil && (!c.Development || c.Account.ID != row.ID) {
			t.Errorf("password %s: got %+v", what, c)
		}
		_, err = f.Key(ctx, test.name, test.password, test.from)
		wantCode(t, "key "+what, err, test.want)
	}
	if err := f.store.SetFlag(ctx, row.ID, account.FlagDisabled, true); err != nil {
		t.Fatal(err)
	}
	_, err = f.Password(ctx, "dev", "dev", home)
	wantCode(t, "disabled", err, fault.BadCredentials)

	without := newFixture(t, nil)
	_, err = without.Password(ctx, "dev", "dev", home)
	wantCode(t, "switched off", err, fault.BadCredentials)
}
