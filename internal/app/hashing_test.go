package app

import (
	"strings"
	"testing"

	"ql/internal/admit"
	"ql/internal/config"
	"ql/internal/password"
)

// TestHashesAtOnce: hashes take no more than half of the cores, nor more than an
// eighth of the memory, but there is always one.
func TestHashesAtOnce(t *testing.T) {
	const mib = 1 << 20
	for _, test := range []struct {
		cores             int
		memory            int64
		log, handedScript int
	}{
		{1, 0, 1, 1},
		{2, 768 * mib, 1, 1},
		{16, 0, 8, 8},
		{16, 768 * mib, 5, 1},
		{16, 4096 * mib, 8, 8},
		{64, 4096 * mib, 26, 8},
		{16, 1, 1, 1},
	} {
		if n := hashesAtOnce(test.cores, test.memory, password.DefaultMemory); n != test.log {
			t.Errorf("%d cores, %d bytes: %d log-ins at once, want %d", test.cores, test.memory, n, test.log)
		}
		if n := hashesAtOnce(test.cores, test.memory, password.MaxMemory); n != test.handedScript {
			t.Errorf("%d cores, %d bytes: %d hashes of scripts at once, want %d", test.cores, test.memory, n, test.handedScript)
		}
	}
}

// TestLeftoversOfHashing: a turn that nobody gave back is told.
func TestLeftoversOfHashing(t *testing.T) {
	a := New(config.Settings{}, Options{})
	a.parts.gate, a.parts.ledger = admit.NewGate(admit.GateOptions{}), admit.NewLedger(admit.LedgerOptions{})
	a.parts.hashing = a.newHashing()
	if err := a.Leftovers(); err != nil {
		t.Fatal(err)
	}
	leave, err := a.parts.hashing.Acquire(t.Context(), password.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Leftovers(); err == nil || !strings.Contains(err.Error(), "1 passwords being hashed") {
		t.Errorf("told %v", err)
	}
	leave()
	if err := a.Leftovers(); err != nil {
		t.Error(err)
	}
}
