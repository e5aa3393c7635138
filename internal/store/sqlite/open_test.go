package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/record"
	"ql/internal/resource/files"
	"ql/internal/resource/sessions"
	"ql/internal/store/migrate"
)

// TestEveryConnectionIsSet asks every connection for its settings.
func TestEveryConnectionIsSet(t *testing.T) {
	s := openTest(t, Options{Own: true, Readers: 3})
	want := map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "wal_autocheckpoint": "4000", "trusted_schema": "0",
		"cell_size_check": "1", "mmap_size": "0", "journal_size_limit": "67108864", "temp_store": "2", "cache_size": "-8000",
	}
	check := func(who string, tx tx, queryOnly string) {
		want["query_only"] = queryOnly
		for pragma, value := range want {
			got := ""
			if _, err := tx.one("PRAGMA "+pragma, func(r row) { got = r.text(0) }); err != nil || got != value {
				t.Errorf("%s: %s is %q, %v", who, pragma, got, err)
			}
		}
	}
	if err := s.write(t.Context(), func(tx tx) error { check("the writer", tx, "0"); return nil }); err != nil {
		t.Fatal(err)
	}
	for range 3 { // they take turns
		if err := s.read(t.Context(), func(tx tx) error { check("a reader", tx, "1"); return nil }); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFilesAreOurs(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a folder?", "data #1")
	s := openTest(t, Options{Folder: folder, Own: true})
	if _, err := s.Accounts().EnsureKeyCheck(t.Context(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700 | os.ModeDir, "ql.db": 0o600, "ql.db-wal": 0o600, "ql.db-shm": 0o600, "ql.lock": 0o600} {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil || info.Mode() != want {
			t.Errorf("%q: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestOneOwner(t *testing.T) {
	folder := t.TempDir()
	first := openTest(t, Options{Folder: folder, Own: true})
	_, err := Open(t.Context(), Options{Folder: folder, Own: true})
	var used *InUse
	if !errors.As(err, &used) || used.Process != os.Getpid() || !strings.Contains(err.Error(), "in use by the server process") {
		t.Errorf("a second server: %v", err)
	}

	// A command beside the server, and both see what the other did.
	beside := openTest(t, Options{Folder: folder})
	id, err := beside.Accounts().Create(t.Context(), account.Account{Username: "ada", Plan: account.Free, Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Accounts().ByID(t.Context(), id); err != nil {
		t.Errorf("the server: %v", err)
	}
	if err := first.Accounts().SetPlan(t.Context(), id, account.Unlimited); err != nil {
		t.Error(err)
	}
	if a, err := beside.Accounts().ByID(t.Context(), id); err != nil || a.Plan != account.Unlimited {
		t.Errorf("the command: %s, %v", a.Plan, err)
	}
	if err := beside.Close(); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	openTest(t, Options{Folder: folder, Own: true})
}

// TestAnotherProcessWrites has a write wait for another process, and give up.
func TestAnotherProcessWrites(t *testing.T) {
	folder := t.TempDir()
	s := openNotes(t, Options{Folder: folder, Own: true, Busy: time.Millisecond})
	other := openTest(t, Options{Folder: folder})
	release := hold(t, other)
	if err := s.write(t.Context(), note("x")); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("beside a process that holds the store: %v", err)
	}
	release()
	if err := s.write(t.Context(), note("y")); err != nil {
		t.Errorf("after it: %v", err)
	}
	if got := notes(t, s); len(got) != 1 {
		t.Errorf("the store holds %v", got)
	}
}

var testSteps = []migrate.Step{
	{Number: 1, Name: "one", SQL: "PRAGMA application_id = 0x716c4442; CREATE TABLE notes (text TEXT UNIQUE) STRICT; INSERT INTO notes VALUES ('one');"},
	{Number: 2, Name: "two", SQL: "INSERT INTO notes VALUES ('two');\n-- and nothing more\n"},
	{Number: 3, Name: "three", SQL: "INSERT INTO notes VALUES ('three')"},
}

func openSteps(t *testing.T, folder string, own bool, steps []migrate.Step) (*Store, error) {
	t.Helper()
	s, err := openMigrated(t, folder, own, steps, nil)
	return s, err
}

func openMigrated(t *testing.T, folder string, own bool, steps []migrate.Step, migrated func(from, to int, took time.Duration)) (*Store, error) {
	t.Helper()
	s, err := open(t.Context(), Options{Folder: folder, Own: own, Migrated: migrated}.withDefaults(), steps)
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

// TestMigrationsAreReported: an upgrade is told of once, and a new store is none.
func TestMigrationsAreReported(t *testing.T) {
	folder := t.TempDir()
	var reported []string
	for _, n := range []int{1, 1, 3, 3} {
		s, err := openMigrated(t, folder, true, testSteps[:n], func(from, to int, took time.Duration) {
			reported = append(reported, fmt.Sprintf("%d to %d, timed: %t", from, to, took > 0))
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(reported, "; "); got != "1 to 3, timed: true" {
		t.Errorf("reported: %s", got)
	}
}

func TestMigrations(t *testing.T) {
	folder := t.TempDir()
	s, err := openSteps(t, folder, true, testSteps[:1])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openSteps(t, folder, false, testSteps); err == nil || !strings.Contains(err.Error(), "must be upgraded first") {
		t.Errorf("an upgrade beside a server: %v", err)
	}
	if got := strings.Join(notes(t, s), " "); got != "one" {
		t.Errorf("the store holds %s", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "ql-schema-00001.db")); err == nil {
		t.Error("a copy was made for nothing")
	}

	for _, own := range []bool{true, false} {
		s, err = openSteps(t, folder, own, testSteps)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(notes(t, s), " "); got != "one two three" {
			t.Errorf("the store holds %s", got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}

	var newer *migrate.NewerError
	if _, err := openSteps(t, folder, true, testSteps[:2]); !errors.As(err, &newer) {
		t.Errorf("an older program: %v", err)
	}

	// The copy is a whole store of the earlier version.
	kept := filepath.Join(folder, "ql-schema-00001.db")
	if info, err := os.Stat(kept); err != nil || info.Mode() != 0o600 {
		t.Fatalf("the copy: %v, %v", info, err)
	}
	back := t.TempDir()
	if err := os.Rename(kept, filepath.Join(back, FileName)); err != nil {
		t.Fatal(err)
	}
	s, err = openSteps(t, back, true, testSteps[:1])
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(notes(t, s), " "); got != "one" {
		t.Errorf("the copy holds %s", got)
	}
	left, err := filepath.Glob(filepath.Join(folder, "ql-copy-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}

func TestMigrationFails(t *testing.T) {
	for name, sql := range map[string]string{
		"at its end":  "INSERT INTO notes VALUES ('lost'); INSERT INTO notes VALUES ('one')",
		"by an error": "INSERT INTO notes VALUES ('lost'); SELEC",
		"by orphans":  "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p REFERENCES p (id) DEFERRABLE INITIALLY DEFERRED); INSERT INTO c VALUES (1)",
	} {
		folder := t.TempDir()
		steps := append(testSteps[:2:2], migrate.Step{Number: 3, Name: "bad", SQL: sql})
		if _, err := openSteps(t, folder, true, steps); err == nil || !strings.Contains(err.Error(), "migration 3 (bad)") {
			t.Errorf("%s: %v", name, err)
		}
		s, err := openSteps(t, folder, true, testSteps[:2])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(notes(t, s), " "); got != "one two" {
			t.Errorf("%s: the store holds %s", name, got)
		}
	}
}

func TestFilesThatAreNoStore(t *testing.T) {
	folder := t.TempDir()
	s, err := openSteps(t, folder, true, []migrate.Step{{Number: 1, SQL: "CREATE TABLE t (a)"}}) // without our mark
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Folder: folder}); err == nil || !strings.Contains(err.Error(), "no store of this program") {
		t.Errorf("another program's file: %v", err)
	}

	folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, FileName), []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Folder: folder}); !fault.Is(err, fault.StorageUnavailable) {
		t.Errorf("a file that is no database: %v", err)
	}
	if _, err := Open(t.Context(), Options{Folder: filepath.Join(folder, FileName)}); err == nil {
		t.Error("a file was opened as a folder")
	}
}

func TestDamageIsFound(t *testing.T) {
	folder := t.TempDir()
	s := openTest(t, Options{Folder: folder, Own: true})
	for i := range 200 {
		a := account.Account{Username: strings.Repeat("x", 100) + string(rune('a'+i%26)) + string(rune('a'+i/26)), Plan: account.Free, Created: time.Unix(1, 0)}
		if _, err := s.Accounts().Create(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, FileName)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(content) / 2; i < len(content)-4096; i++ {
		content[i] ^= 0x5a
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Folder: folder, Own: true}); err == nil {
		t.Error("a damaged store was opened")
	}
	if f, err := lock(folder); err != nil {
		t.Errorf("the lock was kept: %v", err)
	} else if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// snapshot copies the store's files as a crash would leave them.
func snapshot(t *testing.T, folder string) string {
	t.Helper()
	to := t.TempDir()
	for _, name := range []string{FileName, FileName + "-wal", intakeName} {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// TestCrash shows that what was answered is in the files, and that of records
// of synchronous runs only those in the buffer are lost.
func TestCrash(t *testing.T) {
	folder := t.TempDir()
	s := openTest(t, Options{Folder: folder, Own: true})
	id, err := s.Accounts().Create(t.Context(), account.Account{Username: "ada", Plan: account.Free, Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	r := record.NewRecorder(s.Jobs(), record.Options{Linger: time.Hour})
	defer r.Close(context.Background())
	add := func() job.ID {
		t.Helper()
		record := job.Record{Summary: job.Summary{ID: job.NewID(), Account: id, State: job.Complete, Mode: job.Sync, Created: time.Unix(1, 0), Finished: time.Unix(2, 0)}}
		if err := r.Record(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		return record.ID
	}
	flushed := []job.ID{add(), add(), add()}
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Accounts().SetPassword(t.Context(), id, "new"); err != nil {
		t.Fatal(err)
	}
	buffered := add()

	after := openTest(t, Options{Folder: snapshot(t, folder), Own: true})
	if a, err := after.Accounts().ByID(t.Context(), id); err != nil || a.PasswordHash != "new" || a.Epoch != 2 {
		t.Errorf("the account: %v, %v", a, err)
	}
	for _, job := range flushed {
		if _, err := after.Jobs().ByID(t.Context(), job); err != nil {
			t.Errorf("a record that was flushed: %v", err)
		}
	}
	if _, err := after.Jobs().ByID(t.Context(), buffered); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("a record in the buffer: %v", err)
	}
	if _, pending := r.Pending(buffered); !pending {
		t.Error("before the crash it was not to be read")
	}
}

// TestStatementsUseIndexes looks at the plan of every statement that the store
// runs: none reads a whole table.
func TestStatementsUseIndexes(t *testing.T) {
	s := openTest(t, Options{Readers: 1})
	exercise(t, s)
	explain := func(tx tx) error {
		var texts []string
		for sql := range tx.conn.statements {
			texts = append(texts, sql)
		}
		for _, sql := range texts {
			if !strings.HasPrefix(sql, "SELECT") && !strings.HasPrefix(sql, "UPDATE") && !strings.HasPrefix(sql, "DELETE") {
				continue
			}
			err := tx.each("EXPLAIN QUERY PLAN "+sql, func(r row) {
				if step := r.text(3); strings.HasPrefix(step, "SCAN") && !small(sql) {
					t.Errorf("%s:\n%s", sql, step)
				}
			})
			if err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
		if len(texts) < 10 {
			t.Errorf("there are only %d statements", len(texts))
		}
		return nil
	}
	if err := errors.Join(s.read(t.Context(), explain), s.write(t.Context(), explain)); err != nil {
		t.Error(err)
	}
}

// small reports whether a statement is about a table of few rows.
func small(sql string) bool {
	return strings.Contains(sql, "FROM master_check") || strings.Contains(sql, "FROM moves") || strings.Contains(sql, "FROM sqlite_schema") ||
		strings.HasPrefix(sql, "SELECT count(*)") && strings.Contains(sql, "FROM (SELECT") // those scan what they have found, which is bounded
}

// exercise calls every method once; what it gives does not matter.
func exercise(t *testing.T, s *Store) {
	t.Helper()
	ctx, a, j, v := t.Context(), s.Accounts(), s.Jobs(), s.Sessions()
	id, err := a.Create(ctx, account.Account{Username: "ada", Plan: account.Free, Created: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	wildcard := names.Pattern{Scheme: "https", Host: "*.example.com"}
	_, _ = s.Deliveries().Count(ctx, time.Unix(1, 0), 1)
	_, _ = a.ByAlias(ctx, names.Alias{Kind: names.Username, Name: "ada"})
	_, _ = a.ByKeyHash(ctx, account.KeyHash{1})
	_, _ = a.ByID(ctx, id)
	_, _ = a.List(ctx, "", 10)
	_ = a.SetPassword(ctx, id, "x")
	_ = a.Rehash(ctx, id, "y", "z")
	_ = a.RotateKey(ctx, id, account.KeyHash{1}, nil)
	_ = a.SealKey(ctx, id, account.KeyHash{1}, nil)
	_ = a.SetPlan(ctx, id, account.Free)
	for _, flag := range []account.Flag{account.FlagAdmin, account.FlagDisabled, account.FlagRequireAuthOnJobs, account.FlagShowEffects} {
		_ = a.SetFlag(ctx, id, flag, true)
	}
	_, _ = a.EnsureKeyCheck(ctx, []byte("x"))
	_ = a.AddDomain(ctx, account.Domain{Account: id, Pattern: wildcard})
	_, _ = a.Domains(ctx, id)
	_, _ = a.DomainsOf(ctx, "a.example.com")
	_ = a.RemoveDomain(ctx, id, wildcard)
	for i := range 2 {
		_, _, _ = a.Publish(ctx, account.Published{Account: id, Name: "x", Hash: account.ScriptHash{byte(i)}}, time.Unix(1, 0), account.PublishedLimits{})
		_, _, _ = a.Publish(ctx, account.Published{Account: id, Name: "x", Hash: account.ScriptHash{byte(i)}}, time.Unix(1, 0), account.PublishedLimits{})
	}
	_, _ = a.PublishedScript(ctx, id, "x", 1)
	_, _ = a.PublishedScripts(ctx, id, "", 1)
	_, _ = a.PublishedVersions(ctx, id, "x", time.Unix(1, 0), 1)
	_, _ = a.HasPublished(ctx, id, account.ScriptHash{}, time.Unix(1, 0))
	_, _, _ = a.PublishedUsage(ctx, id)
	_, _ = a.SweepPublished(ctx, time.Unix(1, 0), 1)
	_ = a.Unpublish(ctx, id, "x")
	_, _ = a.SetSecret(ctx, account.Secret{Account: id, Name: "x"}, 0)
	_, _ = a.Secret(ctx, id, "x")
	_, _ = a.Secrets(ctx, id)
	_ = a.RemoveSecret(ctx, id, "x")
	_ = a.RotateWebhookSecret(ctx, account.WebhookSecret{Account: id, Number: 1}, time.Unix(1, 0))
	_, _ = a.WebhookSecrets(ctx, id, time.Unix(1, 0))
	_ = j.Record(ctx, []job.Record{{Summary: job.Summary{Account: id}}})
	_, _ = j.ByID(ctx, job.ID{})
	_, _ = j.List(ctx, id, job.Query{Limit: 1, Before: job.ID{1}})
	_, _ = j.List(ctx, id, job.Query{Limit: 1, State: job.Failed})
	_, _ = j.Forget(ctx, id, time.Unix(1, 0), 1)
	k := sessions.Key{Account: id}
	_ = v.Create(ctx, k, time.Unix(1, 0), sessions.Expiry{})
	_ = v.Create(ctx, sessions.Key{Account: id, Hash: [32]byte{1}}, time.Unix(1, 0), sessions.Expiry{})
	_, _, _ = v.Load(ctx, k)
	_ = v.Touch(ctx, k, time.Unix(1, 0))
	_, _ = v.Replace(ctx, k, 0, "{}", time.Unix(1, 0))
	_ = v.Remove(ctx, k)
	f := s.Files()
	node := files.Node{Path: "/a", Chunks: []files.Chunk{{Size: 1}}, Size: 1}
	for range 2 {
		usage, _ := f.Usage(ctx, id)
		_, _ = f.Apply(ctx, id, usage, usage, []files.Change{files.Put{Node: node}, files.Extend{Node: node}, files.Rename{From: "/a", To: "/b"}, files.Drop{Path: "/c"}})
	}
	_, _ = f.Find(ctx, id, []string{"/b"})
	_, _ = f.Content(ctx, id, "/b")
	_, _ = f.Children(ctx, id, "", "", 1)
	_, _ = f.HasBlob(ctx, files.Hash{})
	_ = a.Delete(ctx, id)
}

// openTest opens a store of its own for a test.
func openTest(t testing.TB, o Options) *Store {
	t.Helper()
	if o.Folder == "" {
		o.Folder = t.TempDir()
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
