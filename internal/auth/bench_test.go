package auth

import (
	"context"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/accounttest"
	"ql/internal/account/names"
)

// What stands before every call: neither may be felt beside running a script.

func benchmarked(b *testing.B) (*Authenticator, account.Key) {
	b.Helper()
	store := &accounttest.Memory{}
	a, err := New(store, Options{})
	if err != nil {
		b.Fatal(err)
	}
	key, err := account.NewKey(strings.NewReader(strings.Repeat("k", 32)))
	if err != nil {
		b.Fatal(err)
	}
	if _, err := store.Create(context.Background(), account.Account{Username: "ada", PasswordHash: cheap(secret), KeyHash: key.Hash()}); err != nil {
		b.Fatal(err)
	}
	return a, key
}

func BenchmarkRememberedPassword(b *testing.B) {
	a, _ := benchmarked(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Password(context.Background(), "ada", secret, home); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKey(b *testing.B) {
	a, key := benchmarked(b)
	text := key.Reveal()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Key(context.Background(), "ada", text, home); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNamedKey: a key that is sent as Bearer costs one SHA-256, and no password's hash.
func BenchmarkNamedKey(b *testing.B) {
	a, _ := benchmarked(b)
	row, err := a.store.ByAlias(context.Background(), names.Alias{Kind: names.Username, Name: "ada"})
	if err != nil {
		b.Fatal(err)
	}
	store, _ := a.store.(account.Store)
	key, _ := addKey(b, store, row.ID, "n", time.Time{})
	text := key.Reveal()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.NamedKey(context.Background(), text, home); err != nil {
			b.Fatal(err)
		}
	}
}
