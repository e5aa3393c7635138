package forward

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync/atomic"
)

// partingOf is what a node says by a connection that the other side is to end: nothing was begun that came and is not
// answered. A program of the version before takes it for an answer which says that the databases have moved. It has a secret of
// the connection, so that no script makes an answer that is taken for it.
func partingOf(s tls.ConnectionState) ([]byte, error) {
	secret, err := s.ExportKeyingMaterial("EXPORTER-ql-parting", nil, 16)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "HTTP/1.1 421 Misdirected Request\r\nConnection: close\r\nContent-Length: 0\r\n%s: 1\r\nQl-Node-Parting: %x\r\n\r\n", headerMoved, secret), nil
}

// sending is a connection to another node.
type sending struct {
	*tls.Conn
	parting  []byte
	isParted atomic.Bool // the other side has said so
	writes   atomic.Int64
}

// Read implements net.Conn. TLS gives what was written at once apart from what was written before.
func (c *sending) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if bytes.Equal(p[:n], c.parting) {
		c.isParted.Store(true)
		return 0, io.EOF
	}
	return n, err
}

// Write implements net.Conn.
func (c *sending) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// dial connects to another node.
func (n *Nodes) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: connectTime}
	plain, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return n.secure(ctx, plain)
}

// secure makes a connection that was made to another node one to speak by.
func (n *Nodes) secure(ctx context.Context, plain net.Conn) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	var err error
	c := &sending{Conn: tls.Client(plain, n.tls())}
	if err = c.HandshakeContext(ctx); err == nil {
		c.parting, err = partingOf(c.ConnectionState())
	}
	if err != nil {
		_ = plain.Close() // it was not used
		return nil, err
	}
	return c, nil
}

// use is what was sent by the connection that a call was given.
type use struct {
	conn   *sending // nil where it was given none
	before int64
}

func (u *use) begin(c net.Conn) {
	if own, ok := c.(*sending); ok {
		u.conn, u.before = own, own.writes.Load()
	}
}

// isNothing tells of a call that came to an error whether it was certainly not begun.
func (u *use) isNothing() bool {
	return u.conn == nil || u.conn.isParted.Load() || u.conn.writes.Load() == u.before
}
