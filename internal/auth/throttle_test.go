package auth

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/fault"
)

// guess tries a wrong password.
func (f *fixture) guess(name string, n int, from Source) error {
	_, err := f.Password(context.Background(), name, fmt.Sprint("guess ", n), from)
	return err
}

// wantGuesses makes guesses until they are refused and checks how many were
// not.
func (f *fixture) wantGuesses(t *testing.T, name string, from Source, want int) {
	t.Helper()
	for n := range want {
		if err := f.guess(name, n, from); !fault.Is(err, fault.BadCredentials) {
			t.Fatalf("guess %d of %d: got %v, want bad_credentials", n+1, want, err)
		}
	}
	var e *fault.Error
	if err := f.guess(name, want, from); !errors.As(err, &e) || e.Status() != 429 || e.RetryAfter <= 0 {
		t.Fatalf("after %d guesses: got %v, want 429 and a time to wait", want, err)
	}
}

func TestThrottlePerNameAndNetwork(t *testing.T) {
	f := newFixture(t, nil)
	f.wantGuesses(t, "ada", from("192.0.2.1"), 10)
	wantCode(t, "the same /24", f.guess("ada", 0, from("192.0.2.77")), fault.RateLimited)
	wantCode(t, "IPv4 in IPv6", f.guess("ada", 0, from("::ffff:192.0.2.5")), fault.RateLimited)
	wantCode(t, "another network", f.guess("ada", 0, from("198.51.100.1")), fault.BadCredentials)
	wantCode(t, "another name", f.guess("bob", 0, from("192.0.2.1")), fault.BadCredentials)

	f.wantGuesses(t, "ada", from("2001:db8:1:2::1"), 10)
	wantCode(t, "the same /48", f.guess("ada", 0, from("2001:db8:1:ffff::9")), fault.RateLimited)
	wantCode(t, "another /48", f.guess("ada", 0, from("2001:db8:2::1")), fault.BadCredentials)
}

// TestThrottleTellsNothing makes the same guesses for a name that exists and
// for one that does not.
func TestThrottleTellsNothing(t *testing.T) {
	f := newFixture(t, nil)
	for n := range 15 {
		for _, names := range [][2]string{{"ada", "bob"}, {"ada@example.com", "bob@example.com"}, {"+12025550143", "+12025550199"}} {
			known, unknown := f.guess(names[0], n, from("2001:db8:1::1")), f.guess(names[1], n, from("2001:db8:2::1"))
			if fmt.Sprint(known) != fmt.Sprint(unknown) {
				t.Errorf("guess %d: %q for %s, %q for %s", n, known, names[0], unknown, names[1])
			}
		}
	}
}

func TestThrottlePerSource(t *testing.T) {
	f := newFixture(t, nil)
	source := from("192.0.2.1")
	for n := range 30 {
		wantCode(t, "a guess", f.guess(fmt.Sprint("user", n), n, source), fault.BadCredentials)
	}
	wantCode(t, "one more name", f.guess("user99", 0, source), fault.RateLimited)
	wantCode(t, "a neighbour", f.guess("user99", 0, from("192.0.2.2")), fault.BadCredentials)
	_, err := f.Password(t.Context(), "ada", secret, source)
	wantCode(t, "a right password that is not remembered", err, fault.RateLimited)

	six := from("2001:db8::1")
	for n := range 30 {
		wantCode(t, "a guess", f.guess(fmt.Sprint("user", n), n, six), fault.BadCredentials)
	}
	wantCode(t, "the same /64", f.guess("user98", 0, from("2001:db8::ffff")), fault.RateLimited)
	wantCode(t, "another /64", f.guess("user98", 0, from("2001:db8:0:1::1")), fault.BadCredentials)
}

// TestThrottlePerNetwork: an address among many of its network has no more than
// those have together.
func TestThrottlePerNetwork(t *testing.T) {
	for name, addr := range map[string]func(n int) string{
		"a /24 of IPv4": func(n int) string { return fmt.Sprintf("192.0.2.%d", n%256) },
		"a /48 of IPv6": func(n int) string { return fmt.Sprintf("2001:db8:1:%x::1", n) },
	} {
		f := newFixture(t, nil)
		for n := range nearAllowance.count {
			wantCode(t, name, f.guess(fmt.Sprint("user", n), n, from(addr(n))), fault.BadCredentials)
		}
		wantCode(t, name+", one more", f.guess("user999", 0, from(addr(200))), fault.RateLimited)
		wantCode(t, "beside "+name, f.guess("user999", 0, from("198.51.100.1")), fault.BadCredentials)
		f = newFixture(t, nil)
		for n := range nearAllowance.count {
			_, err := f.Key(t.Context(), "ada", "qlk_wrong", from(addr(n)))
			wantCode(t, name+": a wrong key", err, fault.BadCredentials)
		}
		_, err := f.Key(t.Context(), "ada", "qlk_wrong", from(addr(200)))
		wantCode(t, name+": one more wrong key", err, fault.RateLimited)
		_, err = f.Key(t.Context(), "ada", f.key.Reveal(), from(addr(200)))
		wantCode(t, name+": the right key", err, "")
	}
}

func TestThrottleLetsGo(t *testing.T) {
	f := newFixture(t, nil)
	f.wantGuesses(t, "ada", home, 10)
	var e *fault.Error
	if err := f.guess("ada", 0, home); !errors.As(err, &e) {
		t.Fatal(err)
	}
	// A token comes back every 90 seconds.
	if e.RetryAfter < 90*time.Second || e.RetryAfter > 91*time.Second {
		t.Errorf("got a wait of %s, want 90 s", e.RetryAfter)
	}
	f.pass(90*time.Second - time.Nanosecond)
	wantCode(t, "too early", f.guess("ada", 1, home), fault.RateLimited)
	f.pass(time.Nanosecond)
	wantCode(t, "in time", f.guess("ada", 1, home), fault.BadCredentials)
	wantCode(t, "the next", f.guess("ada", 2, home), fault.RateLimited)
	f.pass(15 * time.Minute)
	f.wantGuesses(t, "ada", home, 10)
	f.pass(100 * 24 * time.Hour) // never more than all
	f.wantGuesses(t, "ada", home, 10)
}

func TestOnlyFailuresCost(t *testing.T) {
	th := newThrottle(nil)
	now := time.Unix(0, 0)
	for n := range 200 {
		a, wait := th.begin("ada", home.Addr, now)
		if wait != 0 || a.delay != 0 {
			t.Fatalf("attempt %d has to wait %s and %s", n, wait, a.delay)
		}
		if n < 100 {
			th.withdraw(a)
		} else {
			th.succeed(a, now)
		}
	}
}

// TestGoodNetworksHaveTheirOwn is the lock-out test: strangers fail as often
// as they like, and the owner still gets in.
func TestGoodNetworksHaveTheirOwn(t *testing.T) {
	f := newFixture(t, nil)
	login := func(source Source) error {
		_, err := f.Password(t.Context(), "ada", secret, source)
		return err
	}
	owner, stranger := from("192.0.2.1"), from("198.51.100.1")
	wantCode(t, "the owner", login(owner), "")
	f.pass(verifiedFor)
	f.wantGuesses(t, "ada", stranger, 10)
	wantCode(t, "the owner, not remembered any more", login(owner), "")
	f.pass(verifiedFor)

	// An address that is used up for other names has its own for this one.
	for n := range 30 {
		wantCode(t, "a guess", f.guess(fmt.Sprint("user", n), n, owner), fault.BadCredentials)
	}
	wantCode(t, "any other name", f.guess("user99", 0, owner), fault.RateLimited)
	f.wantGuesses(t, "ada", from("192.0.2.200"), 20)
	f.pass(15 * time.Minute)
	wantCode(t, "the owner after a while", login(owner), "")

	f.pass(knownFor)
	f.wantGuesses(t, "ada", owner, 10)
}

// TestRememberedPasswordsAndThrottles checks that a remembered password opens
// for who logged in, and is no free oracle for who guesses.
func TestRememberedPasswordsAndThrottles(t *testing.T) {
	f := newFixture(t, nil)
	login := func(source Source) error {
		_, err := f.Password(t.Context(), "ada", secret, source)
		return err
	}
	owner, neighbour, stranger := from("192.0.2.1"), from("192.0.2.200"), from("198.51.100.1")
	wantCode(t, "the owner", login(owner), "")
	f.wantGuesses(t, "ada", neighbour, 20)
	wantCode(t, "the owner, with a guessing neighbour", login(owner), "")
	wantCode(t, "the neighbour's right guess", login(neighbour), fault.RateLimited)
	f.wantGuesses(t, "ada", stranger, 10)
	wantCode(t, "the stranger's right guess", login(stranger), fault.RateLimited)
	wantCode(t, "another of the owner's servers", login(from("203.0.113.1")), "")
	if n := f.store.matches(); n != 1 {
		t.Errorf("%d hashes matched, want 1", n)
	}
}

func TestManyFailuresSlowAnAccountDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		took := func(source Source, text string, want fault.Code) time.Duration {
			start := time.Now()
			_, err := f.Password(t.Context(), "ada", text, source)
			wantCode(t, "a log-in", err, want)
			return time.Since(start)
		}
		spread := func(n int) Source { return from(fmt.Sprintf("10.%d.%d.1", n/250, n%250)) }
		for n := range 100 {
			if d := took(spread(n), fmt.Sprint("guess ", n), fault.BadCredentials); d != 0 {
				t.Fatalf("guess %d took %s", n, d)
			}
		}
		if d := took(spread(100), "guess", fault.BadCredentials); d != nameDelay {
			t.Errorf("the next guess took %s, want %s", d, nameDelay)
		}
		if d := took(home, secret, ""); d != nameDelay {
			t.Errorf("the owner's log-in took %s, want %s: slower, but never refused", d, nameDelay)
		}
		if d := took(home, secret, ""); d != 0 {
			t.Errorf("a remembered password took %s", d)
		}
		start := time.Now()
		if _, err := f.Key(t.Context(), "ada", f.key.Reveal(), spread(7)); err != nil || time.Since(start) != 0 {
			t.Errorf("an API key took %s, %v", time.Since(start), err)
		}
		f.pass(time.Hour)
		if d := took(spread(101), "guess", fault.BadCredentials); d != 0 {
			t.Errorf("an hour later a guess took %s", d)
		}
	})
}

// TestGuessesAtOnceCountLikeGuessesInARow sends them while the gate is closed:
// none has failed yet when the others arrive.
func TestGuessesAtOnceCountLikeGuessesInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, nil)
		open := f.closeGate(t)
		answers := make(chan error, 50)
		for n := range 50 {
			go func() { answers <- f.guess("ada", n, home) }()
		}
		synctest.Wait()
		open()
		count := map[fault.Code]int{}
		for range 50 {
			count[fault.Of(<-answers).Code]++
		}
		if count[fault.BadCredentials] != 10 || count[fault.RateLimited] != 40 {
			t.Errorf("got %v, want 10 checked and 40 refused", count)
		}
	})
}

func TestWrongKeysAreNoise(t *testing.T) {
	f := newFixture(t, nil)
	for range 30 {
		_, err := f.Key(t.Context(), "ada", "qlk_wrong", home)
		wantCode(t, "a wrong key", err, fault.BadCredentials)
	}
	_, err := f.Key(t.Context(), "ada", "qlk_wrong", home)
	wantCode(t, "one more", err, fault.RateLimited)
	_, err = f.Key(t.Context(), "ada", "qlk_wrong", from("192.0.2.2"))
	wantCode(t, "another address", err, fault.BadCredentials)
	_, err = f.Key(t.Context(), "ada", f.key.Reveal(), home)
	wantCode(t, "the right key", err, "")
	_, err = f.Password(t.Context(), "ada", secret, home)
	wantCode(t, "the password", err, "")
}

func TestNothingIsThrottledInDevelopment(t *testing.T) {
	f := newFixture(t, func(o *Options) { o.Unthrottled = true })
	for n := range 200 {
		wantCode(t, "a guess", f.guess("ada", n, home), fault.BadCredentials)
		_, err := f.Key(t.Context(), "ada", "qlk_wrong", home)
		wantCode(t, "a wrong key", err, fault.BadCredentials)
	}
	_, err := f.Password(t.Context(), "ada", secret, home)
	wantCode(t, "the password", err, "")
}

func TestThrottleIsBounded(t *testing.T) {
	th := newThrottle(nil)
	now := time.Unix(0, 0)
	for n := range maxNameBuckets + maxSourceBuckets {
		addr := netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		a, _ := th.begin(fmt.Sprint(n), addr, now)
		if n%2 == 0 {
			th.succeed(a, now)
		}
	}
	if n := th.names.Len(); n != maxNameBuckets {
		t.Errorf("%d buckets of names, want %d", n, maxNameBuckets)
	}
	if n := th.sources.Len(); n != maxSourceBuckets {
		t.Errorf("%d buckets of sources, want %d", n, maxSourceBuckets)
	}
	if n := th.known.names.Len(); n != maxKnownNames {
		t.Errorf("where %d names log in from is known, want %d", n, maxKnownNames)
	}
}

// TestMadeUpNamesForgetNoSource: who tries more names than are remembered has still
// used up what its address has.
func TestMadeUpNamesForgetNoSource(t *testing.T) {
	th := newThrottle(nil)
	now := time.Unix(0, 0)
	for n := range sourceAllowance.count {
		if _, wait := th.begin(fmt.Sprint(n), home.Addr, now); wait != 0 {
			t.Fatalf("attempt %d has to wait %s", n, wait)
		}
	}
	for n := range maxNameBuckets {
		th.spend(sourceOfName(fmt.Sprint("made up ", n), home.Addr).pair(), now)
	}
	if _, wait := th.begin("another", home.Addr, now); wait == 0 {
		t.Error("what the address has used is forgotten")
	}
}

// TestFamiliarNetworksAreEachNamesOwn: an account that logs in from everywhere makes
// us forget its own networks, and nobody else's.
func TestFamiliarNetworksAreEachNamesOwn(t *testing.T) {
	f := newKnownNetworks()
	now := time.Unix(0, 0)
	owner := sourceOfName("ada", home.Addr)
	f.add(owner, now)
	for n := range 1000 {
		now = now.Add(time.Second)
		f.add(sourceOfName("eve", netip.AddrFrom4([4]byte{10, byte(n >> 8), byte(n), 1})), now)
	}
	if !f.has(owner.name, owner.near, now) || !f.has(owner.name, owner.exact, now) {
		t.Error("the owner's network is forgotten")
	}
	eves, _ := f.names.Get(sourceOfName("eve", home.Addr).name)
	if len(eves.seen) != maxNetworksOfName {
		t.Errorf("%d networks of one name are remembered, want %d", len(eves.seen), maxNetworksOfName)
	}
	newest := sourceOfName("eve", netip.AddrFrom4([4]byte{10, 999 >> 8, 999 & 255, 1}))
	if !f.has(newest.name, newest.near, now) {
		t.Error("the newest is forgotten")
	}
	if f.has(owner.name, newest.near, now) || f.has(owner.name, owner.near, now.Add(knownFor)) {
		t.Error("a network is known that is not")
	}
}

func TestNetwork(t *testing.T) {
	for _, test := range []struct{ addr, near, exact string }{
		{"192.0.2.77", "192.0.2.0/24", "192.0.2.77/32"},
		{"::ffff:192.0.2.77", "192.0.2.0/24", "192.0.2.77/32"},
		{"2001:db8:1:2:3::4", "2001:db8:1::/48", "2001:db8:1:2::/64"},
		{"fe80::1%eth0", "fe80::/48", "fe80::/64"},
	} {
		addr := netip.MustParseAddr(test.addr)
		if near, exact := sourceOf(addr).near, sourceOf(addr).exact; near.String() != test.near || exact.String() != test.exact {
			t.Errorf("%s: got %s and %s", test.addr, near, exact)
		}
	}
	if network(netip.Addr{}, 24, 48) != (netip.Prefix{}) {
		t.Error("an unknown address has a network")
	}
}
