package app_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/operator"
	"ql/internal/programtest"
	"ql/internal/resource/machines/sshtest"
	"ql/internal/resource/machines/wasmtest"
)

// reachHost lets scripts reach a host of tests.
func reachHost(host *sshtest.Server) func(*config.Settings) {
	return func(s *config.Settings) {
		s.EgressNetworks, s.EgressPorts = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, []uint16{uint16(host.Port)}
	}
}

// asOwner calls as an account, with its password.
func asOwner(t *testing.T, username, method, address, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(username, apptest.Password)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

// addHost gives an account the machine box, which leads to a host.
func addHost(t *testing.T, b *apptest.Service, host *sshtest.Server, username string) (publicKey string) {
	t.Helper()
	a := send(t, asOwner(t, username, "PUT", b.URL()+"/v1/machines/box", fmt.Sprintf(`{"kind":"ssh","address":%q}`, host.Address())))
	var m struct {
		PublicKey string `json:"public_key"`
	}
	if err := json.Unmarshal([]byte(a.body), &m); err != nil || a.status != 201 {
		t.Fatalf("%v, %d %s", err, a.status, a.body)
	}
	return m.PublicKey
}

// TestMachines: an account defines machines of both kinds over HTTP, and its script runs commands on
// them and copies files there and back. What its secrets are is in no trace and no error.
func TestMachines(t *testing.T) {
	host := sshtest.Start(t)
	b := apptest.Boot(t, apptest.Production, reachHost(host))
	b.Account("ada", account.Standard)
	const secret = "s3cret-5d1f"
	b.Operate(func(o *operator.Operator) error { return o.Accounts.SetSecret(t.Context(), "ada", "S", secret) })
	host.Authorize(addHost(t, b, host, "ada"))
	if status, _, body := fileCall(t, b, "ada", "PUT", "/hello.wasm", strings.NewReader(wasmtest.Hello)); status/100 != 2 {
		t.Fatalf("%d %s", status, body)
	}
	if a := send(t, asOwner(t, "ada", "PUT", b.URL()+"/v1/machines/hello", `{"kind":"wasm","module":"/hello.wasm"}`)); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for _, name := range []string{"box", "hello"} {
		if a := send(t, asOwner(t, "ada", "POST", b.URL()+"/v1/machines/"+name+"/test", "")); !strings.Contains(a.body, `"usable":true`) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	// The command makes the same of a service elsewhere, and on its data folder.
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range [][]string{{"--server", b.URL()}, {"--data", b.Settings.Data}} {
		for _, kind := range [][]string{{"other", "--ssh", host.Address()}, {"hi", "--wasm", "/hello.wasm"}} {
			command := exec.CommandContext(t.Context(), program, slices.Concat([]string{"machine", "add", "ada"}, kind, where, []string{"--json"})...)
			command.Env = append(os.Environ(), asCommand+"=1", "QL_PASSWORD="+apptest.Password)
			if out, err := command.Output(); err != nil || !strings.Contains(string(out), `"name":"`+kind[0]+`"`) || strings.Contains(string(out), "ssh-ed25519 ") != (kind[1] == "--ssh") {
				t.Errorf("%s: %v: %s", command, err, out)
			}
		}
	}
	if a := query(t, b.URL(), "ada", apptest.Password, `RUN "hello" ON "hi" SET ?hi EMIT ?hi.stdout`); a.Result != "hello\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	file := filepath.Join(host.Folder, "a.txt")
	script := fmt.Sprintf(`
		WRITE "some words" TO "/a.txt"
		SET ?file AS %q
		COPY "/a.txt" TO ?file ON "box"
		RUN "tr a-z A-Z < {?file} > {?file}.up; echo {!SECRET('S')} | wc -c" ON "box" SET ?out
		COPY ?file + ".up" ON "box" TO "/b.txt"
		READ "/b.txt" AS TEXT SET ?back
		RUN "hello" ON "hello" SET ?hello
		EMIT ?back, "|", TRIM(?out.stdout), "|", ?out.stderr, "|", ?hello.stdout`, file)
	a := query(t, b.URL(), "ada", apptest.Password, script)
	if a.status != 200 || a.Result != fmt.Sprintf("SOME WORDS|%d||hello\n", len(secret)+1) || strings.Contains(a.body, secret) || strings.Count(a.body, `"exec_class":"Machine"`) != 4 {
		t.Errorf("%d %s", a.status, a.body)
	}
	for _, failing := range []string{
		`RUN "echo {!SECRET('S')}" ON "none"`,
		`RUN "echo {!SECRET('S')}; sleep 60" ON "box" TIMEOUT 1 SECOND`,
		`COPY !SECRET('S') ON "box" TO "/c"`,
		`RUN ["hello", !SECRET('S')] ON "hello" TIMEOUT 0 SECONDS`,
	} {
		if a := query(t, b.URL(), "ada", apptest.Password, failing); a.Status != "failed" || strings.Contains(a.body, secret) {
			t.Errorf("%s: %d %s", failing, a.status, a.body)
		}
	}
	// A page, which its Origin alone makes known, runs nothing.
	b.Operate(func(o *operator.Operator) error {
		_, err := o.Accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
		return err
	})
	for _, text := range []string{`RUN "touch {!GET('f')}" ON "box"`, `COPY "/a.txt" TO "b.txt" ON "box"`, `RUN "hello" ON "hello"`} {
		page := asOwner(t, "", "POST", b.URL()+"/v1/query", fmt.Sprintf(`{"query":%q}`, text))
		page.Header.Del("Authorization")
		page.Header.Set("Origin", "https://shop.example.com")
		if a := send(t, page); a.Error.Code != "not_available" || !strings.Contains(a.body, "machines run commands for calls with credentials only") {
			t.Errorf("%s: %d %s", text, a.status, a.body)
		}
	}
	if b.Log.Has(secret) {
		t.Error("a secret is in the log")
	}
}

// TestMachineEvents: who listens with credentials is told what a command puts out while it runs, and
// who knows the job's id alone is not.
func TestMachineEvents(t *testing.T) {
	host := sshtest.Start(t)
	b := apptest.Boot(t, apptest.Production, reachHost(host))
	b.Account("ada", account.Standard)
	host.Authorize(addHost(t, b, host, "ada"))
	// The command does not go on before the first line of it was told.
	gate := filepath.Join(host.Folder, "go")
	script := fmt.Sprintf("CONFIRM \"Start?\"\nRUN \"mkfifo %s; echo first; read x < %s; echo $x >&2; seq 1 100\" ON \"box\" SET ?out\nEMIT LENGTH(?out.stdout)", gate, gate)
	body, err := json.Marshal(map[string]any{"auth": map[string]string{"username": "ada", "password": apptest.Password}, "query": script, "mode": "async"})
	if err != nil {
		t.Fatal(err)
	}
	a := post(t, b.URL()+"/v1/query", "application/json", string(body))
	if a.status != 202 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	id := a.JobID
	res, err := http.DefaultClient.Do(asOwner(t, "ada", "GET", b.URL()+"/v1/job/"+id+"/events?only=machine,state", ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	unknown := asOwner(t, "", "GET", b.URL()+"/v1/job/"+id+"/events", "")
	unknown.Header.Del("Authorization")
	stranger, err := http.DefaultClient.Do(unknown)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Body.Close()
	var answering sync.WaitGroup
	defer answering.Wait()
	streams, last := map[string]string{}, ""
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Status, Machine, Stdout, Stderr string
			Line                            int
			Skipped                         int64
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		switch {
		case e.Status == "paused":
			// It is answered when the job has ended, or after a while.
			answering.Go(func() {
				res, err := http.DefaultClient.Do(asOwner(t, "ada", "POST", b.URL()+"/v1/confirm/"+id, `{"approved":true}`))
				if err != nil {
					t.Error(err)
					return
				}
				if err := res.Body.Close(); err != nil || res.StatusCode/100 != 2 {
					t.Errorf("%d, %v", res.StatusCode, err)
				}
			})
		case e.Machine != "":
			if e.Machine != "box" || e.Line != 2 || e.Skipped != 0 || last != "" && last != "running" {
				t.Errorf("told %s when the job was %s", data, last)
			}
			if streams["stdout"] == "" {
				if a := query(t, b.URL(), "ada", apptest.Password, fmt.Sprintf(`RUN "echo on > %s" ON "box"`, gate)); a.status != 200 {
					t.Fatalf("%d %s", a.status, a.body)
				}
			}
			streams["stdout"] += e.Stdout
			streams["stderr"] += e.Stderr
		}
		if last = e.Status; last == "paused" {
			last = ""
		}
		if e.Machine != "" {
			last = "running"
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(streams["stdout"], "first\n1\n2\n") || !strings.HasSuffix(streams["stdout"], "\n100\n") || len(streams["stdout"]) != 6+292 || streams["stderr"] != "on\n" || last != "complete" {
		t.Errorf("told %q, and %q at the end", streams, last)
	}
	kinds := map[string]int{}
	for lines := bufio.NewScanner(stranger.Body); lines.Scan(); {
		if kind, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			kinds[kind]++
		}
	}
	if kinds["machine"] != 0 || kinds["step"] == 0 || kinds["output"] == 0 {
		t.Errorf("a stranger was told %v", kinds)
	}
}

// TestMachineWithin: where a script's time is over that another one runs, or its job is cancelled, the
// command that it waits for is ended on its host.
func TestMachineWithin(t *testing.T) {
	host := sshtest.Start(t)
	b := apptest.Boot(t, apptest.Production, reachHost(host))
	b.Account("ada", account.Standard)
	host.Authorize(addHost(t, b, host, "ada"))
	c := &callers{t, b, "ada"}
	c.publish("slow", `RUN "echo $$ > {!INPUT('file')}; exec sleep 600" ON "box"`)
	// On a slow machine the time may be over before the command has begun.
	gone := func(file string) {
		t.Helper()
		script := fmt.Sprintf(`RUN "p=$(cat %s 2> /dev/null); while [ -n \"$p\" ] && kill -0 $p 2> /dev/null; do sleep 0.05; done; echo gone" ON "box" TIMEOUT 1 MINUTE SET ?out EMIT ?out.stdout`, file)
		if got := c.run("async", script); got.Result != "gone\n" {
			t.Errorf("%+v %+v", got, got.Error)
		}
	}
	for _, mode := range []string{"sync", "async"} {
		file := filepath.Join(host.Folder, mode)
		got := c.run(mode, fmt.Sprintf(`TRY RUN SCRIPT "slow" USING {file: %q} WITHIN 3 SECONDS CATCH ?e EMIT ?e.code END`, file))
		if got.Result != "expired" {
			t.Errorf("%s: %+v %+v", mode, got, got.Error)
		}
		gone(file)
	}
	file := filepath.Join(host.Folder, "cancelled")
	j := c.submit("async", fmt.Sprintf(`RUN SCRIPT "slow" USING {file: %q}`, file))
	awaitFile(t, file)
	if a := send(t, asOwner(t, "ada", "DELETE", b.URL()+"/v1/job/"+j.JobID, "")); a.status/100 != 2 {
		t.Errorf("%d %s", a.status, a.body)
	}
	gone(file)
}

// awaitFile waits until something is in a file.
func awaitFile(t *testing.T, file string) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-ticker.C {
		if info, err := os.Stat(file); err == nil && info.Size() > 0 {
			return
		}
	}
	t.Fatalf("nothing came to %s", file)
}

// TestMachineMonth: an account that has used up its time on machines runs nothing more.
func TestMachineMonth(t *testing.T) {
	host := sshtest.Start(t)
	b := apptest.Boot(t, apptest.Production, reachHost(host), func(s *config.Settings) {
		l := s.Plans[account.Free]
		l.MachinePerMonth = time.Millisecond
		s.Plans[account.Free] = l
	})
	b.Account("ada", account.Free)
	host.Authorize(addHost(t, b, host, "ada"))
	if a := query(t, b.URL(), "ada", apptest.Password, `RUN "sleep 0.05; echo ran" ON "box" SET ?out EMIT ?out.stdout`); a.Result != "ran\n" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for _, script := range []string{`RUN "touch ran" ON "box"`, `WRITE "x" TO "/x" COPY "/x" TO "x" ON "box"`} {
		if a := query(t, b.URL(), "ada", apptest.Password, script); a.Error.Code != "quota_exceeded" || !strings.Contains(a.body, "machine") {
			t.Errorf("%s: %d %s", script, a.status, a.body)
		}
	}
}

// TestPromiseHostileInsertions: a shell is given each of 100 hostile texts that a script inserts as one
// argument, and nothing of it is run.
func TestPromiseHostileInsertions(t *testing.T) {
	count := 20
	if programtest.Promised() {
		count = 100
	}
	host := sshtest.Start(t)
	b := apptest.Boot(t, apptest.Production, reachHost(host))
	b.Account("ada", account.Standard)
	host.Authorize(addHost(t, b, host, "ada"))
	mark := filepath.Join(host.Folder, "ran")
	run := "touch " + mark
	pieces := []string{"'", `"`, "`" + run + "`", "$(" + run + ")", "${HOME}", "; " + run, "| " + run, "& " + run, "\n" + run + "\n", "\\", "' ; " + run + " '", `'\''`, "*", "~", "#", "!!", `$'\''`, "-n", " ", "é\t"}
	hostile, want, command := map[string]string{}, "", "printf '%s:'"
	for i := range count {
		a, n := i%len(pieces), i/len(pieces)
		text, name := pieces[a]+pieces[(a*3+n*7+1)%len(pieces)], fmt.Sprint("t", i)
		hostile[name] = text
		want += text + ":"
		command += " {?h." + name + "}"
	}
	content, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	if status, _, body := fileCall(t, b, "ada", "PUT", "/h.json", bytes.NewReader(content)); status/100 != 2 {
		t.Fatalf("%d %s", status, body)
	}
	a := query(t, b.URL(), "ada", apptest.Password, `READ "/h.json" AS JSON SET ?h RUN "`+command+`" ON "box" SET ?out EMIT ?out.stdout, ?out.stderr`)
	if a.status != 200 || a.Result != want {
		t.Errorf("%d\n got %q\nwant %q\n%s", a.status, a.Result, want, a.body)
	}
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was inserted was run: %v", err)
	}
}
