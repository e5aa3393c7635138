package wire

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNewKeys(t *testing.T) {
	k, err := DecodeNewKey([]byte(`{"name":"ci","scopes":["run","run:a"],"expires_in":60}`), Limits{})
	if err != nil || k.Name != "ci" || !slices.Equal(k.Scopes, []string{"run", "run:a"}) || k.ExpiresIn != 60 {
		t.Errorf("%+v, %v", k, err)
	}
	if k, err := DecodeNewKey([]byte(`{"scopes":[],"name":""}`), Limits{}); err != nil || k.ExpiresIn != 0 || len(k.Scopes) != 0 {
		t.Errorf("%+v, %v", k, err) // what a name and scopes are is not decided here
	}
	for body, says := range map[string]string{
		`[]`:                               "body",
		`{"scopes":[]}`:                    "name",
		`{"name":"a"}`:                     "scopes",
		`{"name":1,"scopes":[]}`:           "name",
		`{"name":"a","scopes":{}}`:         "scopes",
		`{"name":"a","scopes":["a",null]}`: "scopes[1]",
		`{"name":"a","scopes":[],"expires_in":null}`:       "leave the field out",
		`{"name":"a","scopes":[],"expires_in":-1}`:         "expires_in",
		`{"name":"a","scopes":[],"expires_in":3153600001}`: "3153600000",
		`{"name":"a","scopes":[],"expires_in":1e3}`:        "expires_in",
		`{"name":"a","scopes":[],"other":1}`:               "other",
		`{"name":"a","name":"b","scopes":[]}`:              "name",
	} {
		if k, err := DecodeNewKey([]byte(body), Limits{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %+v, %v", body, k, err)
		}
	}
}

func TestKeyLists(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	got := string(AppendKeys(nil, []KeyEntry{{Name: "a", Prefix: "qln_x", Scopes: []string{"run", "jobs"}, CreatedAt: at, ExpiresAt: at}, {Name: "b"}}))
	want := `{"status":"ok","keys":[{"name":"a","prefix":"qln_x","scopes":["run","jobs"],"created_at":"2026-01-02T03:04:05Z","expires_at":"2026-01-02T03:04:05Z","last_used_at":null},` +
		`{"name":"b","prefix":"","scopes":[],"created_at":"0001-01-01T00:00:00Z","expires_at":null,"last_used_at":null}]}`
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := string(AppendShownKey(nil, "ada", "qlk_secret")), `{"status":"ok","username":"ada","api_key":"qlk_secret"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := string(AppendCreatedKey(nil, KeyEntry{Name: "a", CreatedAt: at}, "qln_secret")); !strings.HasPrefix(got, `{"status":"ok","name":"a",`) || !strings.HasSuffix(got, `,"key":"qln_secret"}`) || !json.Valid([]byte(got)) {
		t.Errorf("got %s", got)
	}
}

// FuzzNewKey checks that no body breaks the decoder, and that what it takes is what encoding/json
// sees in it.
func FuzzNewKey(f *testing.F) {
	f.Add([]byte(`{"name":"ci","scopes":["run","run:a"],"expires_in":60}`))
	f.Add([]byte(`{"scopes":[ "\u0072un" , "jobs"],"name":"\n"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		k, err := DecodeNewKey(body, small)
		if err != nil {
			return
		}
		var want struct {
			Name      string   `json:"name"`
			Scopes    []string `json:"scopes"`
			ExpiresIn int64    `json:"expires_in"`
		}
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatal(err)
		}
		if k.Name != want.Name || !slices.Equal(k.Scopes, want.Scopes) || k.ExpiresIn != want.ExpiresIn || k.ExpiresIn < 0 {
			t.Errorf("got %+v, want %+v", k, want)
		}
	})
}
