package site_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
)

// TestZipsCountAsStorage: a zip file is storage of its account while it is read, and no longer.
func TestZipsCountAsStorage(t *testing.T) {
	w := boot(t, func(s *settings) {
		l := s.Plans[account.Standard]
		l.StorageBytes, l.Rate = 1<<20, 0
		s.Plans[account.Standard] = l
	})
	noise, from := make([]byte, 600_000), rand.NewChaCha8([32]byte{1})
	_, _ = from.Read(noise) // it never fails
	pack := func(name string, content []byte) string {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		f, err := z.Create(name)
		if err == nil {
			_, err = f.Write(content)
		}
		if err == nil {
			err = z.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	put := func(body string) answer {
		return w.call("PUT", w.URL()+"/v1/sites/main", body, "Content-Type", "application/zip", "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("ada:"+apptest.Password)))
	}
	for range 3 { // more than there is room for together
		if a := put(pack("../a", noise)); a.status != 400 {
			t.Fatalf("a name that leads out: %d %s", a.status, a.body)
		}
		if a := put(pack("a", noise)); a.status != 429 || !strings.Contains(a.body, "quota_exceeded") {
			t.Fatalf("no room for the zip file and its content: %d %s", a.status, a.body)
		}
	}
	if n := w.blobs(); n != 0 {
		t.Errorf("%d contents are left", n)
	}
	if a := put(pack("a", noise[:400_000])); a.status != 201 {
		t.Errorf("both fit: %d %s", a.status, a.body)
	}
	if n := w.blobs(); n != 1 {
		t.Errorf("%d contents are there", n)
	}
}
