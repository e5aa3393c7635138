package app

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/config"
	"ql/internal/tlscert/tlscerttest"
)

const (
	nodeScripts = 768 << 20 // what a node of 2.5 GiB has for scripts
	nodeCalls   = 480 << 20 // and for its callers besides

	memberPassword = "a rather long sentence" // that member gives
)

// produce starts a service as operators run it, on a node of 2.5 GiB, and checks at
// the end of the test that nothing is held for anybody.
func produce(t *testing.T, change ...func(*config.Settings)) *App {
	t.Helper()
	s, err := config.Load(config.Sources{Flags: map[string]string{"listen": "127.0.0.1:0", "data": t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(&s)
	}
	a := New(s, Options{Memory: nodeScripts, CallMemory: nodeCalls})
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := a.Stop(context.Background())
		l, g := a.parts.ledger.Stats(), a.parts.gate.Stats()
		if err != nil || l.Held != 0 || l.Holders != 0 || l.Waiting != 0 || g.Inside != 0 || g.Running != 0 || g.Waiting != 0 || g.Memory != 0 {
			t.Errorf("after the end: %v, ledger %+v, gate %+v", err, l, g)
		}
	})
	return a
}

// stalls is a body that comes to a stop until its test is over.
type stalls struct {
	left int
	over <-chan struct{}
}

func (s *stalls) Read(p []byte) (int, error) {
	if s.left == 0 {
		<-s.over
		return 0, errors.New("given up")
	}
	n := min(len(p), s.left)
	s.left -= n
	copy(p, strings.Repeat(" ", n))
	return n, nil
}

// TestStalledStreams has a stranger send many bodies over HTTP/2 and stop halfway: they
// are held to what one network may hold, refused beyond it, and cut off.
func TestStalledStreams(t *testing.T) {
	folder := t.TempDir()
	authority := tlscerttest.Write(t, folder, 1)
	a := produce(t, func(s *config.Settings) {
		s.TLSCert, s.TLSKey = []string{filepath.Join(folder, "cert.pem")}, []string{filepath.Join(folder, "key.pem")}
	})
	ada := member(t, a, "ada", account.Standard)
	roots := x509.NewCertPool()
	roots.AddCert(authority)
	dial := func() *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}}
	}
	const connections, streams = 3, 100
	over, refused := make(chan struct{}), make(chan struct{}, connections*streams)
	var group sync.WaitGroup
	var mu sync.Mutex
	counts := map[int]int{}
	for range connections {
		client := dial()
		defer client.CloseIdleConnections()
		for range streams {
			group.Go(func() {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL()+"/v1/query", &stalls{left: 600 << 10, over: over})
				if err != nil {
					t.Error(err)
					return
				}
				req.ContentLength = 1 << 20
				req.Header.Set("Content-Type", "application/json")
				status := 0
				if res, err := client.Do(req); err == nil {
					status = res.StatusCode
					_ = res.Body.Close()
				}
				mu.Lock()
				counts[status]++
				mu.Unlock()
				if status == http.StatusTooManyRequests {
					refused <- struct{}{}
				}
			})
		}
	}
	neighbour := dial()
	defer neighbour.CloseIdleConnections()
	body := fmt.Sprintf(`{"auth":{"username":"ada","password":%q},"query":"EMIT 1"}`, memberPassword)
	for range 20 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL()+"/v1/query", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := neighbour.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusTooManyRequests { // of the same network
			t.Errorf("a neighbour of %s gets %d", ada.Username, res.StatusCode)
		}
	}
	select {
	case <-refused:
	case <-time.After(20 * time.Second): // told below
	}
	close(over)
	group.Wait()
	s := a.parts.ledger.Stats()
	if s.MostHeld > nodeCalls/8 || s.MostHeld < nodeCalls/16 || counts[429] == 0 || counts[200] > 0 {
		t.Errorf("%d MiB were held at once; the answers are %v", s.MostHeld>>20, counts)
	}
}

// TestStalledConnections does the same over HTTP/1.1, where each has a connection. Those
// that stall are cut off by themselves.
func TestStalledConnections(t *testing.T) {
	a := produce(t)
	const connections = 200
	var group sync.WaitGroup
	var mu sync.Mutex
	counts := map[int]int{}
	for range connections {
		group.Go(func() {
			c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", a.Address())
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			_, _ = io.WriteString(c, "POST /v1/query HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n")
			go func() { _, _ = io.WriteString(c, strings.Repeat(" ", 600<<10)) }()
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Error(err)
				return
			}
			_ = res.Body.Close()
			mu.Lock()
			counts[res.StatusCode]++
			mu.Unlock()
		})
	}
	group.Wait()
	s := a.parts.ledger.Stats()
	// Whose time ends while it waits for its share gets 503.
	if s.MostHeld > nodeCalls/8 || counts[429] == 0 || counts[400] == 0 || counts[400]+counts[429]+counts[503] != connections {
		t.Errorf("%d MiB were held at once; the answers are %v", s.MostHeld>>20, counts)
	}
}

// TestUnknownFormIsNotRead: who has no link to a question is told so before anything
// of a body is read.
func TestUnknownFormIsNotRead(t *testing.T) {
	a := produce(t)
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", a.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(c, "POST /form/nosuchtoken HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 15000000\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("the answer is %d", res.StatusCode)
	}
	if s := a.parts.ledger.Stats(); s.MostHeld != 0 {
		t.Errorf("%d bytes were held for it", s.MostHeld)
	}
}

// caller calls a service over connections that it may leave unread.
type caller struct {
	t *testing.T
	a *App
}

// open sends a request and reads nothing of its answer.
func (c caller) open(method, path, body string) net.Conn {
	c.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(c.t.Context(), "tcp", c.a.Address())
	if err != nil {
		c.t.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
	if err != nil {
		c.t.Fatal(err)
	}
	return conn
}

// read reads the answer on a connection, and closes it.
func (c caller) read(conn net.Conn) (status int, header http.Header, body string) {
	c.t.Helper()
	defer conn.Close()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		c.t.Error(err)
		return 0, nil, ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Error(err)
	}
	return res.StatusCode, res.Header, string(text)
}

func (c caller) call(method, path, body string) (status int, header http.Header, text string) {
	c.t.Helper()
	return c.read(c.open(method, path, body))
}

func queryOf(name, script, more string) string {
	return fmt.Sprintf(`{"auth":{"username":%q,"password":%q},"query":%q%s}`, name, memberPassword, script, more)
}

// submit submits a job and returns its id.
func (c caller) submit(name, script string) string {
	c.t.Helper()
	status, _, text := c.call("POST", "/v1/query", queryOf(name, script, `,"mode":"async"`))
	var a struct {
		ID string `json:"job_id"`
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil || status != 202 {
		c.t.Fatalf("%d %s", status, text)
	}
	return a.ID
}

// settled waits until nothing is held any more.
func settled(t *testing.T, a *App) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); a.parts.ledger.Stats().Held > 0; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("the ledger has %+v", a.parts.ledger.Stats())
		}
	}
}

// TestSlowReaders has callers run scripts whose results are large and six times as large
// in JSON, and not read them: what is held for them stays within what the account
// may hold, and others are served.
func TestSlowReaders(t *testing.T) {
	a := produce(t)
	member(t, a, "ada", account.Standard)
	member(t, a, "bob", account.Standard)
	c := caller{t, a}
	const calls, size = 12, 6_000_000
	script := fmt.Sprintf(`EMIT REPEAT("\u0001", %d)`, size)
	var conns []net.Conn
	for range calls {
		conns = append(conns, c.open("POST", "/v1/query", queryOf("ada", script, "")))
	}
	for range 10 {
		if status, _, text := c.call("POST", "/v1/query", queryOf("bob", "EMIT 1", "")); status != 200 {
			t.Errorf("a neighbour gets %d %s", status, text)
		}
	}
	counts := map[int]int{}
	var mu sync.Mutex
	var reading sync.WaitGroup
	for _, conn := range conns { // at once: who waits too long is cut off
		reading.Go(func() {
			status, _, text := c.read(conn)
			mu.Lock()
			defer mu.Unlock()
			counts[status]++
			switch {
			case status == 200 && len(text) < 6*size:
				t.Errorf("a result of %d bytes", len(text))
			case status == 503 && strings.Contains(text, `"overloaded"`): // its turn did not come in time
			case status != 200 && !strings.Contains(text, "it is kept as the job"):
				t.Errorf("%d %s", status, text)
			}
		})
	}
	reading.Wait()
	settled(t, a)
	if s := a.parts.ledger.Stats(); s.MostHeld > nodeCalls/8 || counts[200] == 0 {
		t.Errorf("%d MiB were held at once; the answers are %v", s.MostHeld>>20, counts)
	}
}

// TestManyPolls polls one job with a large result many times at once, some of them
// slowly: they share it.
func TestManyPolls(t *testing.T) {
	a := produce(t)
	member(t, a, "ada", account.Standard)
	c := caller{t, a}
	const size = 28 << 20
	id := c.submit("ada", `SET ?x AS REPEAT("x", 7340032) FOR ?i FROM 1 TO 4 DO EMIT ?x END`)
	status, _, whole := c.call("GET", "/v1/job/"+id+"?wait=30", "")
	if status != 200 || len(whole) < size {
		t.Fatalf("%d, %d bytes", status, len(whole))
	}
	settled(t, a)
	const polls = 24
	conns := make([]net.Conn, polls)
	for i := range conns {
		conns[i] = c.open("GET", "/v1/job/"+id, "")
	}
	want := sha256.Sum256([]byte(whole))
	var group sync.WaitGroup
	for i, conn := range conns {
		group.Go(func() {
			defer conn.Close()
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			sum := sha256.New()
			n, err := io.Copy(sum, res.Body)
			if err != nil || res.StatusCode != http.StatusOK || !bytes.Equal(sum.Sum(nil), want[:]) || res.ContentLength != int64(len(whole)) {
				t.Errorf("poll %d: %v, %d, %d bytes", i, err, res.StatusCode, n)
			}
		})
	}
	group.Wait()
	settled(t, a)
	if s := a.parts.ledger.Stats(); s.MostHeld > 3*size {
		t.Errorf("%d MiB were held at once", s.MostHeld>>20)
	}
}

// TestListenersHoldNothing has many listen to a job at which nothing happens: nothing is
// held for them. When it goes on, all are told.
func TestListenersHoldNothing(t *testing.T) {
	a := produce(t)
	member(t, a, "ada", account.Standard)
	c := caller{t, a}
	id := c.submit("ada", `EMIT REPEAT("x", 1000000) CONFIRM "Go on?" EMIT "done"`)
	if status, _, text := c.call("GET", "/v1/job/"+id+"?wait=30", ""); status != 200 || !strings.Contains(text, `"status":"paused"`) {
		t.Fatalf("%d %.100s", status, text)
	}
	const listeners = 20
	streams := make([]*bufio.Reader, listeners)
	for i := range streams {
		conn := c.open("GET", "/v1/job/"+id+"/events", "")
		defer conn.Close()
		streams[i] = bufio.NewReader(conn)
		await(t, streams[i], `"status":"paused"`)
	}
	settled(t, a)
	if status, _, text := c.call("POST", "/v1/confirm/"+id+"?wait=0", `{"approved":true}`); status >= 300 {
		t.Fatalf("%d %.200s", status, text)
	}
	for _, s := range streams {
		await(t, s, `"status":"complete"`)
	}
	settled(t, a)
}

// await reads lines until one has a text.
func await(t *testing.T, r *bufio.Reader, text string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("%v before %s", err, text)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

// TestListenersAreBounded: a network polls so often, and so many wait for the jobs of an
// account; a poll that does not wait is answered all the same.
func TestListenersAreBounded(t *testing.T) {
	a := produce(t)
	member(t, a, "ada", account.Free)
	c := caller{t, a}
	id := c.submit("ada", `CONFIRM "Go on?"`)
	if status, _, text := c.call("GET", "/v1/job/"+id+"?wait=30", ""); status != 200 || !strings.Contains(text, `"status":"paused"`) {
		t.Fatalf("%d %.100s", status, text)
	}
	most := account.Free.Limits().Listeners
	var listening []net.Conn
	for range most {
		conn := c.open("GET", "/v1/job/"+id+"/events", "")
		defer conn.Close()
		await(t, bufio.NewReader(conn), `"status":"paused"`)
		listening = append(listening, conn)
	}
	status, header, text := c.call("GET", "/v1/job/"+id+"/events", "")
	if status != 429 || header.Get("Retry-After") == "" || !strings.Contains(text, fmt.Sprintf(`"limit":"listeners","value":%d`, most)) {
		t.Errorf("one too many: %d %v %s", status, header, text)
	}
	if status, _, text = c.call("GET", "/v1/job/"+id, ""); status != 200 {
		t.Errorf("a poll: %d %s", status, text)
	}
	// Who has hung up makes room.
	for _, conn := range listening {
		_ = conn.Close()
	}
	for status, end := 0, time.Now().Add(20*time.Second); status != 200; {
		conn := c.open("GET", "/v1/job/"+id+"/events", "")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || time.Now().After(end) {
			t.Fatalf("%v, %d", err, status)
		}
		status = res.StatusCode
		_ = conn.Close()
		_ = res.Body.Close() // after the connection: events have no end
	}
	counts := map[int]int{}
	for range 200 {
		status, header, _ = c.call("GET", "/v1/job/"+id, "")
		counts[status]++
		if status == 429 && (header.Get("Retry-After") == "" || !strings.HasPrefix(header.Get("RateLimit-Policy"), `"polls"`)) {
			t.Errorf("a refused poll has the headers %v", header)
		}
	}
	if counts[429] == 0 || counts[200]+counts[429] != 200 {
		t.Errorf("polls are answered %v", counts)
	}
}

// TestListingsAreReserved: a page of a listing counts while it is sent.
func TestListingsAreReserved(t *testing.T) {
	a := produce(t)
	member(t, a, "ada", account.Standard)
	for _, path := range []string{"/v1/jobs?limit=500", "/v1/shares?limit=500", "/v1/files/?limit=500"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.SetBasicAuth("ada", memberPassword)
		before := a.parts.ledger.Stats().MostHeld
		if status, body := exchange(t, req); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
		if most := a.parts.ledger.Stats().MostHeld; before == 0 && most < 500<<10 {
			t.Errorf("%s: %d bytes were reserved", path, most)
		}
	}
	settled(t, a)
}

// TestFormatDense: the longest script of a standard account is formatted, however dense it is.
func TestFormatDense(t *testing.T) {
	a := produce(t)
	member(t, a, "ada", account.Standard)
	most := account.Standard.Limits().ScriptBytes
	list := "SET ?a AS [" + strings.Repeat("1,", (most-13)/2) + "1]"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.URL()+"/v1/format", strings.NewReader(`{"text":"`+list+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.SetBasicAuth("ada", memberPassword)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct{ Text string }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%d, %v", res.StatusCode, err)
	}
	if got := strings.Join(strings.Fields(answer.Text), ""); got != strings.Join(strings.Fields(list), "") {
		t.Errorf("it was formatted as %.100s", answer.Text)
	}
}
