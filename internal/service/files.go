package service

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/site"
	"ql/internal/wire"
	"ql/lang/form"
	"ql/lang/value"
)

// FileTree is an account's tree of files, as its owner reaches it past scripts. Its
// errors are those of engine.Files.
type FileTree interface {
	// Open opens a file to be read, as it is at this moment.
	Open(ctx context.Context, path string) (FileContent, error)
	// Stat tells what stands at each of some paths; the zero FileInfo where there is nothing, as at
	// a path that cannot be used.
	Stat(ctx context.Context, paths []string) ([]engine.FileInfo, error)
	// AsOfRelease returns the tree with the folder of the site as a release has it, whatever is deployed
	// meanwhile, the same for scripts, and the number of the release: the current one's for a negative number.
	AsOfRelease(ctx context.Context, release int64) (FileTree, engine.Files, int64, error)
	// Deployed returns the site in the tree.
	Deployed() DeployedSite
	// NamesWith returns the names in a folder that begin with a text, in their order, and no more
	// than so many.
	NamesWith(ctx context.Context, folder, beginning string, most int) ([]string, error)
	// List is that of engine.Files.
	List(ctx context.Context, path, after string) iter.Seq2[engine.FileInfo, error]
	// Upload writes a file from a stream of so many bytes, negative where that is
	// not known. May is asked, by what names the content that is there and when
	// it was written, whether it may be replaced ("" and the zero time for none),
	// and its error is returned.
	Upload(ctx context.Context, path string, from io.Reader, size int64, may func(tag string, written time.Time) error) (tag string, err error)
	// Receive receives content that may become a file. Name is what errors call it.
	Receive(ctx context.Context, name string, from io.Reader) (ReceivedFile, error)
	// Move and Copy give a file another path, and another file its content, if may lets them.
	// Only where they may replace do they take the place of a file that is there.
	Move(ctx context.Context, from, to string, replace bool, may func(tag string, written time.Time) error) error
	Copy(ctx context.Context, from, to string, replace bool, may func(tag string, written time.Time) error) error
	// MakeFolder makes a folder, and reports whether there was none.
	MakeFolder(ctx context.Context, path string) (created bool, err error)
	// Remove removes a file or an empty folder, if may lets it.
	Remove(ctx context.Context, path string, may func(tag string, written time.Time) error) error
}

// ReceivedFile is content that has come, and is counted with the account's files though it is none yet.
type ReceivedFile interface {
	form.Received
	engine.RequestContent
	// Hand is Ref of what a job holds that is stored before it is discarded.
	Hand(ctx context.Context, path string) (ref []byte, err error)
	// Discard ends it: what was not stored is gone.
	Discard()
}

// FileContent is what a file holds.
type FileContent interface {
	io.ReadSeekCloser
	Size() int64
	Modified() time.Time
	Tag() string // names it: another content has another one
}

// LongestTransfer is how long a file may be on its way.
const LongestTransfer = 6 * time.Hour

// files are an account's files, opened for a caller.
type files struct {
	FileTree
	account account.ID
	Meta
	owner  caller
	limits account.Limits
	leave  func()
}

// mayChange says why a caller may not change files at some paths. Scripts of a site are run, so a
// named key must be one that may deploy them.
func (f *files) mayChange(paths ...string) error {
	if f.owner.By != principal.ByNamedKey || f.owner.Scopes.Has(deploySite.scope) {
		return nil
	}
	for _, path := range paths {
		top, _, _ := strings.Cut(strings.TrimLeft(path, "/"), "/")
		if strings.EqualFold("/"+top, site.Root) { // as the names of files are compared
			return scopeMissing(&f.owner.Principal, deploySite.scope.String()+" below "+site.Root)
		}
	}
	return nil
}

// openFiles lets a caller to the files of the account that its password
// proves. Leave is to be called where there is no error.
func (s *Service) openFiles(ctx context.Context, c Caller, p *Credentials) (files, error) {
	f := files{}
	owner, err := s.authenticateOwner(ctx, c, p, access{"files", passwordOrName, scope.Files})
	if err != nil {
		return f, err
	}
	f.owner, f.Origin, f.account, f.limits = owner, owner.origin, owner.Account.ID, owner.Account.Limits(s.o.Limits)
	verdict := s.countCall(owner, c, f.limits)
	f.Rate = &verdict
	if err := verdict.Err(); err != nil {
		return f, err
	}
	leave, err := s.o.Transfers.Acquire(ctx, int64(owner.Account.ID), f.limits.Concurrent)
	if err != nil {
		return f, err
	}
	tree, release, err := s.o.Files(ctx, owner.Account, f.limits)
	if err != nil {
		leave()
		return f, err
	}
	f.FileTree = tree
	f.leave = func() {
		leave()
		release()
	}
	return f, nil
}

// fileFault gives the errors of files the codes of a request.
func fileFault(err error) error {
	var e *value.Error
	switch {
	case errors.As(err, &e):
		f := fault.New(fault.Code(e.Code), "%s", e.Message)
		if f.Code == fault.LimitExceeded { // a request is too large where a statement does too much
			f.Code = fault.TooLarge
		}
		if e.Limit != nil {
			f.Limit, f.Value = e.Limit.Name, e.Limit.Max
		}
		return f
	case errors.Is(err, account.ErrNotFound): // it was deleted meanwhile
		return fault.New(fault.BadCredentials, "there is no such account any more")
	}
	return err
}

// FolderPage is a part of a list, by name.
type FolderPage struct {
	After string // the name that it begins behind, "" for the first one
	Limit int
}

// FoundFile is a file or a folder. Done is to be called, where it is a file
// when that has been read.
type FoundFile struct {
	Meta
	Content FileContent // nil for a folder
	Name    string
	Files   []wire.FileEntry // of a folder
	Next    string           // the name that the next page begins behind, or ""
	Close   func()
	// OnBroken is told why a file could not be read to its end.
	OnBroken func(ctx context.Context, err error)
	// CountSent counts how much of a file was sent. It waits for the store, so it is
	// called when all is done.
	CountSent func(bytes int64)
}

// File opens a file, or lists a folder.
func (s *Service) File(ctx context.Context, c Caller, p *Credentials, path string, page FolderPage) (FoundFile, error) {
	f, err := s.openFiles(ctx, c, p)
	found := FoundFile{Meta: f.Meta, Name: path[strings.LastIndexByte(path, '/')+1:], Close: f.leave, OnBroken: s.logBrokenDownload}
	if err != nil {
		return found, err
	}
	if path != "/" {
		content, err := f.Open(ctx, path)
		if err == nil {
			found.Content, found.Close = content, func() {
				_ = content.Close() // it was only read
				f.leave()
			}
			found.CountSent = func(bytes int64) { s.countEgress(ctx, f.account, bytes) }
			return found, nil
		}
		if err = fileFault(err); !fault.Is(err, fault.IsFolder) {
			f.leave()
			return found, err
		}
	}
	if err = c.Memory.reservePage(ctx, page.Limit); err == nil {
		found.Files, found.Next, err = f.list(ctx, path, page)
	}
	if err != nil {
		f.leave()
	}
	return found, err
}

// list returns a page of a folder.
func (f *files) list(ctx context.Context, folder string, page FolderPage) (list []wire.FileEntry, next string, err error) {
	for info, err := range f.List(ctx, folder, page.After) {
		switch {
		case err != nil:
			return nil, "", fileFault(err)
		case len(list) == page.Limit:
			return list, list[len(list)-1].Name, nil
		default:
			list = append(list, wire.FileEntry{Path: info.Path, Name: info.Name, Size: info.Size, Modified: info.Modified, Folder: info.Folder})
		}
	}
	return list, "", nil
}

// Condition tells, by what names the content of a file and when it was written,
// whether the file may be changed; "" and the zero time where there is none.
type Condition func(tag string, written time.Time) bool

// Upload is a file that a caller sends.
type Upload struct {
	Path string
	Size int64 // negative where it is not known
	// Body gives its content; only then does a careful sender begin.
	Body func() (io.Reader, error)
	If   Condition // whether what is there may be replaced
}

// StoredFile is a file as it was stored.
type StoredFile struct {
	Meta
	Size    int64
	Tag     string
	Created bool // there was none before
}

// StoreFile writes a file.
func (s *Service) StoreFile(ctx context.Context, c Caller, p *Credentials, sent Upload) (StoredFile, error) {
	f, err := s.openFiles(ctx, c, p)
	stored := StoredFile{Meta: f.Meta}
	if err != nil {
		return stored, err
	}
	defer f.leave()
	if err := f.mayChange(sent.Path); err != nil {
		return stored, err
	}
	most := f.limits.FileBytes
	if most > 0 && sent.Size > most {
		return stored, fileTooLarge(most)
	}
	body := &limitedBody{open: sent.Body, most: most}
	stored.Tag, err = f.Upload(ctx, sent.Path, body, sent.Size, func(tag string, written time.Time) error {
		stored.Created = tag == ""
		return checkCondition(sent.If(tag, written))
	})
	stored.Size = body.read
	return stored, fileFault(err)
}

func fileTooLarge(most int64) error {
	e := fault.New(fault.TooLarge, "is too large: a file has %d bytes at most", most)
	e.Field, e.Limit, e.Value = "body", "file_bytes", most
	return e
}

func checkCondition(ok bool) error {
	if ok {
		return nil
	}
	return fault.New(fault.PreconditionFailed, "the file is not as the request's condition says: it was changed, is there already, or is gone")
}

// limitedBody is a body that is opened when it is read, and read up to a bound.
type limitedBody struct {
	open func() (io.Reader, error)
	from io.Reader
	most int64 // 0 for no bound
	read int64
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.from == nil {
		var err error
		if b.from, err = b.open(); err != nil {
			return 0, err
		}
	}
	n, err := b.from.Read(p)
	if b.read += int64(n); b.most > 0 && b.read > b.most {
		return 0, fileTooLarge(b.most)
	}
	return n, err
}

// RemoveFile removes a file or an empty folder, if may lets it.
func (s *Service) RemoveFile(ctx context.Context, c Caller, p *Credentials, path string, may Condition) (Meta, error) {
	f, err := s.openFiles(ctx, c, p)
	if err != nil {
		return f.Meta, err
	}
	defer f.leave()
	if err := f.mayChange(path); err != nil {
		return f.Meta, err
	}
	err = f.Remove(ctx, path, func(tag string, written time.Time) error { return checkCondition(may(tag, written)) })
	return f.Meta, fileFault(err)
}

// ChangedFile is what became of a file or a folder.
type ChangedFile struct {
	Meta
	Path    string // where it is now
	Created bool   // something is there that was not
}

// ChangeFile moves or copies a file, or makes a folder, if may lets it.
func (s *Service) ChangeFile(ctx context.Context, c Caller, p *Credentials, path string, change wire.FileChange, may Condition) (ChangedFile, error) {
	f, err := s.openFiles(ctx, c, p)
	changed := ChangedFile{Meta: f.Meta, Path: path}
	if err != nil {
		return changed, err
	}
	defer f.leave()
	if err := f.mayChange(path, change.Move, change.Copy); err != nil {
		return changed, err
	}
	check := func(tag string, written time.Time) error { return checkCondition(may(tag, written)) }
	switch {
	case change.Move != "":
		changed.Path = change.Move
		err = f.Move(ctx, path, change.Move, change.Replace, check)
	case change.Copy != "":
		changed.Path, changed.Created = change.Copy, true
		err = f.Copy(ctx, path, change.Copy, change.Replace, check)
	default:
		changed.Created, err = f.MakeFolder(ctx, path)
	}
	return changed, fileFault(err)
}

// logBrokenDownload logs a file that could not be read to its end.
func (s *Service) logBrokenDownload(ctx context.Context, err error) {
	if ctx.Err() == nil {
		s.o.Log.Error("a file could not be sent to its end", "error", err)
	}
}
