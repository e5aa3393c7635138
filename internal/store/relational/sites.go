package relational

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
	"ql/internal/resource/files"
)

const releaseColumns = "number, made, credential, key, restored, files, bytes"

func readRelease(r row) files.Release {
	return files.Release{Number: r.int(0), Made: r.time(1), By: r.text(2), Key: r.text(3), Restored: r.int(4), Files: r.int(5), Bytes: r.int(6)}
}

// CurrentRelease implements files.SiteStore.
func (s Files) CurrentRelease(ctx context.Context, a account.ID) (found files.Release, err error) {
	list, err := s.Releases(ctx, a, 0, 1)
	if len(list) > 0 {
		found = list[0]
	}
	return found, err
}

// Releases implements files.SiteStore.
func (s Files) Releases(ctx context.Context, a account.ID, before int64, limit int) (list []files.Release, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+releaseColumns+" FROM site_releases WHERE account = ?1 AND (?2 = 0 OR number < ?2) ORDER BY number DESC LIMIT ?3",
			func(r row) { list = append(list, readRelease(r)) }, int64(a), before, max(limit, 0))
	})
	return list, err
}

// currentRelease returns the number of the current release, 0 for none.
func (t tx) currentRelease(a account.ID) (number int64, err error) {
	_, err = t.one("SELECT number FROM site_releases WHERE account = ? ORDER BY number DESC LIMIT 1", func(r row) { number = r.int(0) }, int64(a))
	return number, err
}

// requireRelease is files.ErrNoRelease where there is no such release.
func (t tx) requireRelease(a account.ID, number int64) error {
	found, err := t.has("SELECT 1 FROM site_releases WHERE account = ? AND number = ?", int64(a), number)
	if err == nil && !found {
		err = files.ErrNoRelease
	}
	return err
}

// ReleaseFiles implements files.SiteStore.
func (s Files) ReleaseFiles(ctx context.Context, a account.ID, number int64) (list []files.SiteFile, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.snapshot(func() error {
			if err := t.requireRelease(a, number); err != nil {
				return err
			}
			return t.each(`SELECT path, digest FROM site_files JOIN site_contents ON seq = content
				WHERE site_files.account = ? AND release = ? ORDER BY path`, func(r row) {
				f := files.SiteFile{Path: r.text(0)}
				copy(f.Content[:], r.s.Blob(1))
				list = append(list, f)
			}, int64(a), number)
		})
	})
	return list, err
}

// SiteContent implements files.SiteStore.
func (s Files) SiteContent(ctx context.Context, a account.ID, digest files.Hash) (n *files.Node, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.snapshot(func() (err error) {
			n, err = t.siteContent(a, "account = ? AND digest = ?", int64(a), digest[:])
			return err
		})
	})
	return n, err
}

// siteContent returns the content that meets a condition; nil where there is none.
func (t tx) siteContent(a account.ID, condition string, args ...any) (n *files.Node, err error) {
	var seq int64
	whole := true
	if _, err := t.one("SELECT seq, size, tail, checksum FROM site_contents WHERE "+condition, func(r row) {
		n = &files.Node{Size: r.int(1), Tail: r.bytes(2)}
		seq, whole = r.int(0), r.matches(3, n.Tail)
	}, args...); err != nil {
		return nil, err
	}
	if !whole {
		return nil, fmt.Errorf("content %d of the site of account %d has changed in the store since it was written: the disk is damaged", seq, a)
	}
	if n == nil || n.Size == int64(len(n.Tail)) {
		return n, nil
	}
	n.Chunks, err = t.siteChunks(a, seq)
	return n, err
}

func (t tx) siteChunks(a account.ID, content int64) (list []files.Chunk, err error) {
	err = t.each("SELECT hash, size FROM site_chunks WHERE account = ? AND content = ? ORDER BY number", func(r row) {
		c := files.Chunk{Size: r.int(1)}
		copy(c.Hash[:], r.s.Blob(0))
		list = append(list, c)
	}, int64(a), content)
	return list, err
}

// AddSiteContent implements files.SiteStore. An account that is not there is account.ErrNotFound.
func (s Files) AddSiteContent(ctx context.Context, a account.ID, digest files.Hash, n files.Node) error {
	return orphaned(s.store.write(ctx, func(t tx) error {
		there, err := t.has("SELECT 1 FROM site_contents WHERE account = ? AND digest = ?", int64(a), digest[:])
		if err != nil || there {
			return err
		}
		content, err := t.insert("seq", "INSERT INTO site_contents (account, digest, size, tail, checksum) VALUES (?, ?, ?, ?, ?)",
			int64(a), digest[:], n.Size, append([]byte{}, n.Tail...), checksum(n.Tail))
		if err != nil {
			return err
		}
		if err := t.useSite(int64(a), int64(len(n.Tail))+siteContentBytes); err != nil {
			return err
		}
		for i := range n.Chunks {
			deleting, err := t.isDeleting(n.Chunks[i].Hash)
			if err == nil && deleting {
				err = files.ErrDeleting
			}
			if err != nil {
				return err
			}
			if err := t.addChunk(&siteChunks, int64(a), content, int64(i), n.Chunks[i]); err != nil {
				return err
			}
		}
		_, err = t.exec("INSERT INTO site_staged (content, account, made) VALUES (?, ?, ?)", content, int64(a), n.Modified)
		return err
	}))
}

// SiteSources implements files.SiteStore.
func (s Files) SiteSources(ctx context.Context, a account.ID, digests []files.Hash) (map[files.Hash]files.SiteSource, error) {
	found := make(map[files.Hash]files.SiteSource, len(digests))
	err := s.store.read(ctx, func(t tx) error {
		return t.snapshot(func() error {
			for i := range digests {
				var content int64
				var source files.SiteSource
				ok, err := t.one("SELECT seq, size, length(tail) FROM site_contents WHERE account = ? AND digest = ?", func(r row) {
					content, source.Size, source.Tail = r.int(0), r.int(1), r.int(2)
				}, int64(a), digests[i][:])
				if err != nil {
					return err
				}
				if !ok {
					continue
				}
				if source.Size > source.Tail {
					err = t.each(`SELECT hash, size FROM site_chunks AS own WHERE account = ?1 AND content = ?2
						AND NOT EXISTS (SELECT 1 FROM file_chunks WHERE hash = own.hash AND account = ?1)`, func(r row) {
						c := files.Chunk{Size: r.int(1)}
						copy(c.Hash[:], r.s.Blob(0))
						source.Moves = append(source.Moves, c)
					}, int64(a), content)
				}
				if err != nil {
					return err
				}
				found[digests[i]] = source
			}
			return nil
		})
	})
	return found, err
}

// CompareSite implements files.SiteStore.
func (s Files) CompareSite(ctx context.Context, a account.ID, m *files.Manifest, limit int) (list []files.SiteNode, err error) {
	after, before := below(files.Key(files.SiteFolder))
	err = s.store.read(ctx, func(t tx) error {
		return t.snapshot(func() error {
			var keys []string
			if err := t.each("SELECT key, path, folder, size, length(tail) FROM files WHERE account = ? AND key > ? AND key < ? ORDER BY key LIMIT ?", func(r row) {
				keys = append(keys, r.text(0))
				list = append(list, files.SiteNode{Path: r.text(1), Folder: r.bool(2), Size: r.int(3), Tail: r.int(4)})
			}, int64(a), after, before, max(limit, 0)); err != nil {
				return err
			}
			for i, key := range keys {
				f, ok := m.At(key)
				if n := &list[i]; ok && !n.Folder && f.Path == n.Path {
					if n.Same, err = t.isSiteContent(a, key, f.Content); err != nil {
						return err
					}
				}
			}
			return nil
		})
	})
	return list, err
}

// isSiteContent reports whether a file has a content: the same tail and the same blobs.
func (t tx) isSiteContent(a account.ID, key string, digest files.Hash) (bool, error) {
	var file, content int64
	chunked := false
	same, err := t.one(`SELECT files.seq, content.seq, content.size > length(content.tail) FROM files JOIN site_contents AS content ON content.account = ?1 AND digest = ?3
		WHERE files.account = ?1 AND files.key = ?2 AND files.size = content.size AND files.tail = content.tail`,
		func(r row) { file, content, chunked = r.int(0), r.int(1), r.bool(2) }, int64(a), key, digest[:])
	if err != nil || !same || !chunked {
		return same, err
	}
	has, err := t.fileChunks(a, file)
	if err != nil {
		return false, err
	}
	wants, err := t.siteChunks(a, content)
	return slices.Equal(has, wants), err
}

// DeploySite implements files.SiteStore. An account that is not there is account.ErrNotFound.
func (s Files) DeploySite(ctx context.Context, a account.ID, before, after files.Usage, d files.SiteApply) (done bool, err error) {
	done, err = s.store.change(ctx, func(t tx) (bool, error) {
		defer t.conn.Conn.ChangesFiles(a, true)()
		current, err := t.currentRelease(a)
		if err != nil || current+1 != d.Release.Number {
			return false, err
		}
		n, err := t.setUsage(a, before, after)
		if err != nil || n == 0 {
			return false, err
		}
		if err := t.deploy(int64(a), &d); err != nil {
			return false, err
		}
		act := audit.SiteDeployed
		if d.Release.Restored > 0 {
			act = audit.SiteRestored
		}
		return true, t.audit(ctx, audit.Event{Account: a, Act: act, On: "main@" + strconv.FormatInt(d.Release.Number, 10)})
	})
	return done, orphaned(err)
}

// deploy changes the folder of a site, and adds the release that has it.
func (t tx) deploy(a int64, d *files.SiteApply) error {
	for _, path := range d.Drop {
		if err := t.dropFile(a, files.Key(path)); err != nil {
			return err
		}
	}
	for _, path := range d.Make {
		if err := t.putNode(a, files.Node{Path: path, Folder: true, Modified: d.Release.Made}); err != nil {
			return err
		}
	}
	for i := range d.Put {
		if err := t.putSiteFile(a, &d.Put[i], d.Release.Made); err != nil {
			return err
		}
	}
	r := &d.Release
	if _, err := t.exec("INSERT INTO site_releases (account, "+releaseColumns+", weight) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		a, r.Number, r.Made, r.By, r.Key, r.Restored, r.Files, r.Bytes, d.Weight); err != nil {
		return err
	}
	if err := t.useSite(a, d.Weight); err != nil {
		return err
	}
	for i := range d.Files {
		f := &d.Files[i]
		n, err := t.exec(`INSERT INTO site_files (account, release, key, parent, path, modified, content)
			SELECT ?1, ?2, files.key, parent, path, modified, site_contents.seq FROM files JOIN site_contents ON site_contents.account = ?1 AND digest = ?4
			WHERE files.account = ?1 AND files.key = ?3`, a, r.Number, files.Key(f.Path), f.Content[:])
		if err == nil && n == 0 {
			err = fmt.Errorf("the file %s of a release of account %d is not there", f.Path, a)
		}
		if err != nil {
			return err
		}
	}
	key := files.Key(files.SiteFolder)
	after, before := below(key)
	if _, err := t.exec(`INSERT INTO site_files (account, release, key, parent, path, modified)
		SELECT account, ?2, key, parent, path, modified FROM files WHERE account = ?1 AND folder = 1 AND (key = ?3 OR key > ?4 AND key < ?5)`,
		a, r.Number, key, after, before); err != nil {
		return err
	}
	if _, err := t.dropReleases(a, "number NOT IN (SELECT number FROM site_releases WHERE account = ?1 ORDER BY number DESC LIMIT ?2)", files.MaxReleases); err != nil {
		return err
	}
	return t.dropUnusedContents(a, true)
}

// putSiteFile stores a file with content of the site, which never leaves the store.
func (t tx) putSiteFile(a int64, f *files.SiteFile, modified time.Time) error {
	key := files.Key(f.Path)
	if err := t.dropFile(a, key); err != nil {
		return err
	}
	there, err := t.has("SELECT 1 FROM site_contents WHERE account = ? AND digest = ?", a, f.Content[:])
	if err == nil && !there {
		err = fmt.Errorf("the content of %s, which account %d is to have, is not there", f.Path, a)
	}
	if err != nil {
		return err
	}
	seq, err := t.insert("seq", `INSERT INTO files (account, key, parent, path, folder, size, modified, tail, checksum)
		SELECT account, ?3, ?4, ?5, 0, size, ?6, tail, checksum FROM site_contents WHERE account = ?1 AND digest = ?2`,
		a, f.Content[:], key, files.ParentKey(f.Path), f.Path, modified)
	if err != nil {
		return err
	}
	var content int64
	if _, err := t.one("SELECT seq FROM site_contents WHERE account = ? AND digest = ?", func(r row) { content = r.int(0) }, a, f.Content[:]); err != nil {
		return err
	}
	chunks, err := t.siteChunks(account.ID(a), content)
	if err != nil {
		return err
	}
	for i := range chunks {
		if err := t.addChunk(&fileChunks, a, seq, int64(i)+1, chunks[i]); err != nil {
			return err
		}
	}
	return nil
}

// dropUnusedContents removes the contents that no release has; what was sent for one stays, unless it
// is to go too.
func (t tx) dropUnusedContents(a int64, staged bool) error {
	_, err := t.dropSiteContents(`SELECT seq, account FROM site_contents WHERE account = ?1
		AND seq NOT IN (SELECT content FROM site_files WHERE account = ?1 AND content IS NOT NULL)
		AND (?2 = 1 OR seq NOT IN (SELECT content FROM site_staged WHERE account = ?1))`, a, staged)
	if err != nil || !staged {
		return err
	}
	_, err = t.exec("DELETE FROM site_staged WHERE account = ?", a)
	return err
}

// DropOldestRelease implements files.SiteStore.
func (s Files) DropOldestRelease(ctx context.Context, a account.ID, keep int64) (dropped bool, err error) {
	err = s.store.writeFreeing(ctx, func(t tx) error {
		n, err := t.dropReleases(int64(a), `number = (SELECT min(number) FROM site_releases WHERE account = ?1 AND number <> ?2)
			AND number < (SELECT max(number) FROM site_releases WHERE account = ?1)`, keep)
		if dropped = n > 0; err != nil || !dropped {
			return err
		}
		return t.dropUnusedContents(int64(a), false)
	})
	return dropped && err == nil, err
}

// DropStaged implements files.SiteStore.
func (s Files) DropStaged(ctx context.Context, before time.Time, limit int) (dropped int, err error) {
	err = s.store.writeFreeing(ctx, func(t tx) error {
		dropped, err = t.dropSiteContents("SELECT content, account FROM site_staged WHERE made < ? LIMIT ?", before, max(limit, 0))
		return err
	})
	return dropped, err
}

// releaseNodes selects nodes of a release, as nodeColumns has them.
const releaseNodes = `SELECT path, content IS NULL, coalesce(size, 0), modified FROM site_files LEFT JOIN site_contents ON seq = content
	WHERE site_files.account = ? AND release = ? AND `

// asOf calls one of two functions, within one snapshot: the first where a release is the current one, and
// the second where it is another that is kept.
func (s Files) asOf(ctx context.Context, a account.ID, release int64, current, earlier func(tx) error) error {
	return s.store.read(ctx, func(t tx) error {
		return t.snapshot(func() error {
			number, err := t.currentRelease(a)
			if err != nil {
				return err
			}
			if number == release {
				return current(t)
			}
			if err := t.requireRelease(a, release); err != nil {
				return err
			}
			return earlier(t)
		})
	})
}

// ContentAsOf implements files.ReleaseReader.
func (s Files) ContentAsOf(ctx context.Context, a account.ID, release int64, key string) (found *files.Node, err error) {
	err = s.asOf(ctx, a, release, func(t tx) (err error) {
		found, err = t.content(a, key)
		return err
	}, func(t tx) (err error) {
		found, err = t.releaseContent(a, release, key)
		return err
	})
	return found, err
}

// releaseContent returns a node of a release with its content; nil where there is none.
func (t tx) releaseContent(a account.ID, release int64, key string) (*files.Node, error) {
	n, content := files.Node{}, int64(0)
	ok, err := t.one("SELECT path, modified, content FROM site_files WHERE account = ? AND release = ? AND key = ?", func(r row) {
		n = files.Node{Path: r.text(0), Modified: r.time(1), Folder: r.null(2)}
		content = r.int(2)
	}, int64(a), release, key)
	if err != nil || !ok {
		return nil, err
	}
	if n.Folder {
		return &n, nil
	}
	whole, err := t.siteContent(a, "seq = ?", content)
	if err == nil && whole == nil {
		err = fmt.Errorf("the content of %s in release %d of account %d is not there", key, release, a)
	}
	if err != nil {
		return nil, err
	}
	n.Size, n.Chunks, n.Tail = whole.Size, whole.Chunks, whole.Tail
	return &n, nil
}

// FindAsOf implements files.ReleaseReader.
func (s Files) FindAsOf(ctx context.Context, a account.ID, release int64, keys []string) ([]*files.Node, error) {
	found := make([]*files.Node, len(keys))
	each := func(sql string, args ...any) func(tx) error {
		return func(t tx) error {
			for i, key := range keys {
				if _, err := t.one(sql, func(r row) {
					n := readNode(r)
					found[i] = &n
				}, append(args[:len(args):len(args)], key)...); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return found, s.asOf(ctx, a, release, each(nodeByKey, int64(a)), each(releaseNodes+"key = ?", int64(a), release))
}

// ChildrenAsOf implements files.ReleaseReader.
func (s Files) ChildrenAsOf(ctx context.Context, a account.ID, release int64, key, after string, limit int) (folder *files.Node, children []files.Node, err error) {
	one := func(r row) {
		n := readNode(r)
		folder = &n
	}
	add := func(r row) { children = append(children, readNode(r)) }
	err = s.asOf(ctx, a, release, func(t tx) error {
		if _, err := t.one(nodeByKey, one, int64(a), key); err != nil {
			return err
		}
		return t.children(a, key, after, limit, add)
	}, func(t tx) error {
		if _, err := t.one(releaseNodes+"key = ?", one, int64(a), release, key); err != nil {
			return err
		}
		return t.each(releaseNodes+"parent = ? AND path > ? ORDER BY path LIMIT ?", add, int64(a), release, key, after, max(limit, 0))
	})
	return folder, children, err
}
