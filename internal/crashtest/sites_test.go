package crashtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// siteOf returns the files of a site, all of which have a mark.
func siteOf(mark string) map[string]string {
	site := map[string]string{"index.ql": "EMIT \"" + mark + "\"", "large.txt": strings.Repeat(mark+" ", 20_000)}
	for i := range 20 {
		site[fmt.Sprintf("f%d.txt", i)] = mark
	}
	return site
}

// TestPromiseDeploysAreWhole kills the server while it deploys a site, again and again: it is the old one
// or the new one then, and never a mix, and a deploy that was answered is there.
func TestPromiseDeploysAreWhole(t *testing.T) {
	s := newServer(t)
	s.start()
	last, cut := "none", 0
	life := upTo(12 * time.Millisecond)
	rounds := count(8, 200)
	for round := range rounds {
		mark := fmt.Sprintf("m%d", round)
		manifest := s.sendSite(siteOf(mark))
		type outcome struct {
			answer
			err error
		}
		done := make(chan outcome, 1)
		go func() {
			a, err := s.try(request{method: http.MethodPut, path: "/v1/sites/main", body: manifest, owner: true})
			done <- outcome{a, err}
		}()
		<-time.After(life())
		s.kill()
		s.start()
		deployed := <-done // by the new one, where it came late
		answered := deployed.err == nil && deployed.status != http.StatusServiceUnavailable
		switch {
		case !answered:
			cut++
		case deployed.status != http.StatusCreated:
			t.Fatalf("the deploy: %s", deployed.answer)
		}
		marks := slices.Compact(strings.Fields(s.output(readSite)))
		if len(marks) != 1 {
			t.Fatalf("round %d: the site is a mix of %s", round, marks)
		}
		if marks[0] != mark && (answered || marks[0] != last) {
			t.Fatalf("round %d: the site is %s after a deploy of %s over %s: %s, %v", round, marks[0], mark, last, deployed.answer, deployed.err)
		}
		last = marks[0]
	}
	t.Logf("%d deploys, of which %d were cut off by a kill", rounds, cut)
}

// readSite emits what all files of the site hold.
const readSite = `
	FOR ?i FROM 0 TO 19 DO
		READ "/site/f{?i}.txt" OPTIONAL SET ?text
		EMIT ?text DEFAULT "none", " "
	END
	READ "/site/large.txt" OPTIONAL SET ?text
	EMIT ?text DEFAULT "none"`

// sendSite sends the contents of a site, and returns the manifest that names them.
func (s *server) sendSite(site map[string]string) []byte {
	s.t.Helper()
	digests := map[string]string{}
	for path, text := range site {
		sum := sha256.Sum256([]byte(text))
		digests[path] = hex.EncodeToString(sum[:])
		a, err := s.call(request{method: http.MethodPut, path: "/v1/sites/main/content/" + digests[path], body: []byte(text), owner: true})
		check(s.t, err)
		if a.status >= 300 {
			s.t.Fatalf("content: %s", a)
		}
	}
	manifest, err := json.Marshal(map[string]any{"files": digests})
	check(s.t, err)
	return manifest
}
