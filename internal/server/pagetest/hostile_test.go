package pagetest

import (
	"strings"
	"testing"
)

// TestHostile: each text changes some page that does not escape it, or is known to run only in code.
func TestHostile(t *testing.T) {
	list := Hostile()
	if len(list) < 200 {
		t.Fatalf("there are %d texts", len(list))
	}
	places := []string{
		"<!doctype html><body><p>%s</p>", `<!doctype html><body><p title="%s">x</p>`, `<!doctype html><body><p title='%s'>x</p>`, "<!doctype html><body><textarea>%s</textarea>",
		"<!doctype html><title>%s</title>", "<!doctype html><style>%s</style>", "<!doctype html><script>%s</script>", "<!doctype html><!-- %s -->", `<!doctype html><a href="%s">x</a>`, "<!doctype html><p title=%s>x</p>",
	}
	seen := map[string]bool{}
	quiet := 0
	for _, text := range list {
		if seen[text] {
			t.Errorf("%s is there twice", text)
		}
		seen[text] = true
		changed := false
		for _, place := range places {
			as := func(text string) string {
				s, err := Skeleton(strings.ReplaceAll(place, "%s", text))
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			leads, err := Leads(strings.ReplaceAll(place, "%s", text))
			if err != nil {
				t.Fatal(err)
			}
			changed = changed || as(text) != as(Harmless) || len(leads) > 0
		}
		if !changed {
			quiet++ // as what is encoded, or is code for templates
		}
	}
	if quiet > 10 {
		t.Errorf("%d of %d texts change nothing", quiet, len(list))
	}
}
