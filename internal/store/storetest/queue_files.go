package storetest

import (
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/resource/files"
)

// reading returns how a job is suspended that goes through files.
func reading(most int64, refs ...[]byte) *job.Suspension {
	s := waitingUntil(seconds(500))
	s.Files = job.HeldFiles{Refs: refs, MostBytes: most, At: noon}
	return s
}

// reference returns the reference to what a file has.
func reference(t *testing.T, f *files.Tree, path string) []byte {
	t.Helper()
	c, err := f.Hold(t.Context(), path)
	must(t, err)
	must(t, c.Close())
	return c.Ref()
}

const heldSize = 70_000

// testQueueFiles: what a job that stands goes through is there whatever becomes of the file,
// until its state no longer refers to it, or it ends.
func testQueueFiles(t *testing.T, s Stores) {
	all, blobs, folder, c := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	f, ctx := all.For(ada.ID, files.Quota{}), t.Context()
	must(t, f.Write(ctx, "/a", noise(heldSize, 1)))
	must(t, f.Write(ctx, "/b", noise(heldSize, 2)))
	must(t, f.Write(ctx, "/small", []byte("small")))
	one, two, small := reference(t, f, "/a"), reference(t, f, "/b"), reference(t, f, "/small")
	swept := func(what string, count int) {
		t.Helper()
		for range 2 { // the first sees what is dead, the second removes it
			_, err := blobs.Sweep(ctx, s.Files, c.time(), 24*time.Hour)
			must(t, err)
			c.now = c.now.Add(25 * time.Hour)
		}
		if n := blobCount(t, folder); n != count {
			t.Errorf("%s: %d blobs are left, not %d", what, n, count)
		}
	}
	left := func(what string, dead int64, count int) {
		t.Helper()
		wantDead(t, s, ada.ID, dead)
		swept(what, count)
	}

	first := running(t, s, ada.ID, 1)
	must(t, s.Queue.Suspend(ctx, first, reading(0, one, two, small, one)))
	must(t, f.Write(ctx, "/a", []byte("another")))
	must(t, f.Remove(ctx, "/b"))
	left("both held", 0, 2)

	// A second job holds one of them, by a snapshot on its way, and the first goes on without.
	second := running(t, s, ada.ID, 2)
	must(t, s.Queue.SaveSnapshot(ctx, second, []byte("snapshot"), reading(0, one).Progress))
	first = claimJob(t, s, due(t, s, first.Seq))
	must(t, s.Queue.SaveSnapshot(ctx, first, []byte("snapshot"), reading(0, two).Progress))
	left("each one of its own", 0, 2)
	must(t, s.Queue.SaveSnapshot(ctx, first, []byte("snapshot"), shown()))
	left("the first none", heldSize, 1)
	must(t, s.Queue.Finish(ctx, second, end(task(ada.ID, 2), job.Complete)))
	left("both none", heldSize, 0)

	// What is gone is not held.
	must(t, s.Queue.Suspend(ctx, first, reading(0, one)))
	left("gone", 0, 0)
	if got := load(t, s, first.Seq); got.State != job.Waiting {
		t.Errorf("a job whose file is gone is %s", got.State)
	}

	// Dead content is alive again, and dies when its job is cancelled.
	must(t, f.Write(ctx, "/a", noise(heldSize, 1)))
	must(t, f.Remove(ctx, "/a"))
	wantDead(t, s, ada.ID, heldSize)
	third := task(ada.ID, 3)
	third.State, third.Mode = job.Waiting, job.Sync
	_, err := s.Queue.Adopt(ctx, third, reading(0, one))
	must(t, err)
	left("held again", 0, 1)
	_, _, err = s.Queue.Cancel(ctx, third.ID, noon, nil, "")
	must(t, err)
	left("cancelled", heldSize, 0)

	// What links lead to stays for them, and the other way round.
	must(t, f.Write(ctx, "/a", noise(heldSize, 1)))
	must(t, s.Shares.Create(ctx, link(ada.ID, 1, "/a")))
	fourth := running(t, s, ada.ID, 4)
	must(t, s.Queue.Suspend(ctx, fourth, reading(0, one)))
	must(t, f.Remove(ctx, "/a"))
	must(t, s.Shares.Revoke(ctx, ada.ID, link(ada.ID, 1, "").Token, noon))
	must(t, prune(ctx, s, noon))
	left("the link taken back", 0, 1)
	must(t, s.Accounts.Delete(ctx, ada.ID))
	swept("the account deleted", 0)
}

// testQueueFilesOfSites: what only a release of a site has is held too, and stays when the release goes.
func testQueueFilesOfSites(t *testing.T, s Stores) {
	all, blobs, folder, c := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	f, ctx := all.For(ada.ID, files.Quota{}), t.Context()
	const path = "/site/a.csv"
	deploy := func(n byte) {
		t.Helper()
		_, _, err := deploySite(ctx, f, map[string][]byte{"a.csv": noise(heldSize, n)}, files.Deployment{})
		must(t, err)
	}
	deploy(1)
	one := reference(t, f, path)
	deploy(2)
	first := running(t, s, ada.ID, 1)
	must(t, s.Queue.Suspend(ctx, first, reading(0, one)))
	for n := range files.MaxReleases + 1 {
		deploy(byte(n + 3))
	}
	for range 2 {
		_, err := blobs.Sweep(ctx, s.Files, c.time(), 24*time.Hour)
		must(t, err)
		c.now = c.now.Add(25 * time.Hour)
	}
	if n := blobCount(t, folder); n != files.MaxReleases+1 {
		t.Errorf("%d blobs are left, want those of the releases and the one that the job holds", n)
	}
}

// testQueueFilesRoom: what links and jobs hold of an account's files has a bound.
func testQueueFilesRoom(t *testing.T, s Stores) {
	all, _, _, _ := trees(t, s)
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	ctx := t.Context()
	refs := map[account.ID][][]byte{}
	for _, a := range []account.Account{ada, bob} {
		f := all.For(a.ID, files.Quota{})
		for i := range 3 {
			path := "/" + numbered("file", i)
			must(t, f.Write(ctx, path, noise(heldSize, byte(i))))
			refs[a.ID] = append(refs[a.ID], reference(t, f, path))
		}
	}
	const room = 2 * heldSize
	of := refs[ada.ID]
	must(t, s.Shares.Create(ctx, link(ada.ID, 1, "/"+numbered("file", 0))))
	first := running(t, s, ada.ID, 1)
	must(t, s.Queue.Suspend(ctx, first, reading(room, of[0], of[1])))
	second := running(t, s, ada.ID, 2)
	wantError(t, "one too many", s.Queue.Suspend(ctx, second, reading(room, of[2])), job.ErrHeldLimit)
	if got := load(t, s, second.Seq); got.State != job.Running || got.Snapshot != nil {
		t.Errorf("the job that found no room is %+v", got)
	}
	must(t, s.Queue.SaveSnapshot(ctx, second, []byte("snapshot"), reading(room, of[2]).Progress))
	must(t, s.Queue.Suspend(ctx, second, reading(room, of[1]))) // which is held already
	other := running(t, s, bob.ID, 3)
	must(t, s.Queue.Suspend(ctx, other, reading(room, refs[bob.ID][:2]...)))

	// One that goes on to another file needs no more room than before.
	first, second = claimJob(t, s, due(t, s, first.Seq)), claimJob(t, s, due(t, s, second.Seq))
	wantError(t, "beside one that goes on", s.Queue.Suspend(ctx, second, reading(room, of[2])), job.ErrHeldLimit)
	must(t, s.Queue.Finish(ctx, first, end(task(ada.ID, 1), job.Complete)))
	must(t, s.Queue.Suspend(ctx, second, reading(room, of[2])))
}
