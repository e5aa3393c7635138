package ssh

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"ql/internal/account"
	"ql/internal/resource/machines"

	"golang.org/x/crypto/ssh"
)

// key names a machine.
type key struct {
	account account.ID
	name    string
}

// conn is a connection to a host.
type conn struct {
	client *ssh.Client
	wire   *wire
	set    time.Time // when the machine was defined for which it was made
	made   time.Time

	// Of the pool.
	sessions int
	lastUse  time.Time
	dropped  bool // it is not used again
	reused   atomic.Bool

	mu  sync.Mutex
	env envState
}

// envState says whether the host takes variables of the environment.
type envState uint8

const (
	envUnknown envState = iota
	envTaken
	envRefused
)

// close ends the connection, and all that is under way on it.
func (c *conn) close() { _ = c.client.Close() } // whoever uses it finds out

// pool has the connections that are open. Some of them may be of use again.
type pool struct {
	o    *Options
	dial func(context.Context, machines.Use) (*conn, error)

	mu     sync.Mutex
	conns  map[key][]*conn
	count  int                // of all, those under way too
	dials  map[account.ID]int // under way
	closed bool
	stop   chan struct{} // closed with it
	// watching says that somebody looks for connections that nobody uses.
	watching bool
}

// acquire returns a connection to a machine, a fresh one where fresh says so. release is to be called.
func (p *pool) acquire(ctx context.Context, u machines.Use, fresh bool) (*conn, error) {
	k := key{u.Account.ID, u.Machine.Name}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, failed("the service is stopping")
	}
	p.sweep()
	if !fresh {
		for _, c := range p.conns[k] {
			if !c.dropped && c.set.Equal(u.Machine.Set) && time.Since(c.made) < p.o.Age && c.sessions < p.o.Sessions {
				c.sessions++
				c.reused.Store(true)
				p.mu.Unlock()
				return c, nil
			}
		}
	}
	if !p.room(k.account) {
		p.mu.Unlock()
		return nil, failed("there are as many connections to machines as there may be: try again later")
	}
	p.count++
	p.dials[k.account]++
	p.mu.Unlock()
	c, err := p.dial(ctx, u)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dials[k.account]--; p.dials[k.account] == 0 {
		delete(p.dials, k.account)
	}
	if err != nil {
		p.count--
		return nil, err
	}
	if p.closed {
		p.count--
		c.close()
		return nil, failed("the service is stopping")
	}
	c.sessions = 1
	p.conns[k] = append(p.conns[k], c)
	return c, nil
}

// room makes room for one more connection of an account, where it can. p.mu is held.
func (p *pool) room(id account.ID) bool {
	own := p.dials[id]
	for k, list := range p.conns {
		if k.account == id {
			own += len(list)
		}
	}
	if own >= p.o.PerAccount && !p.closeIdlest(func(k key) bool { return k.account == id }) {
		return false
	}
	return p.count < p.o.Connections || p.closeIdlest(func(key) bool { return true })
}

// closeIdlest closes the connection that was unused for longest, of some. p.mu is held.
func (p *pool) closeIdlest(of func(key) bool) bool {
	var at key
	var idlest *conn
	for k, list := range p.conns {
		for _, c := range list {
			if of(k) && c.sessions == 0 && (idlest == nil || c.lastUse.Before(idlest.lastUse)) {
				at, idlest = k, c
			}
		}
	}
	if idlest != nil {
		p.remove(at, idlest)
	}
	return idlest != nil
}

// sweep closes connections that were unused for long. p.mu is held.
func (p *pool) sweep() {
	now := time.Now()
	for k, list := range p.conns {
		for _, c := range append([]*conn(nil), list...) {
			if c.sessions == 0 && (now.Sub(c.lastUse) >= p.o.Idle || now.Sub(c.made) >= p.o.Age) {
				p.remove(k, c)
			}
		}
	}
}

// remove takes a connection out, and closes it. p.mu is held.
func (p *pool) remove(k key, c *conn) {
	list := p.conns[k]
	for i, one := range list {
		if one == c {
			p.conns[k] = append(list[:i:i], list[i+1:]...)
			p.count--
			break
		}
	}
	if len(p.conns[k]) == 0 {
		delete(p.conns, k)
	}
	c.close()
}

// release gives a connection back; broken says that it is of no use any more.
func (p *pool) release(u machines.Use, c *conn, broken bool) {
	k := key{u.Account.ID, u.Machine.Name}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.sessions--
	c.lastUse = time.Now()
	c.dropped = c.dropped || broken || p.closed
	if c.dropped && c.sessions == 0 {
		p.remove(k, c)
	}
	p.watch()
}

// watch has connections closed that nobody uses, as long as there are some. p.mu is held.
func (p *pool) watch() {
	if p.watching || p.closed || p.count == 0 {
		return
	}
	p.watching = true
	p.o.Guard.Go("ssh idle connections", func() {
		for p.watchOnce() {
		}
	})
}

// watchOnce waits for connections to be unused for long, and reports whether there are more.
func (p *pool) watchOnce() bool {
	timer := time.NewTimer(p.o.Idle)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.stop:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweep()
	p.watching = p.count > 0 && !p.closed
	return p.watching
}

func (p *pool) forget(k key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range append([]*conn(nil), p.conns[k]...) {
		c.dropped = true
		if c.sessions == 0 {
			p.remove(k, c)
		}
	}
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	close(p.stop)
	for k, list := range p.conns {
		for _, c := range append([]*conn(nil), list...) {
			p.remove(k, c)
		}
	}
}

func (p *pool) stats() (open, used int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, list := range p.conns {
		for _, c := range list {
			open++
			if c.sessions > 0 {
				used++
			}
		}
	}
	return open, used
}
