package sqlite

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/resource/files"
)

// changeFiles makes changes to an account's files.
func changeFiles(t *testing.T, s *Store, a account.ID, changes ...files.Change) {
	t.Helper()
	before, err := s.Files().Usage(t.Context(), a)
	must(t, err)
	after := before
	after.Generation++
	done, err := s.Files().Apply(t.Context(), a, before, after, changes)
	must(t, err)
	if !done {
		t.Fatal("the tree has changed meanwhile")
	}
}

func put(path, text string) files.Put {
	return files.Put{Node: files.Node{Path: path, Size: int64(len(text)), Modified: time.Unix(1, 0).UTC(), Tail: []byte(text)}}
}

func putFolder(path string) files.Put {
	return files.Put{Node: files.Node{Path: path, Folder: true, Modified: time.Unix(1, 0).UTC()}}
}

// release adds a release with no files.
func release(t *testing.T, s *Store, a account.ID, number int64, drop ...string) {
	t.Helper()
	before, err := s.Files().Usage(t.Context(), a)
	must(t, err)
	after := before
	after.Generation++
	done, err := s.Files().DeploySite(t.Context(), a, before, after, files.SiteApply{Release: files.Release{Number: number, Made: time.Unix(2, 0).UTC(), By: "password"}, Drop: drop})
	must(t, err)
	if !done {
		t.Fatalf("release %d is not deployed", number)
	}
}

// TestSitesAreAsTheyAre changes files and deploys through two stores of the same folder, as two
// processes do, and compares what a cache tells of sites with what the store does.
func TestSitesAreAsTheyAre(t *testing.T) {
	here := openTest(t, Options{Own: true})
	ada, bob := benchmarkAccount(t, here, "ada"), benchmarkAccount(t, here, "bob")
	there := openTest(t, Options{Folder: here.folder(t)})
	cached, plain := here.Aggregate().CacheSites().Files, files.Store(here.Files())
	for _, a := range []account.ID{ada, bob} {
		changeFiles(t, here, a, putFolder("/site"), putFolder("/site/blog"), put("/site/a.ql", "0"), put("/x.txt", "0"))
	}
	keys := []string{"/SITE", "/SITE/A.QL", "/SITE/B.QL", "/SITE/BLOG/[X].QL", "/SITE/NONE"}
	compare := func(round int, a account.ID) {
		t.Helper()
		for range 2 { // read, and remembered
			want, err := plain.CurrentRelease(t.Context(), a)
			must(t, err)
			got, err := cached.CurrentRelease(t.Context(), a)
			must(t, err)
			same := func(what string, got, want any) {
				t.Helper()
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("round %d, %s of %d: %+v, not %+v", round, what, a, got, want)
				}
			}
			same("release", got, want)
			found, err := cached.FindAsOf(t.Context(), a, got.Number, keys)
			must(t, err)
			wanted, err := plain.FindAsOf(t.Context(), a, got.Number, keys)
			must(t, err)
			same("nodes", found, wanted)
			for _, key := range keys {
				n, err := cached.ContentAsOf(t.Context(), a, got.Number, key)
				must(t, err)
				m, err := plain.ContentAsOf(t.Context(), a, got.Number, key)
				must(t, err)
				if (n == nil) != (m == nil) || n != nil && (string(n.Tail) != string(m.Tail) || n.Path != m.Path) {
					t.Fatalf("round %d, %s of %d: %+v, not %+v", round, key, a, n, m)
				}
			}
			folder, list, err := cached.ChildrenAsOf(t.Context(), a, got.Number, "/SITE/BLOG", "/site/blog/[", 8)
			must(t, err)
			wantFolder, wantList, err := plain.ChildrenAsOf(t.Context(), a, got.Number, "/SITE/BLOG", "/site/blog/[", 8)
			must(t, err)
			same("folder", folder, wantFolder)
			if len(list)+len(wantList) > 0 {
				same("list", list, wantList)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	numbers := map[account.ID]int64{}
	for round := range 150 {
		store := []*Store{here, there}[random.IntN(2)]
		a := []account.ID{ada, bob}[random.IntN(2)]
		text := fmt.Sprint(round)
		switch random.IntN(8) {
		case 0, 1:
			changeFiles(t, store, a, put("/site/a.ql", text))
		case 2:
			changeFiles(t, store, a, put("/site/b.ql", text), put("/site/blog/[x].ql", text))
		case 3:
			changeFiles(t, store, a, put("/x.txt", text))
			changeFiles(t, store, a, files.Drop{Path: "/site/b.ql"}, files.Rename{From: "/x.txt", To: "/site/b.ql"})
		case 4:
			changeFiles(t, store, a, files.Drop{Path: "/site/b.ql"}, files.Drop{Path: "/site/blog/[x].ql"})
		case 5:
			numbers[a]++
			release(t, store, a, numbers[a], "/site/a.ql")
		case 6:
			changeFiles(t, store, a, files.Extend{Node: put("/site/a.ql", text).Node})
		case 7:
			useCall(t, store, a)
		}
		compare(round, ada)
		compare(round, bob)
	}
}

// TestSiteVersions: the version of a site stays over commits of the same process that leave it alone,
// and over no others.
func TestSiteVersions(t *testing.T) {
	here := openTest(t, Options{Own: true})
	ada, bob := benchmarkAccount(t, here, "ada"), benchmarkAccount(t, here, "bob")
	there := openTest(t, Options{Folder: here.folder(t)})
	changeFiles(t, here, ada, putFolder("/site"), put("/site/a.ql", "0"), put("/x.txt", "0"))
	for _, c := range []struct {
		name string
		do   func()
		kept bool
	}{
		{"nothing", func() {}, true},
		{"a call was counted", func() { useCall(t, here, ada) }, true},
		{"another process counted one", func() { useCall(t, there, ada) }, false},
		{"a file elsewhere was written", func() { changeFiles(t, here, ada, put("/x.txt", "1")) }, true},
		{"one of another account was", func() { changeFiles(t, here, bob, putFolder("/site"), put("/site/a.ql", "1")) }, true},
		{"one of the site was", func() { changeFiles(t, here, ada, put("/SITE/a.ql", "1")) }, false},
		{"one came into the site", func() { changeFiles(t, here, ada, files.Rename{From: "/x.txt", To: "/site/b"}) }, false},
		{"one left it", func() { changeFiles(t, here, ada, files.Rename{From: "/site/b", To: "/x.txt"}) }, false},
		{"it was deployed", func() { release(t, here, ada, 1) }, false},
		{"another's was deployed", func() { release(t, here, bob, 1) }, true},
		{"files were changed, and nobody said whose", func() {
			must(t, here.write(t.Context(), func(t tx) error {
				_, err := t.exec("UPDATE files SET modified = 2")
				return err
			}))
		}, false},
		{"an account was made", func() { benchmarkAccount(t, here, "eve") }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, _ := here.SiteVersion(ada)
			c.do()
			if after, ok := here.SiteVersion(ada); !ok || (after == before) != c.kept || after < before {
				t.Errorf("version %d after %d, %t", after, before, ok)
			}
		})
	}
}
