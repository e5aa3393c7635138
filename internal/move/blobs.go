package move

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"

	"ql/internal/guard"
	"ql/internal/resource/files"
	"ql/internal/store/tables"
)

// chunkTables are the tables whose rows refer to blobs.
var chunkTables = []string{"file_chunks", "share_chunks", "site_chunks"}

const (
	blobProgress = "contents"
	// blobsAtOnce are on their way at the same time, each of up to 8 MiB.
	blobsAtOnce = 8
	// blobsNoted is after how many it is noted how far they have come.
	blobsNoted = 256
)

// selectBlobs gives each blob that rows refer to, behind a hash.
var selectBlobs = "SELECT DISTINCT hash, size FROM (SELECT hash, size FROM " + strings.Join(chunkTables, " UNION ALL SELECT hash, size FROM ") + ") AS chunks WHERE hash > ?"

// blobBytes is how many bytes all blobs have.
func (m *mover) blobBytes(ctx context.Context) (bytes int64, err error) {
	err = m.From.Tables.Select(ctx, "SELECT coalesce(sum(size), 0) FROM ("+selectBlobs+") AS blobs", []any{[]byte{}}, []tables.Kind{tables.Int}, func(row []tables.Value) error {
		bytes = row[0].Int
		return nil
	})
	return bytes, err
}

// eachBlob calls f with the blobs that rows refer to behind a hash, many at a time, in the order of their hashes.
func (m *mover) eachBlob(ctx context.Context, after sum, f func([]files.Chunk) error) error {
	var list []files.Chunk
	if err := m.From.Tables.Select(ctx, selectBlobs+" ORDER BY hash", []any{after[:]}, []tables.Kind{tables.Bytes, tables.Int}, func(row []tables.Value) error {
		c := files.Chunk{Size: row[1].Int}
		copy(c.Hash[:], row[0].Bytes)
		if list = append(list, c); len(list) < blobsNoted {
			return nil
		}
		err := f(list)
		list = list[:0]
		return err
	}); err != nil || len(list) == 0 {
		return err
	}
	return f(list)
}

// together calls f with each of several blobs, some at the same time.
func together(ctx context.Context, list []files.Chunk, f func(files.Chunk) error) error {
	workers := guard.New(nil, nil)
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	next := 0
	claim := func() (c files.Chunk, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if failed = cmp.Or(failed, ctx.Err()); failed != nil || next == len(list) {
			return c, false
		}
		next++
		return list[next-1], true
	}
	for range min(blobsAtOnce, len(list)) {
		all.Add(1)
		workers.Go("moving of contents", func() {
			defer all.Done()
			for {
				c, ok := claim()
				if !ok {
					return
				}
				// Also one that panics has not done it.
				if err := workers.DoErr("moving of contents", func() error { return f(c) }); err != nil {
					mu.Lock()
					failed = cmp.Or(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return failed
}

func (m *mover) copyBlobs(ctx context.Context) error {
	at, _, err := m.reached(ctx, blobProgress)
	if err != nil {
		return err
	}
	bytes := int64(0)
	if err := m.eachBlob(ctx, at.hash, func(list []files.Chunk) error {
		if err := together(ctx, list, m.copyBlob); err != nil {
			return err
		}
		for _, c := range list {
			bytes += c.Size
		}
		at.rows += int64(len(list))
		at.hash = sum(list[len(list)-1].Hash)
		m.Report(Progress{Stage: Copying, Name: blobProgress, Rows: at.rows, Bytes: bytes})
		return m.setReached(ctx, blobProgress, at)
	}); err != nil {
		return err
	}
	m.counts.Blobs, m.counts.Bytes = at.rows, m.counts.Bytes+bytes
	m.Report(Progress{Stage: Copying, Name: blobProgress, Rows: at.rows, Bytes: bytes, Done: true})
	return nil
}

func (m *mover) copyBlob(c files.Chunk) error {
	content, err := m.From.Blobs.Load(c)
	if err != nil {
		return fmt.Errorf("content %x of a file cannot be read at %s, and without it the move would lose it: %w", c.Hash, m.From.Name, err)
	}
	stored, release, err := m.To.Blobs.Store(content)
	if err != nil {
		return err
	}
	release() // its row is there
	if stored != c {
		return fmt.Errorf("content %x of a file is stored as %x", c.Hash, stored.Hash)
	}
	return nil
}

func (m *mover) verifyBlobs(ctx context.Context) error {
	var at reached
	bytes := int64(0)
	if err := m.eachBlob(ctx, sum{}, func(list []files.Chunk) error {
		for _, c := range list {
			bytes += c.Size
		}
		at.rows += int64(len(list))
		m.Report(Progress{Stage: Verifying, Name: blobProgress, Rows: at.rows, Bytes: bytes})
		return together(ctx, list, func(c files.Chunk) error {
			if _, err := m.To.Blobs.Load(c); err != nil {
				return notEqual("content %x of a file cannot be read at %s", c.Hash, m.To.Name).WithCause(err)
			}
			return nil
		})
	}); err != nil {
		return err
	}
	m.Report(Progress{Stage: Verifying, Name: blobProgress, Rows: at.rows, Bytes: bytes, Done: true})
	return nil
}
