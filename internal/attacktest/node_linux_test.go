package attacktest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ql/internal/admit/admittest"
	"ql/internal/programtest"
	"ql/internal/tlscert/tlscerttest"
)

const (
	password = "a rather long sentence"
	// mostData and goLimit hold the node: 2.5 GiB of data, of which Go keeps to three
	// quarters. mostResident is what it may come to at the most.
	mostData     = 2560 << 20
	goLimit      = "1920MiB"
	mostResident = 2300 << 20
)

// made is a data folder to start nodes on, with the accounts of the attackers and of
// their neighbour.
type made struct {
	folder    string
	keys      map[string]string
	cert, key string // files
}

// crowd is how many further accounts attack together.
const crowd = 8

func makeData(t *testing.T) made {
	t.Helper()
	d := made{folder: t.TempDir(), keys: map[string]string{}}
	plans := map[string]string{"neighbour": "unlimited", "mallory": "standard", "trudy": "free"}
	for i := range crowd {
		plans[fmt.Sprintf("eve%d", i)] = "standard"
	}
	for name, plan := range plans {
		create := exec.CommandContext(t.Context(), programtest.Path, "account", "create", "--data", d.folder, "--username", name, "--plan", plan, "--password-stdin", "--json")
		create.Stdin = strings.NewReader(password)
		out, err := create.Output()
		check(t, err)
		var made struct {
			Key string `json:"api_key"`
		}
		check(t, json.Unmarshal(out, &made))
		d.keys[name] = made.Key
	}
	d.cert, d.key = certificate(t)
	return d
}

// certificate makes one of this machine's, so that HTTP/2 can be spoken.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	folder := t.TempDir()
	tlscerttest.Write(t, folder, 1)
	return filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
}

// node is ql serve in production on a copy of the data, held to its memory. Callers
// behind its proxy say where they come from.
type node struct {
	t         *testing.T
	data      string
	keys      map[string]string
	arguments []string
	process   *exec.Cmd
	exited    chan struct{}
	log       *os.File
	url       string
	metrics   string
	hang      string // an address that it may call
	client    *http.Client
}

func startNode(t *testing.T, d made) *node {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	check(t, exec.CommandContext(t.Context(), "cp", "-a", d.folder, data).Run())
	log, err := os.Create(filepath.Join(t.TempDir(), "server.log"))
	check(t, err)
	metrics, hang := programtest.FreeAddress(t), programtest.FreeAddress(t)
	_, port, err := net.SplitHostPort(hang)
	check(t, err)
	n := &node{t: t, hang: hang, data: data, keys: d.keys, log: log, metrics: "http://" + metrics + "/metrics", client: newClient(0)}
	// The neighbour calls without a rate, and is small otherwise.
	settings := filepath.Join(t.TempDir(), "settings.toml")
	check(t, os.WriteFile(settings, []byte("[plans.unlimited]\nmemory = '64 MiB'\n"), 0o600))
	n.arguments = []string{
		"--config", settings, "--data", data, "--listen", "127.0.0.1:0", "--log-level", "warn", "--tls-cert", d.cert, "--tls-key", d.key, "--metrics-listen", metrics,
		"--trusted-proxies", "127.0.0.0/8", "--egress-networks", "127.0.0.0/8", "--egress-ports", port, "--egress-http", "--stop-timeout", "5s",
	}
	t.Cleanup(func() {
		n.kill()
		n.client.CloseIdleConnections()
		check(t, log.Close())
	})
	n.start()
	return n
}

// start starts the process, and waits until it serves.
func (n *node) start() {
	n.t.Helper()
	held := fmt.Sprintf("ulimit -d %d; exec \"$@\"", mostData>>10)
	n.process = exec.CommandContext(context.Background(), "bash", append([]string{"-c", held, "bash", programtest.Path, "serve"}, n.arguments...)...)
	n.process.Env = append(os.Environ(), "GOMEMLIMIT="+goLimit)
	n.process.SysProcAttr = programtest.DieWithParent()
	n.process.Stderr = n.log
	out, err := n.process.StdoutPipe()
	check(n.t, err)
	check(n.t, n.process.Start())
	exited := make(chan struct{})
	n.exited = exited
	process := n.process
	up := make(chan string, 1)
	go func() {
		defer close(exited)
		lines := bufio.NewReader(out)
		line, _ := lines.ReadString('\n')
		if url, ok := strings.CutPrefix(strings.TrimSpace(line), "serving "); ok {
			up <- url
		}
		_, _ = io.Copy(io.Discard, lines)
		_ = process.Wait() // how it ended is asked of its state
	}()
	select {
	case n.url = <-up:
	case <-n.exited:
		n.t.Fatalf("the node did not start: %s\n%s", n.process.ProcessState, n.said())
	case <-time.After(time.Minute):
		n.t.Fatalf("the node does not serve after a minute\n%s", n.said())
	}
}

// kill ends the process without a word.
func (n *node) kill() {
	_ = n.process.Process.Kill() // it may be gone already
	<-n.exited
}

// newClient returns a client of its own connections. Only loopback is ever called.
func newClient(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, Transport: &http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the certificate is the test's own
		MaxIdleConnsPerHost: 64,
	}}
}

// said is the end of the node's log.
func (n *node) said() string {
	text, err := os.ReadFile(n.log.Name())
	check(n.t, err)
	return string(text[max(0, len(text)-8<<10):])
}

func (n *node) isDead() bool {
	select {
	case <-n.exited:
		return true
	default:
		return false
	}
}

// stop ends the node as an operator does.
func (n *node) stop() {
	n.t.Helper()
	check(n.t, n.process.Process.Signal(os.Interrupt))
	<-n.exited
	if !n.process.ProcessState.Success() {
		n.t.Errorf("the node stopped with %s\n%s", n.process.ProcessState, n.said())
	}
}

// attack has another process attack the node, which lets all others go first: it shares
// their cores. It returns what that counted.
func (n *node) attack(name string, lasts time.Duration) string {
	text, err := json.Marshal(orders{Attack: name, URL: n.url, Keys: n.keys, Hang: n.hang, For: lasts})
	check(n.t, err)
	self, err := os.Executable()
	check(n.t, err)
	attacker := exec.CommandContext(n.t.Context(), "nice", "-n", "19", self)
	attacker.Env = append(os.Environ(), asAttacker+"="+string(text))
	attacker.SysProcAttr = programtest.DieWithParent()
	out, err := attacker.CombinedOutput()
	if err != nil {
		n.t.Errorf("the attacker: %v", err)
	}
	return string(bytes.TrimSpace(out))
}

// waits are how long a neighbour's calls took.
type waits struct {
	calls, refused int
	p50, p99       time.Duration
	why            string // the last refusal
}

func (w waits) String() string {
	return fmt.Sprintf("%d calls, %d refused, p50 %s, p99 %s", w.calls, w.refused, w.p50.Round(10*time.Microsecond), w.p99.Round(10*time.Microsecond))
}

// neighbour calls every ten milliseconds for a while, and does not wait for answers
// before the next call.
func (n *node) neighbour(lasts time.Duration) waits {
	form := url.Values{"identity": {"neighbour"}, "password": {n.keys["neighbour"]}, "q": {"EMIT 1"}}.Encode()
	type answer struct {
		took    time.Duration
		refusal string
	}
	answers := make(chan answer, 1+int(lasts/(10*time.Millisecond)))
	call := func() {
		began := time.Now()
		refusal := ""
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url+"/api", strings.NewReader(form))
		if err == nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("X-Forwarded-For", "198.51.100.7")
			var resp *http.Response
			if resp, err = n.client.Do(req); err == nil {
				var body []byte
				body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<10))
				_ = resp.Body.Close()
				if err == nil && string(body) != "1" {
					err = fmt.Errorf("%d %s", resp.StatusCode, body)
				}
			}
		}
		if err != nil {
			refusal = err.Error()
		}
		answers <- answer{time.Since(began), refusal}
	}
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	over := time.NewTimer(lasts)
	defer over.Stop()
	sent := 0
calling:
	for sent < cap(answers) {
		select {
		case <-ticker.C:
			sent++
			go call()
		case <-over.C:
			break calling
		}
	}
	var w waits
	var all []time.Duration
	for range sent {
		a := <-answers
		w.calls++
		all = append(all, a.took)
		if a.refusal != "" {
			w.refused++
			w.why = a.refusal
		}
	}
	slices.Sort(all)
	if len(all) > 0 {
		w.p50, w.p99 = all[len(all)/2], all[len(all)*99/100]
	}
	return w
}

// cancelAll ends the jobs that attackers left.
func (n *node) cancelAll() {
	client := newClient(30 * time.Second)
	defer client.CloseIdleConnections()
	for name := range n.keys {
		for _, status := range []string{"accepted", "running", "waiting", "paused"} {
			req, err := http.NewRequestWithContext(n.t.Context(), http.MethodGet, n.url+"/v1/jobs?limit=100&status="+status, nil)
			check(n.t, err)
			req.SetBasicAuth(name, password)
			resp, err := client.Do(req)
			if err != nil {
				continue // the node is dead, which is told elsewhere
			}
			var list struct {
				Jobs []struct {
					ID string `json:"job_id"`
				}
			}
			_ = json.NewDecoder(resp.Body).Decode(&list) // of none there is nothing to cancel
			_ = resp.Body.Close()
			for _, j := range list.Jobs {
				req, err := http.NewRequestWithContext(n.t.Context(), http.MethodDelete, n.url+"/v1/job/"+j.ID, nil)
				check(n.t, err)
				if resp, err := client.Do(req); err == nil {
					_ = resp.Body.Close()
				}
			}
		}
	}
}

// settle waits until the node holds nothing any more, and returns what it still holds
// after so long.
func (n *node) settle(most time.Duration) (left string) {
	ctx, cancel := context.WithTimeout(n.t.Context(), most)
	defer cancel()
	return admittest.AwaitIdle(ctx, n.metrics, n.exited)
}

// peakBytes is the most that was resident.
func (n *node) peakBytes() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.process.Process.Pid))
	if err != nil {
		return 0 // it is dead
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			check(n.t, err)
			return kib << 10
		}
	}
	return 0
}

// diskBytes is what the data folder takes.
func (n *node) diskBytes() (bytes int64) {
	_ = filepath.WalkDir(n.data, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // files come and go
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
