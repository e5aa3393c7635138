package app

import (
	"strings"
	"testing"

	"ql/internal/admit"
	"ql/internal/config"
	"ql/internal/password"
)

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
