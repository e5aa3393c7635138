package storetest

import (
	"bytes"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/resource/files"
)

// putFile stores the first file of an account, and returns what it stores then.
func putFile(t *testing.T, s Stores, a account.ID, n files.Node) (files.Usage, error) {
	t.Helper()
	_, err := s.Files.Apply(t.Context(), a, files.Usage{}, files.Usage{Bytes: n.Size, Nodes: 1}, []files.Change{files.Put{Node: n}})
	usage, failed := s.Files.Usage(t.Context(), a)
	must(t, failed)
	return usage, err
}

// testBlobDeletion: nothing refers to a blob whose deletion was started, until that is
// over, also where its process did not come to the end of it.
func testBlobDeletion(t *testing.T, s Stores) {
	all, blobs, folder, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	f, ctx := all.For(ada.ID, files.Quota{}), t.Context()
	content, other := noise(70_000, 1), noise(80_000, 2)
	must(t, f.Write(ctx, "/a", content))
	must(t, f.Write(ctx, "/b", other))
	n, err := s.Files.Content(ctx, ada.ID, files.Key("/b"))
	must(t, err)
	used := n.Chunks[0].Hash
	must(t, f.Remove(ctx, "/a"))
	list, err := s.Files.Dead(ctx, files.DeadQuery{Account: ada.ID}, 10)
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("the dead blobs are %v", list)
	}
	dead := list[0].Hash
	start := func(what string, hashes, want []files.Hash) {
		t.Helper()
		got, err := s.Files.StartDeletion(ctx, hashes)
		must(t, err)
		same(t, what, got, want)
	}
	deleting := func(what string, want ...files.DeadBlob) {
		t.Helper()
		got, err := s.Files.Dead(ctx, files.DeadQuery{Deleting: true}, 10)
		must(t, err)
		same(t, what, got, want)
	}
	deleting("before any was started")
	start("of nothing", nil, nil)
	start("what is dead", []files.Hash{used, dead, {1, 2, 3}}, []files.Hash{dead})
	start("once more", []files.Hash{dead}, []files.Hash{dead})
	deleting("what was started", list...)
	wantDead(t, s, ada.ID, 70_000)

	// A change waits until it is over: nobody is at it here, so that it is over by then.
	wantError(t, "a write of content that is being removed", f.Write(ctx, "/again", content), files.ErrDeleting)
	deleting("after that")
	must(t, f.Write(ctx, "/again", content))
	if got, err := f.Read(ctx, "/again", 1<<20); err != nil || !bytes.Equal(got, content) {
		t.Errorf("it is read as %d bytes, %v", len(got), err)
	}

	// The process ends between the two, before or after the blob itself has gone.
	for range 2 {
		must(t, f.Remove(ctx, "/again"))
		start("again", []files.Hash{dead}, []files.Hash{dead})
		must(t, blobs.FinishDeletions(ctx, s.Files))
		deleting("when it was finished")
		wantDead(t, s, ada.ID, 0)
		same(t, "the blobs that are left", blobCount(t, folder), 1)
		must(t, f.Write(ctx, "/again", content))
	}
	must(t, f.Remove(ctx, "/again"))
	start("for a sweep", []files.Hash{dead}, []files.Hash{dead})
	_, err = blobs.Sweep(ctx, s.Files, noon, 24*time.Hour)
	must(t, err)
	same(t, "the blobs that are left by a sweep", blobCount(t, folder), 1)
}

// testBlobDeletionOfTwo: what one process is about to remove the other does not refer to.
func testBlobDeletionOfTwo(t *testing.T, a, b *process) {
	ada := create(t, a.Accounts, person("ada"))
	ctx := t.Context()
	chunk := files.Chunk{Hash: files.Hash{7}, Size: 70_000}
	file := files.Node{Path: "/a", Size: chunk.Size, Modified: noon, Chunks: []files.Chunk{chunk}}
	must(t, a.Files.AddDead(ctx, []files.DeadBlob{{Chunk: chunk, Account: ada.ID, Since: noon}}))
	started, err := a.Files.StartDeletion(ctx, []files.Hash{chunk.Hash})
	must(t, err)
	same(t, "what is being deleted", started, []files.Hash{chunk.Hash})
	usage, err := putFile(t, b.Stores, ada.ID, file)
	wantError(t, "a file of the other process", err, files.ErrDeleting)
	same(t, "its tree", usage, files.Usage{})
	must(t, a.Files.DropDead(ctx, started))
	usage, err = putFile(t, b.Stores, ada.ID, file)
	must(t, err)
	started, err = a.Files.StartDeletion(ctx, []files.Hash{chunk.Hash})
	must(t, err)
	same(t, "what can be deleted then", started, []files.Hash(nil))
	same(t, "the tree", usage, files.Usage{Generation: 1, Bytes: chunk.Size, Nodes: 1})
}

// testLateDeletion: where a removal may take effect late, nothing refers to the blob for some time after
// it, though it is nobody's storage any more.
func testLateDeletion(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	ctx := t.Context()
	chunk := files.Chunk{Hash: files.Hash{7}, Size: 70_000}
	file := files.Node{Path: "/a", Size: chunk.Size, Modified: noon, Chunks: []files.Chunk{chunk}}
	hashes := []files.Hash{chunk.Hash}
	usage, err := putFile(t, s, ada.ID, file)
	must(t, err)
	drop := func() {
		t.Helper()
		_, err := s.Files.Apply(ctx, ada.ID, usage, files.Usage{}, []files.Change{files.Drop{Path: "/a"}})
		must(t, err)
		wantDead(t, s, ada.ID, chunk.Size)
	}
	put := func(want error) {
		t.Helper()
		before, err := s.Files.Usage(ctx, ada.ID)
		must(t, err)
		_, err = s.Files.Apply(ctx, ada.ID, before, files.Usage{Bytes: chunk.Size, Nodes: 1}, []files.Change{files.Put{Node: file}})
		wantError(t, "the file again", err, want)
		usage, err = s.Files.Usage(ctx, ada.ID)
		must(t, err)
	}
	begin := func() {
		t.Helper()
		started, err := s.Files.StartDeletion(ctx, hashes)
		must(t, err)
		same(t, "what is being deleted", started, hashes)
	}
	deleting := func(want int) {
		t.Helper()
		list, err := s.Files.Dead(ctx, files.DeadQuery{Deleting: true}, 10)
		must(t, err)
		same(t, "how many are being deleted", len(list), want)
	}
	drop()
	begin()
	must(t, s.Files.DropDeletions(ctx, noon)) // none of those under way
	deleting(1)
	must(t, s.Files.EndDeletion(ctx, nil, noon))
	must(t, s.Files.EndDeletion(ctx, hashes, noon))
	deleting(0)
	wantDead(t, s, ada.ID, 0)
	put(files.ErrDeleting)

	// Whoever put it meanwhile could not refer to it: it is dead, and not being deleted by anybody.
	must(t, s.Files.AddDead(ctx, []files.DeadBlob{{Chunk: chunk, Account: ada.ID}}))
	deleting(0)
	must(t, s.Files.DropDeletions(ctx, noon.Add(-time.Microsecond)))
	put(files.ErrDeleting)
	begin() // anew: what ended before counts no more
	must(t, s.Files.DropDeletions(ctx, noon))
	deleting(1)
	put(files.ErrDeleting)
	must(t, s.Files.EndDeletion(ctx, hashes, noon.Add(time.Hour)))
	must(t, s.Files.DropDeletions(ctx, noon.Add(time.Hour-time.Microsecond)))
	put(files.ErrDeleting)
	must(t, s.Files.DropDeletions(ctx, noon.Add(time.Hour)))
	put(nil)
	drop()
}
