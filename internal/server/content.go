package server

import (
	"context"
	"io"
	"net/http"
	"strconv"

	"ql/internal/fault"
	"ql/internal/service"
	"ql/internal/wire"
)

// SendFile answers with a file, or with the part of it that is asked for. Describe sets the headers
// of the file, of which so many bytes are sent. What was found is closed.
func SendFile(h http.Header, r *Request, conditions *wire.Conditions, found *service.FoundFile, reply Response, describe func(size int64)) (Response, error) {
	content, size := found.Content, found.Content.Size()
	part := wire.ByteRange{To: size}
	switch conditions.CheckRead(content.Tag(), content.Modified()) {
	case wire.ReadPreconditionFailed:
		found.Close()
		return reply, fault.New(fault.PreconditionFailed, "the file is another than the one asked for: it was changed")
	case wire.ReadNotModified:
		found.Close()
		describe(size)
		for _, name := range []string{"Content-Type", "Content-Length", "Content-Disposition"} {
			h.Del(name)
		}
		wire.SetContent(h, content.Tag(), content.Modified())
		reply.Status = http.StatusNotModified
		return reply, nil
	}
	if asked := r.HeaderValue("Range"); asked != "" && conditions.AllowsRange(content.Tag()) {
		var partly bool
		var err error
		if part, partly, err = wire.ParseRange(asked, size); err != nil {
			found.Close()
			reply.Status = http.StatusRequestedRangeNotSatisfiable
			reply.Body = r.encodeError(h, r.Setting(found.Origin), service.Refused(err))
			h.Set("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
			return reply, nil
		}
		if partly {
			reply.Status = http.StatusPartialContent
		}
	}
	describe(part.To - part.From)
	wire.SetContent(h, content.Tag(), content.Modified())
	if reply.Status == http.StatusPartialContent {
		h.Set("Content-Range", part.ContentRange(size))
	}
	if r.Method == http.MethodHead {
		found.Close()
	}
	reply.Stream = func(ctx context.Context, w io.Writer) { streamFile(ctx, w, found, part) }
	return reply, nil
}

// streamFile sends a part of a file. When it is sent, the transfer no longer counts.
func streamFile(ctx context.Context, w io.Writer, found *service.FoundFile, part wire.ByteRange) {
	counted := &counter{Writer: w}
	func() {
		defer found.Close()
		ctx, cancel := context.WithTimeout(ctx, service.LongestTransfer)
		defer cancel()
		if err := copyPart(ctx, counted, found.Content, part); err != nil {
			found.OnBroken(ctx, err)
		}
	}()
	found.CountSent(counted.bytes)
}

// counter counts what is written.
type counter struct {
	io.Writer
	bytes int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.bytes += int64(n)
	return n, err
}

// sendAtOnce is how much of a file is held in memory while it is sent.
const sendAtOnce = 256 << 10

// copyPart writes a part of a file, as long as the caller reads it. Its error is one of
// reading: a caller that has hung up is none.
func copyPart(ctx context.Context, w io.Writer, content io.ReadSeeker, p wire.ByteRange) error {
	if known, ok := content.(interface{ InMemory() ([]byte, bool) }); ok {
		if all, ok := known.InMemory(); ok {
			_, _ = w.Write(all[p.From:p.To]) // where that fails, nobody is left to tell
			return nil
		}
	}
	if _, err := content.Seek(p.From, io.SeekStart); err != nil {
		return err
	}
	buffer := make([]byte, min(sendAtOnce, p.To-p.From))
	for at := p.From; at < p.To; {
		n, err := content.Read(buffer[:min(int64(len(buffer)), p.To-at)])
		if err != nil {
			return err
		}
		if _, broken := w.Write(buffer[:n]); broken != nil || ctx.Err() != nil {
			return nil //nolint:nilerr // nobody is left to tell
		}
		at += int64(n)
	}
	return nil
}
