package backup

import (
	"archive/tar"
	"compress/flate"
	"compress/gzip"
	"context"
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

	"ql/internal/account/seal"
	"ql/internal/disk"
	store "ql/internal/store/sqlite"
)

// Restore makes a data folder of a backup. Data must be missing or empty, but
// for a master key. Key is the file of the master key, "" where it is in the
// data folder or the backup. Nothing is in place before all is verified, and the
// store comes last. A backup that is not whole is refused, by an *Incomplete.
func Restore(ctx context.Context, src, data, key string) (Counts, error) {
	counts, _, err := restore(ctx, src, data, key, false)
	return counts, err
}

// RestoreIncomplete is Restore also of a backup that is not whole, and returns what it
// lacks.
func RestoreIncomplete(ctx context.Context, src, data, key string) (Counts, []Problem, error) {
	return restore(ctx, src, data, key, true)
}

func restore(ctx context.Context, src, data, key string, incomplete bool) (_ Counts, _ []Problem, err error) {
	if _, err := os.Stat(src); errors.Is(err, fs.ErrNotExist) {
		return Counts{}, nil, &notBackupError{fmt.Sprintf("there is no backup %s", src), err}
	}
	made := missing(data)
	defer func() {
		if err != nil {
			for _, folder := range made {
				_ = os.Remove(folder) // where something came into it, it stays
			}
		}
	}()
	if err := os.MkdirAll(data, 0o700); err != nil {
		return Counts{}, nil, err
	}
	if err := removeStale(data, restoringPrefix, func(work *os.Root) error { return rollBack(work, data) }); err != nil {
		return Counts{}, nil, err
	}
	if err := checkEmpty(data, keyName); err != nil {
		return Counts{}, nil, fmt.Errorf("a backup is restored to an empty folder: %w", err)
	}
	if _, _, err := store.MakeFolder(data); err != nil {
		return Counts{}, nil, err
	}
	work, end, err := newStaging(data, restoringPrefix)
	if err != nil {
		return Counts{}, nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	root, err := os.OpenRoot(work)
	if err != nil {
		return Counts{}, nil, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	r := &restorer{data: data, key: key, to: &folder{root: root, made: []string{"."}}, found: map[string]entry{}}
	if err := read(ctx, src, r.extract); err != nil {
		return Counts{}, nil, err
	}
	if err := r.verify(); err != nil {
		return Counts{}, nil, err
	}
	if len(r.manifest.Problems) > 0 && !incomplete {
		return Counts{}, nil, &Incomplete{Problems: r.manifest.Problems, Copy: true}
	}
	return r.manifest.Counts, r.manifest.Problems, r.install(work)
}

// missing returns the folder, and those above it, that are not there yet.
func missing(folder string) (list []string) {
	for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); !errors.Is(err, fs.ErrNotExist) {
			return list
		}
		list = append(list, at)
	}
}

// notBackupError says of something that it is none, in words of its own.
type notBackupError struct {
	message string
	cause   error
}

func (e *notBackupError) Error() string { return e.message }
func (e *notBackupError) Unwrap() error { return e.cause }

// restorer is a restore that is under way.
type restorer struct {
	data string
	key  string
	to   *folder

	header      *header
	keyVerified bool
	manifest    *manifest
	found       map[string]entry
}

// extract writes one file of the backup to the staging folder; the header comes first.
func (r *restorer) extract(name string, content io.Reader) error {
	switch {
	case name == manifestName:
		r.manifest = &manifest{}
		return decode(manifestName, content, maxManifest, r.manifest)
	case !isBackedUp(name):
		return fmt.Errorf("%q is nothing that a backup holds", name)
	case r.found[name].Name != "":
		return fmt.Errorf("%s is there twice", name)
	case r.header == nil && name != headerName:
		return fmt.Errorf("this is no backup: it starts with %s, not with %s", name, headerName)
	}
	hash, size := sha256.New(), int64(0)
	if err := r.write(name, io.TeeReader(content, io.MultiWriter(hash, (*length)(&size)))); err != nil {
		return err
	}
	r.found[name] = entry{name, size, hex.EncodeToString(hash.Sum(nil))}
	switch name {
	case headerName:
		return r.checkHeader()
	case keyName:
		return r.checkKey(filepath.Join(r.to.root.Name(), keyName))
	}
	if !r.keyVerified {
		return r.noKey()
	}
	return nil
}

// length counts what is written to it.
type length int64

func (n *length) Write(p []byte) (int, error) {
	*n += length(len(p))
	return len(p), nil
}

func (r *restorer) write(name string, content io.Reader) error {
	if err := r.to.makeFolder(path.Dir(name)); err != nil {
		return err
	}
	f, err := r.to.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(f, content); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (r *restorer) checkHeader() error {
	f, err := r.to.root.Open(headerName)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	h, err := readHeader(f)
	if err != nil {
		return err
	}
	r.header = &h
	own := filepath.Join(r.data, keyName)
	_, err = os.Lstat(own)
	switch {
	case r.key != "":
		return r.checkKey(r.key)
	case err == nil:
		return r.checkKey(own)
	case h.Check == nil:
		r.keyVerified = true
		return nil
	case !h.Key:
		return r.noKey()
	}
	return nil // it is the next file
}

func (r *restorer) checkKey(file string) error {
	if r.keyVerified {
		return nil
	}
	if err := seal.CheckMasterKey(file, r.header.Check); err != nil {
		return err
	}
	r.keyVerified = true
	return nil
}

func (r *restorer) noKey() error {
	return fmt.Errorf("the master key is not in this backup: name its file by --master-key-file, or put it into %s as %s; without it secrets and unfinished jobs are lost", r.data, keyName)
}

// verify holds what was found against the manifest.
func (r *restorer) verify() error {
	if r.header == nil || r.manifest == nil {
		return errors.New("this is no whole backup: it has no end, or no beginning")
	}
	for _, want := range r.manifest.Files {
		got, ok := r.found[want.Name]
		switch {
		case !ok:
			return fmt.Errorf("the backup is damaged: %s is missing", want.Name)
		case got != want:
			return fmt.Errorf("the backup is damaged: %s is not what the manifest says", want.Name)
		}
		delete(r.found, want.Name)
	}
	for name := range r.found {
		return fmt.Errorf("the backup is damaged: %s is not in the manifest", name)
	}
	return nil
}

// placingName is the file that says that what was restored is being moved to where
// it belongs.
const placingName = "placing"

// rollBack removes what a restore that ended before it was through had moved to its
// place. Without the store nobody has used it; the folder was empty before.
func rollBack(work *os.Root, data string) error {
	if _, err := work.Lstat(placingName); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(data, storeName)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(os.RemoveAll(filepath.Join(data, blobFolder)), os.RemoveAll(filepath.Join(data, accountFolder)))
}

// install moves all to where it belongs. The store comes last: without it there
// is nothing that a server would open.
func (r *restorer) install(work string) error {
	if err := writeFile(r.to.root, placingName, 0, strings.NewReader("")); err != nil {
		return err
	}
	if err := syncAll(r.to.root, r.to.made); err != nil {
		return err
	}
	names := []string{blobFolder, accountFolder}
	own := filepath.Join(r.data, keyName)
	if _, err := os.Lstat(own); errors.Is(err, fs.ErrNotExist) && r.key == "" {
		names = append(names, keyName)
	}
	for _, name := range append(names, storeName) {
		if err := os.Rename(filepath.Join(work, name), filepath.Join(r.data, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := disk.SyncFolder(r.data); err != nil {
			return err
		}
	}
	return disk.SyncFolder(filepath.Dir(filepath.Clean(r.data)))
}

// read calls visit with each file of a backup: the header first, then the key.
func read(ctx context.Context, src string, visit func(name string, content io.Reader) error) error {
	info, err := os.Stat(src)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return readFolder(ctx, src, visit)
	}
	return readArchive(ctx, src, visit)
}

func readFolder(ctx context.Context, src string, visit func(string, io.Reader) error) error {
	root, err := os.OpenRoot(src)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // only read
	visitFile := func(name string) error {
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		return errors.Join(visit(name, f), f.Close())
	}
	first := []string{headerName, keyName}
	for _, name := range first {
		if err := visitFile(name); errors.Is(err, fs.ErrNotExist) {
			if name == headerName {
				return fmt.Errorf("%s is no backup: it holds no %s", src, headerName)
			}
		} else if err != nil {
			return err
		}
	}
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || slices.Contains(first, name) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s of the backup is no regular file", name)
		}
		return visitFile(name)
	})
}

func readArchive(ctx context.Context, src string, visit func(string, io.Reader) error) (err error) {
	f, err := os.Open(src)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	zip, err := gzip.NewReader(f)
	if err != nil {
		return &notBackupError{fmt.Sprintf("%s is no backup: a folder that ql backup made fits, or a file made by it that ends in %s", src, archiveEnding), err}
	}
	all := tar.NewReader(zip)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := all.Next()
		if errors.Is(err, io.EOF) {
			// To its end, for the checksum of all.
			_, err = io.Copy(io.Discard, zip)
			return damaged(err)
		}
		if err != nil {
			return damaged(err)
		}
		if h.Typeflag != tar.TypeReg {
			return fmt.Errorf("%q of the backup is no regular file", h.Name)
		}
		if err := visit(h.Name, all); err != nil {
			return damaged(err)
		}
	}
}

// damaged says what the errors of an archive mean.
func damaged(err error) error {
	var inside flate.CorruptInputError
	var what string
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		what = "it ends too early"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &inside), errors.Is(err, tar.ErrHeader):
		what = "it was changed since it was made, or not copied whole"
	default:
		return err
	}
	return &notBackupError{"the backup is damaged: " + what, err}
}
