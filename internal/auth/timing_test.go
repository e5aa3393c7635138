package auth

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/accounttest"
	"ql/internal/fault"
	"ql/internal/password"
)

// realHashes returns an Authenticator over accounts with hashes as costly as
// they are in production: ada, and off, who is disabled.
func realHashes(t *testing.T) *Authenticator {
	t.Helper()
	ctx := context.Background()
	store := &accounttest.Memory{}
	a, err := New(store, Options{Gate: NewGate(1, true), Unthrottled: true})
	if err != nil {
		t.Fatal(err)
	}
	phc, err := password.Hash(secret, strings.NewReader(strings.Repeat("s", 16)))
	if err != nil {
		t.Fatal(err)
	}
	key, err := account.NewKey(strings.NewReader(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(ctx, account.Account{Username: "ada", PasswordHash: phc, KeyHash: key.Hash()}); err != nil {
		t.Fatal(err)
	}
	id, err := store.Create(ctx, account.Account{Username: "off", PasswordHash: phc})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.SetFlag(ctx, id, account.FlagDisabled, true); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestRefusalsDoTheSameWork measures by the memory of a hash, which is exact
// where time is not.
func TestRefusalsDoTheSameWork(t *testing.T) {
	a := realHashes(t)
	const hashMemory = 19456 << 10
	for _, name := range []string{"ada", "bob", "off", "bob@example.com", "+12025550199", "no name"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := a.Password(context.Background(), name, other, home)
		runtime.ReadMemStats(&after)
		wantCode(t, name, err, fault.BadCredentials)
		if used := after.TotalAlloc - before.TotalAlloc; used < hashMemory || used > hashMemory+1<<20 {
			t.Errorf("%s: %d bytes were used, want those of one hash, %d", name, used, hashMemory)
		}
	}
}

// TestPromiseCredentialTiming checks that the time of a refusal does not tell
// whether an account exists: the Mann-Whitney test must not tell a thousand
// refusals of each kind apart with p ≤ 0.01. Chance alone does in one of a
// hundred runs; a difference that is there does in every round.
func TestPromiseCredentialTiming(t *testing.T) {
	samples, rounds := 5, 1
	promised := os.Getenv("QL_PROMISES") != ""
	if promised {
		samples, rounds = 1_000, 3
	}
	a := realHashes(t)
	ctx := context.Background()
	wrongKey, err := account.NewKey(strings.NewReader(strings.Repeat("w", 32)))
	if err != nil {
		t.Fatal(err)
	}
	logIn := func(name string) func(int) error {
		return func(n int) error {
			_, err := a.Password(ctx, name, fmt.Sprint("a wrong password ", n), home)
			return err
		}
	}
	call := func(identity string) func(int) error {
		return func(int) error {
			_, err := a.Key(ctx, identity, wrongKey.Reveal(), home)
			return err
		}
	}
	// Two wrong keys, of which one begins as a right one does: keys are found by their hashes.
	store, _ := a.store.(account.Store)
	right, _ := addKey(t, store, 1, "r", time.Time{})
	send := func(text string) func(int) error {
		return func(int) error {
			_, err := a.NamedKey(ctx, text, home)
			return err
		}
	}
	wrongNamed := func(secret string) string {
		k, err := account.NewNamedKey(strings.NewReader(secret))
		if err != nil {
			t.Fatal(err)
		}
		return k.Reveal()
	}
	near, far := wrongNamed(strings.Repeat("r", 31)+"s"), wrongNamed(strings.Repeat("f", 32))
	if near[:30] != right.Reveal()[:30] {
		t.Fatalf("%s is not near %s", near, right.Reveal())
	}
	for _, pair := range []struct {
		what string
		a, b func(int) error
	}{
		{"named key: one that begins as a right one, and another", send(near), send(far)},
		{"password: known and unknown name", logIn("ada"), logIn("bob")},
		{"password: known and disabled name", logIn("ada"), logIn("off")},
		{"key: known and unknown name", call("ada"), call("bob")},
	} {
		lowest := 1.0
		for range rounds {
			x, y := interleave(t, samples, pair.a, pair.b)
			p := mannWhitney(x, y)
			t.Logf("%s: %d samples each, p = %.3f", pair.what, samples, p)
			if p > 0.01 {
				lowest = 1
				break
			}
			lowest = min(lowest, p)
		}
		if promised && lowest <= 0.01 {
			t.Errorf("%s: the times differ in every round, p = %.5f", pair.what, lowest)
		}
	}
}

// interleave measures two refusals in turn, each pair in an order of chance,
// so that what else goes on hits both alike.
func interleave(t *testing.T, n int, a, b func(int) error) (x, y []time.Duration) {
	t.Helper()
	chance := rand.New(rand.NewPCG(1, 2))
	measure := func(do func(int) error, i int) time.Duration {
		start := time.Now()
		err := do(i)
		d := time.Since(start)
		wantCode(t, "a refusal", err, fault.BadCredentials)
		return d
	}
	for i := range n {
		if chance.IntN(2) == 0 {
			x = append(x, measure(a, i))
			y = append(y, measure(b, i))
		} else {
			y = append(y, measure(b, i))
			x = append(x, measure(a, i))
		}
	}
	return x, y
}

// mannWhitney returns the two-sided p value of the hypothesis that both samples
// are of one distribution, by the normal approximation with ties corrected.
func mannWhitney(x, y []time.Duration) float64 {
	type sample struct {
		d     time.Duration
		first bool
	}
	var all []sample
	for _, d := range x {
		all = append(all, sample{d, true})
	}
	for _, d := range y {
		all = append(all, sample{d, false})
	}
	slices.SortFunc(all, func(a, b sample) int { return cmp.Compare(a.d, b.d) })
	var ranks, ties float64
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].d == all[i].d {
			j++
		}
		rank, count := float64(i+j+1)/2, float64(j-i)
		for _, s := range all[i:j] {
			if s.first {
				ranks += rank
			}
		}
		ties += count*count*count - count
		i = j
	}
	n1, n2 := float64(len(x)), float64(len(y))
	n := n1 + n2
	u := ranks - n1*(n1+1)/2
	variance := n1 * n2 / 12 * (n + 1 - ties/(n*(n-1)))
	if variance == 0 {
		return 1
	}
	return math.Erfc(math.Abs(u-n1*n2/2) / math.Sqrt(2*variance))
}

func TestMannWhitney(t *testing.T) {
	chance := rand.New(rand.NewPCG(3, 4))
	draw := func(n int, shift float64) []time.Duration {
		out := make([]time.Duration, n)
		for i := range out {
			out[i] = time.Duration((30 + chance.NormFloat64() + shift) * float64(time.Millisecond))
		}
		return out
	}
	if p := mannWhitney(draw(1_000, 0), draw(1_000, 0)); p < 0.01 {
		t.Errorf("samples of one distribution: p = %g", p)
	}
	if p := mannWhitney(draw(1_000, 0), draw(1_000, 0.3)); p > 0.001 {
		t.Errorf("samples a third of a deviation apart: p = %g", p)
	}
	x := []time.Duration{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	if p := mannWhitney(x, x); p != 1 {
		t.Errorf("the same values: p = %g, want 1", p)
	}
}
