package app_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
)

// TestFullDiskUpload: what the full disk does not take of an upload is refused
// as a fault of the service that passes. The file stays as it was, and all goes
// on once there is room.
func TestFullDiskUpload(t *testing.T) {
	folder := t.TempDir()
	if !smallDisk(t, folder, 40) {
		return
	}
	b := apptest.Boot(t, apptest.Production, func(s *config.Settings) { s.Data = filepath.Join(folder, "data") })
	b.Account("ada", account.Standard)
	old, content := bytes.Repeat([]byte("old "), 50_000), bytes.Repeat([]byte("new content, "), 1_000_000)
	if status, _, text := fileCall(t, b, "ada", "PUT", "/x", bytes.NewReader(old)); status != 201 {
		t.Fatalf("%d %s", status, text)
	}
	filler := filepath.Join(folder, "filler")
	fill(t, filler)
	status, header, text := fileCall(t, b, "ada", "PUT", "/x", bytes.NewReader(content))
	if status != 503 || header.Get("Retry-After") == "" || !bytes.Contains(text, []byte("storage_unavailable")) {
		t.Errorf("on a full disk: %d %s %v", status, text, header)
	}
	if status, _, text := fileCall(t, b, "ada", "GET", "/x", nil); status != 200 || !bytes.Equal(text, old) {
		t.Errorf("the file of before: %d, %d bytes", status, len(text))
	}
	if found := temporaries(t, filepath.Join(b.Settings.Data, "blobs")); len(found) > 0 {
		t.Errorf("%v is left", found)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if status, _, text := fileCall(t, b, "ada", "PUT", "/x", bytes.NewReader(content)); status != 200 {
		t.Errorf("with room again: %d %s", status, text)
	}
	if status, _, text := fileCall(t, b, "ada", "GET", "/x", nil); status != 200 || !bytes.Equal(text, content) {
		t.Errorf("the new file: %d, %d bytes", status, len(text))
	}
}
