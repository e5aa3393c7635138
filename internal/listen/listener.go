// Package listen opens the sockets of the service, bounds their connections, and runs the
// HTTP servers on them. What a call is answered with is its handler's.
package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
)

// Listener is an open one.
type Listener = net.Listener

// Limits bound the connections of a listener.
type Limits struct {
	Connections int // at once
	PerAddress  int // from one address; 0 for no bound
}

// Open opens a listener at the address of a setting, which its error names.
func Open(ctx context.Context, setting, address string, l Limits) (Listener, error) {
	var config net.ListenConfig
	opened, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		why := err
		var call *os.SyscallError
		if errors.As(err, &call) {
			why = call.Err
		}
		return nil, fmt.Errorf("nothing can listen on %s: %w: stop what has this address, or name another by --%s, such as 127.0.0.1:0 for any free port", address, why, setting)
	}
	return &limitedListener{Listener: opened, slots: make(chan struct{}, l.Connections), closed: make(chan struct{}), perAddress: l.PerAddress, open: map[netip.Addr]int{}}, nil
}

// limitedListener bounds its connections. Where as many are open as may be the
// next waits to be accepted; one too many from an address is closed at once.
type limitedListener struct {
	net.Listener
	slots      chan struct{}
	closed     chan struct{}
	once       sync.Once
	perAddress int

	mu   sync.Mutex
	open map[netip.Addr]int
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		select {
		case l.slots <- struct{}{}:
		case <-l.closed:
			return nil, net.ErrClosed
		}
		c, err := l.Listener.Accept()
		if err != nil {
			<-l.slots
			return nil, err
		}
		address := remoteAddr(c)
		if l.admit(address) {
			return newConn(c, func() { l.release(address) }), nil
		}
		_ = c.Close() // it was never used
		<-l.slots
	}
}

// Close implements net.Listener. A second call does nothing.
func (l *limitedListener) Close() (err error) {
	l.once.Do(func() {
		close(l.closed)
		err = l.Listener.Close()
	})
	return err
}

func remoteAddr(c net.Conn) netip.Addr {
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}

// admit counts a connection from an address, and reports false for one too many.
func (l *limitedListener) admit(address netip.Addr) bool {
	if l.perAddress == 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[address] >= l.perAddress {
		return false
	}
	l.open[address]++
	return true
}

func (l *limitedListener) release(address netip.Addr) {
	if l.perAddress > 0 {
		l.mu.Lock()
		if l.open[address]--; l.open[address] == 0 {
			delete(l.open, address)
		}
		l.mu.Unlock()
	}
	<-l.slots
}
