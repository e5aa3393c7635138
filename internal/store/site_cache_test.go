package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/resource/files"
)

// countedFiles is a store of files that counts what is read.
type countedFiles struct {
	files.Store
	reads   int
	release int64
	text    string
	during  func() // runs while something is read
}

func (c *countedFiles) read() {
	c.reads++
	if c.during != nil {
		c.during()
	}
}

func (c *countedFiles) CurrentRelease(context.Context, account.ID) (files.Release, error) {
	defer c.read()
	return files.Release{Number: c.release}, nil
}

func (c *countedFiles) FindAsOf(_ context.Context, _ account.ID, _ int64, keys []string) ([]*files.Node, error) {
	found := make([]*files.Node, len(keys))
	for i, key := range keys {
		if !strings.HasSuffix(key, "NONE") {
			found[i] = &files.Node{Path: key, Size: int64(len(c.text))}
		}
	}
	c.read()
	return found, nil
}

func (c *countedFiles) ContentAsOf(_ context.Context, _ account.ID, _ int64, key string) (*files.Node, error) {
	defer c.read()
	return &files.Node{Path: key, Size: int64(len(c.text)), Tail: []byte(c.text)}, nil
}

func (c *countedFiles) ChildrenAsOf(context.Context, account.ID, int64, string, string, int) (*files.Node, []files.Node, error) {
	defer c.read()
	return &files.Node{Folder: true}, []files.Node{{Path: c.text}}, nil
}

type siteVersions struct {
	of     map[account.ID]uint64
	unsure bool
}

func (v *siteVersions) SiteVersion(a account.ID) (uint64, bool) { return v.of[a], !v.unsure }

func TestSiteCache(t *testing.T) {
	source, v := &countedFiles{release: 1, text: "one"}, &siteVersions{of: map[account.ID]uint64{}}
	cached := Store{Files: source, SiteVersions: v}.CacheSites().Files
	const ada, bob = 1, 2
	want := func(what string, a account.ID, reads int, text string) {
		t.Helper()
		source.reads = 0
		r, err := cached.CurrentRelease(t.Context(), a)
		found, err2 := cached.FindAsOf(t.Context(), a, r.Number, []string{"/SITE/A", "/SITE/NONE"})
		content, err3 := cached.ContentAsOf(t.Context(), a, r.Number, "/SITE/A")
		_, list, err4 := cached.ChildrenAsOf(t.Context(), a, r.Number, "/SITE", "/site/[", 8)
		if err != nil || err2 != nil || err3 != nil || err4 != nil || source.reads != reads || found[0].Size != int64(len(text)) || found[1] != nil || string(content.Tail) != text || list[0].Path != text {
			t.Errorf("%s: %d reads, %v, %+v, %q", what, source.reads, found, list, content.Tail)
		}
	}
	want("at first", ada, 4, "one")
	want("again", ada, 0, "one")
	want("another's", bob, 4, "one")
	source.text, v.of[ada] = "three", 1
	want("after a change", ada, 4, "three")
	want("another's stays", bob, 0, "one")
	v.unsure = true
	want("where the store cannot tell", ada, 4, "three")
	v.unsure = false

	// What is not of the site, or not of the current release, is read each time.
	source.reads = 0
	for range 2 {
		_, _ = cached.ContentAsOf(t.Context(), ada, 1, "/X")
		_, _ = cached.FindAsOf(t.Context(), ada, 1, []string{"/SITE/A", "/X"})
		_, _ = cached.ContentAsOf(t.Context(), ada, 7, "/SITE/A")
		_, _ = cached.FindAsOf(t.Context(), ada, 7, []string{"/SITE/A"})
		_, _, _ = cached.ChildrenAsOf(t.Context(), ada, 7, "/SITE", "/site/[", 8)
		_, _, _ = cached.ChildrenAsOf(t.Context(), ada, 1, "/SITE", "/site/[", 1000)
	}
	if source.reads != 12 {
		t.Errorf("%d reads of what is not held, not 12", source.reads)
	}

	// A change that is made while a file is read: what was read may be old.
	v.of[ada] = 2
	source.during = func() { v.of[ada]++; source.text = "later"; source.during = nil }
	if n, err := cached.ContentAsOf(t.Context(), ada, 1, "/SITE/A"); err != nil || string(n.Tail) != "three" {
		t.Fatalf("%+v, %v", n, err)
	}
	want("after a change meanwhile", ada, 4, "later")
}

// TestSiteCacheIsBounded: whatever strangers ask for, no more is held.
func TestSiteCacheIsBounded(t *testing.T) {
	source, v := &countedFiles{release: 1, text: strings.Repeat("x", 60_000)}, &siteVersions{of: map[account.ID]uint64{}}
	cached := Store{Files: source, SiteVersions: v}.CacheSites().Files
	c := cached.(*siteCache)
	most, mostOfOne := int64(0), int64(0)
	check := func() {
		sum := int64(0)
		for _, s := range c.sites {
			sum += s.bytes
			mostOfOne = max(mostOfOne, s.bytes)
		}
		if sum != c.bytes {
			t.Fatalf("%d bytes are counted, and %d are held", c.bytes, sum)
		}
		most = max(most, c.bytes)
	}
	for a := range account.ID(20) {
		_, _ = cached.CurrentRelease(t.Context(), a)
		for i := range 60 {
			_, _ = cached.ContentAsOf(t.Context(), a, 1, fmt.Sprintf("/SITE/%d", i))
			check()
		}
		finds := 50
		if a%5 == 0 {
			finds = 2000 // more than one site may have
		}
		for i := range finds {
			_, _ = cached.FindAsOf(t.Context(), a, 1, []string{fmt.Sprintf("/SITE/%d/%s", i, strings.Repeat("A", 900)), fmt.Sprintf("/SITE/%d/NONE", i)})
			_, _ = cached.CurrentRelease(t.Context(), a)
		}
		check()
		if a == 3 {
			v.of[a]++
		}
		_, _ = cached.CurrentRelease(t.Context(), a)
		check()
	}
	if most > cachedSites || mostOfOne > cachedSite || most < cachedSites/2 {
		t.Errorf("up to %d bytes are held, %d of one site", most, mostOfOne)
	}
}
