package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/resource/files"
	"ql/lang/value"
)

// manifestOf returns the manifest of files by their contents.
func manifestOf(contents map[string][]byte) (*files.Manifest, error) {
	digests := map[string]files.Hash{}
	for path, content := range contents {
		digests[path] = sha256.Sum256(content)
	}
	return files.NewManifest(digests)
}

// deploySite sends what is missing of a site and deploys it.
func deploySite(ctx context.Context, f *files.Tree, contents map[string][]byte, d files.Deployment) (files.Release, bool, error) {
	m, err := manifestOf(contents)
	if err != nil {
		return files.Release{}, false, err
	}
	plan, err := f.PlanDeploy(ctx, m)
	if err != nil {
		return files.Release{}, false, err
	}
	missing := map[files.Hash]bool{}
	for _, hash := range plan.Missing {
		missing[hash] = true
	}
	for _, content := range contents {
		if hash := files.Hash(sha256.Sum256(content)); missing[hash] {
			if _, err := f.StoreContent(ctx, hash, bytes.NewReader(content), int64(len(content))); err != nil {
				return files.Release{}, false, err
			}
		}
	}
	return f.Deploy(ctx, m, d)
}

// wantSite checks that the folder of the site is what it should be, and nothing else.
func wantSite(t *testing.T, f *files.Tree, want map[string][]byte) {
	t.Helper()
	got := map[string][]byte{}
	var walk func(folder string)
	walk = func(folder string) {
		inside := 0
		for info, err := range f.List(t.Context(), folder, "") {
			must(t, err)
			if inside++; info.Folder {
				walk(info.Path)
				continue
			}
			content, err := f.Read(t.Context(), info.Path, 64<<20)
			must(t, err)
			if info.Size != int64(len(content)) {
				t.Errorf("%s has %d bytes, and %d in the list", info.Path, len(content), info.Size)
			}
			got[strings.TrimPrefix(info.Path, files.SiteFolder+"/")] = content
		}
		if inside == 0 && folder != files.SiteFolder {
			t.Errorf("the folder %s is empty", folder)
		}
	}
	walk(files.SiteFolder)
	if !maps.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("the site has %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

func testSiteDeploy(t *testing.T, s Stores) {
	all, _, _, c := trees(t, s)
	ctx, ada, bob := t.Context(), create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	f := all.For(ada.ID, files.Quota{})
	must(t, f.Write(ctx, "/other", []byte("stays")))
	first := map[string][]byte{
		"index.ql": []byte("EMIT 1"), "css/look.css": noise(70_000, 1), "img/a/big.png": noise(9<<20, 2), "img/a/same.png": noise(9<<20, 2), "empty": {}, "_layout.html": []byte("l"),
	}
	current, err := f.Release(ctx)
	must(t, err)
	same(t, "a site without releases", current, files.Release{})
	r, made, err := deploySite(ctx, f, first, files.Deployment{By: "password"})
	must(t, err)
	want := files.Release{Number: 1, Made: noon, By: "password", Files: 6, Bytes: 70_000 + 2*9<<20 + 7}
	same(t, "the first release", r, want)
	if !made {
		t.Error("the first release was not made")
	}
	wantSite(t, f, first)

	// The same again is the same release.
	r, made, err = deploySite(ctx, f, first, files.Deployment{By: "password"})
	must(t, err)
	same(t, "the same again", r, want)
	if made {
		t.Error("a release was made of nothing")
	}

	// Unchanged files keep their time; a folder becomes a file, and a file a folder.
	c.set(noon.Add(time.Hour))
	second := maps.Clone(first)
	delete(second, "img/a/big.png")
	delete(second, "img/a/same.png")
	second["img"], second["empty/x"], second["index.ql"] = noise(70_000, 1), []byte("x"), []byte("EMIT 2")
	delete(second, "empty")
	m, err := manifestOf(second)
	must(t, err)
	plan, err := f.PlanDeploy(ctx, m)
	must(t, err)
	same(t, "what is added", plan.Added, []string{"empty/x", "img"})
	same(t, "what is changed", plan.Changed, []string{"index.ql"})
	same(t, "what is removed", plan.Removed, []string{"empty", "img/a/big.png", "img/a/same.png"})
	if plan.Release != 1 || len(plan.Missing) != 2 {
		t.Errorf("the plan is of release %d, with %d missing", plan.Release, len(plan.Missing))
	}
	r, _, err = deploySite(ctx, f, second, files.Deployment{By: "named_key", Key: "ci"})
	must(t, err)
	same(t, "the second release", r, files.Release{Number: 2, Made: noon.Add(time.Hour), By: "named_key", Key: "ci", Files: 5, Bytes: 140_000 + 8})
	wantSite(t, f, second)
	content, err := f.Open(ctx, "/site/css/look.css")
	must(t, err)
	if !content.Modified().Equal(noon) {
		t.Errorf("a file that did not change was written at %s", content.Modified())
	}
	must(t, content.Close())

	// What others wrote into the folder goes with the next deploy, though that is the same.
	must(t, f.Write(ctx, "/site/by/hand", []byte("hand")))
	must(t, f.Write(ctx, "/site/index.ql", []byte("EMIT 3")))
	must(t, f.Append(ctx, "/site/css/look.css", []byte("more")))
	r, made, err = deploySite(ctx, f, second, files.Deployment{})
	must(t, err)
	if r.Number != 3 || !made {
		t.Errorf("a deploy over what was changed by hand: release %d, %t", r.Number, made)
	}
	wantSite(t, f, second)

	// Earlier releases are read as they were, and brought back.
	wantSite(t, f.AsOf(1), first)
	wantSite(t, f.AsOf(2), second)
	r, made, err = f.Deploy(ctx, nil, files.Deployment{Restore: 1})
	must(t, err)
	if r.Number != 4 || r.Restored != 1 || r.Files != 6 || !made {
		t.Errorf("the restored release is %+v", r)
	}
	wantSite(t, f, first)
	_, _, err = f.Deploy(ctx, nil, files.Deployment{Restore: 99})
	wantError(t, "a release that never was", err, files.ErrNoRelease)
	list, err := f.Releases(ctx, 0, 2)
	must(t, err)
	if len(list) != 2 || list[0].Number != 4 || list[1].Number != 3 {
		t.Errorf("the newest releases are %+v", list)
	}
	list, err = f.Releases(ctx, 3, 10)
	must(t, err)
	if len(list) != 2 || list[0].Number != 2 || list[1].Number != 1 {
		t.Errorf("those before are %+v", list)
	}

	// A site may be empty.
	_, _, err = deploySite(ctx, f, nil, files.Deployment{})
	must(t, err)
	wantSite(t, f, map[string][]byte{})
	if got, err := f.Read(ctx, "/other", 100); err != nil || string(got) != "stays" {
		t.Errorf("a file elsewhere: %q, %v", got, err)
	}
	// Nothing of it is another account's.
	other := all.For(bob.ID, files.Quota{})
	_, _, err = other.Deploy(ctx, nil, files.Deployment{Restore: 1})
	wantError(t, "another's release", err, files.ErrNoRelease)
	for info, err := range other.List(ctx, "/", "") {
		t.Errorf("another has %v, %v", info, err)
	}
}

// testSiteContent: content is an account's own, checked, and there for a day.
func testSiteContent(t *testing.T, s Stores) {
	all, blobs, folder, c := trees(t, s)
	ctx, ada, bob := t.Context(), create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	f, other := all.For(ada.ID, files.Quota{}), all.For(bob.ID, files.Quota{File: 1 << 20})
	large := noise(100_000, 3)
	hash := files.Hash(sha256.Sum256(large))
	m, err := manifestOf(map[string][]byte{"a": large})
	must(t, err)

	var refused interface{ Error() string }
	if _, err := f.StoreContent(ctx, hash, strings.NewReader("something else"), -1); err == nil || !errors.As(err, &refused) || !strings.Contains(err.Error(), "SHA-256") {
		t.Errorf("content under another's hash: %v", err)
	}
	broken := errors.New("cut off")
	_, err = f.StoreContent(ctx, hash, &failingReader{large[:90_000], broken}, -1)
	wantError(t, "content that was cut off", err, broken)
	if n := blobCount(t, folder); n != 0 {
		t.Errorf("%d blobs are left of what was refused", n)
	}
	made, err := f.StoreContent(ctx, hash, bytes.NewReader(large), int64(len(large)))
	must(t, err)
	again, err := f.StoreContent(ctx, hash, &failingReader{nil, broken}, -1)
	must(t, err)
	if !made || again {
		t.Errorf("made %t, again %t", made, again)
	}
	// It counts, and another account neither has it nor learns of it.
	if u, err := s.Files.Usage(ctx, ada.ID); err != nil || u.Bytes != 0 || u.Releases < 100_000 || u.Releases > 101_000 {
		t.Errorf("the usage is %+v, %v", u, err)
	}
	plan, err := other.PlanDeploy(ctx, m)
	must(t, err)
	same(t, "what another has to send", plan.Missing, []files.Hash{hash})
	var missing *files.MissingContent
	if _, _, err := other.Deploy(ctx, m, files.Deployment{}); !errors.As(err, &missing) || missing.Count != 1 {
		t.Errorf("a deploy of what another sent: %v", err)
	}
	var over *value.Error
	huge := noise(2<<20, 1)
	if _, err := other.StoreContent(ctx, sha256.Sum256(huge), bytes.NewReader(huge), -1); !errors.As(err, &over) {
		t.Errorf("content that is too large: %v", err)
	}

	// After a day it is gone, if no release has it.
	_, err = other.StoreContent(ctx, hash, bytes.NewReader(large), -1)
	must(t, err)
	_, _, err = other.Deploy(ctx, m, files.Deployment{})
	must(t, err)
	c.set(noon.Add(time.Hour))
	_, err = f.StoreContent(ctx, sha256.Sum256([]byte("later")), strings.NewReader("later"), -1)
	must(t, err)
	n, err := s.Files.DropStaged(ctx, noon.Add(time.Second), 100)
	must(t, err)
	if n != 1 {
		t.Errorf("%d contents went", n)
	}
	plan, err = f.PlanDeploy(ctx, m)
	must(t, err)
	same(t, "what is missing after a day", plan.Missing, []files.Hash{hash})
	wantSite(t, other, map[string][]byte{"a": large})
	// The blob is the other's, and no sweep takes it.
	_, err = blobs.Sweep(ctx, s.Files, noon.Add(1000*time.Hour), 0)
	must(t, err)
	wantSite(t, other, map[string][]byte{"a": large})
	must(t, other.Remove(ctx, "/site/a"))
	_, err = blobs.Sweep(ctx, s.Files, noon.Add(2000*time.Hour), 0)
	must(t, err)
	if n := blobCount(t, folder); n != 1 {
		t.Errorf("%d blobs are there, and the release has one", n)
	}
	_, _, err = other.Deploy(ctx, m, files.Deployment{})
	must(t, err)
	wantSite(t, other, map[string][]byte{"a": large})
	gone := all.For(4711, files.Quota{})
	_, err = gone.StoreContent(ctx, sha256.Sum256([]byte("x")), strings.NewReader("x"), -1)
	wantError(t, "content of nobody", err, account.ErrNotFound)
}

// failingReader gives some bytes, then an error.
type failingReader struct {
	rest []byte
	err  error
}

func (r *failingReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// testSiteKept: the newest releases are kept, and what only those before had is dead.
func testSiteKept(t *testing.T, s Stores) {
	all, blobs, folder, _ := trees(t, s)
	ctx, ada := t.Context(), create(t, s.Accounts, person("ada"))
	f := all.For(ada.ID, files.Quota{})
	const rounds = files.MaxReleases + 5
	for i := 1; i <= rounds; i++ {
		_, _, err := deploySite(ctx, f, map[string][]byte{"a": noise(70_000, byte(i)), "b": []byte("same")}, files.Deployment{})
		must(t, err)
	}
	list, err := f.Releases(ctx, 0, 100)
	must(t, err)
	if len(list) != files.MaxReleases || list[0].Number != rounds || list[len(list)-1].Number != rounds-files.MaxReleases+1 {
		t.Errorf("%d releases are kept, from %d to %d", len(list), list[len(list)-1].Number, list[0].Number)
	}
	wantDead(t, s, ada.ID, 5*70_000)
	_, err = blobs.Sweep(ctx, s.Files, noon, 0)
	must(t, err)
	if n := blobCount(t, folder); n != files.MaxReleases {
		t.Errorf("%d blobs are kept for %d releases", n, files.MaxReleases)
	}
	var gone *value.Error
	if _, err := f.AsOf(1).Read(ctx, "/site/a", 1<<20); !errors.As(err, &gone) || gone.Code != "file_changed" {
		t.Errorf("a release that is kept no more: %v", err)
	}
	for _, err := range f.AsOf(1).List(ctx, "/site", "") {
		if !errors.As(err, &gone) || gone.Code != "file_changed" {
			t.Errorf("its list: %v", err)
		}
	}
	wantSite(t, f.AsOf(rounds-3), map[string][]byte{"a": noise(70_000, rounds-3), "b": []byte("same")})
	dropped := 0
	for {
		ok, err := s.Files.DropOldestRelease(ctx, ada.ID, 10)
		must(t, err)
		if !ok {
			break
		}
		dropped++
	}
	list, err = f.Releases(ctx, 0, 100)
	must(t, err)
	if dropped != files.MaxReleases-2 || len(list) != 2 || list[0].Number != rounds || list[1].Number != 10 {
		t.Errorf("after %d that went there are %+v", dropped, list)
	}
}

// testSiteUsage: what releases take is counted as it is, whatever is done in whichever order.
func testSiteUsage(t *testing.T, s Stores) {
	all, _, _, c := trees(t, s)
	ctx, ada := t.Context(), create(t, s.Accounts, person("ada"))
	f := all.For(ada.ID, files.Quota{})
	state := uint32(1)
	pick := func(n int) int { // the same each time, in no order
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		return int(state % uint32(n))
	}
	content := func() []byte {
		return noise([]int{10, 70_000, 80_000, 300_000}[pick(4)], byte(pick(4)))
	}
	now := noon
	for i := range 150 {
		now = now.Add(time.Hour)
		c.set(now)
		var err error
		switch pick(8) {
		case 0, 1, 2:
			site := map[string][]byte{}
			for range pick(4) {
				site[[]string{"a", "b", "c/d"}[pick(3)]] = content()
			}
			_, _, err = deploySite(ctx, f, site, files.Deployment{})
		case 3:
			bytesOf := content()
			_, err = f.StoreContent(ctx, sha256.Sum256(bytesOf), bytes.NewReader(bytesOf), -1)
		case 4:
			err = f.Write(ctx, []string{"/site/a", "/site/e", "/x"}[pick(3)], content())
		case 5:
			err = f.Remove(ctx, []string{"/site/a", "/site/b", "/x"}[pick(3)])
		case 6:
			_, err = s.Files.DropOldestRelease(ctx, ada.ID, 0)
		case 7:
			_, err = s.Files.DropStaged(ctx, now.Add(-5*time.Hour), 2)
		}
		var told *value.Error
		if err != nil && !errors.As(err, &told) {
			t.Fatalf("round %d: %v", i, err)
		}
	}
	// All but the files goes: then nothing is counted any more.
	_, _, err := deploySite(ctx, f, nil, files.Deployment{})
	must(t, err)
	for {
		n, err := s.Accounts.Purge(ctx, ada.ID, 100)
		must(t, err)
		if n == 0 {
			break
		}
	}
	if u, err := s.Files.Usage(ctx, ada.ID); err != nil || u.Releases != 0 || u.Bytes != 0 {
		t.Errorf("the usage of nothing is %+v, %v", u, err)
	}
}

// testSiteConditions: a deploy is made of what was seen, or not at all.
func testSiteConditions(t *testing.T, s Stores) {
	all, _, _, _ := trees(t, s)
	ctx, ada := t.Context(), create(t, s.Accounts, person("ada"))
	f := all.For(ada.ID, files.Quota{Nodes: 10})
	no := errors.New("no")
	_, _, err := deploySite(ctx, f, map[string][]byte{"a": nil}, files.Deployment{If: func(r files.Release) error {
		if r.Number != 0 {
			t.Errorf("the current release is %d", r.Number)
		}
		return no
	}})
	wantError(t, "a condition", err, no)
	// Many at once: each makes a release of its own.
	const writers = 8
	must(t, errors.Join(atOnce(writers, func(i int) error {
		_, made, err := deploySite(ctx, f, map[string][]byte{"a": []byte(strconv.Itoa(i)), "b": noise(70_000, byte(i))}, files.Deployment{})
		var missing *files.MissingContent
		if errors.As(err, &missing) { // another deploy took what this one had sent
			return nil
		}
		if err == nil && !made {
			err = fmt.Errorf("%d made nothing", i)
		}
		return err
	})...))
	current, err := f.Release(ctx)
	must(t, err)
	list, err := f.Releases(ctx, 0, 100)
	must(t, err)
	if len(list) == 0 || current.Number != int64(len(list)) {
		t.Errorf("%d releases, and %d is the current one", len(list), current.Number)
	}
	var over *value.Error
	many := map[string][]byte{}
	for i := range 12 {
		many[strconv.Itoa(i)] = nil
	}
	if _, _, err := deploySite(ctx, f, many, files.Deployment{}); !errors.As(err, &over) || over.Limit == nil || over.Limit.Name != "files" {
		t.Errorf("too many files: %v", err)
	}
	// What stands in the way of the folder is said.
	g := all.For(create(t, s.Accounts, person("bob")).ID, files.Quota{})
	for _, path := range []string{"/Site", "/site"} {
		must(t, g.Write(ctx, path, nil))
		if _, _, err := deploySite(ctx, g, nil, files.Deployment{}); !errors.As(err, &over) {
			t.Errorf("%s in the way: %v", path, err)
		}
		must(t, g.Remove(ctx, path))
	}
}

// testSiteViews: while a site is deployed again and again, whoever reads as of a release reads that
// release, and never a part of another.
func testSiteViews(t *testing.T, s Stores) {
	all, _, _, _ := trees(t, s)
	ctx, ada := t.Context(), create(t, s.Accounts, person("ada"))
	f := all.For(ada.ID, files.Quota{})
	site := func(i int) map[string][]byte {
		mark := strconv.Itoa(i)
		m := map[string][]byte{"a": []byte(mark), "b/c": []byte(mark), "in/" + mark: []byte(mark)}
		m["large"] = append([]byte(mark+"\n"), noise(70_000, byte(i))...)
		return m
	}
	_, _, err := deploySite(ctx, f, site(1), files.Deployment{})
	must(t, err)
	const deploys = 50
	done := make(chan struct{})
	var readers sync.WaitGroup
	views := 0
	for i := range 2 {
		readers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					if i == 0 {
						views = n
					}
					return
				default:
				}
				if err := checkView(ctx, f); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := 2; i <= deploys; i++ {
		_, _, err := deploySite(ctx, f, site(i), files.Deployment{})
		if err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	readers.Wait()
	t.Logf("%d views by one of two readers during %d deploys", views, deploys)
}

// checkView reads all of a site as one page view would, and checks that it is of one release.
func checkView(ctx context.Context, f *files.Tree) error {
	current, err := f.Release(ctx)
	if err != nil {
		return err
	}
	view, mark := f.AsOf(current.Number), strconv.FormatInt(current.Number, 10)
	for _, path := range []string{"/site/a", "/site/b/c", "/site/in/" + mark, "/site/large"} {
		content, err := view.Read(ctx, path, 1<<20)
		var gone *value.Error
		if errors.As(err, &gone) && gone.Code == "file_changed" {
			return nil // this reader was slower than 20 deploys
		}
		if first, _, _ := strings.Cut(string(content), "\n"); err != nil || first != mark {
			return fmt.Errorf("%s of release %s is of %.10q, %w", path, mark, content, err)
		}
	}
	for info, err := range view.List(ctx, "/site/in", "") {
		var gone *value.Error
		if errors.As(err, &gone) && gone.Code == "file_changed" {
			return nil
		}
		if err != nil || info.Name != mark {
			return fmt.Errorf("the list of release %s has %q, %w", mark, info.Name, err)
		}
	}
	return nil
}

// testSitePurge removes an account's site little by little, and with the account.
func testSitePurge(t *testing.T, s Stores) {
	all, blobs, folder, _ := trees(t, s)
	ctx, ada, bob := t.Context(), create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	for _, id := range []account.ID{ada.ID, bob.ID} {
		f := all.For(id, files.Quota{})
		for i := range 3 {
			_, _, err := deploySite(ctx, f, map[string][]byte{"a": noise(70_000, byte(i)), "b/c": []byte("c"), "d": []byte{byte(i)}}, files.Deployment{})
			must(t, err)
		}
		_, err := f.StoreContent(ctx, sha256.Sum256([]byte("staged")), strings.NewReader("staged"), -1)
		must(t, err)
	}
	for {
		n, err := s.Accounts.Purge(ctx, ada.ID, 2)
		must(t, err)
		if n == 0 {
			break
		}
	}
	list, err := s.Files.Releases(ctx, ada.ID, 0, 100)
	must(t, err)
	if u, err := s.Files.Usage(ctx, ada.ID); err != nil || u.Stored() != 0 || len(list) != 0 {
		t.Errorf("the usage is %+v, with %d releases, %v", u, len(list), err)
	}
	must(t, s.Accounts.Delete(ctx, bob.ID))
	if u, err := s.Files.Usage(ctx, bob.ID); err != nil || u.Stored() != 0 {
		t.Errorf("the usage of nobody is %+v, %v", u, err)
	}
	_, err = blobs.Sweep(ctx, s.Files, noon, 0)
	must(t, err)
	if n := blobCount(t, folder); n != 0 {
		t.Errorf("%d blobs of nobody are left", n)
	}
}
