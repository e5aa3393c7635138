package site_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/apptest"
)

// deploy makes ada's site what files say.
func (w *world) deploy(files map[string]string) error {
	digests := map[string]string{}
	for path, text := range files {
		sum := sha256.Sum256([]byte(text))
		digests[path] = hex.EncodeToString(sum[:])
		if err := w.manage("/content/"+digests[path], "application/octet-stream", text); err != nil {
			return err
		}
	}
	manifest, err := json.Marshal(map[string]any{"files": digests})
	if err != nil {
		return err
	}
	return w.manage("", "application/json", string(manifest))
}

// manage sends something of ada's site.
func (w *world) manage(path, kind, body string) error {
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPut, w.URL()+"/v1/sites/main"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.SetBasicAuth("ada", apptest.Password)
	req.Header.Set("Content-Type", kind)
	res, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("%s: %d %s", path, res.StatusCode, text)
	}
	return err
}

// TestPromiseDeploysAreWhole: while a site is deployed again and again, every view is of one release: the
// script, what it includes, the template that it renders and the files that it reads.
func TestPromiseDeploysAreWhole(t *testing.T) {
	deploys := 10
	if os.Getenv("QL_PROMISES") != "" {
		deploys = 50
	}
	w := boot(t, func(s *settings) { // views are counted by whoever looks at rates
		l := s.Plans[account.Standard]
		l.SiteRate, l.Rate = 0, 0
		s.Plans[account.Standard] = l
	})
	site := func(n int) map[string]string {
		mark := fmt.Sprintf("m%d", n)
		return map[string]string{
			"index.ql":   "INCLUDE \"/site/_lib.ql\"\nSET ?m AS mark()\nEMIT \"" + mark + " {?m} \"\nFOR ?i IN RANGE(1, 40) DO\nREAD \"/site/data.txt\" SET ?data\nEND\nRENDER \"/site/_page.html\" USING {data: ?data}\nREAD \"/site/only/" + mark + ".txt\" SET ?only\nEMIT \" {?only}\"",
			"_lib.ql":    "DEFINE mark()\nRETURN \"" + mark + "\"\nEND",
			"_page.html": mark + " {{.data}}",
			"data.txt":   mark, "only/" + mark + ".txt": mark,
		}
	}
	if err := w.deploy(site(0)); err != nil {
		t.Fatal(err)
	}
	if a := w.get("/"); a.status != 200 || a.body != "m0 m0 m0 m0 m0" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	done, begun := make(chan struct{}), time.Now()
	var views atomic.Int64
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.SiteURL("ada")+"/", nil)
				if err != nil {
					t.Error(err)
					return
				}
				res, err := w.client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				marks := strings.Fields(string(text))
				if err != nil || res.StatusCode != http.StatusOK || len(marks) != 5 || len(slices.Compact(marks)) != 1 {
					t.Errorf("%d %q, %v", res.StatusCode, text, err)
					return
				}
				views.Add(1)
			}
		})
	}
	for n := 1; n <= deploys; n++ {
		if err := w.deploy(site(n)); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	group.Wait()
	if a := w.get("/"); a.status != 200 || !strings.HasPrefix(a.body, fmt.Sprintf("m%d ", deploys)) {
		t.Errorf("after all: %d %s", a.status, a.body)
	}
	seconds := time.Since(begun).Seconds()
	t.Logf("%d views during %d deploys in %.1f s, %.0f a second", views.Load(), deploys, seconds, float64(views.Load())/seconds)
}
