package listen

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// conn is a connection of a listener, which gets its slot back when it is closed. It is cheaper than the one below it for how
// net/http uses one: docs/decisions/0125 tells how.
type conn struct {
	net.Conn
	accepted time.Time
	once     sync.Once
	release  func()

	mu          sync.Mutex
	read, write deadline
	watch       watch
	head        []string // lines for that of the answer that is written next; nil for none
}

func newConn(c net.Conn, release func()) *conn {
	made := &conn{Conn: c, accepted: time.Now(), release: release}
	made.read.apply, made.write.apply = c.SetReadDeadline, c.SetWriteDeadline
	made.watch.changed.L = &made.mu
	return made
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(p) == 1 {
		c.awaitLong()
	}
	for {
		if t := c.read.wanted; !t.IsZero() && t.Before(c.accepted) {
			return 0, os.ErrDeadlineExceeded // somebody ends the call, as net/http does, and no clock is asked
		}
		if err = c.read.begin(); err != nil {
			return 0, err
		}
		c.mu.Unlock()
		n, err = c.Conn.Read(p)
		c.mu.Lock()
		if c.read.end(); n > 0 || !c.read.isEarly(err) {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (c *conn) Write(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.head != nil {
		return c.writeHead(p)
	}
	return c.writeAll(p)
}

// writeAll writes until a deadline is over that is wanted. The connection is locked, but while it writes.
func (c *conn) writeAll(p []byte) (n int, err error) {
	for {
		if err = c.write.begin(); err != nil {
			return n, err
		}
		c.mu.Unlock()
		more, err := c.Conn.Write(p[n:])
		n += more
		c.mu.Lock()
		if c.write.end(); !c.write.isEarly(err) {
			return n, err
		}
	}
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watch.isWaiting {
		c.watch.end()
	}
	return c.read.move(t)
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.write.move(t)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.mu.Lock()
		c.watch.close()
		c.mu.Unlock()
		c.release()
	})
	return err
}

// deadline is one of the calls of a connection. It is set anew several times for each request, mostly later than before, and a
// timer is moved for each time that the connection is told: so it is told only what would end a call earlier.
type deadline struct {
	wanted  time.Time
	applied time.Time // while a call is on its way, none that is later than the one wanted
	calls   int       // on their way
	apply   func(time.Time) error
}

// begin is called before a call.
func (d *deadline) begin() error {
	if err := d.hasten(); err != nil {
		return err
	}
	d.calls++
	return nil
}

// end is called after a call.
func (d *deadline) end() { d.calls-- }

// move sets the deadline.
func (d *deadline) move(t time.Time) error {
	if d.wanted = t; d.calls > 0 {
		return d.hasten()
	}
	return nil
}

// hasten tells the connection of a deadline that is earlier than what it knows.
func (d *deadline) hasten() error {
	if !d.wanted.IsZero() && (d.applied.IsZero() || d.wanted.Before(d.applied)) {
		return d.tell()
	}
	return nil
}

func (d *deadline) tell() error {
	d.applied = d.wanted
	return d.apply(d.wanted)
}

// isEarly tells whether a call ended by a deadline that was moved meanwhile, so that it is to go on.
func (d *deadline) isEarly(err error) bool {
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || !d.wanted.IsZero() && !time.Now().Before(d.wanted) {
		return false
	}
	return d.tell() == nil
}

// watchAfter is how long after the beginning of a request its connection is watched for its end, and up to twice that.
const watchAfter = 10 * time.Millisecond

// watch is the waiting of a goroutine that net/http starts for each request: it reads one byte, to hear when the caller hangs
// up, until the request is answered. Most are answered at once, so the connection is read only after a while.
type watch struct {
	changed   sync.Cond
	isWaiting bool
	isClosed  bool
	turn      uint64 // of waiting
	timer     *time.Timer
	isTimed   bool
	timedTurn uint64 // which was on its way when the timer was set
}

// awaitLong returns when a read of one byte has waited for a while, or a deadline is set.
func (c *conn) awaitLong() {
	w := &c.watch
	if !c.read.wanted.IsZero() || w.isClosed {
		return
	}
	w.turn++
	w.isWaiting = true
	if !w.isTimed {
		c.timeWatch()
	}
	for w.isWaiting {
		w.changed.Wait()
	}
}

// timeWatch sets the timer for the wait that is on its way. Under load that is once in a while, not for each request.
func (c *conn) timeWatch() {
	w := &c.watch
	w.isTimed, w.timedTurn = true, w.turn
	if w.timer == nil {
		w.timer = time.AfterFunc(watchAfter, c.watchNow)
		return
	}
	w.timer.Reset(watchAfter)
}

// watchNow ends the wait that was on its way when the timer was set. Of one that began later it waits for the next time.
func (c *conn) watchNow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &c.watch
	w.isTimed = false
	if !w.isWaiting {
		return
	}
	if w.turn == w.timedTurn {
		w.end()
		return
	}
	c.timeWatch()
}

func (w *watch) end() {
	w.isWaiting = false
	w.changed.Signal()
}

func (w *watch) close() {
	w.isClosed = true
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.isWaiting {
		w.end()
	}
}
