package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ql/internal/sqlite"
)

// bareStore is the least that makes rows durable: one table, one goroutine that
// writes, and one commit for all that wait. It has the settings of the service's
// store.
type bareStore struct {
	folder string
	conn   *sqlite.Conn
	insert *sqlite.Stmt
	queue  chan *bareRow
	done   chan struct{}
}

type bareRow struct {
	body []byte
	done chan error
}

// bareBytes is about what the row of a trivial job holds.
const bareBytes = 300

func openBare(ctx context.Context) (*bareStore, error) {
	folder, err := os.MkdirTemp("", "ql-bench-")
	if err != nil {
		return nil, err
	}
	b := &bareStore{folder: folder, queue: make(chan *bareRow, 1024), done: make(chan struct{})}
	if b.conn, err = sqlite.Open(filepath.Join(folder, "bare.db"), sqlite.Config{Create: true}); err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	for _, sql := range []string{
		"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA wal_autocheckpoint=1000", "PRAGMA cache_size=-8000",
		"CREATE TABLE bare (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT",
	} {
		if err := b.conn.Exec(ctx, sql); err != nil {
			return nil, errors.Join(err, b.conn.Close(), os.RemoveAll(folder))
		}
	}
	if b.insert, _, err = b.conn.Prepare(ctx, "INSERT INTO bare (body) VALUES (?)"); err != nil {
		return nil, errors.Join(err, b.conn.Close(), os.RemoveAll(folder))
	}
	go b.write()
	return b, nil
}

func (b *bareStore) close() error {
	close(b.queue)
	<-b.done
	b.insert.Close()
	return errors.Join(b.conn.Close(), os.RemoveAll(b.folder))
}

func (b *bareStore) write() {
	defer close(b.done)
	for first := range b.queue {
		batch := []*bareRow{first}
		for more := true; more; {
			select {
			case r, ok := <-b.queue:
				if more = ok; ok {
					batch = append(batch, r)
				}
			default:
				more = false
			}
		}
		err := b.commit(batch)
		for _, r := range batch {
			r.done <- err
		}
	}
}

func (b *bareStore) commit(batch []*bareRow) error {
	ctx := context.Background()
	if err := b.conn.Exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, r := range batch {
		err := b.insert.BindBlob(1, r.body)
		if err == nil {
			_, err = b.insert.Step(ctx)
		}
		b.insert.Reset()
		if err != nil {
			return errors.Join(err, b.conn.Exec(ctx, "ROLLBACK"))
		}
	}
	return b.conn.Exec(ctx, "COMMIT")
}

func (r *rates) measureBare(ctx context.Context, o *options, b *bareStore) error {
	counts, errs := make([]int, r.clients), make([]error, r.clients)
	var wg sync.WaitGroup
	began := time.Now()
	end := began.Add(o.each)
	for i := range r.clients {
		wg.Go(func() {
			row := &bareRow{body: make([]byte, bareBytes), done: make(chan error)}
			for time.Now().Before(end) && errs[i] == nil {
				b.queue <- row
				errs[i] = errors.Join(<-row.done, ctx.Err())
				counts[i]++
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	sum := 0
	for _, n := range counts {
		sum += n
	}
	r.bare = append(r.bare, float64(sum)/took.Seconds())
	return errors.Join(errs...)
}
