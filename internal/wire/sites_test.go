package wire

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestDecodeSiteManifest(t *testing.T) {
	zeros := strings.Repeat("0", 64)
	m, err := DecodeSiteManifest([]byte(`{"files":{"a b":"`+zeros+`","c/d":"`+strings.Repeat("AB", 32)+`"}}`), Limits{})
	if err != nil || len(m.Files) != 2 || m.Files["a b"] != (Digest{}) || m.Files["c/d"][31] != 0xab {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := DecodeSiteManifest([]byte(`{"files":{}}`), Limits{}); err != nil || len(m.Files) != 0 {
		t.Errorf("no files: %+v, %v", m, err)
	}
	for body, want := range map[string]string{
		`{}`:                    `files: is missing: an object such as {"index.ql": "…"}, with the SHA-256 of each file, fits`,
		`[]`:                    `body: is a list: an object fits`,
		`{"files":null}`:        `files: is null: an object fits`,
		`{"files":{"a":null}}`:  `files["a"]: is null: a text fits`,
		`{"files":{"a":"0"}}`:   `files["a"]: is "0": a SHA-256 in 64 hexadecimal digits fits`,
		`{"files":{},"more":1}`: `more: is no known field: files would fit`,
		`{"files":{"a":"` + strings.Repeat("z", 64) + `"}}`:   `hexadecimal digits fits`,
		`{"files":{"a":"` + zeros + `","a":"` + zeros + `"}}`: `files.a: occurs twice: once fits`,
	} {
		_, err := DecodeSiteManifest([]byte(body), Limits{})
		var r *Refusal
		if !errors.As(err, &r) || !strings.Contains(r.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

func TestSiteAnswers(t *testing.T) {
	r := SiteRelease{Number: 3, MadeAt: time.Unix(1, 0), By: "named_key", Key: "ci", Restored: 1, Files: 2, Bytes: 5}
	const shown = `{"number":3,"made_at":"1970-01-01T00:00:01Z","by":"named_key","key":"ci","restored":1,"files":2,"bytes":5}`
	for got, want := range map[string]string{
		string(AppendSite(nil, &SiteRelease{})):               `{"status":"ok","release":null}`,
		string(AppendSite(nil, &r)):                           `{"status":"ok","release":` + shown + `}`,
		string(AppendReleases(nil, []SiteRelease{r, r}, "3")): `{"status":"ok","releases":[` + shown + `,` + shown + `],"next":"3"}`,
		string((&SitePlan{}).AppendJSON(nil)):                 `{"status":"ok","release":null,"missing":[],"added":[],"changed":[],"removed":[]}`,
		string((&SitePlan{Release: 2, Missing: []Digest{{1}}, Added: []string{"a", `"`}}).AppendJSON(nil)): `{"status":"ok","release":2,"missing":["01` + strings.Repeat("0", 62) + `"],"added":["a","\""],"changed":[],"removed":[]}`,
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// FuzzSiteManifest: what is accepted is what encoding/json reads.
func FuzzSiteManifest(f *testing.F) {
	f.Add([]byte(`{"files":{"index.ql":"` + strings.Repeat("0f", 32) + `","a/\u0062":"` + strings.Repeat("0", 64) + `"}}`))
	f.Add([]byte(`{"files":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := DecodeSiteManifest(body, Limits{})
		if err != nil {
			return
		}
		var want struct{ Files map[string]string }
		if err := json.Unmarshal(body, &want); err != nil || len(want.Files) != len(m.Files) || len(m.Files) > MaxManifest {
			t.Fatalf("%q is accepted with %d files: %v", body, len(m.Files), err)
		}
		for path, text := range want.Files {
			if digest, ok := m.Files[path]; !ok || hex.EncodeToString(digest[:]) != strings.ToLower(text) {
				t.Errorf("%q is read as %x at %q", body, digest, path)
			}
		}
	})
}
