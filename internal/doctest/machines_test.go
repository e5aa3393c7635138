package doctest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/resource/machines/sshtest"
)

// machinePages shows what TestMachinePages has run of the pages about machines.
type machinePages struct {
	*testing.T
	service *apptest.Service
	host    *sshtest.Server
	folder  string // where commands run
}

// TestMachinePages runs what the pages about machines show, in their order, as the account ada: commands
// on a service and a host that are real, and scripts by its API. What C and Python need is run by
// `make check-guests`.
func TestMachinePages(t *testing.T) {
	host := sshtest.Start(t)
	service := apptest.Boot(t, apptest.Production, func(s *config.Settings) {
		s.EgressNetworks, s.EgressPorts = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, []uint16{uint16(host.Port)}
	})
	service.Account("ada", account.Standard)
	m := &machinePages{t, service, host, t.TempDir()}
	m.put("/sales.csv", "b,1\na,2\n")
	m.put("/data/notes.txt", "in the folder of the module")
	scripts := map[string][]string{}
	for _, name := range []string{"docs/wasm.md", "docs/machines.md"} {
		p, err := readPage(root, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range p.blocks {
			switch {
			case b.lang == "text" && strings.HasPrefix(b.text, "package main\n"):
				writeFile(t, filepath.Join(m.folder, "main.go"), b.text+"\n")
			case b.lang == "sh" && strings.HasPrefix(b.text, "GOOS="):
				m.shell(b.text)
				m.put("/tools/calc.wasm", m.read("calc.wasm"))
			case b.lang == "text" && strings.HasPrefix(b.text, "$ "):
				m.commands(p.name, b)
			case b.lang == "ql":
				scripts[name] = append(scripts[name], b.text)
			case b.lang == "sh", b.lang == "text" && strings.HasPrefix(b.text, "import "): // for check-guests
			default:
				t.Errorf("%s:%d: nothing runs this block", p.name, b.line())
			}
		}
	}
	want := map[string][]string{"docs/machines.md": {"1", "42"}, "docs/wasm.md": {"42"}}
	for name, all := range want {
		if len(scripts[name]) != len(all) {
			t.Fatalf("%s has %d scripts, of which %d are known", name, len(scripts[name]), len(all))
		}
		for i, result := range all {
			if got := m.query(scripts[name][i]); got != result {
				t.Errorf("%s: script %d gives %q, want %q", name, i, got, result)
			}
		}
	}
	if got := m.query(`READ "/sorted.csv" AS TEXT SET ?text EMIT ?text`); got != "b,1\na,2\n" {
		t.Errorf("sorted by the second column: %q", got)
	}
}

func (m *machinePages) read(name string) string {
	m.Helper()
	text, err := os.ReadFile(filepath.Join(m.folder, name))
	if err != nil {
		m.Fatal(err)
	}
	return string(text)
}

// shell runs commands as a reader does.
func (m *machinePages) shell(text string) {
	m.Helper()
	c := exec.CommandContext(m.Context(), "sh", "-ec", text)
	c.Dir = m.folder
	c.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		m.Fatalf("%s: %v\n%s", text, err, out)
	}
}

// aKey is a public key, of which pages show the beginning.
var aKey = regexp.MustCompile(`ssh-ed25519 \S+`)

// commands runs the commands of a block, and compares what they print.
func (m *machinePages) commands(name string, b block) {
	m.Helper()
	for part := range strings.SplitSeq(strings.TrimPrefix(b.text, "$ "), "\n$ ") {
		line, want, _ := strings.Cut(part, "\n")
		words := strings.Fields(strings.ReplaceAll(line, "render@studio.example.com", m.host.Address()))
		c := exec.CommandContext(context.WithoutCancel(m.Context()), words[0], append(words[1:], "--data", m.service.Settings.Data)...)
		c.Env = append(os.Environ(), "QL_EGRESS_NETWORKS=127.0.0.1/32", fmt.Sprint("QL_EGRESS_PORTS=", m.host.Port))
		out, err := c.CombinedOutput()
		if key := aKey.Find(out); key != nil {
			m.host.Authorize(string(key))
		}
		got := strings.TrimSpace(aKey.ReplaceAllString(string(out), "ssh-ed25519 AAAA…"))
		if err != nil || got != strings.TrimSpace(want) {
			m.Fatalf("%s:%d: %s: %v\n%s\nwant\n%s", name, b.line(), line, err, got, want)
		}
	}
}

func (m *machinePages) put(path, content string) {
	m.Helper()
	m.call(http.MethodPut, "/v1/files"+path, "application/octet-stream", content)
}

// query runs a script of a page; the files that it has on the host are in the test's folder.
func (m *machinePages) query(script string) string {
	m.Helper()
	for _, file := range []string{"in.csv", "out.csv"} {
		script = strings.ReplaceAll(script, file, filepath.Join(m.host.Folder, file))
	}
	body, err := json.Marshal(map[string]any{"auth": map[string]string{"username": "ada", "password": apptest.Password}, "query": script, "request": map[string]any{"get": map[string]string{"column": "2"}}})
	if err != nil {
		m.Fatal(err)
	}
	var a struct{ Status, Result string }
	text := m.call(http.MethodPost, "/v1/query", "application/json", string(body))
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.Status != "ok" {
		m.Fatalf("%v: %s", err, text)
	}
	return a.Result
}

func (m *machinePages) call(method, path, kind, body string) string {
	m.Helper()
	r, err := http.NewRequestWithContext(m.Context(), method, m.service.URL()+path, strings.NewReader(body))
	if err != nil {
		m.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	if path != "/v1/query" {
		r.SetBasicAuth("ada", apptest.Password)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		m.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode/100 != 2 {
		m.Fatalf("%s %s: %d %s, %v", method, path, res.StatusCode, text, err)
	}
	return string(text)
}
