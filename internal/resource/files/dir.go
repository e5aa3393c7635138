package files

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"ql/internal/engine"
	"ql/lang/value"
)

// Dir is a tree of files in a real folder, which people use beside the
// scripts. Links, pipes, devices and names outside the grammar are not part of
// it. What Write and Append have returned from is on the disk.
type Dir struct {
	root   *os.Root
	hidden string // Key of a folder at the top that scripts do not see
	// temporary starts the Key of a file that is being written.
	temporary string

	// mu makes one change at a time, so that a check still holds when its
	// change is made.
	mu sync.Mutex
}

var _ engine.Files = (*Dir)(nil)

// OpenDir returns the tree in a folder. hidden is the name of a folder at its
// top that is none of the scripts' business; "" where there is none.
func OpenDir(folder, hidden string) (*Dir, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return &Dir{root: root, hidden: Key(hidden), temporary: Key(temporaryPrefix)}, nil
}

// Close lets go of the folder.
func (d *Dir) Close() error { return d.root.Close() }

// The codes of errors, beside invalid_path.
const (
	fileNotFound   = "file_not_found"
	isFolder       = "is_folder"
	notAFolder     = "not_a_folder"
	folderNotEmpty = "folder_not_empty"
	quotaExceeded  = "quota_exceeded"
	accessDenied   = "access_denied"
)

// temporaryPrefix starts the names of files that are being written.
const temporaryPrefix = ".ql-write-"

const (
	filePermission   = 0o644
	folderPermission = 0o755
)

// openFile opens a file by any of its paths, and returns the canonical one.
func (d *Dir) openFile(ctx context.Context, path string) (canonical string, f *os.File, info fs.FileInfo, err error) {
	if err := refuseTop(path); err != nil {
		return path, nil, nil, err
	}
	if path, err = d.canonical(ctx, path); err != nil {
		return path, nil, nil, err
	}
	f, info, err = d.open(path)
	return path, f, info, err
}

// Read returns a file's content, if it has at most limit bytes.
func (d *Dir) Read(ctx context.Context, path string, limit int) ([]byte, error) {
	path, f, info, err := d.openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer closeRead(f)
	if info.Size() > int64(limit) {
		return nil, value.Exceeded("value_size", int64(limit), "the file %s has %s, and a script can take %d at most", value.Quote(path), value.FormatByteCount(info.Size()), limit)
	}
	content := make([]byte, info.Size(), info.Size()+1)
	n, err := io.ReadFull(f, content)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, explain(path, err)
	}
	return content[:n], nil
}

// open opens a file to be read.
func (d *Dir) open(path string) (*os.File, fs.FileInfo, error) {
	if _, err := d.find(path); err != nil {
		return nil, nil, err
	}
	f, err := d.root.OpenFile(path[1:], os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, explain(path, err)
	}
	info, err := checkOpen(path, f)
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// closeRead closes what was only read: nothing can be lost.
func closeRead(f *os.File) { _ = f.Close() }

// checkOpen checks what was really opened: a plain file that has no other
// name.
func checkOpen(path string, f *os.File) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := check(path, info); err != nil {
		return nil, err
	}
	if hasOtherName(info) {
		return nil, refuse(path, "the file has another name too, a hard link")
	}
	return info, nil
}

// check tells apart what may be at a path.
func check(path string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return value.Errorf(isFolder, "%s is a folder, not a file", value.Quote(path))
	}
	return notPlain(path, info)
}

func notPlain(path string, info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return refuse(path, fmt.Sprintf("%s is a link, and scripts follow none", value.Quote(info.Name())))
	}
	return refuse(path, fmt.Sprintf("%s is neither a file nor a folder", value.Quote(info.Name())))
}

// Write replaces a file's content, or makes the file, all at once: whoever
// reads it meanwhile, and whatever breaks, there is the old content or the
// new. Folders are made on the way.
func (d *Dir) Write(ctx context.Context, path string, content []byte) error {
	path, err := d.canonical(ctx, path)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.replace(path, func(f *os.File) error {
		_, err := f.Write(content)
		return err
	})
}

// WriteStream implements engine.Files.
func (d *Dir) WriteStream(ctx context.Context, path string, write func(io.Writer) error, commit func() context.Context) error {
	path, err := d.canonical(ctx, path)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.replace(path, func(f *os.File) error {
		buffered := bufio.NewWriterSize(f, readBuffer)
		if err := write(buffered); err != nil {
			return err
		}
		if err := buffered.Flush(); err != nil {
			return err
		}
		return commit().Err()
	})
}

// replace puts what write writes in the place of a file. d.mu is held.
func (d *Dir) replace(to string, write func(*os.File) error) error {
	old, err := d.prepareTarget(to, "")
	if err != nil {
		return err
	}
	permission := fs.FileMode(filePermission)
	if old != nil {
		if err := check(to, old); err != nil {
			return err
		}
		permission = old.Mode().Perm()
	}
	temporary := path.Join(path.Dir(to), temporaryPrefix+rand.Text())[1:]
	f, err := d.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openFlags, filePermission)
	if err != nil {
		return explain(to, err)
	}
	err = write(f)
	if err == nil && permission != filePermission {
		err = f.Chmod(permission)
	}
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = d.root.Rename(temporary, to[1:])
	}
	if err != nil {
		return explain(to, errors.Join(err, d.root.Remove(temporary)))
	}
	return d.syncFolder(path.Dir(to))
}

// Append adds to the end of a file, or makes it.
func (d *Dir) Append(ctx context.Context, to string, content []byte) error {
	to, err := d.canonical(ctx, to)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	old, err := d.prepareTarget(to, "")
	if err != nil {
		return err
	}
	if old != nil {
		if err := check(to, old); err != nil {
			return err
		}
	}
	f, err := d.root.OpenFile(to[1:], os.O_WRONLY|os.O_APPEND|os.O_CREATE|openFlags, filePermission)
	if err != nil {
		return explain(to, err)
	}
	if err := errors.Join(add(to, f, content), f.Close()); err != nil {
		return err
	}
	if old != nil {
		return nil
	}
	return d.syncFolder(path.Dir(to))
}

// add writes content to the end of f, or nothing.
func add(path string, f *os.File, content []byte) error {
	info, err := checkOpen(path, f)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return explain(path, errors.Join(err, f.Truncate(info.Size())))
	}
	return explain(path, f.Sync())
}

// List implements engine.Files. The names of a whole folder are held, since a real
// one gives them in no order.
func (d *Dir) List(ctx context.Context, folder, after string) iter.Seq2[engine.FileInfo, error] {
	return func(yield func(engine.FileInfo, error) bool) {
		folder, entries, err := d.sorted(ctx, folder, after)
		for _, e := range entries {
			if err = ctx.Err(); err != nil {
				break
			}
			file, there, failed := fileInfo(path.Join(folder, e.Name()), e)
			if err = failed; err != nil {
				break
			}
			if there && !yield(file, nil) {
				return
			}
		}
		if err != nil {
			yield(engine.FileInfo{}, err)
		}
	}
}

// sorted returns the entries of a folder behind a name, by name, and the folder's
// canonical path.
func (d *Dir) sorted(ctx context.Context, folder, after string) (string, []fs.DirEntry, error) {
	if err := ctx.Err(); err != nil {
		return "", nil, err
	}
	if folder != top {
		var err error
		if folder, err = d.canonical(ctx, folder); err != nil {
			return "", nil, err
		}
		info, err := d.find(folder)
		if e := new(value.Error); errors.As(err, &e) && e.Code == fileNotFound {
			return "", nil, missingFolder(folder)
		}
		if err != nil {
			return "", nil, err
		}
		if !info.IsDir() {
			return "", nil, notFolder(folder)
		}
	}
	entries, err := d.entries(folder)
	if err != nil {
		return "", nil, explain(folder, err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() <= after || !d.isPart(path.Join(folder, e.Name()), e)
	})
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return folder, entries, nil
}

// fileInfo returns what a list says of an entry, where it is still there.
func fileInfo(at string, e fs.DirEntry) (file engine.FileInfo, there bool, err error) {
	info, err := e.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return file, false, nil
	}
	if err != nil {
		return file, false, explain(at, err)
	}
	file = engine.FileInfo{Path: at, Name: e.Name(), Modified: info.ModTime().UTC(), Folder: e.IsDir()}
	if !e.IsDir() {
		file.Size = info.Size()
	}
	return file, true, nil
}

// isPart reports whether what a folder holds is part of the tree.
func (d *Dir) isPart(at string, e fs.DirEntry) bool {
	if !e.Type().IsRegular() && !e.IsDir() || d.refuseName(at) != nil {
		return false
	}
	canonical, err := Canonical(at)
	return err == nil && canonical == at
}

// walk visits all paths below a folder.
func (d *Dir) walk(ctx context.Context, folder string, visit func(path string)) error {
	entries, err := d.entries(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed meanwhile
	}
	if err != nil {
		return explain(folder, err)
	}
	for _, e := range entries {
		at := path.Join(folder, e.Name())
		if !d.isPart(at, e) {
			continue
		}
		visit(at)
		if !e.IsDir() {
			continue
		}
		if err := d.walk(ctx, at, visit); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// entries returns all that a folder holds.
func (d *Dir) entries(folder string) ([]fs.DirEntry, error) {
	f, err := d.root.Open(relative(folder))
	if err != nil {
		return nil, err
	}
	defer closeRead(f)
	return f.ReadDir(-1)
}

// Copy makes a file with the content of another, as Write would.
func (d *Dir) Copy(ctx context.Context, from, to string) error {
	from, err := d.canonical(ctx, from)
	if err != nil {
		return err
	}
	to, err = d.canonical(ctx, to)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	source, _, err := d.open(from)
	if err != nil {
		return err
	}
	defer closeRead(source)
	return d.replace(to, func(f *os.File) error {
		_, err := io.Copy(f, contextReader{ctx, source})
		return err
	})
}

// contextReader ends a long copy with its context.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// Move gives a file or folder another path. A file may take the place of
// another; nothing takes the place of a folder.
func (d *Dir) Move(ctx context.Context, from, to string) error {
	from, err := d.canonical(ctx, from)
	if err != nil {
		return err
	}
	to, err = d.canonical(ctx, to)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	info, err := d.find(from)
	if err != nil {
		return err
	}
	if from == to {
		return nil
	}
	if strings.HasPrefix(to, from+"/") {
		return refuse(to, "a folder cannot be moved into itself")
	}
	if info.IsDir() && lengthens(from, to) {
		var below extremes
		if err := d.walk(ctx, from, below.add); err != nil {
			return err
		}
		if err := checkMove(from, to, below); err != nil {
			return err
		}
	}
	old, err := d.prepareTarget(to, from)
	if err != nil {
		return err
	}
	if old != nil {
		if err := check(to, old); err != nil {
			return err
		}
		if info.IsDir() {
			return value.Errorf(notAFolder, "%s is a file: a folder cannot take its place", value.Quote(to))
		}
	}
	if err := d.root.Rename(from[1:], to[1:]); err != nil {
		return explain(to, err)
	}
	if err := d.syncFolder(path.Dir(to)); err != nil {
		return err
	}
	return d.syncFolder(path.Dir(from))
}

// Remove removes a file or an empty folder.
func (d *Dir) Remove(ctx context.Context, at string) error {
	at, err := d.canonical(ctx, at)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.find(at); err != nil {
		return err
	}
	if err := d.root.Remove(at[1:]); err != nil {
		return explain(at, err)
	}
	return d.syncFolder(path.Dir(at))
}

// canonical checks a path and whether a script may use it.
func (d *Dir) canonical(ctx context.Context, path string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	path, err := Canonical(path)
	if err != nil {
		return "", err
	}
	return path, d.refuseName(path)
}

// refuseName keeps scripts from the hidden folder and from unfinished files.
func (d *Dir) refuseName(path string) error {
	return refuseReserved(path, d.hidden, d.temporary)
}

// relative returns a path as the root takes it.
func relative(path string) string {
	if path == top {
		return "."
	}
	return path[1:]
}

// find returns what is at a path: a file or a folder, reached through
// folders.
func (d *Dir) find(path string) (fs.FileInfo, error) {
	var info fs.FileInfo
	for end := range ends(path) {
		var err error
		if info, err = d.root.Lstat(path[1:end]); err != nil {
			return nil, explain(path, err)
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return nil, notPlain(path, info)
		}
	}
	return info, nil
}

// ends yields where each part of a path ends.
func ends(path string) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := 1; i <= len(path); i++ {
			if (i == len(path) || path[i] == '/') && !yield(i) {
				return
			}
		}
	}
}

// prepareTarget prepares the path of a new file or folder: it makes the folders on
// the way and returns what is there now, nil where there is nothing. Nothing
// gets a name that some system would take for one that is there already;
// except is a path that is about to lose its name.
func (d *Dir) prepareTarget(to, except string) (fs.FileInfo, error) {
	for end := range ends(to) {
		at := to[:end]
		info, err := d.root.Lstat(at[1:])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := d.checkAlias(at, except); err != nil {
				return nil, err
			}
			if end == len(to) {
				return nil, nil
			}
			if err := d.root.Mkdir(at[1:], folderPermission); err != nil {
				return nil, explain(to, err)
			}
			if err := d.syncFolder(path.Dir(at)); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, explain(to, err)
		case !info.IsDir() && !info.Mode().IsRegular():
			return nil, notPlain(to, info)
		case end == len(to):
			return info, nil
		case !info.IsDir():
			return nil, value.Errorf(notAFolder, "%s is a file, not a folder", value.Quote(at))
		}
	}
	return nil, nil
}

// checkAlias refuses a new name that differs from an old one of its folder
// only in case or in the way its letters are composed.
func (d *Dir) checkAlias(at, except string) error {
	folder, name := path.Split(at)
	entries, err := d.entries(path.Clean(folder))
	if err != nil {
		return explain(at, err)
	}
	key, plain := Key(name), isASCII(name)
	for _, e := range entries {
		same := plain && isASCII(e.Name()) && strings.EqualFold(e.Name(), name)
		if !plain || !isASCII(e.Name()) {
			same = Key(e.Name()) == key
		}
		if same && folder+e.Name() != except {
			return refuse(at, fmt.Sprintf("there is %s already, which is the same name on some systems", value.Quote(folder+e.Name())))
		}
	}
	return nil
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// syncFolder makes changes of a folder's entries last.
func (d *Dir) syncFolder(folder string) error {
	f, err := d.root.Open(relative(folder))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// explain turns an error of the system into one for the script. Faults that
// are none of the script's come back as they are.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	code := systemCode(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = fileNotFound
	case errors.Is(err, fs.ErrPermission):
		code = accessDenied
	}
	switch code {
	case fileNotFound:
		return value.Errorf(code, "there is no file %s", value.Quote(path))
	case folderNotEmpty:
		return value.Errorf(code, "the folder %s is not empty: remove what is in it first", value.Quote(path))
	case isFolder:
		return value.Errorf(code, "%s is a folder, not a file", value.Quote(path))
	case quotaExceeded:
		return value.Errorf(code, "there is no room left for %s", value.Quote(path))
	case accessDenied:
		return value.Errorf(code, "the system does not allow this with %s", value.Quote(path))
	}
	return err
}
