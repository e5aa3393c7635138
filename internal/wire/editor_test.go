package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestDecodeEditorQuery(t *testing.T) {
	q, err := DecodeEditorQuery([]byte(`{"text":"EMIT 1","line":2,"column":3}`), Limits{}, NeedsPlace)
	if err != nil || q.Text != "EMIT 1" || q.Line != 2 || q.Column != 3 {
		t.Errorf("%+v %v", q, err)
	}
	if q, err := DecodeEditorQuery([]byte(`{"text":""}`), Limits{}, NeedsText); err != nil || q.Line != 0 {
		t.Errorf("%+v %v", q, err)
	}
	for body, field := range map[string]string{
		`[]`:                   "body",
		`{}`:                   "text",
		`{"text":null}`:        "text",
		`{"text":""}`:          "line",
		`{"text":"","line":1}`: "column",
		`{"text":"","line":99999999999,"column":1}`: "line",
		`{"text":"","line":1,"column":-1}`:          "column",
		`{"text":"","place":1}`:                     "place",
		`{"text":"1234567","line":1,"column":1}`:    "text",
	} {
		_, err := DecodeEditorQuery([]byte(body), Limits{Script: 6}, NeedsPlace)
		var r *Refusal
		if !errors.As(err, &r) || r.Field != field {
			t.Errorf("%s: %v, want the field %s", body, err, field)
		}
	}
	if r, err := DecodeEditorQuery([]byte(`{"text":"EMIT 1","line":2,"column":3,"name":"?a"}`), Limits{}, NeedsName); err != nil || r.Name != "?a" {
		t.Errorf("%+v %v", r, err)
	}
	for _, body := range []string{`{"text":"","line":1,"column":1}`, `{"text":"","line":1,"column":1,"name":""}`, `{"text":"","line":1,"column":1,"name":1}`} {
		var r *Refusal
		if _, err := DecodeEditorQuery([]byte(body), Limits{}, NeedsName); !errors.As(err, &r) || r.Field != "name" {
			t.Errorf("%s: %v", body, err)
		}
	}
	if err := q.Within(Limits{Script: 5}); err == nil {
		t.Error("a text is longer than it may be")
	}
}

// TestEditorAnswers checks that answers are JSON whatever is in them.
func TestEditorAnswers(t *testing.T) {
	const odd = "\"\\\x00\xff😀"
	place := Place{1, 2, 3, 4}
	for _, answer := range [][]byte{
		AppendCheck(nil, nil, false, &Reach{}),
		AppendCheck(nil, []Mistake{{Place: place, Code: odd, Message: odd, Fixes: []Fix{{odd, []Edit{{place, odd}, {place, odd}}}, {Title: odd}}}, {}}, true, &Reach{Reads: []string{odd, odd}, AnyHost: true}),
		AppendCompletions(nil, nil, false),
		AppendCompletions(nil, []Completion{{Place: place, Label: odd, Insert: odd, Doc: odd}, {}}, true),
		AppendHover(nil, nil),
		AppendHover(nil, &Hover{place, odd}),
		AppendDefinition(nil, nil),
		AppendDefinition(nil, &Definition{place, odd}),
		AppendRename(nil, nil),
		AppendRename(nil, []Edit{{place, odd}, {place, odd}}),
		AppendFormatted(nil, odd),
	} {
		if !json.Valid(answer) || !strings.HasPrefix(string(answer), `{"status":"ok",`) {
			t.Errorf("%s is no answer", answer)
		}
	}
}

func FuzzDecodeEditorQuery(f *testing.F) {
	f.Add([]byte(`{"text":"EMIT 1","line":1,"column":1}`), int(NeedsPlace))
	f.Add([]byte(`{"text":"\u0000"}`), int(NeedsText))
	f.Add([]byte(`{"text":"EMIT ?a","line":1,"column":7,"name":"b"}`), int(NeedsName))
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		needs := EditorNeeds(n)
		q, err := DecodeEditorQuery(body, Limits{}, needs)
		if (err == nil) != (q != nil) || err == nil && (needs >= NeedsPlace && (q.Line < 1 || q.Column < 1) || needs == NeedsName && q.Name == "" || q.Line > mostPlaces) {
			t.Fatalf("%+v %v", q, err)
		}
	})
}
