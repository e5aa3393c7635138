package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ql/internal/server"
)

// handler serves the pages and nothing else.
func handler(o Options) http.Handler {
	return server.New(server.Options{Routes: Routes(o), RoutesAlone: true})
}

func call(t *testing.T, h http.Handler, method, url string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, url, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestShell: every address of a page has the shell, whose parts are there, and whose policy lets nothing
// else run.
func TestShell(t *testing.T) {
	h := handler(Options{Dev: true, Own: "https://ql.example.com", Files: "https://files.example.com"})
	var nonces []string
	for _, path := range []string{"/app/", "/app/jobs", "/app/jobs/12", "/app/files/a/b%20c.txt", "/app/editor?file=/x.ql&line=12"} {
		r := call(t, h, "GET", "https://ql.example.com"+path)
		page := r.Body.String()
		if r.Code != http.StatusOK || r.Header().Get("Content-Type") != "text/html; charset=utf-8" || r.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", path, r.Code, r.Header())
		}
		_, nonce, _ := strings.Cut(page, `nonce="`)
		nonce, _, _ = strings.Cut(nonce, `"`)
		nonces = append(nonces, nonce)
		policy := r.Header().Get("Content-Security-Policy")
		for _, part := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self' 'nonce-" + nonce + "'", "frame-ancestors 'none'",
			"frame-src 'self' https://files.example.com", "require-trusted-types-for 'script'", "trusted-types svelte-trusted-html",
		} {
			if !slices.Contains(strings.Split(policy, "; "), part) {
				t.Errorf("%s has no %s: %s", path, part, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(page, "<style") || strings.Contains(page, "://") || !strings.Contains(page, `data-dev="true"`) {
			t.Errorf("%s: %s\n%s", path, policy, page)
		}
		for _, address := range append(start.Styles, start.Script, start.Icon) {
			if !strings.Contains(page, `"`+address+`"`) {
				t.Errorf("%s does not name %s", path, address)
			}
			if part := call(t, h, "GET", "https://ql.example.com"+address); part.Code != http.StatusOK || !strings.Contains(part.Header().Get("Cache-Control"), "immutable") || part.Header().Get("Content-Type") == "" {
				t.Errorf("%s: %d %v", address, part.Code, part.Header())
			}
		}
	}
	slices.Sort(nonces)
	if len(slices.Compact(nonces)) != 5 {
		t.Errorf("pages share a nonce: %v", nonces)
	}
}

// TestWhere: browsers are led to the pages, programs find what they always found, and there are no pages
// at the host of files.
func TestWhere(t *testing.T) {
	h := handler(Options{Own: "https://ql.example.com", Files: "https://files.example.com"})
	const browser = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
	for _, c := range []struct {
		method, url, accept string
		status              int
	}{
		{"GET", "https://ql.example.com/", browser, 303},
		{"HEAD", "https://ql.example.com/", browser, 303},
		{"GET", "https://ql.example.com/app", browser, 303},
		{"GET", "https://ql.example.com/", "", 404},
		{"GET", "https://ql.example.com/", "*/*", 404},
		{"GET", "https://ql.example.com/", "application/json", 404},
		{"POST", "https://ql.example.com/", browser, 404},
		{"GET", "https://ql.example.com/app/", "", 200},
		{"GET", "https://localhost/app/", "", 200},
		{"POST", "https://ql.example.com/app/", browser, 405},
		{"GET", "https://files.example.com/", browser, 404},
		{"GET", "https://files.example.com/app", browser, 404},
		{"GET", "https://files.example.com/app/jobs", browser, 404},
		{"GET", "https://files.example.com:443/app/jobs", browser, 404},
		{"GET", "https://files.example.com" + start.Script, "", 404},
		{"GET", "https://ql.example.com/app/assets/manifest.json", "", 404},
		{"GET", "https://ql.example.com/app/assets/source.sum", "", 404},
		{"GET", "https://ql.example.com/application", browser, 404},
	} {
		r := call(t, h, c.method, c.url, "Accept", c.accept)
		if r.Code != c.status || (c.status == 303) != (r.Header().Get("Location") == prefix) {
			t.Errorf("%s %s as %q: %d %v", c.method, c.url, c.accept, r.Code, r.Header())
		}
	}
	for _, mode := range []string{"closed", "invite", "open"} {
		if r := call(t, handler(Options{SignUp: mode}), "GET", "http://localhost/app/sign-in"); !strings.Contains(r.Body.String(), `data-sign-up="`+mode+`"`) {
			t.Errorf("%s: the page does not know who signs up", mode)
		}
	}
	preview := call(t, h, "GET", "https://ql.example.com/app/preview")
	policy := preview.Header().Get("Content-Security-Policy")
	for _, part := range []string{"sandbox allow-scripts", "default-src 'none'", "form-action 'none'", "frame-ancestors 'self'"} {
		if preview.Code != http.StatusOK || !slices.Contains(strings.Split(policy, "; "), part) {
			t.Errorf("the document of output has no %s: %d %s", part, preview.Code, policy)
		}
	}
	if r := call(t, h, "GET", "https://files.example.com/app/preview"); r.Code != http.StatusNotFound {
		t.Errorf("%d", r.Code)
	}
	same := handler(Options{Own: "http://127.0.0.1:8080", Files: "http://127.0.0.1:8080"})
	if r := call(t, same, "GET", "http://localhost:8080/app/"); r.Code != http.StatusOK || strings.Contains(r.Body.String(), `data-dev="true"`) {
		t.Errorf("%d", r.Code)
	}
}

// TestPacked: what is sent compressed is what there is.
func TestPacked(t *testing.T) {
	h := handler(Options{})
	for name, f := range files {
		r := call(t, h, "GET", assetPrefix+name, "Accept-Encoding", "gzip")
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(unpacked)
		if err != nil || !bytes.Equal(content, f.plain) || r.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v %v", name, r.Header(), err)
		}
		if plain := call(t, h, "GET", assetPrefix+name).Body.String(); plain != string(f.plain) {
			t.Errorf("%s has other bytes", name)
		}
	}
}

// size is how many bytes chunks are on their way, with their styles.
func size(names []string) (n int) {
	var all []string
	for _, name := range names {
		all = append(append(all, chunks[name].File), chunks[name].Styles...)
	}
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		n += len(files[name].packed())
	}
	return n
}

// TestBudget: pages are there at once, on a slow line too.
func TestBudget(t *testing.T) {
	const kib = 1 << 10
	var first []string
	for name, c := range chunks {
		if c.IsEntry {
			first = closure(name)
		}
	}
	if n := size(first); n == 0 || n > 100*kib {
		t.Errorf("the first load has %d bytes, and may have %d", n, 100*kib)
	} else {
		t.Logf("first load: %.1f KiB", float64(n)/kib)
	}
	for name, c := range chunks {
		if !c.IsDynamicEntry {
			continue
		}
		const editor = "src/pages/Editor.svelte"
		most, before := 25*kib, first
		switch {
		case name == editor:
			most = 150 * kib
		case strings.HasPrefix(name, "src/editor/"): // the editor loads it later, where it is needed
			before = slices.Concat(first, closure(editor))
		}
		own := slices.DeleteFunc(closure(name), func(n string) bool { return slices.Contains(before, n) })
		if n := size(own); n > most {
			t.Errorf("%s has %d bytes, and may have %d", name, n, most)
		} else {
			t.Logf("%s: %.1f KiB", name, float64(n)/kib)
		}
	}
}

// TestBuiltOfTheseSources: what is served was built of what is in web, and of the examples. It wants no Node: `make web`
// builds, and `make check-web` compares the bytes.
func TestBuiltOfTheseSources(t *testing.T) {
	const web = "../../../web"
	names := []string{"package-lock.json", "package.json", "svelte.config.js", "tsconfig.json", "vite.config.ts"}
	err := filepath.WalkDir(web+"/src", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(web, path)
		if name = filepath.ToSlash(name); name != "src/lib/schema.d.ts" { // which is generated
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Glob("../../../examples/*.ql")
	if err != nil || len(examples) == 0 {
		t.Fatal(err)
	}
	for _, path := range examples {
		names = append(names, "../examples/"+filepath.Base(path))
	}
	slices.Sort(names)
	all := sha256.New()
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(web, name))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		_, _ = io.WriteString(all, hex.EncodeToString(sum[:])+"  "+name+"\n")
	}
	want, err := built.ReadFile("assets/" + sourceSum)
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(all.Sum(nil)); got != strings.TrimSpace(string(want)) {
		t.Errorf("the pages were built of other sources: run `make web`, and commit what it writes")
	}
}

// TestLockNamesNoHost: whoever builds gets the packages of the registry that they use, by their hashes.
func TestLockNamesNoHost(t *testing.T) {
	lock, err := os.ReadFile("../../../web/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(lock, []byte(`"resolved"`)) || bytes.Count(lock, []byte(`"integrity"`)) < 50 {
		t.Error("package-lock.json names hosts, or has no hashes")
	}
}
