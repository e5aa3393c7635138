package backup

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ql/internal/disk"
)

// sink is where a backup is written to. Nothing stands under its final name
// before commit.
type sink interface {
	// add writes a file of this many bytes.
	add(name string, size int64, r io.Reader) error
	// commit puts the backup, which is on the disk then, in its place.
	commit() error
	// abort removes what was written. After commit it does nothing.
	abort()
}

// archiveEnding is the ending of a backup that is one file; archiveEndings are
// all that are taken for it.
const archiveEnding = ".tar.gz"

var archiveEndings = []string{archiveEnding, ".tgz"}

// otherEndings are those of archives that are not made.
var otherEndings = []string{".zip", ".tar", ".gz", ".bz2", ".xz", ".zst", ".7z", ".rar"}

func endsIn(name string, endings []string) bool {
	return slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(strings.ToLower(name), e) })
}

// checkDestination refuses a place where no backup can be, or where it would be part of
// what is backed up.
func checkDestination(dest, data string) error {
	if !endsIn(dest, archiveEndings) && endsIn(dest, otherEndings) {
		return fmt.Errorf("%s: no archive of this kind is made: a name that ends in %s fits, or the name of a folder", dest, strings.Join(archiveEndings, " or "))
	}
	inside, err := isInside(dest, data)
	if err == nil && inside {
		err = fmt.Errorf("%s is in the data folder: name a place outside of %s, best on another disk", dest, data)
	}
	return err
}

// isInside tells whether a path, which need not be there, is a folder or in it.
func isInside(name, folder string) (bool, error) {
	folder, err := filepath.Abs(folder)
	if err == nil {
		name, err = filepath.Abs(name)
	}
	if err != nil {
		return false, err
	}
	top, err := os.Stat(folder)
	if err != nil {
		return false, err
	}
	for at := name; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, top) {
			return true, nil
		}
		if at == filepath.Dir(at) {
			return false, nil
		}
		// What a link leads to may lie elsewhere.
		if target, err := filepath.EvalSymlinks(at); err == nil {
			at = target
		}
	}
}

// newSink returns where a backup goes, and a folder on the same disk for what is
// still being made.
func newSink(dest, data string, now time.Time) (s sink, scratch string, err error) {
	if err := checkDestination(dest, data); err != nil {
		return nil, "", err
	}
	dest, err = filepath.Abs(dest)
	if err != nil {
		return nil, "", err
	}
	if err := checkFree(dest); err != nil {
		return nil, "", err
	}
	parent := filepath.Dir(dest)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, "", err
	}
	// What cannot be removed does no harm to this backup.
	_ = removeStale(parent, makingPrefix, func(*os.Root) error { return nil })
	work, end, err := newStaging(parent, makingPrefix)
	if err != nil {
		return nil, "", err
	}
	scratch = filepath.Join(work, "scratch")
	if err := os.Mkdir(scratch, 0o700); err != nil {
		return nil, "", errors.Join(err, end())
	}
	if endsIn(dest, archiveEndings) {
		s, err = newArchive(work, dest, now, end)
	} else {
		s, err = newFolder(work, dest, end)
	}
	if err != nil {
		return nil, "", errors.Join(err, end())
	}
	return s, scratch, nil
}

// checkFree refuses to write over anything.
func checkFree(dest string) error {
	info, err := os.Lstat(dest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir() || endsIn(dest, archiveEndings):
		return fmt.Errorf("%s is there already: a backup never replaces anything", dest)
	}
	return checkEmpty(dest)
}

func checkEmpty(folder string, but ...string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case slices.Contains(but, e.Name()):
		case strings.HasPrefix(e.Name(), restoringPrefix):
			return fmt.Errorf("another restore to %s is under way, in %s: where there is none, remove that folder", folder, e.Name())
		default:
			return fmt.Errorf("the folder %s is not empty: there is %s in it", folder, e.Name())
		}
	}
	return nil
}

// folder is a backup as a folder.
type folder struct {
	work, dest string
	end        func() error // removes work
	root       *os.Root
	made       []string // folders, to be synced
}

func newFolder(work, dest string, end func() error) (*folder, error) {
	inside := filepath.Join(work, "backup")
	if err := os.Mkdir(inside, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(inside)
	if err != nil {
		return nil, err
	}
	return &folder{work: work, dest: dest, end: end, root: root, made: []string{"."}}, nil
}

func (f *folder) add(name string, size int64, r io.Reader) error {
	if err := f.makeFolder(path.Dir(name)); err != nil {
		return err
	}
	return writeFile(f.root, name, size, r)
}

func (f *folder) makeFolder(name string) error {
	if _, err := f.root.Stat(name); err == nil {
		return nil
	}
	for at := 0; at < len(name); {
		next := strings.IndexByte(name[at:], '/')
		if next < 0 {
			next = len(name) - at
		}
		part := name[:at+next]
		at += next + 1
		err := f.root.Mkdir(part, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		f.made = append(f.made, part)
	}
	return nil
}

// writeFile writes a file that nobody else may read, and returns when it is on
// the disk.
func writeFile(root *os.Root, name string, size int64, r io.Reader) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(f, r)
	if err == nil && n != size {
		err = fmt.Errorf("%s has %d bytes, and should have %d", name, n, size)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (f *folder) commit() error {
	if err := syncAll(f.root, f.made); err != nil {
		return err
	}
	// An empty folder may stand there.
	if err := os.Remove(f.dest); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(filepath.Join(f.work, "backup"), f.dest); err != nil {
		return err
	}
	return disk.SyncFolder(filepath.Dir(f.dest))
}

func (f *folder) abort() {
	// What cannot be removed does no harm.
	_ = f.root.Close()
	_ = f.end()
}

func syncAll(root *os.Root, folders []string) error {
	for _, name := range folders {
		d, err := root.Open(name)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Sync(), d.Close()); err != nil {
			return err
		}
	}
	return nil
}

// archive is a backup as one compressed file.
type archive struct {
	dest string
	end  func() error // removes what is not finished
	now  time.Time
	file *os.File
	zip  *gzip.Writer
	tar  *tar.Writer
}

func newArchive(work, dest string, now time.Time, end func() error) (*archive, error) {
	f, err := os.OpenFile(filepath.Join(work, "archive"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	zip, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &archive{dest: dest, end: end, now: now, file: f, zip: zip, tar: tar.NewWriter(zip)}, nil
}

func (a *archive) add(name string, size int64, r io.Reader) error {
	err := a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o600, ModTime: a.now})
	if err != nil {
		return err
	}
	n, err := io.Copy(a.tar, r)
	if err == nil && n != size {
		err = fmt.Errorf("%s has %d bytes, and should have %d", name, n, size)
	}
	return err
}

func (a *archive) commit() error {
	err := errors.Join(a.tar.Close(), a.zip.Close(), a.file.Sync(), a.file.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(a.file.Name(), a.dest); err != nil {
		return err
	}
	return disk.SyncFolder(filepath.Dir(a.dest))
}

func (a *archive) abort() {
	// What cannot be removed does no harm.
	_ = a.file.Close()
	_ = a.end()
}

// manifestSink writes to a sink and records what in a manifest.
type manifestSink struct {
	sink
	manifest manifest
}

func (c *manifestSink) add(name string, size int64, r io.Reader) error {
	hash := sha256.New()
	if err := c.sink.add(name, size, io.TeeReader(r, hash)); err != nil {
		return fmt.Errorf("backup of %s: %w", name, err)
	}
	c.manifest.Files = append(c.manifest.Files, entry{name, size, hex.EncodeToString(hash.Sum(nil))})
	c.manifest.Counts.Files++
	c.manifest.Counts.Bytes += size
	return nil
}

// addFile adds a file of the disk.
func (c *manifestSink) addFile(name, at string) error {
	f, err := os.Open(at)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return c.add(name, info.Size(), f)
}
