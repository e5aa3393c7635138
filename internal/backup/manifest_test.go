package backup

import (
	"strings"
	"testing"
)

// TestChangedManifest: what is no manifest is damage, in words that name nothing inside.
func TestChangedManifest(t *testing.T) {
	for _, text := range []string{`{"byte ": 1}`, `{`, `[]`, ``} {
		var m manifest
		err := decode(manifestName, strings.NewReader(text), 1<<10, &m)
		if err == nil || !strings.HasPrefix(err.Error(), "the backup is damaged: it was changed") || strings.Contains(err.Error(), "json:") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
