package crashtest

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"ql/internal/programtest"
)

// refusedStart starts a server that must not, and returns what it says.
func (s *server) refusedStart(flags ...string) string {
	s.t.Helper()
	arguments := append([]string{"serve", "--data", s.data, "--listen", "127.0.0.1:0", "--log-level", "warn"}, flags...)
	out, err := exec.CommandContext(context.Background(), programtest.Path, arguments...).CombinedOutput()
	if err == nil {
		s.t.Fatalf("the server started, and ended by itself:\n%s", out)
	}
	return string(out)
}

// TestPromiseDamageOfTheLogIsTold kills the server, flips one bit somewhere in what its
// log holds, and starts it again. It says what is damaged, and goes on only where the
// operator says so. A log without damage, however it was left, is no matter.
func TestPromiseDamageOfTheLogIsTold(t *testing.T) {
	const frame = 24 + 4096
	s := newServer(t)
	s.start()
	s.output(`CREATE TABLE ran (n TEXT);`)
	told := 0
	for round := range count(4, 30) {
		var ids []string
		for i := range 30 {
			ids = append(ids, s.submit(`INSERT INTO ran VALUES (!GET('n'));`, "n", strconv.Itoa(round*30+i)))
		}
		for _, id := range ids {
			s.mustAwait(id, "complete")
		}
		s.kill()
		log := filepath.Join(s.data, "ql.db-wal")
		whole, err := os.ReadFile(log)
		check(t, err)
		store, err := os.ReadFile(s.store())
		check(t, err)
		flipped := append([]byte{}, whole...)
		at := rand.IntN(20 * frame) // of the first changes of this process
		flipped[at] ^= 1 << rand.IntN(8)
		check(t, os.WriteFile(log, flipped, 0o600))
		said := s.refusedStart()
		if !strings.Contains(said, log) || !strings.Contains(said, "--accept-damage") {
			t.Fatalf("a bit at %d: it said\n%s", at, said)
		}
		command, err := exec.CommandContext(t.Context(), programtest.Path, "account", "list", "--data", s.data).CombinedOutput()
		if err == nil || !strings.Contains(string(command), "--accept-damage") {
			t.Fatalf("a command said %s, %v", command, err)
		}
		left, err := os.ReadFile(log)
		check(t, err)
		if string(left) != string(flipped) {
			t.Fatal("the log was changed by who was refused")
		}
		told++
		if round == 0 { // the word of the operator
			s.flags = []string{"--accept-damage"}
			s.start()
			s.flags = nil
			if kept, err := filepath.Glob(log + ".damaged-*"); err != nil || len(kept) != 1 {
				t.Errorf("the log is kept as %v, %v", kept, err)
			}
			s.output(`EMIT "it works"`)
			s.kill()
		}
		// Put right, nothing is lost.
		_ = os.Remove(s.store() + "-shm") // that of the damaged one
		check(t, os.WriteFile(s.store(), store, 0o600))
		check(t, os.WriteFile(log, whole, 0o600))
		s.start()
		for _, id := range ids {
			s.mustAwait(id, "complete")
		}
	}
	t.Logf("%d of %d flipped bits were told", told, told)
	// Those whose end was lost, by the word of the operator, ran again meanwhile.
	want := strconv.Itoa(count(4, 30) * 30)
	if got := s.output(`SELECT count(DISTINCT n) FROM ran SET VALUE ?n EMIT ?n`); got != want {
		t.Errorf("%s jobs ran, want %s", got, want)
	}
}

// TestMissingDatabasesAreTold takes databases of accounts away between two starts.
func TestMissingDatabasesAreTold(t *testing.T) {
	s := newServer(t)
	s.start()
	s.output(`CREATE TABLE t (n);`)
	s.output(`USE DATABASE "other" CREATE TABLE t (n);`)
	s.stop()
	accounts, away := filepath.Join(s.data, "accounts"), filepath.Join(s.data, "away")
	check(t, os.Rename(accounts, away))
	if said := s.refusedStart(); !strings.Contains(said, "accounts") || !strings.Contains(said, "2 databases") || !strings.Contains(said, "--accept-damage") {
		t.Errorf("without the folder it said\n%s", said)
	}
	check(t, os.Rename(away, accounts))
	found, err := filepath.Glob(filepath.Join(accounts, "*", "databases", "other.db"))
	check(t, err)
	check(t, os.Remove(found[0]))
	s.start()
	if said := s.said(); !strings.Contains(said, found[0]) || strings.Contains(said, "main.db") {
		t.Errorf("without a database it said\n%s", said)
	}
	s.output(`SELECT count(*) FROM t SET VALUE ?n EMIT ?n`)
	s.stop()
	check(t, os.RemoveAll(accounts))
	s.flags = []string{"--accept-damage"}
	s.start()
	s.output(`CREATE TABLE t (n);`)
}
