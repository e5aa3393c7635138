package storetest

import (
	"slices"
	"testing"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/resource/files"
)

// testStat asks what stands at paths, and for names that begin alike.
func testStat(t *testing.T, s Stores) {
	all, _, _, _ := trees(t, s)
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	tree := all.For(ada.ID, files.Quota{})
	for _, path := range []string{"/site/[b].ql", "/site/[...c].ql", "/site/[a].ql", "/site/Z.txt", "/site/a.txt", "/site/[d]/x.ql", "/other/[e].ql"} {
		must(t, tree.Write(t.Context(), path, []byte("text")))
	}
	must(t, all.For(bob.ID, files.Quota{}).Write(t.Context(), "/site/[bob].ql", nil))
	found, err := tree.Stat(t.Context(), []string{"/site", "/site/a.txt", "/site/A.txt", "/nothing", "/site/a.txt/x", "bad", "/a//b", "/", "/site/[bob].ql"})
	must(t, err)
	if found[0].Path != "/site" || !found[0].Folder || found[1].Path != "/site/a.txt" || found[1].Size != 4 || found[1].Folder || !found[1].Modified.Equal(noon) {
		t.Errorf("there is %+v", found[:2])
	}
	for i, f := range found[2:] {
		if f != (engine.FileInfo{}) {
			t.Errorf("%d is %+v", i+2, f)
		}
	}
	for _, test := range []struct {
		folder, beginning string
		most              int
		want              []string
	}{
		{"/site", "[", 9, []string{"[...c].ql", "[a].ql", "[b].ql", "[d]"}},
		{"/site", "[", 2, []string{"[...c].ql", "[a].ql"}},
		{"/site", "x", 9, nil},
		{"/site/[d]", "[", 9, nil},
		{"/nothing", "[", 9, nil},
		{"bad", "[", 9, nil},
		{"/site/a.txt", "[", 9, nil},
	} {
		got, err := tree.NamesWith(t.Context(), test.folder, test.beginning, test.most)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("in %s are %v, %v, want %v", test.folder, got, err, test.want)
		}
	}
}

// testSiteOwners asks which accounts have a site.
func testSiteOwners(t *testing.T, s Stores) {
	all, _, _, _ := trees(t, s)
	var ids []account.ID
	for _, name := range []string{"ada", "bob", "cleo"} {
		ids = append(ids, create(t, s.Accounts, person(name)).ID)
	}
	want := func(limit int, owners ...account.ID) {
		t.Helper()
		if got, err := s.Files.SiteOwners(t.Context(), limit); err != nil || !slices.Equal(got, owners) {
			t.Errorf("sites have %v, %v, want %v", got, err, owners)
		}
	}
	want(2)
	must(t, all.For(ids[1], files.Quota{}).Write(t.Context(), "/site/index.html", nil))
	must(t, all.For(ids[2], files.Quota{}).Write(t.Context(), "/sites/site", nil))
	want(2, ids[1])
	must(t, all.For(ids[0], files.Quota{}).Write(t.Context(), "/site/index.html", nil))
	want(2, ids[0], ids[1])
	want(1, ids[0])
	must(t, all.For(ids[1], files.Quota{}).Move(t.Context(), "/site", "/old"))
	want(2, ids[0])
}
