package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// crashedLog returns a database that was left open after changes of some pages each,
// as a process that was killed leaves it.
func crashedLog(t *testing.T, changes int) (path string, log []byte) {
	t.Helper()
	folder := t.TempDir()
	c, err := Open(filepath.Join(folder, "a.db"), Config{Create: true, Temporary: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	exec := func(sql string) {
		t.Helper()
		if err := c.Exec(context.Background(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{"PRAGMA page_size=4096", "PRAGMA journal_mode=WAL", "CREATE TABLE t (a)", "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA wal_autocheckpoint=0"} {
		exec(sql)
	}
	for i := range changes {
		exec(fmt.Sprintf("INSERT INTO t VALUES (zeroblob(%d))", 5000+i))
	}
	path = filepath.Join(t.TempDir(), "a.db")
	for _, ending := range []string{"", WALSuffix} {
		content, err := os.ReadFile(filepath.Join(folder, "a.db"+ending))
		if err == nil {
			err = os.WriteFile(path+ending, content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		log = content
	}
	return path, log
}

func checked(t *testing.T, path string, log []byte) *WALDamageError {
	t.Helper()
	if err := os.WriteFile(path+WALSuffix, log, 0o600); err != nil {
		t.Fatal(err)
	}
	err := CheckWAL(path)
	var damaged *WALDamageError
	if err != nil && !errors.As(err, &damaged) {
		t.Fatal(err)
	}
	return damaged
}

// TestLogWithAFlippedBit flips every kind of bit: it is told wherever a later change
// shows that what it hit was flushed.
func TestLogWithAFlippedBit(t *testing.T) {
	const changes, frame = 30, frameHeader + 4096
	path, log := crashedLog(t, changes)
	if d := checked(t, path, log); d != nil {
		t.Fatalf("a whole log: %v", d)
	}
	frames := (len(log) - walHeader) / frame
	last := 0 // the last change begins here
	for i := range frames - 1 {
		if ends := log[walHeader+i*frame+4 : walHeader+i*frame+8]; string(ends) != "\x00\x00\x00\x00" {
			last = walHeader + (i+1)*frame
		}
	}
	for i := range 3000 {
		bit := i // each of the headers of the log and its first frame
		if bit >= 8*(walHeader+frameHeader) {
			bit = rand.IntN(8 * (last - 2*frame)) // what follows the damaged change proves it
		}
		at := bit / 8
		flipped := append([]byte{}, log...)
		flipped[at] ^= 1 << (bit % 8)
		d := checked(t, path, flipped)
		begins := int64(0)
		if at >= walHeader {
			begins = int64(walHeader + (at-walHeader)/frame*frame)
		}
		// A frame whose mark of an end was hit counts as a change of its own.
		if d == nil || d.At != begins || d.Changes < 1 || d.Changes > changes+1 {
			t.Fatalf("a bit at %d: %v", at, d)
		}
	}
}

// TestTornLog: what a power cut leaves of the last change, in any order of its pages,
// or of a change that failed and was written over, is no damage.
func TestTornLog(t *testing.T) {
	const frame = frameHeader + 4096
	path, log := crashedLog(t, 30)
	frames := (len(log) - walHeader) / frame
	var ends []int // where changes end
	for i := range frames {
		if mark := log[walHeader+i*frame+4 : walHeader+i*frame+8]; string(mark) != "\x00\x00\x00\x00" {
			ends = append(ends, walHeader+(i+1)*frame)
		}
	}
	for range 2000 {
		n := 1 + rand.IntN(len(ends)-2)
		torn := append([]byte{}, log[:ends[n]]...)
		for at := ends[n-1]; at < ends[n]; at += 512 { // sectors of the last change
			if rand.IntN(3) == 0 {
				clear(torn[at:min(at+512, ends[n])])
			}
		}
		torn = torn[:ends[n-1]+rand.IntN(ends[n]-ends[n-1]+1)]
		if d := checked(t, path, torn); d != nil {
			t.Fatalf("change %d, torn: %v", n, d)
		}
	}
	for name, log := range map[string][]byte{"none": nil, "empty": {}, "short": log[:20], "a header": log[:walHeader], "zeros": make([]byte, 3*frame)} {
		if d := checked(t, path, log); d != nil {
			t.Errorf("%s: %v", name, d)
		}
	}
}
