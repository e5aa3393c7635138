package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
)

// tenant is an account whose every text has its own mark in it.
type tenant struct {
	name, password, mark string
	session              string
}

// TestPromiseNoByteCrosses lets two accounts and the development account work on
// files, databases, sessions, jobs and links of the same names at the same time.
// Everything that one writes has its mark; nothing that it is answered has
// another's.
func TestPromiseNoByteCrosses(t *testing.T) {
	operations := 600
	if os.Getenv("QL_PROMISES") != "" {
		operations = 10_000
	}
	s := apptest.Boot(t)
	s.Account("ada", account.Standard)
	s.Account("bob", account.Standard)
	tenants := []*tenant{
		{name: "ada", password: apptest.Password, mark: "mark-of-ada-6f1d"},
		{name: "bob", password: apptest.Password, mark: "mark-of-bob-93ac"},
		{name: "dev", password: "dev", mark: "mark-of-dev-02be"},
	}
	var done, own sync.Map
	var working sync.WaitGroup
	for i, who := range tenants {
		working.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 7))
			for n := range operations / len(tenants) {
				kind, script := who.operation(random, n)
				answer, err := who.run(s.URL(), script)
				if err != nil {
					t.Errorf("%s: %s: %v", who.name, kind, err)
					return
				}
				for _, other := range tenants {
					if other != who && strings.Contains(answer, other.mark) {
						t.Errorf("%s was shown what belongs to %s, by %s: %s", who.name, other.name, script, answer)
					}
				}
				count(&done, kind)
				if strings.Contains(answer, who.mark) {
					count(&own, kind)
				}
			}
		})
	}
	working.Wait()
	// A test that reads nothing back would find nothing.
	for _, kind := range []string{"file", "list", "rows", "session", "share", "job"} {
		if n, _ := own.Load(kind); n == nil {
			t.Errorf("no %s ever showed its owner's mark", kind)
		}
	}
	summary := []string{}
	done.Range(func(kind, n any) bool {
		summary = append(summary, fmt.Sprintf("%v %d", kind, *n.(*int)))
		return true
	})
	t.Logf("%d operations of three accounts (%s): no byte crossed", operations, strings.Join(summary, ", "))
}

var counting sync.Mutex

func count(m *sync.Map, kind string) {
	counting.Lock()
	defer counting.Unlock()
	n, _ := m.LoadOrStore(kind, new(int))
	*n.(*int)++
}

// operation is a script on names that all tenants use.
func (w *tenant) operation(random *rand.Rand, n int) (kind, script string) {
	name := fmt.Sprintf("/shared/%d.txt", random.IntN(20))
	text := fmt.Sprintf("%s %d", w.mark, n)
	switch random.IntN(9) {
	case 0:
		return "file", fmt.Sprintf(`WRITE %q TO %q READ %q AS TEXT SET ?x EMIT ?x`, text, name, name)
	case 1:
		return "file", fmt.Sprintf(`READ %q AS TEXT OPTIONAL SET ?x EMIT ?x`, name)
	case 2:
		return "list", fmt.Sprintf(`WRITE "x" TO "/%s/%d.txt" LIST "/%s" SET ?files EMIT ?files`, w.mark, n%50, w.mark)
	case 3:
		return "list", `WRITE "x" TO "/shared/x" LIST "/" SET ?files EMIT ?files`
	case 4:
		return "rows", fmt.Sprintf(`USE DATABASE "common" CREATE TABLE IF NOT EXISTS t (x TEXT); INSERT INTO t VALUES ('%s'); SELECT x FROM t ORDER BY rowid DESC LIMIT 5 SET ?rows EMIT ?rows`, text)
	case 5:
		return "rows", `USE DATABASE "common" CREATE TABLE IF NOT EXISTS t (x TEXT); SELECT x FROM t ORDER BY random() LIMIT 5 SET ?rows EMIT ?rows`
	case 6:
		return "session", fmt.Sprintf(`START SESSION EMIT !SESSION('last') SET "last" AS %q OF !SESSION`, text)
	case 7:
		return "share", fmt.Sprintf(`WRITE %q TO %q SHARE %q SET ?url EMIT ?url`, text, name, name)
	}
	return "job", fmt.Sprintf(`EMIT %q CONFIRM "go on, %s?" EMIT %q`, text, w.mark, text)
}

// run runs a script and returns all that came of it: the answer, a shared file,
// the job after its answer.
func (w *tenant) run(url, script string) (string, error) {
	body, err := json.Marshal(map[string]any{"auth": map[string]string{"username": w.name, "password": w.password}, "query": script})
	if err != nil {
		return "", err
	}
	text, err := w.send(http.MethodPost, url+"/v1/query", string(body))
	if err != nil {
		return "", err
	}
	var answer struct {
		Status, Result string
		ConfirmURL     string `json:"confirm_url"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return "", err
	}
	switch {
	case answer.Status == "paused":
		more, err := w.send(http.MethodPost, answer.ConfirmURL, `{"approved":true}`)
		return text + more, err
	case answer.Status != "ok":
		return "", fmt.Errorf("answered %s", text)
	case strings.HasPrefix(answer.Result, url+"/files/"):
		more, err := w.send(http.MethodGet, answer.Result, "")
		return text + more, err
	}
	return text, nil
}

func (w *tenant) send(method, to, body string) (string, error) {
	req, err := http.NewRequest(method, to, strings.NewReader(body)) //nolint:noctx // ends with the test
	if err != nil {
		return "", err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if w.session != "" {
		req.AddCookie(&http.Cookie{Name: "QLSESSID", Value: w.session})
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	for _, c := range res.Cookies() {
		if c.Name == "QLSESSID" {
			w.session = c.Value
		}
	}
	text, err := io.ReadAll(res.Body)
	if res.StatusCode >= 300 && err == nil {
		err = fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	return string(text), err
}
