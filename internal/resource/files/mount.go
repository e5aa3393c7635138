package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"ql/internal/engine"
	"ql/lang/value"
)

// Mount is a real folder in the place of a folder at the top of an account's files, for a developer
// who edits what is in it with programs of their own.
type Mount struct {
	At    string // the folder's path in the account, such as /site
	Dir   *Dir
	Watch Watch
}

// Watch is told what is looked at below a mount, and what changes there by way of it. Paths are
// those in the folder.
type Watch interface {
	// Looked notes that something depends on what stands at a path.
	Looked(ctx context.Context, path string)
	// Listed notes that something depends on which names of a folder begin so.
	Listed(ctx context.Context, folder, beginning string)
	// Changing notes a change that begins; done is called when it has ended.
	Changing(paths ...string) (done func())
}

// Over returns an account's files with the real folder in its place.
func (m *Mount) Over(t *Tree) *Mounted { return &Mounted{mount: m, tree: t} }

// Mounted are an account's files, of which one folder is a real one.
type Mounted struct {
	mount *Mount
	tree  *Tree
}

var _ engine.Files = (*Mounted)(nil)

// inside returns the path that a path of the account has in the real folder.
func (m *Mount) inside(at string) (local string, ok bool) {
	canonical, err := Canonical(at)
	if err != nil {
		return "", false
	}
	rest, ok := strings.CutPrefix(canonical, m.At)
	switch {
	case !ok:
		return "", false
	case rest == "":
		return top, true
	}
	return rest, rest[0] == '/'
}

// outside is the path in the account of one in the real folder.
func (m *Mount) outside(local string) string { return m.At + strings.TrimSuffix(local, top) }

// named has an error say the paths of the account.
func (m *Mount) named(err error, locals ...string) error {
	var known *value.Error
	if !errors.As(err, &known) {
		return err
	}
	e := *known
	for _, local := range locals {
		e.Message = strings.ReplaceAll(e.Message, value.Quote(local), value.Quote(m.outside(local)))
	}
	return &e
}

// change makes a change of the real folder.
func (m *Mount) change(work func() error, locals ...string) error {
	if slices.Contains(locals, top) {
		return m.refuseTop()
	}
	done := m.Watch.Changing(locals...)
	defer done()
	return m.named(work(), locals...)
}

func (m *Mount) refuseTop() error {
	return refuse(m.At, "it is a real folder here, which stays where it is")
}

// Read implements engine.Files.
func (f *Mounted) Read(ctx context.Context, path string, limit int) ([]byte, error) {
	local, ok := f.mount.inside(path)
	if !ok {
		return f.tree.Read(ctx, path, limit)
	}
	if local == top {
		return nil, folderNotFile(f.mount.At)
	}
	f.mount.Watch.Looked(ctx, local)
	content, err := f.mount.Dir.Read(ctx, local, limit)
	return content, f.mount.named(err, local)
}

// Write implements engine.Files.
func (f *Mounted) Write(ctx context.Context, path string, content []byte) error {
	local, ok := f.mount.inside(path)
	if !ok {
		return f.tree.Write(ctx, path, content)
	}
	return f.mount.change(func() error { return f.mount.Dir.Write(ctx, local, content) }, local)
}

// WriteStream implements engine.Files.
func (f *Mounted) WriteStream(ctx context.Context, path string, write func(io.Writer) error, commit func() context.Context) error {
	local, ok := f.mount.inside(path)
	if !ok {
		return f.tree.WriteStream(ctx, path, write, commit)
	}
	return f.mount.change(func() error { return f.mount.Dir.WriteStream(ctx, local, write, commit) }, local)
}

// Append implements engine.Files.
func (f *Mounted) Append(ctx context.Context, path string, content []byte) error {
	local, ok := f.mount.inside(path)
	if !ok {
		return f.tree.Append(ctx, path, content)
	}
	return f.mount.change(func() error { return f.mount.Dir.Append(ctx, local, content) }, local)
}

// List implements engine.Files.
func (f *Mounted) List(ctx context.Context, folder, after string) iter.Seq2[engine.FileInfo, error] {
	if folder == top {
		return f.listTop(ctx, after)
	}
	local, ok := f.mount.inside(folder)
	if !ok {
		return f.tree.List(ctx, folder, after)
	}
	return func(yield func(engine.FileInfo, error) bool) {
		f.mount.Watch.Listed(ctx, local, "")
		for info, err := range f.mount.Dir.List(ctx, local, after) {
			if err == nil {
				f.mount.Watch.Looked(ctx, info.Path)
				info.Path = f.mount.outside(info.Path)
			}
			if !yield(info, f.mount.named(err, local)) {
				return
			}
		}
	}
}

// listTop lists the folder that holds the real one, by name.
func (f *Mounted) listTop(ctx context.Context, after string) iter.Seq2[engine.FileInfo, error] {
	return func(yield func(engine.FileInfo, error) bool) {
		own := engine.FileInfo{Path: f.mount.At, Name: path.Base(f.mount.At), Folder: true}
		due := own.Name > after
		for info, err := range f.tree.List(ctx, top, after) {
			if due && err == nil && info.Name > own.Name {
				due = false
				if !yield(own, nil) {
					return
				}
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
		if due {
			yield(own, nil)
		}
	}
}

// Copy implements engine.Files.
func (f *Mounted) Copy(ctx context.Context, from, to string) error {
	source, inside := f.mount.inside(from)
	target, toInside := f.mount.inside(to)
	switch {
	case !inside && !toInside:
		return f.tree.Copy(ctx, from, to)
	case inside && toInside:
		f.mount.Watch.Looked(ctx, source)
		return f.mount.change(func() error { return f.mount.Dir.Copy(ctx, source, target) }, source, target)
	}
	content, err := f.Hold(ctx, from)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // it was only read
	return f.WriteStream(ctx, to, func(w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	}, func() context.Context { return ctx })
}

// Move implements engine.Files. Into the real folder and out of it files move one by one.
func (f *Mounted) Move(ctx context.Context, from, to string) error {
	source, inside := f.mount.inside(from)
	target, toInside := f.mount.inside(to)
	switch {
	case !inside && !toInside:
		return f.tree.Move(ctx, from, to)
	case inside && toInside:
		return f.mount.change(func() error { return f.mount.Dir.Move(ctx, source, target) }, source, target)
	case source == top || target == top:
		return f.mount.refuseTop()
	}
	if err := f.Copy(ctx, from, to); err != nil {
		return err
	}
	return f.Remove(ctx, from)
}

// Keep implements engine.RequestFiler.
func (f *Mounted) Keep(ctx context.Context, file *engine.RequestFile, to string) error {
	if _, ok := f.mount.inside(to); !ok {
		return f.tree.Keep(ctx, file, to)
	}
	ref := file.Ref
	if ref == nil {
		var err error
		if ref, err = file.Content.Ref(file.Path); err != nil {
			return err
		}
	}
	content, err := f.tree.Held(ctx, ref)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // it was only read
	return f.WriteStream(ctx, to, func(w io.Writer) error {
		_, err := io.Copy(w, content)
		return err
	}, func() context.Context { return ctx })
}

// Remove implements engine.Files.
func (f *Mounted) Remove(ctx context.Context, path string) error {
	local, ok := f.mount.inside(path)
	if !ok {
		return f.tree.Remove(ctx, path)
	}
	return f.mount.change(func() error { return f.mount.Dir.Remove(ctx, local) }, local)
}

// heldMount is content of a real folder with a reference that tells so.
type heldMount struct {
	engine.FileContent
	ref []byte
}

// Ref implements engine.FileContent.
func (h *heldMount) Ref() []byte { return h.ref }

// Hold implements engine.Files. The reference is one of a Tree, so that the store can take it apart:
// a file whose content is the reference of the real one.
func (f *Mounted) Hold(ctx context.Context, path string) (engine.FileContent, error) {
	local, ok := f.mount.inside(path)
	if !ok {
		return f.tree.Hold(ctx, path)
	}
	if local == top {
		return nil, folderNotFile(f.mount.At)
	}
	f.mount.Watch.Looked(ctx, local)
	content, err := f.mount.Dir.Hold(ctx, local)
	if err != nil {
		return nil, f.mount.named(err, local)
	}
	ref := Ref{Path: f.mount.outside(local), Tail: content.Ref()}
	return &heldMount{content, ref.Encode()}, nil
}

// Held implements engine.Files.
func (f *Mounted) Held(ctx context.Context, ref []byte) (engine.FileContent, error) {
	r, err := ParseRef(ref)
	if err != nil {
		return nil, err
	}
	local, ok := f.mount.inside(r.Path)
	if !ok {
		return f.tree.Held(ctx, ref)
	}
	content, err := f.mount.Dir.Held(ctx, r.Tail)
	if err != nil {
		return nil, f.mount.named(err, local)
	}
	return &heldMount{content, ref}, nil
}

// Stat is that of a Tree.
func (f *Mounted) Stat(ctx context.Context, paths []string) ([]engine.FileInfo, error) {
	all, err := f.tree.Stat(ctx, paths)
	if err != nil {
		return nil, err
	}
	for i, p := range paths {
		local, ok := f.mount.inside(p)
		if !ok {
			continue
		}
		f.mount.Watch.Looked(ctx, local)
		if all[i], err = f.mount.Dir.stat(local); err != nil {
			return nil, err
		}
		if all[i].Path != "" {
			all[i].Path = f.mount.outside(local)
		}
	}
	return all, nil
}

// stat tells what stands at a canonical path; the zero FileInfo where nothing does that is part of
// the tree.
func (d *Dir) stat(at string) (engine.FileInfo, error) {
	if at == top {
		return engine.FileInfo{Path: top, Folder: true}, nil
	}
	if d.refuseName(at) != nil {
		return engine.FileInfo{}, nil //nolint:nilerr // such a name is nothing's
	}
	info, err := d.find(at)
	var known *value.Error
	if errors.As(err, &known) {
		return engine.FileInfo{}, nil
	}
	if err != nil {
		return engine.FileInfo{}, err
	}
	file := engine.FileInfo{Path: at, Name: path.Base(at), Modified: info.ModTime().UTC(), Folder: info.IsDir()}
	if !file.Folder {
		file.Size = info.Size()
	}
	return file, nil
}

// NamesWith is that of a Tree.
func (f *Mounted) NamesWith(ctx context.Context, folder, beginning string, most int) ([]string, error) {
	local, ok := f.mount.inside(folder)
	if !ok {
		return f.tree.NamesWith(ctx, folder, beginning, most)
	}
	f.mount.Watch.Listed(ctx, local, beginning)
	_, entries, err := f.mount.Dir.sorted(ctx, local, "")
	var known *value.Error
	if err != nil && !errors.As(err, &known) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), beginning) && len(names) < most {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// RealContent is a file of a real folder, as it was when it was opened.
type RealContent struct {
	*io.SectionReader
	file     *os.File
	modified time.Time
}

// Modified is when the file was changed last.
func (c *RealContent) Modified() time.Time { return c.modified }

// Tag names the content: a file that was changed has another size or time.
func (c *RealContent) Tag() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", c.file.Name(), c.Size(), c.modified.UnixNano()))
	return hex.EncodeToString(sum[:16])
}

// Close implements io.Closer.
func (c *RealContent) Close() error { return c.file.Close() }

// OpenReal opens a file of the real folder; nil where the path is none of it.
func (f *Mounted) OpenReal(ctx context.Context, path string) (*RealContent, error) {
	local, ok := f.mount.inside(path)
	if !ok {
		return nil, nil
	}
	if local == top {
		return nil, folderNotFile(f.mount.At)
	}
	f.mount.Watch.Looked(ctx, local)
	_, file, info, err := f.mount.Dir.openFile(ctx, local)
	if err != nil {
		return nil, f.mount.named(err, local)
	}
	return &RealContent{io.NewSectionReader(file, 0, info.Size()), file, info.ModTime().UTC()}, nil
}

// RefuseReal is the error of who would change files of the real folder past scripts.
func (f *Mounted) RefuseReal(paths ...string) error {
	for _, p := range paths {
		if _, ok := f.mount.inside(p); ok {
			return refuse(p, value.Quote(f.mount.At)+" is a real folder here: change its files there")
		}
	}
	return nil
}

// Stamp tells the states of what stands at a path apart, without reading it: a file that is
// written has another one, and a folder always the same.
func (d *Dir) Stamp(at string) string {
	info, err := d.root.Lstat(relative(at))
	switch {
	case err != nil:
		return "none"
	case info.IsDir():
		return "folder"
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}

// StampNames does so for which names of a folder begin so. Names that begin with a dot are left
// out, unless they are asked for: editors make such files while somebody writes.
func (d *Dir) StampNames(folder, beginning string) string {
	entries, err := d.entries(folder)
	if err != nil {
		return "none"
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, beginning) && (beginning != "" || name[0] != '.') {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	sum := sha256.Sum256([]byte(strings.Join(names, "/")))
	return hex.EncodeToString(sum[:16])
}
