package attacktest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// attack is something that a hostile tenant or stranger does, as long as it may.
type attack struct {
	name string
	run  func(context.Context, *mallory)
	disk int64 // by how much it may make the data folder grow; 0 for whatever its plan lets
}

// mallory attacks. Its accounts are mallory (standard), trudy (free) and a crowd of eves.
type mallory struct {
	orders
	client *http.Client

	calls    atomic.Int64
	answered [6]atomic.Int64        // by the first digit of the status, 0 for none
	wrong    atomic.Pointer[string] // a script that does not compile is no attack
}

func newMallory(o orders) *mallory { return &mallory{orders: o, client: newClient(0)} }

// String tells what the attack came to.
func (m *mallory) String() string {
	return fmt.Sprintf("%d calls: %d of 2xx, %d of 4xx, %d of 5xx, %d without an answer",
		m.calls.Load(), m.answered[2].Load(), m.answered[4].Load(), m.answered[5].Load(), m.answered[0].Load()) + m.mistake()
}

func (m *mallory) mistake() string {
	if wrong := m.wrong.Load(); wrong != nil {
		return "; " + mistaken + *wrong
	}
	return ""
}

// mistaken begins what is told of a script that does not compile.
const mistaken = "a script of the attack is wrong: "

// repeat has so many goroutines do something again and again until the attack is over. What
// is refused is tried again a little later: to answer a flood takes processor time whatever it
// asks for, and is no matter of this.
func repeat(ctx context.Context, goroutines int, do func(i int)) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range goroutines {
		all.Go(func() {
			for ctx.Err() == nil {
				do(int(next.Add(1)))
			}
		})
	}
	all.Wait()
}

// send sends a request; from is where it seems to come from. It returns the answer's
// status and body, and has read of that no more than a mebibyte.
func (m *mallory) send(ctx context.Context, method, path, from string, header http.Header, body io.Reader) (int, []byte) {
	resp := m.open(ctx, method, path, from, header, body)
	if resp == nil {
		return 0, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if bytes.Contains(text, []byte("syntax_error")) {
		wrong := string(text)
		m.wrong.Store(&wrong)
	}
	return resp.StatusCode, text
}

// open is send that leaves the body unread; nil where no answer came.
func (m *mallory) open(ctx context.Context, method, path, from string, header http.Header, body io.Reader) *http.Response {
	m.calls.Add(1)
	if !strings.HasPrefix(path, "http") {
		path = m.URL + path
	}
	req, err := http.NewRequestWithContext(ctx, method, path, body)
	if err != nil {
		panic(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if from != "" {
		req.Header.Set("X-Forwarded-For", from)
	}
	resp, err := m.client.Do(req)
	if err != nil {
		m.answered[0].Add(1)
		return nil
	}
	m.answered[resp.StatusCode/100%6].Add(1)
	if resp.StatusCode >= 400 {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return resp
}

var formType = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}

// sync runs a script by the form convention.
func (m *mallory) sync(ctx context.Context, account, script string) (int, []byte) {
	form := url.Values{"identity": {account}, "password": {m.Keys[account]}, "q": {script}}.Encode()
	return m.send(ctx, http.MethodPost, "/api", "192.0.2.1", formType, strings.NewReader(form))
}

// submit runs a script as a job, and returns what was answered.
func (m *mallory) submit(ctx context.Context, account, script, webhook string) (job struct {
	ID         string `json:"job_id"`
	ConfirmURL string `json:"confirm_url"`
	Status     string
}) {
	q := map[string]any{"auth": map[string]string{"username": account, "password": password}, "query": script, "mode": "async"}
	if webhook != "" {
		q["options"] = map[string]string{"webhook": webhook}
	}
	body, err := json.Marshal(q)
	if err != nil {
		panic(err)
	}
	_, text := m.send(ctx, http.MethodPost, "/v1/query", "192.0.2.1", http.Header{"Content-Type": {"application/json"}}, bytes.NewReader(body))
	_ = json.Unmarshal(text, &job) // of a refusal there is nothing
	return job
}

// basic are the headers of an owner.
func basic(account string) http.Header {
	req := http.Request{Header: http.Header{}}
	req.SetBasicAuth(account, password)
	return req.Header
}

// put keeps a file.
func (m *mallory) put(ctx context.Context, account, path, content string) {
	m.send(ctx, http.MethodPut, "/v1/files"+path, "192.0.2.1", basic(account), strings.NewReader(content))
}

// functions is a text of so many bytes to include, whose names begin with a prefix.
func functions(prefix string, n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n-40; i++ {
		fmt.Fprintf(&b, "DEFINE %s%d() RETURN 1 END\n", prefix, i)
	}
	return b.String()
}

// large makes files to include, as many bytes together as the plan standard lets, and
// returns the lines that do so.
func (m *mallory) large(ctx context.Context, account string) string {
	var lines strings.Builder
	for i := range 4 {
		m.put(ctx, account, fmt.Sprintf("/part%d.ql", i), functions(fmt.Sprintf("P%d_", i), 250<<10))
		fmt.Fprintf(&lines, "INCLUDE \"/part%d.ql\"\n", i)
	}
	return lines.String()
}

// address is one of many.
func address(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255) }

// slow reads an answer a little at a time.
func slow(ctx context.Context, resp *http.Response) {
	if resp == nil {
		return
	}
	defer resp.Body.Close()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	buf := make([]byte, 1<<10)
	for {
		if _, err := resp.Body.Read(buf); err != nil {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// stalled is a body that ends never.
type stalled struct {
	ctx  context.Context
	left int
}

func (s *stalled) Read(p []byte) (int, error) {
	if s.left == 0 {
		<-s.ctx.Done()
		return 0, s.ctx.Err()
	}
	n := min(len(p), s.left)
	s.left -= n
	for i := range p[:n] {
		p[i] = 'x'
	}
	return n, nil
}

// crowdNames are the accounts that attack together.
func crowdNames() (names []string) {
	for i := range crowd {
		names = append(names, fmt.Sprintf("eve%d", i))
	}
	return names
}

const mib = 1 << 20

var attacks = []attack{
	{name: "slots in transactions", run: func(ctx context.Context, m *mallory) {
		m.sync(ctx, "mallory", "CREATE TABLE IF NOT EXISTS t (i INTEGER);")
		repeat(ctx, 4, func(int) {
			m.submit(ctx, "mallory", "TRANSACTION FOR ?i FROM 1 TO 3000 DO INSERT INTO t VALUES (?i); END END", "")
		})
	}},
	{name: "due at one moment", run: func(ctx context.Context, m *mallory) {
		until := time.Now().Add(m.For / 3).UTC().Format(time.RFC3339)
		for _, name := range crowdNames() {
			lines := m.large(ctx, name)
			for i := range 10 {
				m.submit(ctx, name, fmt.Sprintf("%sSET ?a AS REPEAT(\"%d\", 5000000) WAIT UNTIL \"%s\" EMIT LENGTH(?a)", lines, i, until), "")
			}
		}
		<-ctx.Done()
	}},
	{name: "large states due at one moment", run: func(ctx context.Context, m *mallory) {
		until := time.Now().Add(m.For / 3).UTC().Format(time.RFC3339)
		for _, name := range crowdNames() {
			for i := range 12 {
				m.submit(ctx, name, fmt.Sprintf("SET ?a AS REPEAT(\"%d\", 7600000) SET ?b AS REPEAT(\"b\", 7600000) WAIT UNTIL \"%s\" EMIT LENGTH(?a) + LENGTH(?b)", i, until), "")
			}
		}
		<-ctx.Done()
	}},
	{name: "results in a transaction", run: func(ctx context.Context, m *mallory) {
		m.sync(ctx, "trudy", "CREATE TABLE IF NOT EXISTS big (t TEXT); SET ?x AS REPEAT(\"x\", 800000) INSERT INTO big VALUES (?x);")
		repeat(ctx, 2, func(int) {
			m.submit(ctx, "trudy", "TRANSACTION FOR ?i FROM 1 TO 4000 DO SELECT t FROM big LIMIT 1 SET VALUE ?v END END", "")
		})
	}},
	{name: "many includes", run: func(ctx context.Context, m *mallory) {
		lines := m.large(ctx, "mallory")
		repeat(ctx, 8, func(i int) {
			if i%2 == 0 {
				m.submit(ctx, "mallory", fmt.Sprintf("%sEMIT %d", lines, i), "")
			} else {
				m.sync(ctx, "mallory", fmt.Sprintf("%sEMIT %d", lines, i))
			}
		})
	}},
	{name: "wrong replies", run: func(ctx context.Context, m *mallory) {
		lines := m.large(ctx, "mallory")
		job := m.submit(ctx, "mallory", lines+"SET ?a AS REPEAT(\"a\", 7000000) CONFIRM \"Sure?\"", "")
		repeat(ctx, 16, func(i int) {
			m.send(ctx, http.MethodPost, "/v1/confirm/"+job.ID, address(i%7), http.Header{"Content-Type": {"application/json"}}, strings.NewReader(`{"fields":{}}`))
		})
	}},
	{name: "stalled bodies", run: func(ctx context.Context, m *mallory) {
		var all sync.WaitGroup
		for i := range 2400 {
			all.Go(func() { m.stall(ctx, i) })
		}
		all.Wait()
	}},
	{name: "stalled streams", run: func(ctx context.Context, m *mallory) {
		var all sync.WaitGroup
		for range 30 {
			client := &http.Client{Transport: &http.Transport{
				TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, //nolint:gosec // the certificate is the test's own
			}}
			for i := range 100 {
				all.Go(func() {
					for ctx.Err() == nil {
						m.calls.Add(1)
						req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL+"/v1/query", &stalled{ctx, mib - 1})
						if err != nil {
							panic(err)
						}
						req.ContentLength = mib
						req.Header.Set("Content-Type", "application/json")
						req.Header.Set("X-Forwarded-For", address(i%5))
						resp, err := client.Do(req)
						if err != nil {
							m.answered[0].Add(1)
							continue
						}
						m.answered[resp.StatusCode/100%6].Add(1)
						_ = resp.Body.Close()
					}
				})
			}
		}
		all.Wait()
	}},
	{name: "forms of nobody", run: func(ctx context.Context, m *mallory) {
		body := strings.Repeat("x", 15*mib)
		repeat(ctx, 16, func(i int) {
			m.send(ctx, http.MethodPost, "/form/nosuchtoken", address(i%9), formType, strings.NewReader(body))
		})
	}},
	{name: "slow readers", run: func(ctx context.Context, m *mallory) {
		repeat(ctx, 45, func(int) {
			form := url.Values{"auth": {""}, "identity": {"mallory"}, "password": {m.Keys["mallory"]}, "q": {"EMIT REPEAT(CHARACTER(1), 8000000)"}}.Encode()
			query, err := json.Marshal(map[string]any{
				"auth": map[string]string{"username": "mallory", "password": password}, "query": "EMIT REPEAT(CHARACTER(1), 8000000)",
			})
			if err != nil {
				panic(err)
			}
			if m.calls.Load()%2 == 0 {
				slow(ctx, m.open(ctx, http.MethodPost, "/api", "192.0.2.1", formType, strings.NewReader(form)))
				return
			}
			slow(ctx, m.open(ctx, http.MethodPost, "/v1/query", "192.0.2.1", http.Header{"Content-Type": {"application/json"}}, bytes.NewReader(query)))
		})
	}},
	{name: "slow polls", run: func(ctx context.Context, m *mallory) {
		job := m.submit(ctx, "mallory", "FOR ?i FROM 1 TO 4 DO EMIT REPEAT(CHARACTER(1), 8000000) END", "")
		m.send(ctx, http.MethodGet, "/v1/job/"+job.ID+"?wait=10", "192.0.2.1", nil, nil)
		repeat(ctx, 100, func(i int) {
			slow(ctx, m.open(ctx, http.MethodGet, "/v1/job/"+job.ID, address(i%11), nil, nil))
		})
	}},
	{name: "listeners", run: func(ctx context.Context, m *mallory) {
		job := m.submit(ctx, "mallory", "FOR ?i FROM 1 TO 4 DO EMIT REPEAT(\"x\", 4000000) END WAIT 10 MINUTES", "")
		repeat(ctx, 200, func(i int) {
			if resp := m.open(ctx, http.MethodGet, "/v1/job/"+job.ID+"/events?from=0", address(i%11), nil, nil); resp != nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}},
	{name: "polls", run: func(ctx context.Context, m *mallory) {
		job := m.submit(ctx, "mallory", "EMIT REPEAT(\"x\", 4000000) WAIT 10 MINUTES", "")
		repeat(ctx, 32, func(i int) {
			m.send(ctx, http.MethodGet, "/v1/job/"+job.ID, address(i%11), nil, nil)
		})
	}},
	{name: "patterns of replies", run: func(ctx context.Context, m *mallory) {
		var fields, answers []string
		for i := range 10 {
			fields = append(fields, fmt.Sprintf("f%d LONG TEXT PATTERN \"(?:a?){900}b*\"", i))
			answers = append(answers, fmt.Sprintf(`"f%d":"%s"`, i, strings.Repeat("a", 9000)))
		}
		job := m.submit(ctx, "mallory", "GATHER \"Form\" FIELDS "+strings.Join(fields, ", ")+" SET ?f", "")
		reply := `{"fields":{` + strings.Join(answers, ",") + `}}`
		repeat(ctx, 8, func(i int) {
			m.send(ctx, http.MethodPost, "/v1/confirm/"+job.ID, address(i), http.Header{"Content-Type": {"application/json"}}, strings.NewReader(reply))
		})
	}},
	{name: "costly functions", run: func(ctx context.Context, m *mallory) {
		scripts := []string{
			"SET ?j AS TO_JSON(RANGE(1, 5000)) FOR ?i FROM 1 TO 10000000 DO SET ?x AS FROM_JSON(?j) END",
			"FOR ?i FROM 1 TO 100000000 DO SET ?x AS FORMAT_NUMBER(?i, 2) END",
			"SET ?t AS REPEAT(\"a\", 1000000) SET ?n AS REPEAT(\"a\", 500000) + \"b\" FOR ?i FROM 1 TO 1000000 DO SET ?x AS POSITION(?t, ?n) END",
			"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT COUNT(*) FROM c SET VALUE ?n",
		}
		repeat(ctx, 8, func(i int) { m.sync(ctx, "mallory", scripts[i%len(scripts)]) })
	}},
	{name: "hashes", run: func(ctx context.Context, m *mallory) {
		repeat(ctx, 10, func(int) {
			m.sync(ctx, "mallory", "FOR ?i FROM 1 TO 1000 DO SET ?h AS PASSWORD_HASH(\"secret {?i}\") END")
		})
	}},
	{name: "log-ins", run: func(ctx context.Context, m *mallory) {
		repeat(ctx, 32, func(i int) {
			query := fmt.Sprintf(`{"auth":{"username":"user%d","password":"wrong %d"},"query":"EMIT 1"}`, i, i)
			m.send(ctx, http.MethodPost, "/v1/query", address(i*257), http.Header{"Content-Type": {"application/json"}}, strings.NewReader(query))
		})
	}},
	{name: "hanging webhooks", run: func(ctx context.Context, m *mallory) {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", m.Hang)
		if err != nil {
			panic(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					<-ctx.Done()
					_ = c.Close()
				}()
			}
		}()
		repeat(ctx, 4, func(i int) { m.submit(ctx, "mallory", "EMIT 1", fmt.Sprintf("http://%s/%d", m.Hang, i)) })
	}},
	{name: "overwritten files", disk: 164 * mib, run: func(ctx context.Context, m *mallory) {
		repeat(ctx, 2, func(i int) {
			m.sync(ctx, "trudy", fmt.Sprintf("FOR ?i FROM 1 TO 1000 DO WRITE REPEAT(\"{=?i %% 10}\", 1000000) + \"{?i} %d\" TO \"/f%d.txt\" END", i, i%2))
		})
	}},
	{name: "a log that grows", disk: 164 * mib, run: func(ctx context.Context, m *mallory) {
		m.sync(ctx, "trudy", "CREATE TABLE IF NOT EXISTS t (i INTEGER PRIMARY KEY, x TEXT); FOR ?i FROM 1 TO 20 DO SET ?x AS REPEAT(\"x\", 100000) INSERT INTO t VALUES (?i, ?x); END")
		repeat(ctx, 2, func(i int) {
			if i%2 == 0 {
				m.submit(ctx, "trudy", "SELECT COUNT(*) FROM t a, t b, t c, t d, t e, t f, t g SET VALUE ?n", "")
				return
			}
			m.sync(ctx, "trudy", "FOR ?i FROM 1 TO 1000 DO SET ?x AS REPEAT(\"{=?i % 10}\", 100000) UPDATE t SET x = ?x; END")
		})
	}},
}

// stall sends a body over HTTP/1.1 but its last byte, on a connection of its own.
func (m *mallory) stall(ctx context.Context, i int) {
	for ctx.Err() == nil {
		m.calls.Add(1)
		dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}}} //nolint:gosec // the certificate is the test's own
		host := strings.TrimPrefix(m.URL, "https://")
		c, err := dialer.DialContext(ctx, "tcp", host)
		if err != nil {
			m.answered[0].Add(1)
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		fmt.Fprintf(c, "POST /v1/query HTTP/1.1\r\nHost: %s\r\nX-Forwarded-For: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", host, address(i%5), mib)
		_, _ = io.Copy(c, &io.LimitedReader{R: &stalled{ctx, mib}, N: mib - 1})
		status := make([]byte, 16)
		n, _ := c.Read(status)
		if n > 9 && status[9] > '0' && status[9] < '6' {
			m.answered[status[9]-'0'].Add(1)
		} else {
			m.answered[0].Add(1)
		}
		stop()
		_ = c.Close()
	}
}
