package sqlite

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/resource/files"
	"ql/internal/resource/shares"
	"ql/internal/store/migrate"
)

// TestReceiptsOfAnOlderStore: what belongs to a link or a delivery is found again under
// its account, and goes with it.
func TestReceiptsOfAnOlderStore(t *testing.T) {
	folder := t.TempDir()
	steps, err := migrate.Load(migrations, "migrations")
	must(t, err)
	s, err := openSteps(t, folder, true, steps[:22])
	must(t, err)
	a, err := s.Accounts().Create(t.Context(), account.Account{Username: "ada", Plan: account.Free, Created: time.Unix(1, 0)})
	must(t, err)
	must(t, s.write(t.Context(), func(t tx) error {
		for _, sql := range []string{
			"INSERT INTO shares (seq, token, account, path, name, size, times, used, made, expires) VALUES (7, x'01', 1, '/a', 'a', 1, 1, 1, 1, 2)",
			"INSERT INTO share_receipts (share, number, at, address, agent, client, restarts, sent) VALUES (7, 1, 5, 'here', 'agent', x'02', 3, 4)",
			"INSERT INTO deliveries (seq, id, account, job, url, state, attempts, made) VALUES (9, 'msg', 1, x'01', 'url', 'delivered', 1, 1)",
			"INSERT INTO delivery_attempts (delivery, number, at, took, status, answer, error) VALUES (9, 1, 5, 6, 200, 'ok', '')",
		} {
			if _, err := t.exec(sql); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, s.Close())

	s = openTest(t, Options{Folder: folder, Own: true})
	receipts, err := s.Shares().Receipts(t.Context(), a, 7)
	if err != nil || len(receipts) != 1 || receipts[0].Agent != "agent" || receipts[0].Sent != 4 || receipts[0].Restarts != 3 {
		t.Errorf("the receipts are %+v, %v", receipts, err)
	}
	attempts, err := s.Deliveries().Attempts(t.Context(), "msg")
	if err != nil || len(attempts) != 1 || attempts[0].Status != 200 || attempts[0].Answer != "ok" {
		t.Errorf("the attempts are %+v, %v", attempts, err)
	}
	must(t, s.Accounts().Delete(t.Context(), a))
	must(t, s.read(t.Context(), func(tx tx) error {
		left := int64(0)
		_, err := tx.one("SELECT (SELECT count(*) FROM share_receipts) + (SELECT count(*) FROM delivery_attempts)", func(r row) { left = r.int(0) })
		if left != 0 {
			t.Errorf("%d rows are left of an account that is gone", left)
		}
		return err
	}))
}

// TestChunksOfAnOlderStore: what files and links hold is found again under their account,
// in its order, grows on, and is let go of.
func TestChunksOfAnOlderStore(t *testing.T) {
	folder, ctx := t.TempDir(), t.Context()
	steps, err := migrate.Load(migrations, "migrations")
	must(t, err)
	s, err := openSteps(t, folder, true, steps[:30])
	must(t, err)
	a, err := s.Accounts().Create(ctx, account.Account{Username: "ada", Plan: account.Free, Created: time.Unix(1, 0)})
	must(t, err)
	must(t, s.write(ctx, func(t tx) error {
		for _, sql := range []string{
			"INSERT INTO file_trees (account, generation, bytes, nodes) VALUES (1, 1, 70, 1)",
			"INSERT INTO files (seq, account, key, parent, path, folder, size, modified, tail) VALUES (3, 1, '/A', '', '/a', 0, 70, 1, x'')",
			"INSERT INTO file_chunks (seq, file, hash, size) VALUES (8, 3, x'" + strings.Repeat("03", 32) + "', 30), (9, 3, x'" + strings.Repeat("01", 32) + "', 40)",
			"INSERT INTO share_contents (seq, account, digest, size, tail) VALUES (4, 1, x'01', 40, x'')",
			"INSERT INTO share_chunks (seq, content, hash, size) VALUES (2, 4, x'" + strings.Repeat("02", 32) + "', 40)",
			"INSERT INTO shares (seq, token, account, path, name, size, times, used, made, expires, content) VALUES (7, zeroblob(32), 1, '/b', 'b', 40, 1, 0, 1, 2, 4)",
		} {
			if _, err := t.exec(sql); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, s.Close())

	s = openTest(t, Options{Folder: folder, Own: true})
	one, two := files.Hash(bytes.Repeat([]byte{3}, 32)), files.Hash(bytes.Repeat([]byte{1}, 32))
	want := func(what string, list ...files.Chunk) {
		t.Helper()
		n, err := s.Files().Content(ctx, a, files.Key("/a"))
		must(t, err)
		if !slices.Equal(n.Chunks, list) {
			t.Errorf("%s: the chunks are %v", what, n.Chunks)
		}
	}
	want("at first", files.Chunk{Hash: one, Size: 30}, files.Chunk{Hash: two, Size: 40})
	_, content, err := s.Shares().Find(ctx, shares.Hash{})
	if err != nil || len(content.Chunks) != 1 || content.Chunks[0].Size != 40 {
		t.Errorf("what the link leads to is %+v, %v", content, err)
	}
	last := files.Chunk{Hash: files.Hash{9}, Size: 50}
	extend := files.Extend{Node: files.Node{Path: "/a", Size: 80, Modified: time.Unix(2, 0), Chunks: []files.Chunk{last}}, Replace: 1}
	done, err := s.Files().Apply(ctx, a, files.Usage{Generation: 1}, files.Usage{Bytes: 80, Nodes: 1}, []files.Change{extend})
	if err != nil || !done {
		t.Fatal(done, err)
	}
	want("extended", files.Chunk{Hash: one, Size: 30}, last)
	must(t, s.Accounts().Delete(ctx, a))
	dead, err := s.Files().Dead(ctx, files.DeadQuery{}, 10)
	must(t, err)
	if len(dead) != 4 {
		t.Errorf("the dead blobs are %v", dead)
	}
	must(t, s.read(ctx, func(tx tx) error {
		left := int64(0)
		_, err := tx.one("SELECT (SELECT count(*) FROM file_chunks) + (SELECT count(*) FROM share_chunks)", func(r row) { left = r.int(0) })
		if left != 0 {
			t.Errorf("%d chunks are left of an account that is gone", left)
		}
		return err
	}))
}
