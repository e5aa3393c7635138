package app

import (
	"testing"

	"ql/internal/account"
	"ql/internal/config"
	"ql/internal/engine"
)

// TestWhoMayFetch: one developer may call this machine, whatever the plan; an
// account that everybody knows may call nobody, and a plan is what it says.
func TestWhoMayFetch(t *testing.T) {
	withFetch := func(s *config.Settings) {
		l := s.Plans[account.Free]
		l.Fetches, l.FetchesAtOnce, l.FetchTime, l.FetchBytes, l.FetchRatio = 3, 1, account.Standard.Limits().FetchTime, 1<<20, 100
		s.Plans[account.Free] = l
	}
	shared := func(s *config.Settings) { s.Dev = false }
	ask := func(a *App, who account.Account, url string) error {
		t.Helper()
		r, err := a.parts.resources.Open(t.Context(), who, a.settings.Limits(who.Plan), "")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		reply, err := r.Network.Fetch(t.Context(), engine.Request{Number: 1, Method: "GET", URL: url, Most: 1 << 20})
		if err == nil && reply.Status != 200 {
			t.Errorf("%s answers %d", url, reply.Status)
		}
		return err
	}
	development := func(a *App) account.Account {
		t.Helper()
		dev, err := a.parts.accounts.EnsureDevelopment(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return dev
	}
	a := start(t, nil)
	if err := ask(a, development(a), a.URL()+"/healthz"); err != nil {
		t.Errorf("a developer's service: %v", err)
	}
	wantCode(t, "metadata", ask(a, development(a), "http://169.254.169.254/"), "address_not_allowed")

	a = start(t, func(s *config.Settings) { withFetch(s); shared(s) })
	wantCode(t, "the shared development account", ask(a, development(a), a.URL()+"/healthz"), "not_available")
	other := account.Account{ID: 77, Username: "ada", Plan: account.Free}
	wantCode(t, "this machine, on a shared service", ask(a, other, a.URL()+"/healthz"), "address_not_allowed")
	a = start(t, shared)
	wantCode(t, "a plan without FETCH", ask(a, other, a.URL()+"/healthz"), "not_available")
}
