package asset

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ql/internal/server"
)

func TestServe(t *testing.T) {
	get := func(name, accepted string) (server.Response, http.Header, error) {
		h := http.Header{}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, prefix+name, nil)
		if accepted != "" {
			r.Header.Set("Accept-Encoding", accepted)
		}
		reply, err := serve(h, &server.Request{Request: r, Variable: name})
		return reply, h, err
	}
	for address, want := range map[string]struct {
		mediaType string
		content   []byte
	}{Stylesheet: {"text/css; charset=utf-8", pageCSS}, FormScript: {"text/javascript; charset=utf-8", formJS}} {
		name := strings.TrimPrefix(address, prefix)
		reply, h, err := get(name, "")
		if err != nil || reply.Status != http.StatusOK || !bytes.Equal(reply.Body, want.content) || h.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d, %v, %v", name, reply.Status, h, err)
		}
		if h.Get("Content-Type") != want.mediaType || !strings.Contains(h.Get("Cache-Control"), "immutable") || h.Get("Vary") != "Accept-Encoding" ||
			h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", name, h)
		}
		for _, accepted := range []string{"gzip", "br;q=1, GZIP;q=0.8"} {
			reply, h, err = get(name, accepted)
			if err != nil || h.Get("Content-Encoding") != "gzip" {
				t.Fatalf("%s as %s: %v, %v", name, accepted, h, err)
			}
			unpacked, err := gzip.NewReader(bytes.NewReader(reply.Body))
			if err != nil {
				t.Fatal(err)
			}
			if content, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(content, want.content) {
				t.Errorf("%s as %s: %v", name, accepted, err)
			}
		}
		if _, h, _ = get(name, "br, gzip;q=0"); h.Get("Content-Encoding") != "" {
			t.Errorf("%s is packed for somebody who cannot unpack it", name)
		}
		if _, _, err = get(name+"x", ""); err == nil {
			t.Errorf("%sx is there", name)
		}
	}
}

// TestBudget: a form is ready at once on a slow line.
func TestBudget(t *testing.T) {
	for address, most := range map[string]int{FormScript: 6 << 10, Stylesheet: 6 << 10} {
		if n := len(files[strings.TrimPrefix(address, prefix)].packed); n > most {
			t.Errorf("%s has %d bytes packed, and may have %d", address, n, most)
		}
	}
}

// TestTrustedTypes: the script makes elements of nothing that is text.
func TestTrustedTypes(t *testing.T) {
	for _, sink := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "DOMParser", "srcdoc", ".style"} {
		if bytes.Contains(formJS, []byte(sink)) {
			t.Errorf("form.js has %s", sink)
		}
	}
}
