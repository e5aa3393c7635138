package job

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

func TestIDs(t *testing.T) {
	seen := map[ID]bool{}
	for range 1000 {
		id := NewID()
		text := id.String()
		if seen[id] || len(text) != 36 || text[14] != '4' || !strings.ContainsRune("89ab", rune(text[19])) {
			t.Fatalf("the id %s", text)
		}
		seen[id] = true
		for _, written := range []string{text, strings.ToUpper(text)} {
			if back, ok := ParseID(written); !ok || back != id {
				t.Fatalf("%s came back as %s, %t", written, back, ok)
			}
		}
	}
	id := ID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0x4d, 0xef, 0x80, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0xff}
	if got := id.String(); got != "01234567-89ab-4def-8011-2233445566ff" {
		t.Errorf("got %s", got)
	}
}

func TestParseIDRefuses(t *testing.T) {
	for _, text := range []string{
		"",
		"01234567-89ab-4def-8011-2233445566f",
		"01234567-89ab-4def-8011-2233445566fff",
		"0123456789ab4def80112233445566ff",       // another form of the same
		"01234567089ab-4def-8011-2233445566f-",   // hyphens elsewhere
		"01234567-89ab-1def-8011-2233445566ff",   // version 1
		"01234567-89ab-4def-c011-2233445566ff",   // another variant
		"g1234567-89ab-4def-8011-2233445566ff",   // no digit
		"0123456\x00-89ab-4def-8011-223344556ff", // likewise
	} {
		if id, ok := ParseID(text); ok {
			t.Errorf("%q was read as %s", text, id)
		}
	}
}

func TestIDsAreNotLogged(t *testing.T) {
	id := NewID()
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "job", id)
	if got := log.String(); strings.Contains(got, id.String()[9:]) || !strings.Contains(got, "job="+id.Short()) {
		t.Errorf("the log says %s", got)
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("01234567-89ab-4def-8011-2233445566ff")
	f.Add("01234567-89ab-4def-c011-2233445566ff")
	f.Fuzz(func(t *testing.T, text string) {
		if id, ok := ParseID(text); ok && id.String() != strings.ToLower(text) {
			t.Errorf("%q was read as %s", text, id)
		}
	})
}

// TestDeliveryIDs: the id of a job's message is always the same, another for each
// job, and shows nothing of the job's.
func TestDeliveryIDs(t *testing.T) {
	id := ID{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0x4d, 0xef, 0x80, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0xff}
	const want = "msg_1584000b-2f33-87de-a1f5-75670136d989"
	if got := DeliveryID(id); got != want {
		t.Errorf("got %s: receivers know the messages of jobs that were restored by %s", got, want)
	}
	seen := map[string]bool{}
	for range 1000 {
		id := NewID()
		got := DeliveryID(id)
		if seen[got] || got != DeliveryID(id) {
			t.Fatalf("%s came twice, or not", got)
		}
		seen[got] = true
		if _, ok := ParseID(strings.TrimPrefix(got, "msg_")); ok {
			t.Errorf("%s could be the id of a job", got)
		}
	}
}
