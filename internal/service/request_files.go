package service

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strings"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/wire"
	"ql/lang/form"
)

// MostRequestFiles is how many files may come with one request.
const MostRequestFiles = 20

// RequestFiles takes the files that come with a request, before its script is run. They are counted as
// what the account stores while they come and as long as the request lasts; those that the script has
// not kept are gone when it is closed. It is used by one goroutine at a time.
type RequestFiles struct {
	AnswerFiles
	limits account.Limits
	// skips says that the script reads no files: they are passed over.
	skips bool
	shown []wire.RequestFile
	taken []*engine.RequestFile
}

// requestFiles takes the files of a request to a script of an account. The caller closes it.
func (s *Service) requestFiles(c Caller, owner account.Account, l account.Limits, script string) *RequestFiles {
	return &RequestFiles{AnswerFiles: AnswerFiles{service: s, caller: c, owner: owner}, limits: l, skips: !mayReadFiles(script)}
}

// mayReadFiles tells whether a script may read !FILES: it says so, or includes what may. Of others
// nothing is stored that strangers send.
func mayReadFiles(script string) bool {
	upper := strings.ToUpper(script)
	return strings.Contains(upper, "FILES") || strings.Contains(upper, "INCLUDE")
}

// BodyBytes is how many bytes such a request may have, with its files.
func (f *RequestFiles) BodyBytes() int64 {
	if f.limits.SiteBodyBytes == 0 {
		return math.MaxInt64
	}
	return f.limits.SiteBodyBytes
}

// Limits are those of what is held of the request.
func (f *RequestFiles) Limits() wire.Limits { return wireLimits(f.limits) }

// Receive takes a file for a field, which it reads to its end or to where it is refused; one without a name
// is none, of a field for which nothing was chosen.
func (f *RequestFiles) Receive(ctx context.Context, field, name, mediaType string, from io.Reader) error {
	if len(f.shown) == MostRequestFiles {
		e := fault.New(fault.TooLarge, "has too many files: %d at most", MostRequestFiles)
		e.Field = "body"
		return e
	}
	shown := wire.RequestFile{Field: field}
	if name == "" || f.skips {
		f.shown = append(f.shown, shown)
		return nil
	}
	sum := sha256.New()
	content, err := f.receive(ctx, name, io.TeeReader(from, sum))
	if err != nil {
		return err
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	shown.Name, shown.Type, shown.Size, shown.Digest = form.FileName(name), form.MediaType(mediaType), content.Size(), hex.EncodeToString(sum.Sum(nil))
	shown.Path = fmt.Sprintf("/uploads/%x-%s", random, shown.Name)
	f.shown = append(f.shown, shown)
	f.taken = append(f.taken, &engine.RequestFile{Path: shown.Path, Size: shown.Size, Content: content})
	return nil
}

// receive reads what comes with a request that is read only now, where it is known what it calls, and
// takes its files.
func (s *Service) receive(ctx context.Context, f *RequestFiles, q *Query, l account.Limits) error {
	if err := q.Receive(ctx, f, q); err != nil {
		return err
	}
	q.Request.Files, q.uploads = f.shown, f.taken
	return q.Within(wireLimits(l))
}

// keepUploads has the files of the request that are left stay with the job that the script becomes.
func (k *syncRun) keepUploads(ctx context.Context, run *engine.Run) error {
	k.Spec.Uploads = nil
	for _, f := range run.LeftRequestFiles() {
		if content, ok := f.Content.(ReceivedFile); ok {
			ref, err := content.Hand(ctx, f.Path)
			if err != nil {
				return err
			}
			f.Ref = ref
		}
		// The content is gone with the call: the job has the reference alone.
		k.Spec.Uploads = append(k.Spec.Uploads, &engine.RequestFile{Path: f.Path, Size: f.Size, Ref: f.Ref})
	}
	return nil
}
