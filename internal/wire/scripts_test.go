package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeNewScript(t *testing.T) {
	for body, want := range map[string]NewScript{
		`{"text":"EMIT 1"}`: {Text: "EMIT 1", Keep: -1},
		`{"keep":0,"secrets":true,"methods":["GET","POST"],"callers":"anyone","text":""}`: {Callers: "anyone", Methods: []string{"GET", "POST"}, Secrets: true},
		`{"text":"a","secrets":false,"keep":2147483647}`:                                  {Text: "a", Keep: 1<<31 - 1},
		`{"text":"a","concurrency":{"key":"shop","most":2}}`:                              {Text: "a", Keep: -1, Concurrency: Concurrency{Key: "shop", Most: 2}},
		`{"text":"a","concurrency":{"key":"shop"}}`:                                       {Text: "a", Keep: -1, Concurrency: Concurrency{Key: "shop", Most: 1}},
	} {
		got, err := DecodeNewScript([]byte(body), Limits{})
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		got.Shape = Shape{}
		if d := cmp.Diff(&want, got); d != "" {
			t.Errorf("%s: %s", body, d)
		}
	}
	for body, want := range map[string]string{
		`{}`:                                             `text: is missing: the script, a text, fits`,
		`{"text":null}`:                                  `text: is null: a text fits`,
		`{"text":"","callers":""}`:                       `callers: is empty: keys, domains or anyone fits, or leave the field out`,
		`{"text":"","methods":[]}`:                       `methods: is empty, and nobody could call the script: a list such as ["GET", "POST"] fits, or leave the field out for all`,
		`{"text":"","methods":[1]}`:                      `methods[0]: is a number: a text fits`,
		`{"text":"","secrets":"y"}`:                      `secrets: is a text: true or false fits`,
		`{"text":"","keep":-1}`:                          `keep: is "-1": a whole number of seconds from 0 to 2592000, which is 30 days, fits, or leave the field out`,
		`{"text":"","keep":1.5}`:                         `keep: is "1.5": a whole number of seconds from 0 to 2592000, which is 30 days, fits, or leave the field out`,
		`{"text":"","keep":"24h"}`:                       `keep: is a text: a whole number of seconds from 0 to 2592000, which is 30 days, fits, or leave the field out`,
		`{"text":"","key":1}`:                            `key: is no known field: text, callers, methods, secrets, keep or concurrency would fit`,
		`{"text":"","concurrency":2}`:                    `concurrency: is a number: an object fits`,
		`{"text":"","concurrency":{"key":"a","most":0}}`: `concurrency.most: is "0": a whole number from 1 to 10000 fits, or leave the field out`,
		`[]`: `body: is a list: an object fits`,
	} {
		_, err := DecodeNewScript([]byte(body), Limits{})
		if err == nil || err.Error() != want {
			t.Errorf("%s\n got:  %v\n want: %s", body, err, want)
		}
	}
	if _, err := DecodeNewScript([]byte(`{"text":"EMIT 1"}`), Limits{Script: 5}); err == nil {
		t.Error("a script that is too large is accepted")
	}
	n, err := DecodeNewScript([]byte(`{"text":"EMIT 1"}`), Limits{})
	if err != nil || n.Within(Limits{Script: 5}) == nil || n.Within(Limits{Body: 10}) == nil || n.Within(Limits{}) != nil {
		t.Errorf("it is not held to the limits of an account: %v", err)
	}
}

// TestScriptSize: what an answer takes is reserved by its size.
func TestScriptSize(t *testing.T) {
	for _, text := range []string{"", "EMIT 1\n", strings.Repeat("\x01\"\\\n\t\x7f", 1000), strings.Repeat("ä\U0001f600", 1000), "\xff\xfe", strings.Repeat("\xff", 1000)} {
		s := Script{Text: text, Schema: Raw(`{"a":1}`), ScriptEntry: ScriptEntry{
			Name: strings.Repeat("n", 64), Version: 1 << 62, Callers: "domains", Methods: []string{"GET", "POST", "PUT", "PATCH", "DELETE"}, Concurrency: Concurrency{Key: strings.Repeat("\"", 200), Most: 10_000},
			Hash: strings.Repeat("f", 64), PublishedAt: time.Unix(1, 123456000), Until: time.Unix(1, 123456000),
		}}
		for range 100 {
			s.Versions = append(s.Versions, s.ScriptEntry)
		}
		got := s.AppendJSON(nil)
		if int64(len(got)) > s.Size() || !json.Valid(got) {
			t.Errorf("%.10q takes %d bytes, and %d were expected", text, len(got), s.Size())
		}
	}
}

// FuzzNewScript: what is accepted is what encoding/json reads.
func FuzzNewScript(f *testing.F) {
	f.Add([]byte(`{"text":"EMIT 1","callers":"anyone","methods":["GET"],"secrets":true,"keep":60}`))
	f.Add([]byte(`{"text":"\ud83d\ude00","keep":0}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := DecodeNewScript(body, Limits{})
		if err != nil {
			return
		}
		var want struct {
			Text    *string
			Callers string
			Methods []string
			Secrets bool
			Keep    *int64
		}
		if err := json.Unmarshal(body, &want); err != nil || want.Text == nil {
			t.Fatalf("%q is accepted: %v", body, err)
		}
		if *want.Text != n.Text || want.Callers != n.Callers || !cmp.Equal(want.Methods, n.Methods) || want.Secrets != n.Secrets ||
			want.Keep != nil && *want.Keep != n.Keep || want.Keep == nil && n.Keep >= 0 {
			t.Errorf("%q is read as %+v", body, n)
		}
	})
}
