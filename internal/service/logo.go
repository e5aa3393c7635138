package service

import (
	"bytes"
	"context"
	"io"

	"ql/internal/account"
	"ql/internal/fault"
)

// mostLogoBytes is how large a logo may be: pages of questions are loaded on phones.
const mostLogoBytes = 256 << 10

// pictures are the kinds of pictures that a logo may be, by how their files begin. None of them has
// code in it, as SVG may.
var pictures = []struct{ mediaType, begins, then string }{
	{"image/png", "\x89PNG\r\n\x1a\n", ""},
	{"image/jpeg", "\xff\xd8\xff", ""},
	{"image/gif", "GIF87a", ""},
	{"image/gif", "GIF89a", ""},
	{"image/webp", "RIFF", "WEBP"}, // with the size between
}

// pictureType returns the media type of a picture, "" for what is none.
func pictureType(content []byte) string {
	for _, p := range pictures {
		rest, ok := bytes.CutPrefix(content, []byte(p.begins))
		if ok && (p.then == "" || len(rest) > 4 && bytes.HasPrefix(rest[4:], []byte(p.then))) {
			return p.mediaType
		}
	}
	return ""
}

// PageLook is how the page of a question looks.
type PageLook struct {
	DisplayName string
	Accent      string
	HasLogo     bool
}

func pageLook(a *account.Account) PageLook {
	return PageLook{DisplayName: a.Look.DisplayName, Accent: a.Look.Accent, HasLogo: a.Look.Logo != ""}
}

// Logo is the picture on the page of a question.
type Logo struct {
	Content   []byte
	MediaType string
	// CountSent counts how much of it was sent. It waits for the store.
	CountSent func(bytes int64)
}

// Logo returns the logo on the page of a token's question.
func (s *Service) Logo(ctx context.Context, c Caller, token string) (Logo, error) {
	_, owner, err := s.findQuestion(ctx, c, token)
	if err != nil {
		return Logo{}, err
	}
	if polls := s.countPoll(c, owner); !polls.OK {
		return Logo{}, polls.Err()
	}
	if owner.Look.Logo == "" {
		return Logo{}, fault.New(fault.NotFound, "this account has no logo")
	}
	logo, err := s.readLogo(ctx, c, owner, owner.Look.Logo)
	if fault.Is(err, fault.InvalidRequest) { // it was a picture when the account named it
		err = fault.New(fault.NotFound, "this account has no logo")
	}
	logo.CountSent = func(bytes int64) { s.countEgress(ctx, owner.ID, bytes) }
	return logo, err
}

// checkLogo says what is wrong with a path as a logo.
func (s *Service) checkLogo(ctx context.Context, c Caller, a account.Account, path string) error {
	_, err := s.readLogo(ctx, c, a, path)
	return err
}

// readLogo reads a logo. What is no picture is an invalid_request. It counts as a file on its way.
func (s *Service) readLogo(ctx context.Context, c Caller, a account.Account, path string) (Logo, error) {
	limits := a.Limits(s.o.Limits)
	leave, err := s.o.Transfers.Acquire(ctx, int64(a.ID), limits.Concurrent)
	if err != nil {
		return Logo{}, err
	}
	defer leave()
	tree, release, err := s.o.Files(ctx, a, limits)
	if err != nil {
		return Logo{}, err
	}
	defer release()
	file, err := tree.Open(ctx, path)
	switch err := fileFault(err); {
	case fault.Is(err, fault.FileNotFound), fault.Is(err, fault.InvalidPath), fault.Is(err, fault.IsFolder), fault.Is(err, fault.NotAFolder):
		return Logo{}, fault.Invalid("logo", "is no file of the account: %s", fault.Of(err).Message)
	case err != nil:
		return Logo{}, err
	}
	defer func() { _ = file.Close() }()
	if file.Size() > mostLogoBytes {
		return Logo{}, fault.Invalid("logo", "has %d bytes: a picture of up to %d fits", file.Size(), mostLogoBytes)
	}
	if err := c.Memory.Grow(ctx, file.Size()); err != nil {
		return Logo{}, err
	}
	content := make([]byte, file.Size())
	if _, err := io.ReadFull(file, content); err != nil {
		return Logo{}, err
	}
	kind := pictureType(content)
	if kind == "" {
		return Logo{}, fault.Invalid("logo", "is no picture that pages show: PNG, JPEG, GIF and WebP fit")
	}
	return Logo{Content: content, MediaType: kind}, nil
}
