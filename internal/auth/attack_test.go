package auth

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/password"
)

// attack is log-ins with made-up names and passwords from many addresses, each of
// which tries again as soon as it has its answer.
type attack struct {
	addr func(n int) netip.Addr
	// addresses that try, tries of each
	addresses, tries int
	again            time.Duration // how long one waits that was turned away
	// burst has people come as soon as all addresses have tried, and not when they
	// have their first answers.
	burst bool
}

// right is log-ins with the right password, each for an account of its own from a
// network of its own, one after the other.
type right struct {
	count int
	every time.Duration
}

// tally counts answers by their code; "" are those who are let in.
type tally struct {
	mu      sync.Mutex
	codes   map[fault.Code]int
	longest time.Duration
}

func (c *tally) add(err error, took time.Duration) {
	code := fault.Code("")
	if err != nil {
		code = fault.Of(err).Code
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.codes == nil {
		c.codes = map[fault.Code]int{}
	}
	c.codes[code]++
	c.longest = max(c.longest, took)
}

// firstLogIns has people log in for the first time while an attack goes on.
func firstLogIns(ctx context.Context, logIn func(name, secret string, from Source) error, a attack, r right) (attackers, people *tally) {
	attackers, people = &tally{}, &tally{}
	timed := func(to *tally, name, secret string, from Source) error {
		start := time.Now()
		err := logIn(name, secret, from)
		to.add(err, time.Since(start))
		return err
	}
	var group, begun sync.WaitGroup
	begun.Add(a.addresses)
	for n := range a.addresses {
		group.Go(func() {
			for i := range a.tries {
				err := timed(attackers, fmt.Sprintf("user%d-%d", n, i), "a made-up password", Source{Addr: a.addr(n)})
				if i == 0 {
					begun.Done()
				}
				if fault.Is(err, fault.Overloaded) {
					_ = pause(ctx, a.again)
				}
			}
		})
	}
	if a.burst {
		_ = pause(ctx, time.Millisecond)
	} else {
		begun.Wait()
	}
	for n := range r.count {
		group.Go(func() {
			addr := netip.AddrFrom4([4]byte{203, byte(n), 113, 7})
			_ = timed(people, fmt.Sprint("person", n), secret, Source{Addr: addr})
		})
		_ = pause(ctx, r.every)
	}
	group.Wait()
	return attackers, people
}

// addPeople makes the accounts of those who log in.
func (f *fixture) addPeople(t *testing.T, count int, phc string) {
	t.Helper()
	for n := range count {
		if _, err := f.store.Create(t.Context(), account.Account{Username: fmt.Sprint("person", n), PasswordHash: phc, Plan: account.Standard}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFirstLogInsUnderAttack: people who log in for the first time, of whom nothing
// is known, get in beside an attack that would use up a hundred times what there is
// to hash with. The time that a hash takes is of the test's own clock.
func TestFirstLogInsUnderAttack(t *testing.T) {
	const takes = 46 * time.Millisecond
	phc, err := password.Hash(secret, sameSalt{})
	if err != nil {
		t.Fatal(err)
	}
	for name, addr := range map[string]func(n int) netip.Addr{
		"from one network":      func(n int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, 2, byte(n)}) },
		"from ten networks":     func(n int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, byte(n % 10), byte(n / 10)}) },
		"from a /48":            func(n int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("2001:db8:1:%x::1", n)) },
		"from a provider's /32": func(n int) netip.Addr { return netip.MustParseAddr(fmt.Sprintf("2001:db8:%x::1", n)) },
		"from everywhere":       func(n int) netip.Addr { return netip.AddrFrom4([4]byte{byte(20 + n/250), byte(n % 250), 1, 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, func(o *Options) { o.Now = time.Now })
				f.matches = func(text, of string) (bool, error) {
					_ = pause(t.Context(), takes)
					return text == secret && of == phc, nil
				}
				r := right{count: 50, every: 100 * time.Millisecond}
				f.addPeople(t, r.count, phc)
				attackers, people := firstLogIns(t.Context(), func(name, secret string, from Source) error {
					_, err := f.Password(t.Context(), name, secret, from)
					return err
				}, attack{addr: addr, addresses: 500, tries: 4, again: time.Second, burst: true}, r)
				t.Logf("the attack: %v; the people: %v, the longest in %s", attackers.codes, people.codes, people.longest)
				if people.codes[""] != r.count || people.longest > maxWait+takes {
					t.Errorf("of %d first log-ins: %v, the longest in %s", r.count, people.codes, people.longest)
				}
				if n := attackers.codes[fault.BadCredentials] + attackers.codes[fault.Overloaded] + attackers.codes[fault.RateLimited]; n != 2000 {
					t.Errorf("the attack was answered %v", attackers.codes)
				}
				if s := f.gate.Stats(); s.Running+s.Waiting+s.Holders != 0 {
					t.Errorf("left behind: %+v", s)
				}
			})
		})
	}
}

// TestKnownNetworksUnderAttack: from where somebody logged in before they get in
// whatever goes on, also where each attempt comes from a network that was never
// seen, faster than hashes are made. Then first log-ins may have to come again.
func TestKnownNetworksUnderAttack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 46 * time.Millisecond
		f := newFixture(t, func(o *Options) { o.Now = time.Now })
		f.matches = func(secret, phc string) (bool, error) {
			_ = pause(t.Context(), takes)
			return password.Matches(secret, phc)
		}
		if _, err := f.Password(t.Context(), "ada", secret, home); err != nil {
			t.Fatal(err)
		}
		_ = pause(t.Context(), verifiedFor)
		var group sync.WaitGroup
		answers := &tally{}
		for n := range 2000 { // a hundred a second, five times as many as can be hashed
			group.Go(func() {
				_, err := f.Password(t.Context(), fmt.Sprint("user", n), "a made-up password", Source{Addr: netip.AddrFrom4([4]byte{byte(20 + n/250), byte(n % 250), 1, 1})})
				answers.add(err, 0)
			})
			_ = pause(t.Context(), 10*time.Millisecond)
			if n%500 == 499 { // its password is remembered no more by then
				f.verified = newVerifiedCache()
				start := time.Now()
				_, err := f.Password(t.Context(), "ada", secret, from("192.0.2.77"))
				if took := time.Since(start); err != nil || took > 3*takes {
					t.Errorf("from a known network: %v, in %s", err, took)
				}
			}
		}
		group.Wait()
		if answers.codes[fault.Overloaded] < 1000 {
			t.Errorf("this was no attack: %v", answers.codes)
		}
	})
}

// TestPromiseFirstLogIns is TestFirstLogInsUnderAttack with hashes as they are, on
// whatever this machine has to make them with.
func TestPromiseFirstLogIns(t *testing.T) {
	a := attack{addresses: 50, tries: 2, again: 500 * time.Millisecond}
	r := right{count: 3, every: 250 * time.Millisecond}
	if os.Getenv("QL_PROMISES") != "" {
		a.addresses, a.tries, a.again, r.count = 500, 4, 3*time.Second, 50
	}
	a.addr = func(n int) netip.Addr { return netip.AddrFrom4([4]byte{byte(20 + n/250), byte(n % 250), 1, 1}) }
	f := newFixture(t, func(o *Options) { o.Now = time.Now })
	var err error
	if f.dummy, err = password.Hash("nobody's", sameSalt{}); err != nil {
		t.Fatal(err)
	}
	phc, err := password.Hash(secret, sameSalt{})
	if err != nil {
		t.Fatal(err)
	}
	f.addPeople(t, r.count, phc)
	attackers, people := firstLogIns(t.Context(), func(name, secret string, from Source) error {
		_, err := f.Password(t.Context(), name, secret, from)
		return err
	}, a, r)
	t.Logf("the attack: %v; the people: %v, the longest in %s", attackers.codes, people.codes, people.longest)
	if people.codes[""] != r.count {
		t.Errorf("of %d first log-ins: %v, the longest in %s", r.count, people.codes, people.longest)
	}
}

// sameSalt gives hashes the same salt.
type sameSalt struct{}

func (sameSalt) Read(p []byte) (int, error) { return len(p), nil }
