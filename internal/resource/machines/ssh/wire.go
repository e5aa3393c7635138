package ssh

import (
	"errors"
	"io"
	"sync/atomic"

	"ql/internal/network"
)

// maxNoise is how many bytes a host may send that bring no command or copy any further, such as
// keep-alives and banners: what it sends is read and answered whether a script waits for it or not.
const maxNoise = 4 << 20

var errNoise = errors.New("the host sends too much that nobody asked for")

// wire is a connection that breaks where the host sends too much noise.
type wire struct {
	network.Conn
	received, sent, useful atomic.Int64
}

// Read implements io.Reader. What is useful came with some more around it, and what was sent is
// acknowledged.
func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if w.received.Add(int64(n))-2*w.useful.Load()-w.sent.Load()/8 > maxNoise {
		return 0, errNoise
	}
	return n, err
}

// Write implements io.Writer.
func (w *wire) Write(b []byte) (int, error) {
	n, err := w.Conn.Write(b)
	w.sent.Add(int64(n))
	return n, err
}

// ownFile is a file of the account's that is copied from or to. What comes of a host is of use, and
// errors are told apart from those of the host.
type ownFile struct {
	from io.Reader
	to   io.Writer
	wire *wire
	err  atomic.Pointer[error]
}

// Write implements io.Writer.
func (f *ownFile) Write(b []byte) (n int, err error) {
	f.wire.useful.Add(int64(len(b)))
	n, err = f.to.Write(b)
	if err != nil {
		f.err.Store(&err)
	}
	return n, err
}

// Read implements io.Reader.
func (f *ownFile) Read(b []byte) (n int, err error) {
	n, err = f.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err.Store(&err)
	}
	return n, err
}
