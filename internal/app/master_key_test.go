package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/operator"
	"ql/internal/resource/machines/sshtest"
)

// sealedThings are what an account has sealed, as its owner sees it.
type sealedThings struct{ key, webhook, secret string }

func readSealed(t *testing.T, s config.Settings, name string) (things sealedThings) {
	t.Helper()
	o, err := operator.Open(t.Context(), s, false)
	if err != nil {
		t.Fatal(err)
	}
	a, err := o.Accounts.Find(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	key, err1 := o.Accounts.ShowKey(t.Context(), a.ID)
	webhook, err2 := o.Accounts.WebhookSecret(t.Context(), name, false)
	secret, err3 := o.Accounts.Secret(t.Context(), a.ID, "S0")
	for _, err := range []error{err1, err2, err3, o.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return sealedThings{key.Reveal(), webhook.Reveal(), secret.Reveal()}
}

// TestMasterKeyRotation rotates the key under a job that waits for an answer and has changed a
// database: all that was sealed is there afterwards, links to its page too.
func TestMasterKeyRotation(t *testing.T) {
	host := sshtest.Start(t)
	settings := apptest.Settings(t, apptest.Production, reachHost(host))
	b := apptest.Start(t, settings)
	b.Account("ada", account.Standard)
	b.Operate(func(o *operator.Operator) error { return o.Accounts.SetSecret(t.Context(), "ada", "S0", "s3cret") })
	if a := send(t, asOwner(t, "ada", "PUT", b.URL()+"/v1/machines/unused", `{"kind":"ssh","address":"ada@example.com"}`)); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	host.Authorize(addHost(t, b, host, "ada"))
	before := readSealed(t, settings, "ada")
	a := post(t, b.URL()+"/v1/query", "application/json", fmt.Sprintf(`{"mode":"async","auth":{"username":"ada","password":%q},"query":%q}`, apptest.Password,
		`CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1); SET ?secret AS !SECRET('S0') CONFIRM "Sure?" SELECT COUNT(*) FROM t SET VALUE ?n EMIT ?secret, " ", ?n`))
	if a.status != 202 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	var job struct {
		ID     string `json:"job_id"`
		Status string `json:"status"`
		Form   string `json:"form_url"`
		Result string `json:"result"`
	}
	poll := func(base, wait string) {
		t.Helper()
		a := get(t, base+"/v1/job/"+job.ID+wait)
		if err := json.Unmarshal([]byte(a.body), &job); err != nil {
			t.Fatalf("%s: %v", a.body, err)
		}
	}
	if err := json.Unmarshal([]byte(a.body), &job); err != nil {
		t.Fatal(err)
	}
	for job.Status != "paused" {
		poll(b.URL(), "?wait=10")
	}
	form := job.Form[strings.LastIndex(job.Form, "/"):]
	if _, err := operator.RotateMasterKey(t.Context(), settings); err == nil {
		t.Fatal("the key was rotated under a running server")
	}
	if err := b.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(settings.Data, "master.key")
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := operator.RotateMasterKey(t.Context(), settings)
	if err != nil || r.Resumed || r.Resealed < 8 || r.Unreadable > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	t.Logf("%+v", r)
	if r.Done != (r.Waiting == 0) {
		t.Errorf("%+v", r)
	}

	b = apptest.Start(t, settings)
	if after := readSealed(t, settings, "ada"); after != before {
		t.Errorf("got %v, want %v", after, before)
	}
	if a := query(t, b.URL(), "ada", apptest.Password, `RUN "echo in" ON "box" SET ?out EMIT ?out.stdout`); a.Result != "in\n" {
		t.Errorf("the key of a machine: %d %s", a.status, a.body)
	}
	if a := get(t, b.URL()+"/form"+form); a.status != 200 || !strings.Contains(a.body, "Sure?") {
		t.Errorf("the page of the question: %d %s", a.status, a.body)
	}
	if a := post(t, b.URL()+"/v1/confirm/"+job.ID, "application/json", `{"approved":true}`); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	poll(b.URL(), "?wait=10")
	if job.Status != "complete" || job.Result != "s3cret 1" {
		t.Errorf("%+v", job)
	}
	if err := b.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !r.Done { // the job has ended, and its receipts may go
		if r, err = operator.RotateMasterKey(t.Context(), settings); err != nil || !r.Resumed || !r.Done {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	now, err := os.ReadFile(file)
	if err != nil || bytes.Contains(now, bytes.TrimSpace(old)) {
		t.Errorf("the key before is still in the file: %v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	// The key before opens nothing.
	if err := os.WriteFile(file, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := operator.Open(t.Context(), settings, false); err == nil {
		t.Error("the key before opens the data folder")
	}
}

// TestMasterKeyRotationPastDamage rotates the key where an account has a database that nobody can read:
// all else is done, and the key before stays until that is gone.
func TestMasterKeyRotationPastDamage(t *testing.T) {
	settings := apptest.Settings(t, apptest.Production)
	o, err := operator.Open(t.Context(), settings, true)
	if err != nil {
		t.Fatal(err)
	}
	a, _, err := o.Accounts.Create(t.Context(), account.New{Username: "ada", Password: apptest.Password, Plan: account.Unlimited})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(settings.Data, "accounts", fmt.Sprint(a.ID), "databases")
	err = errors.Join(o.Close(), os.MkdirAll(folder, 0o700),
		os.WriteFile(filepath.Join(folder, "lost.db"), bytes.Repeat([]byte("no database "), 1000), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for _, resumed := range []bool{false, true} {
		r, err := operator.RotateMasterKey(t.Context(), settings)
		if err != nil || r.Done || r.Resumed != resumed || len(r.Unread) != 1 || !strings.Contains(r.Unread[0], "ada") || !strings.Contains(r.Unread[0], "lost") {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if o, err = operator.Open(t.Context(), settings, true); err != nil {
		t.Fatal(err)
	}
	gone, err := o.DropDatabase(t.Context(), "ada", "lost")
	if err := errors.Join(err, o.Close()); err != nil || !gone {
		t.Fatalf("%t, %v", gone, err)
	}
	if r, err := operator.RotateMasterKey(t.Context(), settings); err != nil || !r.Done || len(r.Unread) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestMasterKeyRotationUnderKills kills the command again and again, until it comes to its end: at
// each point all can be read.
func TestMasterKeyRotationUnderKills(t *testing.T) {
	settings := apptest.Settings(t, apptest.Production)
	o, err := operator.Open(t.Context(), settings, true)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"ada", "bob", "carl"}
	for _, name := range names {
		if _, _, err := o.Accounts.Create(t.Context(), account.New{Username: name, Password: apptest.Password, Plan: account.Unlimited}); err != nil {
			t.Fatal(err)
		}
		for i := range 200 {
			if err := o.Accounts.SetSecret(t.Context(), name, fmt.Sprintf("S%d", i), name+strings.Repeat("x", 1000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	before := map[string]sealedThings{}
	for _, name := range names {
		before[name] = readSealed(t, settings, name)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kills, done := 0, false
	for patience := 40 * time.Millisecond; !done; patience += 6 * time.Millisecond {
		if kills == 20 { // on a slow machine, it is given the time that it takes
			patience = time.Minute
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience) // killed by SIGKILL then
		command := exec.CommandContext(ctx, program, "master-key", "rotate", "--data", settings.Data, "--json")
		command.Env = append(os.Environ(), asCommand+"=1")
		out, err := command.CombinedOutput()
		cancel()
		if err == nil {
			done = strings.Contains(string(out), `"done":true`)
		} else if kills++; kills > 20 {
			t.Fatalf("%v: %s", err, out)
		}
		for _, name := range names {
			if after := readSealed(t, settings, name); after != before[name] {
				t.Fatalf("after %d kills: got %v, want %v", kills, after, before[name])
			}
		}
	}
	t.Logf("killed %d times", kills)
	text, err := os.ReadFile(filepath.Join(settings.Data, "master.key"))
	if err != nil || bytes.Count(text, []byte("qlmaster_")) != 1 || bytes.Count(text, []byte("qltokens_")) != 1 {
		t.Errorf("%d lines, %v", bytes.Count(text, []byte("\n")), err)
	}
}
