package wire

import (
	"strings"
	"testing"
)

func TestChooseLanguage(t *testing.T) {
	for accept, want := range map[string]string{
		"": "en", "*": "en", "fr": "en", "de": "de", "DE-AT": "de", "de-CH,de;q=0.9,en;q=0.8": "de", "en-GB,de;q=0.9": "en",
		"fr,de;q=0.4,en;q=0.3": "de", "en;q=0.3, de;q=0.4": "de", "de;q=0,en": "en", "de;q=0": "en", "de;q=x": "en", "de;q=NaN": "en",
		"de;q=7,en;q=0.1": "en", "german": "en", "de_AT": "en", ";;,,": "en", "de;q=0.5,de;q=0.9,en;q=0.8": "de",
		strings.Repeat("fr,", 40) + "de": "en",
	} {
		if got := ChooseLanguage(accept, "en", "de"); got != want {
			t.Errorf("%.40q: %s, want %s", accept, got, want)
		}
	}
}
