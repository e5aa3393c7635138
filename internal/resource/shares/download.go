package shares

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"
)

// Find returns the link with a token, and what it leads to.
func (s *Shares) Find(ctx context.Context, token Hash) (Share, Content, error) {
	return s.o.Store.Find(ctx, token)
}

// Now is the moment by which links end.
func (s *Shares) Now() time.Time { return s.o.Clock() }

// Client is who asks for a file.
type Client struct {
	Cookie  string // that it was given with an earlier answer, "" for none
	Address string
	Agent   string
}

// maxAgent is how much of what a client calls itself is stored.
const maxAgent = 200

// StartDownload claims one use of a link, or restarts the client's broken download. It
// returns the cookie by which the client may restart this one. The use is on
// the disk when it returns.
func (s *Shares) StartDownload(ctx context.Context, token Hash, c Client) (d Delivery, cookie string, err error) {
	cookie = newToken()
	fresh, _ := ParseToken(cookie)
	v := Visit{At: s.o.Clock().UTC().Truncate(time.Microsecond), Fresh: fresh, Address: c.Address, Agent: printable(c.Agent)}
	if client, ok := ParseToken(c.Cookie); ok {
		v.Client = &client
	}
	d, err = s.o.Store.Claim(ctx, token, v)
	if d.Restart {
		cookie = c.Cookie
	}
	return d, cookie, err
}

// printable cuts what a client calls itself to what can be shown.
func printable(agent string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, agent[:min(len(agent), maxAgent)])
}

// recordTimeout is how long it may take to record the end of a download.
const recordTimeout = 5 * time.Second

// Send writes the part of a delivery's content from one byte up to another, and
// records how far it came. Nothing is held but a buffer.
func (s *Shares) Send(ctx context.Context, w io.Writer, d Delivery, from, to int64) error {
	sent, err := s.copy(ctx, w, d.Content, from, to)
	finished := time.Time{}
	if err == nil {
		finished = s.o.Clock().UTC().Truncate(time.Microsecond)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return errors.Join(err, s.o.Store.RecordProgress(ctx, d.Share.Account, d.Share.Seq, d.Receipt, sent, finished))
}

// sendBuffer is how much of a file is held in memory while it is sent.
const sendBuffer = 256 << 10

// copy writes content from one byte up to another.
func (s *Shares) copy(ctx context.Context, w io.Writer, c Content, from, to int64) (sent int64, err error) {
	content := s.o.Open(c)
	defer func() { err = errors.Join(err, content.Close()) }()
	if _, err := content.Seek(from, io.SeekStart); err != nil {
		return 0, err
	}
	buffer := make([]byte, min(sendBuffer, to-from))
	for sent < to-from {
		if err := ctx.Err(); err != nil {
			return sent, err
		}
		n, err := content.Read(buffer[:min(int64(len(buffer)), to-from-sent)])
		if err != nil {
			return sent, err
		}
		n, err = w.Write(buffer[:n])
		sent += int64(n)
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}
