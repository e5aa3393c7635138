// Package backup copies the data folder of a service, while it runs or not, and
// makes a data folder of such a copy again.
//
// The store is copied first, as it is at one moment. Then come the blobs, which
// never change, and the databases of accounts, each as it is at a moment of its
// own. So all that was answered before a backup began is in it, and every file
// is one with the jobs that wrote it. A database may be some moments ahead of
// the store. For a job that ran in those moments it is not known which of its
// changes the copy of the database holds: to go on from the store's copy could
// do them twice. Such a job is ended in the backup, as failed, and says why. All
// other jobs go on after a restore as after a restart.
//
// Who may make a backup, and where to, is its caller's business.
package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/account/seal"
	"ql/internal/job"
	"ql/internal/resource/files"
	"ql/internal/sqlite"
	"ql/internal/store/blob/dir"
	store "ql/internal/store/sqlite"
)

// Options are what is backed up.
type Options struct {
	Data    string // the data folder
	Key     string // the file of the master key, to take it along; "" to leave it out
	Program string // the version of the program
	// KeepGoing makes a backup of what is there where something is missing or damaged.
	KeepGoing bool
	Clock     func() time.Time
}

// Create writes a backup to dest: one file where it ends in .tar.gz or .tgz, a
// folder otherwise. Nothing stands there before the backup is whole and on the disk.
// Where something of the data folder is missing or damaged, the error is an *Incomplete
// that names it: nothing is made then, unless the options say to keep going.
func Create(ctx context.Context, o Options, dest string) (_ Counts, err error) {
	now := o.Clock().UTC()
	to, scratch, err := newSink(dest, o.Data, now)
	if err != nil {
		return Counts{}, err
	}
	defer to.abort()
	source, err := store.Open(ctx, store.Options{Folder: o.Data})
	if err != nil {
		return Counts{}, err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	m := &creator{Options: o, source: source, to: &manifestSink{sink: to}, scratch: scratch, now: now}
	if err := m.run(ctx); err != nil {
		return Counts{}, err
	}
	var incomplete error
	if problems := m.to.manifest.Problems; len(problems) > 0 {
		if incomplete = (&Incomplete{Problems: problems, Made: o.KeepGoing}); !o.KeepGoing {
			return Counts{}, incomplete
		}
	}
	if err := to.commit(); err != nil {
		return Counts{}, err
	}
	return m.to.manifest.Counts, incomplete
}

// creator is a backup that is being made.
type creator struct {
	Options
	source  *store.Store // of the data folder
	to      *manifestSink
	scratch string // a folder for what is not yet part of the backup
	now     time.Time

	copied      *store.Store // the copy of the store
	interrupted []job.Due
}

func (m *creator) run(ctx context.Context) (err error) {
	if err := m.addHeader(ctx); err != nil {
		return err
	}
	if m.Key != "" {
		if err := m.to.addFile(keyName, m.Key); err != nil {
			return err
		}
	}
	at := filepath.Join(m.scratch, storeName)
	if err := makeFile(at); err != nil {
		return err
	}
	if err := m.source.Copy(ctx, at); err != nil {
		return fmt.Errorf("backup of the store: %w", err)
	}
	if err := checkFile(ctx, at); err != nil {
		m.problem(storeName, err)
	}
	if m.copied, err = store.Open(ctx, store.Options{Folder: m.scratch}); err != nil {
		return err
	}
	err = m.fromStore(ctx)
	// Closed, it is all in its one file.
	if err := errors.Join(err, m.copied.Close()); err != nil {
		return err
	}
	if err := m.to.addFile(storeName, at); err != nil {
		return err
	}
	return m.addManifest()
}

// fromStore adds all that the copied store leads to, and ends those of its jobs
// that cannot go on.
func (m *creator) fromStore(ctx context.Context) error {
	if err := m.addDatabases(ctx); err != nil {
		return err
	}
	if err := m.findMissing(ctx); err != nil {
		return err
	}
	if err := m.addBlobs(ctx); err != nil {
		return err
	}
	m.to.manifest.Counts.Interrupted = len(m.interrupted)
	for _, d := range m.interrupted {
		if err := m.copied.Queue().Abandon(ctx, d, interruption, m.now); err != nil {
			return err
		}
	}
	return nil
}

// interruption is the error of a job that ran while its account's databases
// were copied.
var interruption = func() []byte {
	text, err := json.Marshal(map[string]string{
		"code":    "interrupted",
		"message": "the service was restored from a backup that was made while this job ran: what it had done by then may be there in part, and it was not started again",
	})
	if err != nil {
		return nil
	}
	return text
}()

func (m *creator) addHeader(ctx context.Context) error {
	check, err := m.source.Accounts().EnsureKeyCheck(ctx, nil)
	if err != nil {
		return err
	}
	if m.Key != "" {
		if err := seal.CheckMasterKey(m.Key, check); err != nil {
			return err
		}
	}
	text, err := encode(header{Format: format, Program: m.Program, Made: m.now, Key: m.Key != "", Check: check})
	if err != nil {
		return err
	}
	return m.to.add(headerName, int64(len(text)), bytes.NewReader(text))
}

func (m *creator) addManifest() error {
	slices.SortFunc(m.to.manifest.Files, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	text, err := encode(m.to.manifest)
	if err != nil {
		return err
	}
	return m.to.sink.add(manifestName, int64(len(text)), bytes.NewReader(text))
}

// addDatabases adds the databases of all accounts: those first whose jobs may
// go on, so that few of these run meanwhile.
func (m *creator) addDatabases(ctx context.Context) error {
	jobs := map[account.ID][]job.Due{}
	var order []account.ID
	err := m.copied.Queue().Unfinished(ctx, func(d job.Due) {
		if jobs[d.Account] == nil {
			order = append(order, d.Account)
		}
		jobs[d.Account] = append(jobs[d.Account], d)
	})
	if err != nil {
		return err
	}
	all, err := m.accounts()
	if err != nil {
		return err
	}
	for _, id := range all {
		if jobs[id] == nil {
			order = append(order, id)
		}
	}
	for _, id := range order {
		added, err := m.addAccount(ctx, id)
		if err != nil {
			return err
		}
		if added == 0 {
			continue
		}
		m.to.manifest.Counts.Accounts++
		m.to.manifest.Counts.Databases += added
		if err := m.findInterrupted(ctx, jobs[id]); err != nil {
			return err
		}
	}
	return nil
}

// accounts returns those that have folders.
func (m *creator) accounts() (ids []account.ID, err error) {
	entries, err := os.ReadDir(filepath.Join(m.Data, accountFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if id, err := strconv.ParseInt(e.Name(), 10, 64); err == nil {
			ids = append(ids, account.ID(id))
		}
	}
	return ids, err
}

const databaseEnding = ".db"

// addAccount adds the databases of an account and returns how many it has.
func (m *creator) addAccount(ctx context.Context, id account.ID) (added int, err error) {
	below := path.Join(accountFolder, strconv.FormatInt(int64(id), 10), "databases")
	at := filepath.Join(m.Data, filepath.FromSlash(below))
	entries, err := os.ReadDir(at)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), databaseEnding) || !e.Type().IsRegular() {
			continue
		}
		name := path.Join(below, e.Name())
		err := m.addDatabase(ctx, name, filepath.Join(at, e.Name()))
		var damage *damagedError
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // it was removed meanwhile
		case errors.As(err, &damage):
			m.problem(name, damage.cause)
			if !damage.added {
				continue
			}
		case err != nil:
			return added, err
		}
		added++
	}
	return added, nil
}

// findMissing tells of the databases that were there and are no more.
func (m *creator) findMissing(ctx context.Context) error {
	known, err := m.copied.ListDatabases(ctx)
	if err != nil {
		return err
	}
	for id, names := range known {
		for _, database := range names {
			name := path.Join(accountFolder, strconv.FormatInt(int64(id), 10), "databases", database+databaseEnding)
			if _, err := os.Lstat(filepath.Join(m.Data, filepath.FromSlash(name))); errors.Is(err, fs.ErrNotExist) {
				m.problem(name, errMissing)
			}
		}
	}
	return nil
}

// busy is how long a database is waited for that another process opens or
// closes.
const busy = 30 * time.Second

func (m *creator) addDatabase(ctx context.Context, name, at string) error {
	// SQLite follows no links, and says little where a file is missing.
	at, err := filepath.EvalSymlinks(at)
	if err != nil {
		return err
	}
	scratch := filepath.Join(m.scratch, "database")
	if err := makeFile(scratch); err != nil {
		return err
	}
	defer func() { _ = os.Remove(scratch) }() // it goes with its folder at the latest
	damage := checkLog(at)
	c, err := sqlite.Open(at, sqlite.Config{Busy: busy, Temporary: 1 << 30})
	if err != nil {
		return asDamage(name, err)
	}
	if err := errors.Join(c.Backup(ctx, scratch), c.Close()); err != nil {
		return asDamage(name, err)
	}
	if damage == nil {
		damage = checkFile(ctx, scratch)
	}
	if err := m.to.addFile(name, scratch); err != nil || damage == nil {
		return err
	}
	return &damagedError{cause: damage, added: true}
}

// makeFile makes an empty file that nobody else may read.
func makeFile(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// findInterrupted finds the jobs that ran since the store was copied.
func (m *creator) findInterrupted(ctx context.Context, jobs []job.Due) error {
	for _, d := range jobs {
		if d.State != job.Running {
			attempt, err := m.source.Queue().Attempt(ctx, d.ID)
			if err != nil && !errors.Is(err, job.ErrNotFound) {
				return err
			}
			if err == nil && attempt == d.Attempt {
				continue
			}
		}
		m.interrupted = append(m.interrupted, d)
	}
	return nil
}

// addBlobs adds the blobs that the copied store needs.
func (m *creator) addBlobs(ctx context.Context) error {
	root, err := os.OpenRoot(filepath.Join(m.Data, blobFolder))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		defer func() { _ = root.Close() }() // only read
	}
	return m.copied.Files().Blobs(ctx, func(c files.Chunk) error {
		name := dir.Name(c.Hash)
		content, err := readBlob(root, name, c)
		if err != nil {
			m.problem(path.Join(blobFolder, name), err)
			return nil
		}
		if err := m.to.add(path.Join(blobFolder, name), c.Size, bytes.NewReader(content)); err != nil {
			return err
		}
		m.to.manifest.Counts.Blobs++
		return nil
	})
}

// readBlob returns the content of a blob that is whole. Root may be nil.
func readBlob(root *os.Root, name string, c files.Chunk) ([]byte, error) {
	if root == nil {
		return nil, errMissing
	}
	f, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errMissing
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	content, err := io.ReadAll(io.LimitReader(f, c.Size+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) != c.Size || sha256.Sum256(content) != c.Hash {
		return nil, errors.New("its content has another hash than its name")
	}
	return content, nil
}
