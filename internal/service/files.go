package service

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/wire"
	"ql/lang/value"
)

// Tree is an account's tree of files, as its owner reaches it past scripts. Its
// errors are those of engine.Files.
type Tree interface {
	// Open opens a file to be read, as it is at this moment.
	Open(ctx context.Context, path string) (Content, error)
	// List is that of engine.Files.
	List(ctx context.Context, path, after string) iter.Seq2[engine.FileInfo, error]
	// Upload writes a file from a stream of so many bytes, negative where that is
	// not known. May is asked, by what names the content that is there and when
	// it was written, whether it may be replaced ("" and the zero time for none),
	// and its error is returned.
	Upload(ctx context.Context, path string, from io.Reader, size int64, may func(tag string, written time.Time) error) (tag string, err error)
	// Remove removes a file or an empty folder, if may lets it.
	Remove(ctx context.Context, path string, may func(tag string, written time.Time) error) error
}

// Content is what a file holds.
type Content interface {
	io.ReadSeekCloser
	Size() int64
	Modified() time.Time
	Tag() string // names it: another content has another one
}

// LongestTransfer is how long a file may be on its way.
const LongestTransfer = 6 * time.Hour

// FileAnswer is what counts beside whatever an operation on files gives, errors
// included.
type FileAnswer struct {
	Origin string // the page's, where it may read the answer
	Rate   *admit.Verdict
}

// files are an account's files in the hands of a caller.
type files struct {
	Tree
	account account.ID
	FileAnswer
	limits account.Limits
	leave  func()
}

// enterFiles lets a caller to the files of the account that its password
// proves. Leave is to be called where there is no error.
func (s *Service) enterFiles(ctx context.Context, c Caller, p *Proof) (files, error) {
	f := files{}
	owner, err := s.authenticateOwner(ctx, c, p, "files", passwordAlone)
	if err != nil {
		return f, err
	}
	f.Origin, f.account, f.limits = owner.origin, owner.Account.ID, s.o.Limits(owner.Account.LimitPlan())
	verdict := s.count(owner, c, f.limits)
	f.Rate = &verdict
	if err := verdict.Err(); err != nil {
		return f, err
	}
	leave, err := s.o.Transfers.Enter(ctx, int64(owner.Account.ID), f.limits.Concurrent)
	if err != nil {
		return f, err
	}
	tree, release, err := s.o.Files(ctx, owner.Account, f.limits)
	if err != nil {
		leave()
		return f, err
	}
	f.Tree = tree
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

// Page is a part of a list, by name.
type Page struct {
	After string // the name that it begins behind, "" for the first one
	Limit int
}

// FileFound is a file or a folder. Done is to be called, where it is a file
// when that has been read.
type FileFound struct {
	FileAnswer
	Content Content // nil for a folder
	Name    string
	Files   []wire.FileEntry // of a folder
	Next    string           // the name that the next page begins behind, or ""
	Done    func()
	// Sent is told how much of a file has left. It waits for the store, so it is
	// called when all is done.
	Sent func(bytes int64)
}

// File opens a file, or lists a folder.
func (s *Service) File(ctx context.Context, c Caller, p *Proof, path string, page Page) (FileFound, error) {
	f, err := s.enterFiles(ctx, c, p)
	found := FileFound{FileAnswer: f.FileAnswer, Name: path[strings.LastIndexByte(path, '/')+1:], Done: f.leave}
	if err != nil {
		return found, err
	}
	if path != "/" {
		content, err := f.Open(ctx, path)
		if err == nil {
			found.Content, found.Done = content, func() {
				_ = content.Close() // it was only read
				f.leave()
			}
			found.Sent = func(bytes int64) { s.sent(ctx, f.account, bytes) }
			return found, nil
		}
		if err = fileFault(err); !fault.Is(err, fault.IsFolder) {
			f.leave()
			return found, err
		}
	}
	if err = c.Memory.holdPage(ctx, page.Limit); err == nil {
		found.Files, found.Next, err = f.list(ctx, path, page)
	}
	if err != nil {
		f.leave()
	}
	return found, err
}

// list returns a page of a folder.
func (f *files) list(ctx context.Context, folder string, page Page) (list []wire.FileEntry, next string, err error) {
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

// Sent is a file that a caller sends.
type Sent struct {
	Path string
	Size int64 // negative where it is not known
	// Body gives its content; only then does a careful sender begin.
	Body func() (io.Reader, error)
	May  Condition // whether it may take the place of what is there
}

// FileStored is a file as it was stored.
type FileStored struct {
	FileAnswer
	Size    int64
	Tag     string
	Created bool // there was none before
}

// StoreFile writes a file.
func (s *Service) StoreFile(ctx context.Context, c Caller, p *Proof, sent Sent) (FileStored, error) {
	f, err := s.enterFiles(ctx, c, p)
	stored := FileStored{FileAnswer: f.FileAnswer}
	if err != nil {
		return stored, err
	}
	defer f.leave()
	most := f.limits.FileBytes
	if most > 0 && sent.Size > most {
		return stored, fileTooLarge(most)
	}
	body := &counted{open: sent.Body, most: most}
	stored.Tag, err = f.Upload(ctx, sent.Path, body, sent.Size, func(tag string, written time.Time) error {
		stored.Created = tag == ""
		return unless(sent.May(tag, written))
	})
	stored.Size = body.read
	return stored, fileFault(err)
}

func fileTooLarge(most int64) error {
	e := fault.New(fault.TooLarge, "is too large: a file has %d bytes at most", most)
	e.Field, e.Limit, e.Value = "body", "file_bytes", most
	return e
}

func unless(ok bool) error {
	if ok {
		return nil
	}
	return fault.New(fault.PreconditionFailed, "the file is not as the request's condition says: it was changed, is there already, or is gone")
}

// counted is a body that is opened when it is read, and read up to a bound.
type counted struct {
	open func() (io.Reader, error)
	from io.Reader
	most int64 // 0 for no bound
	read int64
}

// Read implements io.Reader.
func (b *counted) Read(p []byte) (int, error) {
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
func (s *Service) RemoveFile(ctx context.Context, c Caller, p *Proof, path string, may Condition) (FileAnswer, error) {
	f, err := s.enterFiles(ctx, c, p)
	if err != nil {
		return f.FileAnswer, err
	}
	defer f.leave()
	err = f.Remove(ctx, path, func(tag string, written time.Time) error { return unless(may(tag, written)) })
	return f.FileAnswer, fileFault(err)
}

// BrokenOff tells the operator of a file that could not be read to its end.
func (s *Service) BrokenOff(ctx context.Context, err error) {
	if ctx.Err() == nil {
		s.o.Log.Error("a file could not be sent to its end", "error", err)
	}
}
