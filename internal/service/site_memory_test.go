package service

import (
	"fmt"
	"testing"

	"ql/internal/account"
	"ql/internal/site"
)

// remember adds a site of a version.
func (m *siteMemory) remember(a account.ID, version uint64) *heldFolder {
	f := &heldFolder{account: a, version: version, settings: site.Defaults()}
	m.add(f)
	return f
}

// remembered adds a path with content.
func (m *siteMemory) remembered(f *heldFolder, path string, bytes int) {
	p := m.addPath(f, path, site.Target{Kind: site.Static, Path: site.Root + path})
	m.addContent(f, path, p, bytes, func() bool { return p.file.CompareAndSwap(nil, &HeldFile{Content: make([]byte, 1)}) })
}

func TestSiteMemoryIsOfOneVersion(t *testing.T) {
	var m siteMemory
	old := m.remember(1, 4)
	m.remembered(old, "/a", 10)
	if m.find(1, 4) != old || m.find(1, 5) != nil || m.find(2, 4) != nil {
		t.Error("what is found is not of the version")
	}
	now := m.remember(1, 5)
	if m.find(1, 5) != now || m.find(1, 4) != nil || m.path(now, "/a") != nil {
		t.Error("a later version has not taken the place of the earlier one")
	}
	// Who began before the change goes on, and leaves nothing behind.
	before := m.bytes
	m.remembered(old, "/b", 10)
	late := m.remember(1, 4)
	m.remembered(late, "/c", 10)
	if m.find(1, 5) != now || m.path(now, "/b") != nil || m.path(now, "/c") != nil || m.bytes != before {
		t.Error("what was read under an earlier version is remembered under the later one")
	}
}

func TestSiteMemoryIsBounded(t *testing.T) {
	var m siteMemory
	one := m.remember(1, 1)
	for i := range 10_000 { // of one site
		m.remembered(one, fmt.Sprintf("/%d", i), i)
		if one.bytes > heldSite || m.bytes != one.bytes {
			t.Fatalf("after %d paths %d bytes are held of a site, %d in all", i, one.bytes, m.bytes)
		}
	}
	if len(one.paths) == 0 {
		t.Error("nothing is held of a site that is too large for all of it")
	}
	for a := account.ID(2); a < 40; a++ { // of many, all of which have much
		f := m.remember(a, 1)
		for i := range 40 {
			m.remembered(f, fmt.Sprintf("/%d", i), mostHeld)
			m.find(2, 1) // which is in use
		}
		if m.bytes > heldSites {
			t.Fatalf("with %d sites %d bytes are held", a, m.bytes)
		}
	}
	if m.find(2, 1) == nil {
		t.Error("a site that is in use was forgotten before others")
	}
	if m.find(1, 1) != nil || m.find(3, 1) != nil || m.find(39, 1) == nil {
		t.Error("it is not the sites of the longest time ago that were forgotten")
	}
	sum := int64(0)
	for e := m.order.Front(); e != nil; e = e.Next() {
		f, _ := e.Value.(*heldFolder)
		sum += f.bytes
	}
	if sum != m.bytes || m.order.Len() != len(m.sites) {
		t.Errorf("%d bytes are counted of %d, %d sites of %d", m.bytes, sum, m.order.Len(), len(m.sites))
	}
}
