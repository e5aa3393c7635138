package network

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	"ql/internal/hostname"
)

// Conn and Addr are those of package net, for users that do not dial by it.
type (
	Conn = net.Conn
	Addr = net.Addr
)

// sshPort is that of SSH, which dialers may use besides those of the policy.
const sshPort = 22

// Dialer opens connections for protocols other than HTTP, to hosts that its policy allows, on
// port 22 and those of the policy.
type Dialer struct {
	guard   Client // that looks at addresses
	connect time.Duration
	dialer  net.Dialer
}

// DialOptions are how a Dialer dials. A zero field means its default.
type DialOptions struct {
	Connect  time.Duration // until a host is reached; 5 seconds
	Resolver *net.Resolver // of names; nil for the system's
}

// NewDialer returns a dialer.
func NewDialer(p Policy, o DialOptions) *Dialer {
	if o.Connect <= 0 {
		o.Connect = Options{}.withDefaults().Connect
	}
	p.Networks, p.Ports = slices.Clone(p.Networks), append(slices.Clone(p.Ports), sshPort)
	d := &Dialer{guard: Client{policy: p}, connect: o.Connect}
	d.dialer = net.Dialer{Timeout: o.Connect, Resolver: o.Resolver, ControlContext: d.guard.control}
	return d
}

// Check says whether a host could be dialled, as far as this can be told without asking for its
// name: nil, or an *Error with a code.
func (d *Dialer) Check(host string, port uint16) error {
	_, err := d.parse(host, port)
	return err
}

func (d *Dialer) parse(host string, port uint16) (hostname.Host, error) {
	h, err := hostname.Parse(host)
	switch {
	case err != nil:
		return h, refuse(InvalidURL, "%s is no host such as example.com", shown(host))
	case h.IsAddr():
		err = d.guard.policy.checkAddress(host, h.Addr)
	default:
		err = d.guard.policy.checkName(host, h.Name)
	}
	if err == nil && !d.guard.policy.allowsPort(port) {
		err = refuse(AddressNotAllowed, "port %d is not allowed: use 22%s", port, allowedBy("egress_ports"))
	}
	return h, err
}

// Dial opens a connection. Errors are of type *Error, except that of an ended context.
func (d *Dialer) Dial(ctx context.Context, host string, port uint16) (Conn, error) {
	h, err := d.parse(host, port)
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(h.Name, strconv.Itoa(int(port)))
	if h.IsAddr() {
		address = netip.AddrPortFrom(h.Addr, port).String()
	}
	conn, err := d.dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, explainDial(ctx, err)
	}
	return conn, nil
}

// explainDial says in plain words why a host was not reached.
func explainDial(ctx context.Context, err error) error {
	var refused *Error
	var name *net.DNSError
	var slow net.Error
	fail := func(format string) error { return refuse(FetchFailed, "%s", format).because(err) }
	switch {
	case errors.As(err, &refused):
		return refused
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &name) && name.IsNotFound:
		return fail("the host's name was not found")
	case errors.As(err, &name):
		return fail("the host's name could not be looked up")
	case errors.Is(err, syscall.ECONNREFUSED):
		return fail("the host refused the connection")
	case errors.As(err, &slow) && slow.Timeout():
		return fail("the host could not be reached in time")
	}
	return fail("the host could not be reached")
}
