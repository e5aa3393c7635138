package auth

import (
	"strings"
	"testing"

	"ql/internal/fault"
	"ql/internal/principal"
)

// TestFailuresAreReported: each log-in that failed is told of, by what a log may show; one that
// succeeded and a fault of the store are not.
func TestFailuresAreReported(t *testing.T) {
	var reported []Failure
	f := newFixture(t, func(o *Options) { o.OnFailure = func(one Failure) { reported = append(reported, one) } })
	ctx, at := t.Context(), from("192.0.2.7")
	last := func(what string, n int) Failure {
		t.Helper()
		if len(reported) != n {
			t.Fatalf("%s: %d failures were reported, want %d: %+v", what, len(reported), n, reported)
		}
		one := reported[n-1]
		if one.Network.String() != "192.0.2.0/24" || strings.Trim(one.Name, "0123456789abcdef") != "" {
			t.Errorf("%s: %+v", what, one)
		}
		return one
	}
	if _, err := f.Password(ctx, "ada", secret, at); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Key(ctx, "ada", f.key.Reveal(), at); err != nil {
		t.Fatal(err)
	}
	if len(reported) != 0 {
		t.Fatalf("log-ins that succeeded were reported: %+v", reported)
	}
	_, err := f.Password(ctx, "ada", "wrong", at)
	wantCode(t, "a wrong password", err, fault.BadCredentials)
	wrong := last("a wrong password", 1)
	if wrong.By != principal.ByPassword || wrong.Account != f.ada.ID || wrong.Code != fault.BadCredentials || len(wrong.Name) != 2*nameBytes {
		t.Errorf("a wrong password: %+v", wrong)
	}
	_, _ = f.Password(ctx, "nobody", "wrong", at)
	if none := last("a name of nobody", 2); none.Account != 0 || none.Name == wrong.Name || none.Name == "" {
		t.Errorf("a name of nobody: %+v", none)
	}
	_, _ = f.Password(ctx, "ada@example.com", strings.Repeat("x", 1000), at)
	last("a password that is too long", 3)
	_, _ = f.Key(ctx, "Ada", "qlk_wrong", at)
	if key := last("a wrong key", 4); key.By != principal.ByKey || key.Name != wrong.Name || key.Account != 0 {
		t.Errorf("a wrong key: %+v", key)
	}
	_, _ = f.NamedKey(ctx, "qln_wrong", at)
	if key := last("a wrong named key", 5); key.By != principal.ByNamedKey || key.Name != "" {
		t.Errorf("a wrong named key: %+v", key)
	}
	for len(reported) < 100 && reported[len(reported)-1].Code != fault.RateLimited {
		_, _ = f.Key(ctx, "ada", "qlk_wrong", at)
	}
	if reported[len(reported)-1].Code != fault.RateLimited {
		t.Error("log-ins that were throttled are not reported as such")
	}
	n := len(reported)
	f.store.fail = fault.New(fault.StorageUnavailable, "the disk is gone")
	_, err = f.Password(ctx, "ada", "another", at)
	wantCode(t, "without a store", err, fault.StorageUnavailable)
	if len(reported) != n {
		t.Errorf("a fault of the store was reported: %+v", reported[n])
	}
	// The hash of a name tells nothing to who does not have this process.
	if other := newFixture(t, nil); other.hashName("ada") == f.hashName("ada") {
		t.Error("two processes hash a name to the same")
	}
}
