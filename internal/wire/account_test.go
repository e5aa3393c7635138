package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestDecodeAccountBodies(t *testing.T) {
	for body, want := range map[string]string{
		`{"password":"new"}`:            "",
		`{}`:                            "password",
		`{"password":null}`:             "password",
		`{"password":1}`:                "password",
		`{"password":"a","username":1}`: "username",
		`[]`:                            "body",
		``:                              "body",
		`{"password":"a","password":1}`: "password",
	} {
		n, err := DecodeNewPassword([]byte(body), small)
		if want == "" && (err != nil || n.Password.Reveal() != "new") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v", body, n, err)
		}
	}
	for body, want := range map[string]string{`{}`: "nothing", `{"require_auth_on_jobs":1}`: "require_auth_on_jobs", `{"plan":"unlimited"}`: "plan", `{"require_auth_on_jobs":null}`: "require_auth_on_jobs"} {
		if _, err := DecodeAccountChange([]byte(body), small); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	if c, err := DecodeAccountChange([]byte(`{"require_auth_on_jobs":true}`), small); err != nil || !*c.RequireAuthOnJobs {
		t.Errorf("%v, %v", c, err)
	}
	if s, err := DecodeNewSecret([]byte(`{"value":""}`), small); err != nil || s.Value != "" {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := DecodeNewSecret([]byte(`{}`), small); err == nil {
		t.Error("a secret without a value is taken")
	}
}

func TestAppendAccount(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, got := range [][]byte{
		AppendAccount(nil, &Account{Username: "ada", Plan: "free", CreatedAt: at}),
		AppendSecrets(nil, []SecretEntry{{"a", at}, {"b", at}}), AppendSecrets(nil, nil),
		AppendWebhookSecret(nil, "whsec_x"), AppendLog(nil, []LogEntry{{Number: 1, At: at, On: "\x00"}, {}}, "7"), AppendLog(nil, nil, ""),
		AppendDomains(nil, []DomainEntry{{ID: "1", AddedAt: at, Proof: &DomainProof{Value: "x"}}, {}}), AppendDomain(nil, &DomainEntry{}),
	} {
		if !json.Valid(got) || !strings.HasPrefix(string(got), `{"status":"ok"`) {
			t.Errorf("%s", got)
		}
	}
}

// FuzzAccountBodies checks that no body breaks the decoders, and that what they take is what
// encoding/json sees in it.
func FuzzAccountBodies(f *testing.F) {
	f.Add([]byte(`{"password":"\u0072un"}`))
	f.Add([]byte(`{"value":"\n"}`))
	f.Add([]byte(`{"require_auth_on_jobs": true}`))
	f.Add([]byte(`{"domain":"shop.example.com","published_only":true}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var want struct {
			Password string `json:"password"`
			Value    string `json:"value"`
			Require  bool   `json:"require_auth_on_jobs"`
			Domain   string `json:"domain"`
			Only     bool   `json:"published_only"`
		}
		valid := json.Unmarshal(body, &want) == nil
		if n, err := DecodeNewPassword(body, small); err == nil && (!valid || n.Password.Reveal() != want.Password) {
			t.Errorf("got %q, want %+v", n.Password.Reveal(), want)
		}
		if n, err := DecodeNewSecret(body, small); err == nil && (!valid || n.Value.Reveal() != want.Value) {
			t.Errorf("got %q, want %+v", n.Value.Reveal(), want)
		}
		if n, err := DecodeNewDomain(body, small); err == nil && (!valid || n.Domain != want.Domain || n.PublishedOnly != want.Only) {
			t.Errorf("got %+v, want %+v", n, want)
		}
		if domain, err := DecodeSiteDomain(body, small); err == nil && (!valid || *domain != want.Domain) {
			t.Errorf("got %q, want %+v", *domain, want)
		}
		if n, err := DecodeAccountChange(body, small); err == nil && (!valid || *n.RequireAuthOnJobs != want.Require) {
			t.Errorf("got %t, want %+v", *n.RequireAuthOnJobs, want)
		}
	})
}
