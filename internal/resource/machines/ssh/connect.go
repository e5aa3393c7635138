package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/network"
	"ql/internal/resource/machines"
	"ql/lang/value"

	"golang.org/x/crypto/ssh"
)

// connect reaches a host, checks that it is the one it was, and logs in.
func (r *Runner) connect(ctx context.Context, u machines.Use) (*conn, error) {
	s := &u.Machine.SSH
	key, err := signer(ctx, u)
	if err != nil {
		return nil, err
	}
	hosts, err := newHostCheck(s.HostKey)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.Handshake, errSlow)
	defer cancel()
	raw, err := r.o.Dialer.Dial(ctx, s.Host, uint16(s.Port))
	if err != nil {
		return nil, explainDial(ctx, err)
	}
	// A host that says nothing is cut off when the time is over.
	done := make(chan struct{})
	r.o.Guard.Go("ssh handshake", func() {
		select {
		case <-ctx.Done():
			_ = raw.Close() // what waits for it finds out
		case <-done:
		}
	})
	counted := &wire{Conn: raw}
	inner, channels, requests, err := ssh.NewClientConn(counted, s.Host, &ssh.ClientConfig{
		User: s.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, ClientVersion: "SSH-2.0-ql",
		HostKeyCallback: hosts.check, HostKeyAlgorithms: hosts.algorithms(),
	})
	close(done)
	if err != nil {
		_ = raw.Close() // it is useless
		err = hosts.explain(ctx, u.Machine, err)
		if known := new(value.Error); errors.As(err, &known) && known.Code == keyChanged {
			// What was open before is of a host that may be another one by now.
			r.Forget(u.Account.ID, u.Machine.Name)
		}
		return nil, err
	}
	c := &conn{client: ssh.NewClient(inner, channels, requests), wire: counted, set: u.Machine.Set, made: time.Now(), lastUse: time.Now()}
	if s.HostKey == "" {
		if err := r.pin(ctx, u.Machine, hosts.shown); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// pin stores the key of a host that was reached first.
func (r *Runner) pin(ctx context.Context, m machines.Machine, shown string) error {
	err := r.o.Pin(ctx, m, shown)
	if errors.Is(err, account.ErrConflict) || errors.Is(err, account.ErrNotFound) {
		return failed("the machine was changed meanwhile: try again")
	}
	return err
}

// keyChanged is the code of a host that shows another key than at first.
const keyChanged = "host_key_changed"

var errSlow = errors.New("the host takes too long")

// hostCheck compares the key that a host shows with the one that is pinned.
type hostCheck struct {
	pinned ssh.PublicKey // nil for none
	shown  string
	other  bool // the host showed another one
}

func newHostCheck(pinned string) (*hostCheck, error) {
	if pinned == "" {
		return &hostCheck{}, nil
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(pinned))
	if err != nil {
		return nil, fmt.Errorf("the pinned key of a host cannot be read: %w", err)
	}
	return &hostCheck{pinned: key}, nil
}

func (h *hostCheck) check(_ string, _ network.Addr, key ssh.PublicKey) error {
	h.shown = strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	if h.pinned != nil && !bytes.Equal(h.pinned.Marshal(), key.Marshal()) {
		h.other = true
		return errors.New("another key")
	}
	return nil
}

// algorithms are those by which a host may prove the key that is pinned; nil for any.
func (h *hostCheck) algorithms() []string {
	switch {
	case h.pinned == nil:
		return nil
	case h.pinned.Type() == ssh.KeyAlgoRSA:
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{h.pinned.Type()}
}

// explain says in plain words why a host did not let us in. Nothing of the host's own words is in
// it, which may be anything.
func (h *hostCheck) explain(ctx context.Context, m machines.Machine, err error) error {
	var mismatch *ssh.AlgorithmNegotiationError
	var refused *ssh.ServerAuthError
	switch {
	case h.other:
		return value.Errorf(keyChanged, "the host of %s shows another key, %s, than at first, %s: somebody may stand between. If it was set up anew, accept its key by adding the machine again with ql machine add",
			m.Name, machines.Fingerprint(h.shown), machines.Fingerprint(m.SSH.HostKey))
	case h.pinned != nil && errors.As(err, &mismatch):
		return value.Errorf(keyChanged, "the host of %s has no key of the kind %s any more, as at first: somebody may stand between. If it was set up anew, accept its key by adding the machine again with ql machine add",
			m.Name, h.pinned.Type())
	case errors.Is(context.Cause(ctx), errSlow):
		return failed("the host of %s takes too long to answer", m.Name)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused), strings.Contains(err.Error(), "unable to authenticate"):
		return failed("the host of %s refuses the machine's key for the user %s: put the public key, which ql machine show prints, into its authorized_keys", m.Name, m.SSH.User)
	}
	return failed("the host of %s does not speak SSH as it should, or broke the connection off", m.Name)
}

// explainDial makes the error of a host that was not reached one of the script.
func explainDial(ctx context.Context, err error) error {
	var e *network.Error
	switch {
	case !errors.As(err, &e):
		if errors.Is(context.Cause(ctx), errSlow) {
			return failed("the host takes too long to answer")
		}
		return err
	case e.Code == network.AddressNotAllowed:
		return value.Errorf("address_not_allowed", "%s", e.Message)
	}
	return failed("%s", e.Message)
}
