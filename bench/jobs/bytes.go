package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"ql/bench/load"
	"ql/internal/sqlite"
)

// written is what a run of the loop wrote, in bytes.
type written struct {
	process int64 // what the service gave to the system's write calls
	store   int64 // the log of the service's store
	account int64 // that of the account's database
	took    time.Duration
}

// loop inserts rows, each in a commit of its own, beside a long list.
func loop(elements, inserts int) string {
	return fmt.Sprintf(`CREATE TABLE IF NOT EXISTS bench (id INTEGER PRIMARY KEY, n INTEGER NOT NULL);
SET ?list AS []
SET ?i AS 0
WHILE ?i < %d DO
  APPEND TEXT(?i) + REPEAT("x", 1000) TO ?list
  SET ?i AS ?i + 1
END
SET ?i AS 0
WHILE ?i < %d DO
  INSERT INTO bench (n) VALUES (?i);
  SET ?i AS ?i + 1
END
EMIT COUNT(?list)`, elements, inserts)
}

// weigher runs loops and weighs what they write.
type weigher struct {
	service *load.Service
	caller  *load.Caller
	files   [2]string // of the store, and of the account's database
}

// measureBytes runs the loop as a synchronous call and as a job: each once to see
// what the process writes, and once to see where.
func measureBytes(ctx context.Context, o *options, s *load.Service, all *figures) error {
	c, err := load.Dial(ctx, s.Address)
	if err != nil {
		return err
	}
	defer c.Close()
	w := &weigher{service: s, caller: c}
	if err := w.run("sync", 0, 1); err != nil { // it makes the database
		return err
	}
	databases, err := filepath.Glob(filepath.Join(s.Data, "*", "*", "databases", "*.db"))
	if err != nil || len(databases) != 1 {
		return errors.Join(err, fmt.Errorf("the account has the databases %q, not one", databases))
	}
	w.files = [2]string{filepath.Join(s.Data, "ql.db"), databases[0]}
	if all.sync, err = w.weigh(ctx, o, "sync"); err != nil {
		return err
	}
	all.async, err = w.weigh(ctx, o, "async")
	return err
}

// run runs a loop to its end.
func (w *weigher) run(mode string, elements, inserts int) error {
	body, err := w.caller.Ask(w.service.Query(loop(elements, inserts), mode))
	if err != nil {
		return err
	}
	if mode == "sync" {
		return wantResult(body, "ok", strconv.Itoa(elements))
	}
	a, err := parseAnswer(body, "accepted")
	if err != nil {
		return err
	}
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if body, err = w.caller.Ask(poll(w.service, a.ID)); err != nil {
			return err
		}
		if _, running := parseAnswer(body, "running"); running != nil {
			break
		}
	}
	return wantResult(body, "complete", strconv.Itoa(elements))
}

func (w *weigher) weigh(ctx context.Context, o *options, mode string) (*written, error) {
	before, err := w.settle(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := w.run(mode, o.elements, o.inserts); err != nil {
		return nil, err
	}
	got := &written{took: time.Since(began)}
	after, err := w.settle(ctx)
	if err != nil {
		return nil, err
	}
	got.process = after - before
	return got, w.weighLogs(ctx, o, mode, got)
}

// settle waits until the service writes nothing more, and returns what it has
// written.
func (w *weigher) settle(ctx context.Context) (int64, error) {
	const quiet = 300 * time.Millisecond
	for before := int64(-1); ; {
		now, err := processWritten(w.service.PID)
		if err != nil || now == before {
			return now, err
		}
		before = now
		if err := load.Pause(ctx, quiet); err != nil {
			return 0, err
		}
	}
}

// processWritten asks the system what a process has written; 0 where it does not
// tell.
func processWritten(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(text, []byte("wchar: "))
	number, _, _ := bytes.Cut(rest, []byte("\n"))
	return strconv.ParseInt(string(number), 10, 64)
}

// weighLogs runs the loop beside readers that keep both logs from being begun
// anew, so that what they grow by is all that was written to them.
func (w *weigher) weighLogs(ctx context.Context, o *options, mode string, into *written) (err error) {
	var readers [2]*sqlite.Conn
	defer func() {
		for _, r := range readers {
			if r != nil {
				err = errors.Join(err, r.Close())
			}
		}
	}()
	for i, file := range w.files {
		if readers[i], err = sqlite.Open(file, sqlite.Config{Busy: patience}); err != nil {
			return err
		}
		if err := readers[i].Exec(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return err
		}
	}
	// A reader of an empty log would leave it free.
	if err := w.run("sync", 0, 1); err != nil {
		return err
	}
	if _, err := w.settle(ctx); err != nil {
		return err
	}
	var before [2]int64
	for i, file := range w.files {
		for _, sql := range []string{"BEGIN", "SELECT count(*) FROM sqlite_schema"} {
			if err := readers[i].Exec(ctx, sql); err != nil {
				return err
			}
		}
		if before[i], err = logSize(file); err != nil {
			return err
		}
		if before[i] == 0 {
			return fmt.Errorf("the log of %s is empty", filepath.Base(file))
		}
	}
	if err := w.run(mode, o.elements, o.inserts); err != nil {
		return err
	}
	if _, err := w.settle(ctx); err != nil {
		return err
	}
	for i, size := range []*int64{&into.store, &into.account} {
		after, err := logSize(w.files[i])
		if err != nil {
			return err
		}
		*size = after - before[i]
	}
	return nil
}

func logSize(file string) (int64, error) {
	info, err := os.Stat(file + "-wal")
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
