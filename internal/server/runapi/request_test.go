package runapi

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzAddress: what is read of a path is what it says, and leads back to it.
func FuzzAddress(f *testing.F) {
	for _, path := range []string{"/run/ada/todo", "/run/ada/todo/", "/run/ada/todo@3/items/1", "/run/ada/todo/%20", "/run//x", "/run/ada/%2e", "/run/ada/x/%2e%2e", "/run/ada/x/%2F", "/run/ada/x/%ff", "/run/"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		a, err := parseAddress(path)
		if err != nil {
			return
		}
		if a.username == "" || a.program == "" || strings.Contains(a.username+a.program, "/") || !utf8.ValidString(a.rest) {
			t.Fatalf("%q is read as %+v", path, a)
		}
		for _, part := range strings.Split(a.rest, "/") {
			if part == "." || part == ".." || strings.ContainsAny(part, "\\%\x00") {
				t.Fatalf("%q has the rest %q", path, a.rest)
			}
		}
	})
}

func TestLoadedAsCode(t *testing.T) {
	for _, header := range []http.Header{{"Sec-Fetch-Dest": {"script"}}, {"Service-Worker": {"script"}}, {"Sec-Fetch-Dest": {"whatever comes"}}} {
		if !isLoadedAsCode(header) {
			t.Errorf("%v is served", header)
		}
	}
	if isLoadedAsCode(http.Header{}) {
		t.Error("programs are not served")
	}
}
