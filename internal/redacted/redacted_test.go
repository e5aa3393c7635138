package redacted

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestTextIsNotShown(t *testing.T) {
	const canary = "swordfish"
	s := Text(canary)
	type holder struct {
		S Text
		P *Text
	}
	type embedding struct{ Text }
	values := []any{s, &s, holder{s, &s}, []Text{s}, map[string]Text{"s": s}, embedding{s}}
	var shown []string
	for _, v := range values {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			if text := fmt.Sprintf(verb, v); !strings.HasPrefix(text, "0x") { // a pointer inside shows as one
				shown = append(shown, text)
			}
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var asText, asJSON bytes.Buffer
		slog.New(slog.NewTextHandler(&asText, nil)).Info("m", "v", v)
		slog.New(slog.NewJSONHandler(&asJSON, nil)).Info("m", "v", v)
		shown = append(shown, fmt.Sprint(v), fmt.Sprintln(v), string(text), asText.String(), asJSON.String(), fmt.Errorf("%v", v).Error())
	}
	text, err := xml.Marshal(holder{S: s})
	if err != nil {
		t.Fatal(err)
	}
	shown = append(shown, string(text), s.String(), s.GoString())
	for _, text := range shown {
		if strings.Contains(text, canary) || strings.Contains(strings.ToLower(text), fmt.Sprintf("%x", canary)) || !strings.Contains(text, Mask) {
			t.Errorf("shown as %s", text)
		}
	}
	if s.Reveal() != canary {
		t.Errorf("revealed as %s", s.Reveal())
	}
}
