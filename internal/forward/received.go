package forward

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"ql/internal/guard"
)

// partTime is how long the other side has to end a connection that it was told to end.
const partTime = 2 * time.Second

// received are the connections by which other nodes send calls here. A node that stops ends none of them by itself, since one
// that is closed while something comes by it leaves open whether that was begun. It tells the other side, while nothing is under way,
// and begins nothing that comes by it afterwards.
type received struct {
	guard *guard.Guard

	mu       sync.Mutex
	open     map[*receiving]struct{}
	isEnding bool
	gone     chan struct{} // closed when it ends and none is open
}

func newReceived(g *guard.Guard) *received {
	return &received{guard: g, open: map[*receiving]struct{}{}, gone: make(chan struct{})}
}

// receiving is one of them.
type receiving struct {
	*tls.Conn
	all    *received
	isBusy bool        // with a call
	isTold atomic.Bool // that it is to end; it is changed where all are locked
	closed chan struct{}
	once   sync.Once
}

// listener makes the connections of a listener such ones.
func (r *received) listener(l net.Listener, t *tls.Config) net.Listener {
	return &receivedListener{Listener: l, tls: t, all: r}
}

type receivedListener struct {
	net.Listener
	tls *tls.Config
	all *received
}

// Accept implements net.Listener.
func (l *receivedListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &receiving{Conn: tls.Server(accepted, l.tls), all: l.all, closed: make(chan struct{})}
	l.all.mu.Lock()
	defer l.all.mu.Unlock()
	l.all.open[c] = struct{}{}
	c.tellIfEnding()
	return c, nil
}

// Read implements net.Conn. What comes after the other side was told is not begun: it is read until that has closed the
// connection, which would not hear of it if it were closed here before.
func (c *receiving) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if c.isTold.Load() {
			n = 0
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Close implements net.Conn.
func (c *receiving) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.all.mu.Lock()
		defer c.all.mu.Unlock()
		delete(c.all.open, c)
		c.all.noteGone()
	})
	return c.Conn.Close()
}

// begin tells whether a call that came may be begun.
func (c *receiving) begin() bool {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.isBusy = true
	return !c.isTold.Load()
}

// tellIfEnding is called where nothing is under way. All are locked.
func (c *receiving) tellIfEnding() {
	if c.all.isEnding && !c.isTold.Load() {
		c.isTold.Store(true)
		c.all.guard.Go("server", c.tell)
	}
}

// tell has the other side end the connection.
func (c *receiving) tell() {
	defer func() { _ = c.Close() }() // the other side has
	late, cancel := context.WithTimeout(context.Background(), partTime)
	defer cancel()
	if err := c.HandshakeContext(late); err != nil {
		return
	}
	_ = c.SetWriteDeadline(time.Now().Add(partTime)) // where it fails the next does
	parting, err := partingOf(c.ConnectionState())
	if err != nil {
		return
	}
	if _, err := c.Write(parting); err != nil {
		return
	}
	select {
	case <-c.closed:
	case <-late.Done():
	}
}

// noteGone is called when one was closed, or none is to come. All are locked.
func (r *received) noteGone() {
	if r.isEnding && len(r.open) == 0 {
		select {
		case <-r.gone:
		default:
			close(r.gone)
		}
	}
}

// state hears what the server does with a connection.
func (r *received) state(c net.Conn, s http.ConnState) {
	if own, ok := c.(*receiving); ok && s == http.StateIdle {
		r.mu.Lock()
		defer r.mu.Unlock()
		own.isBusy = false
		own.tellIfEnding()
	}
}

// end has all connections ended by the other sides, and waits for that. Calls under way are answered before.
func (r *received) end(ctx context.Context) {
	r.mu.Lock()
	r.isEnding = true
	for c := range r.open {
		if !c.isBusy {
			c.tellIfEnding()
		}
	}
	r.noteGone()
	r.mu.Unlock()
	select {
	case <-r.gone:
	case <-ctx.Done():
	}
}

type receivingKey struct{}

func withReceiving(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, receivingKey{}, c)
}

// begun lets calls through that may begin.
func begun(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(receivingKey{}).(*receiving); ok && !c.begin() {
			_, _ = io.Copy(io.Discard, r.Body) // so that its end is heard
			<-r.Context().Done()               // the other side has closed the connection
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
}
