package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
)

// listen opens a listener at the address of a setting. It holds at most so many
// connections, and at most so many from one address (0 for no bound).
func listen(ctx context.Context, setting, address string, most, each int) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		why := err
		var call *os.SyscallError
		if errors.As(err, &call) {
			why = call.Err
		}
		return nil, fmt.Errorf("nothing can listen on %s: %w: stop what has this address, or name another by --%s, such as 127.0.0.1:0 for any free port", address, why, setting)
	}
	return &bounded{Listener: l, slots: make(chan struct{}, most), closed: make(chan struct{}), each: each, from: map[netip.Addr]int{}}, nil
}

// bounded is a listener that bounds its connections. Where all are taken the
// next waits; one too many from an address is closed at once.
type bounded struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
	each   int

	mu   sync.Mutex
	from map[netip.Addr]int
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	for {
		select {
		case b.slots <- struct{}{}:
		case <-b.closed:
			return nil, net.ErrClosed
		}
		c, err := b.Listener.Accept()
		if err != nil {
			<-b.slots
			return nil, err
		}
		address := addressOf(c)
		if b.take(address) {
			return &boundedConn{Conn: c, release: func() { b.give(address) }}, nil
		}
		_ = c.Close() // it was never used
		<-b.slots
	}
}

// Close implements net.Listener.
func (b *bounded) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close()
}

func addressOf(c net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}

// take counts a connection from an address, and reports false for one too many.
func (b *bounded) take(address netip.Addr) bool {
	if b.each == 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.from[address] >= b.each {
		return false
	}
	b.from[address]++
	return true
}

func (b *bounded) give(address netip.Addr) {
	if b.each > 0 {
		b.mu.Lock()
		if b.from[address]--; b.from[address] == 0 {
			delete(b.from, address)
		}
		b.mu.Unlock()
	}
	<-b.slots
}

// boundedConn gives its place back when it is closed.
type boundedConn struct {
	net.Conn
	once    sync.Once
	release func()
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.release)
	return err
}
