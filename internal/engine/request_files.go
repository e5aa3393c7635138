package engine

import (
	"context"
	"io"
	"iter"
	"slices"
	"strings"

	"ql/lang/value"
)

// RequestFile is a file that came with the request that a script answers. It is at its path for this
// script alone, and gone at its end: what is to stay, the script moves or copies.
type RequestFile struct {
	Path string `json:"path"`
	Size int64  `json:"size"`
	// Ref refers to the content, see Files.Held; nil before somebody needs it.
	Ref []byte `json:"ref,omitempty"`
	// Content is the content while the request is answered. A job that goes on later has Ref alone, and
	// holds what that refers to.
	Content RequestContent `json:"-"`
}

// RequestContent is content that has come, and is no file of the account yet.
type RequestContent interface {
	// Ref returns a reference to it, which is good until the request is answered.
	Ref(path string) ([]byte, error)
}

// RequestFiler is what Files are that can make a file of one that came with a request.
type RequestFiler interface {
	// Keep makes a file of it, as Write would. It may be called again.
	Keep(ctx context.Context, f *RequestFile, to string) error
}

// ref returns a reference to the content.
func (f *RequestFile) ref() (ref []byte, err error) {
	if f.Ref == nil && f.Content != nil {
		f.Ref, err = f.Content.Ref(f.Path)
	}
	return f.Ref, err
}

// requestFiles are an account's files, and among them those that came with a request.
type requestFiles struct {
	Files
	run *Run
}

// find returns the file of the request that is at a path; nil for any other. A path that is written
// otherwise than the script found it is none of it.
func (q *requestFiles) find(path string) *RequestFile {
	for _, f := range q.run.o.RequestFiles {
		if f.Path == path && !slices.Contains(q.run.state.Taken, path) {
			return f
		}
	}
	return nil
}

// take notes that a file of the request is gone, where the path is that of one.
func (r *Run) take(path string) {
	if slices.ContainsFunc(r.o.RequestFiles, func(f *RequestFile) bool { return f.Path == path }) && !slices.Contains(r.state.Taken, path) {
		// Runs that were made of the same State share what it had.
		r.state.Taken = append(slices.Clip(r.state.Taken), strings.Clone(path))
	}
}

// keptRequestFiles are the references to the files of the request that are not gone.
func (r *Run) keptRequestFiles() (refs [][]byte) {
	for _, f := range r.o.RequestFiles {
		if f.Ref != nil && !slices.Contains(r.state.Taken, f.Path) {
			refs = append(refs, f.Ref)
		}
	}
	return refs
}

// LeftRequestFiles are the files of the request that the script has neither moved nor removed.
func (r *Run) LeftRequestFiles() (left []*RequestFile) {
	for _, f := range r.o.RequestFiles {
		if !slices.Contains(r.state.Taken, f.Path) {
			left = append(left, f)
		}
	}
	return left
}

// Read implements Files.
func (q *requestFiles) Read(ctx context.Context, path string, limit int) ([]byte, error) {
	f := q.find(path)
	if f == nil {
		return q.Files.Read(ctx, path, limit)
	}
	if f.Size > int64(limit) {
		return nil, value.Exceeded("value_size", int64(limit), "the file %s has %s, and a script can take %d at most", value.Quote(path), value.FormatByteCount(f.Size), limit)
	}
	content, err := q.open(ctx, f)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }() // it was only read
	b := make([]byte, f.Size)
	_, err = io.ReadFull(content, b)
	return b, err
}

func (q *requestFiles) open(ctx context.Context, f *RequestFile) (FileContent, error) {
	ref, err := f.ref()
	if err != nil {
		return nil, err
	}
	return q.Held(ctx, ref)
}

// Hold implements Files.
func (q *requestFiles) Hold(ctx context.Context, path string) (FileContent, error) {
	if f := q.find(path); f != nil {
		return q.open(ctx, f)
	}
	return q.Files.Hold(ctx, path)
}

// List implements Files: what came with a request is in no folder.
func (q *requestFiles) List(ctx context.Context, path, after string) iter.Seq2[FileInfo, error] {
	return q.Files.List(ctx, path, after)
}

// Write implements Files.
func (q *requestFiles) Write(ctx context.Context, path string, content []byte) error {
	if err := q.refuse(path); err != nil {
		return err
	}
	return q.Files.Write(ctx, path, content)
}

// WriteStream implements Files.
func (q *requestFiles) WriteStream(ctx context.Context, path string, write func(io.Writer) error, commit func() context.Context) error {
	if err := q.refuse(path); err != nil {
		return err
	}
	return q.Files.WriteStream(ctx, path, write, commit)
}

// Append implements Files.
func (q *requestFiles) Append(ctx context.Context, path string, content []byte) error {
	if err := q.refuse(path); err != nil {
		return err
	}
	return q.Files.Append(ctx, path, content)
}

// refuse is the error of a change of what came with the request.
func (q *requestFiles) refuse(path string) error {
	if q.find(path) == nil {
		return nil
	}
	return value.Errorf("invalid_path", "the file %s came with the request and stays what it is: MOVE it first", value.Quote(path))
}

// Copy implements Files.
func (q *requestFiles) Copy(ctx context.Context, from, to string) error {
	f := q.find(from)
	if f == nil {
		if err := q.refuse(to); err != nil {
			return err
		}
		return q.Files.Copy(ctx, from, to)
	}
	return q.keep(ctx, f, to)
}

// Move implements Files.
func (q *requestFiles) Move(ctx context.Context, from, to string) error {
	f := q.find(from)
	if f == nil {
		if err := q.refuse(to); err != nil {
			return err
		}
		return q.Files.Move(ctx, from, to)
	}
	if err := q.keep(ctx, f, to); err != nil {
		return err
	}
	q.run.take(from)
	return nil
}

func (q *requestFiles) keep(ctx context.Context, f *RequestFile, to string) error {
	if err := q.refuse(to); err != nil {
		return err
	}
	files, ok := q.Files.(RequestFiler)
	if !ok {
		return missing("files of requests")
	}
	return files.Keep(ctx, f, to)
}

// Remove implements Files.
func (q *requestFiles) Remove(ctx context.Context, path string) error {
	if q.find(path) == nil {
		return q.Files.Remove(ctx, path)
	}
	q.run.take(path)
	return nil
}
