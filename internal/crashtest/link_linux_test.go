package crashtest

import (
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// link is the way of one node to PostgreSQL, which can be cut and be slow.
type link struct {
	to string

	mu     sync.Mutex
	isCut  bool
	delay  time.Duration // of all that is sent to PostgreSQL
	stands bool          // nothing comes through, and nobody is told
	conns  map[net.Conn]bool
	passes sync.WaitGroup
}

// newLink makes a way to a database, and returns its URL.
func newLink(t *testing.T, database string) (*link, string) {
	t.Helper()
	u, err := url.Parse(database)
	check(t, err)
	q := u.Query()
	const socket = ".s.PGSQL.5432"
	l := &link{to: filepath.Join(q.Get("host"), socket), conns: map[net.Conn]bool{}}
	folder := t.TempDir()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(folder, socket))
	check(t, err)
	l.passes.Go(func() { l.serve(listener) })
	t.Cleanup(func() {
		_ = listener.Close()
		l.cut(true)
		l.passes.Wait()
	})
	q.Set("host", folder)
	u.RawQuery = q.Encode()
	return l, u.String()
}

func (l *link) serve(listener net.Listener) {
	for {
		from, err := listener.Accept()
		if err != nil {
			return
		}
		to, err := (&net.Dialer{}).Dial("unix", l.to)
		if err != nil {
			_ = from.Close()
			continue
		}
		l.mu.Lock()
		isCut := l.isCut
		if !isCut {
			l.conns[from], l.conns[to] = true, true
		}
		l.mu.Unlock()
		if isCut {
			_, _ = from.Close(), to.Close()
			continue
		}
		l.passes.Go(func() { l.pass(to, from, true) })
		l.passes.Go(func() { l.pass(from, to, false) })
	}
}

// pass copies what comes, until either end is closed.
func (l *link) pass(to, from net.Conn, isDelayed bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		for stands := true; stands; {
			l.mu.Lock()
			delay := l.delay
			if stands = l.stands && !l.isCut; stands {
				delay = 10 * time.Millisecond
			}
			l.mu.Unlock()
			if stands || isDelayed {
				<-time.After(delay)
			}
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, to)
	delete(l.conns, from)
}

// cut ends all connections and refuses others, or lets them pass again.
func (l *link) cut(isCut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.isCut = isCut
	if isCut {
		for c := range l.conns {
			_ = c.Close()
		}
	}
}

// stand has the connections stand still, as where the network drops what is sent, or go on.
func (l *link) stand(stands bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stands = stands
}

// slow has all that is sent come later.
func (l *link) slow(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = by
}
