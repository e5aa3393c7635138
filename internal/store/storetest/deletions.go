package storetest

import (
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/resource/files"
	"ql/internal/resource/sessions"
)

func testTombstones(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	wantError(t, "a stranger is marked", s.Accounts.MarkDeleted(ctx, 4711, noon), account.ErrNotFound)
	must(t, s.Accounts.MarkDeleted(ctx, bob.ID, noon.Add(time.Hour)))
	must(t, s.Accounts.MarkDeleted(ctx, ada.ID, noon))
	must(t, s.Accounts.MarkDeleted(ctx, ada.ID, noon.Add(time.Hour)))
	list, err := s.Accounts.Tombstones(ctx)
	must(t, err)
	same(t, "the tombstones", list, []account.Tombstone{{Account: ada.ID, Since: noon}, {Account: bob.ID, Since: noon.Add(time.Hour)}})

	must(t, s.Accounts.SetFlag(ctx, ada.ID, account.FlagDisabled, false))
	got, err := s.Accounts.ByID(ctx, ada.ID)
	must(t, err)
	if !got.Disabled {
		t.Error("an account that was marked as deleted was switched on")
	}
	// A tombstone outlives its account.
	must(t, s.Accounts.DropTombstone(ctx, ada.ID))
	must(t, s.Accounts.Delete(ctx, bob.ID))
	must(t, s.Accounts.DropTombstone(ctx, bob.ID))
	must(t, s.Accounts.DropTombstone(ctx, 4711))
	list, err = s.Accounts.Tombstones(ctx)
	must(t, err)
	same(t, "what is left", list, []account.Tombstone{{Account: ada.ID, Since: noon}})

	eve := create(t, s.Accounts, person("eve"))
	must(t, s.Accounts.SetFlag(ctx, eve.ID, account.FlagDisabled, true))
	must(t, s.Accounts.SetFlag(ctx, eve.ID, account.FlagDisabled, false))
	got, err = s.Accounts.ByID(ctx, eve.ID)
	must(t, err)
	same(t, "one that stays", got, eve)
}

// testPurge: what scripts leave is removed little by little, and nothing of
// others.
func testPurge(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	all, _, _, _ := trees(t, s)
	trees := map[account.ID]*files.Tree{}
	const jobs, visits = 7, 5
	for _, id := range []account.ID{ada.ID, bob.ID} {
		for i := range jobs {
			must(t, s.Jobs.Record(ctx, []job.Record{record(id, int(id)*100+i)}))
		}
		for i := range visits {
			must(t, s.Sessions.Create(ctx, key(id, numbered("s", i)), noon, sessions.Expiry{Most: 100}))
		}
		trees[id] = all.For(id, files.Quota{})
		for _, path := range []string{"/a/b/c", "/a/b/d", "/a/e", "/f"} {
			must(t, trees[id].Write(ctx, path, []byte("four")))
		}
		must(t, trees[id].Write(ctx, "/large", make([]byte, 100<<10)))
	}
	before, err := s.Files.Usage(ctx, ada.ID)
	must(t, err)
	total := 0
	for {
		n, err := s.Accounts.Purge(ctx, ada.ID, 3)
		must(t, err)
		if n == 0 {
			break
		}
		if n > 3 {
			t.Errorf("%d rows went at once", n)
		}
		total += n
		// Whatever is left stands in its folder.
		checkFolders(t, trees[ada.ID])
	}
	if least := jobs + visits + int(before.Nodes); total < least {
		t.Errorf("%d rows went, and there were %d", total, least)
	}
	usage, err := s.Files.Usage(ctx, ada.ID)
	must(t, err)
	if usage.Bytes != 0 || usage.Nodes != 0 || usage.Generation <= before.Generation {
		t.Errorf("the usage is %+v after %+v", usage, before)
	}
	list, err := s.Jobs.List(ctx, ada.ID, job.Query{Limit: 100})
	must(t, err)
	if _, found, err := s.Sessions.Load(ctx, key(ada.ID, numbered("s", 0))); err != nil || found || len(list) > 0 {
		t.Errorf("%d jobs are left, and a session: %t, %v", len(list), found, err)
	}
	// It goes on as a new one would.
	must(t, trees[ada.ID].Write(ctx, "/a/new", []byte("text")))

	kept, err := s.Files.Usage(ctx, bob.ID)
	must(t, err)
	list, err = s.Jobs.List(ctx, bob.ID, job.Query{Limit: 100})
	must(t, err)
	_, found, err := s.Sessions.Load(ctx, key(bob.ID, numbered("s", 0)))
	must(t, err)
	if kept.Bytes != before.Bytes || len(list) != jobs || !found {
		t.Errorf("of another, %+v, %d jobs and %t are left", kept, len(list), found)
	}
	must(t, s.Accounts.SetPurged(ctx, ada.ID, noon))
	wantError(t, "a stranger is emptied", s.Accounts.SetPurged(ctx, 4711, noon), account.ErrNotFound)
	got, err := s.Accounts.ByID(ctx, ada.ID)
	must(t, err)
	ada.Purged = noon
	same(t, "the account", got, ada)
	n, err := s.Accounts.Purge(ctx, 4711, 10)
	if err != nil || n != 0 {
		t.Errorf("a stranger: %d, %v", n, err)
	}
}

// checkFolders fails where a file is there without its folder.
func checkFolders(t *testing.T, tree *files.Tree) {
	t.Helper()
	for path, folder := range map[string]string{"/a/b/c": "/a/b", "/a/b/d": "/a/b", "/a/e": "/a"} {
		if _, err := tree.Read(t.Context(), path, 100); err != nil {
			continue
		}
		for _, err := range tree.List(t.Context(), folder, "") {
			if err != nil {
				t.Errorf("%s is without its folder: %v", path, err)
			}
		}
	}
}
