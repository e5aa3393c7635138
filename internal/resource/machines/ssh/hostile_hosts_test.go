package ssh_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/network"
	"ql/internal/resource/machines"
	"ql/internal/resource/machines/ssh"
	"ql/lang/value"

	protocol "golang.org/x/crypto/ssh"
)

// hostileHost is a server that speaks SSH as no honest one does.
type hostileHost struct {
	// raw has a connection before anything is said, instead of all that follows.
	raw func(net.Conn)
	// open has each channel that is asked for; nil accepts it.
	open func(protocol.NewChannel) bool
	// answer tells whether a request of a session is answered, and begun has the session of one whose
	// request for a command or a subsystem was.
	answer func(*protocol.Request) bool
	begun  func(protocol.Channel, protocol.Conn)
	banner func() string
}

// serve accepts connections until the test ends.
func (h hostileHost) serve(t *testing.T) (port int) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := protocol.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := &protocol.ServerConfig{PublicKeyCallback: func(protocol.ConnMetadata, protocol.PublicKey) (*protocol.Permissions, error) { return nil, nil }}
	if h.banner != nil {
		config.BannerCallback = func(protocol.ConnMetadata) string { return h.banner() }
	}
	config.AddHostKey(signer)
	var serving sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			serving.Go(func() {
				defer c.Close()
				if h.raw != nil {
					h.raw(c)
					return
				}
				h.talk(c, config, &serving)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		serving.Wait()
	})
	return l.Addr().(*net.TCPAddr).Port
}

func (h hostileHost) talk(c net.Conn, config *protocol.ServerConfig, serving *sync.WaitGroup) {
	conn, channels, requests, err := protocol.NewServerConn(c, config)
	if err != nil {
		return
	}
	serving.Go(func() { protocol.DiscardRequests(requests) })
	for n := range channels {
		if h.open != nil && !h.open(n) {
			continue
		}
		channel, asked, err := n.Accept()
		if err != nil {
			return
		}
		serving.Go(func() {
			for r := range asked {
				if h.answer != nil && !h.answer(r) {
					continue
				}
				if r.WantReply {
					_ = r.Reply(true, nil)
				}
				if r.Type != "env" && h.begun != nil {
					serving.Go(func() { h.begun(channel, conn) })
				}
			}
		})
	}
}

// version says the first line of a server.
func version(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-hostile\r\n") }

// forever writes the same until the connection breaks.
func forever(w io.Writer, text string) {
	piece := []byte(strings.Repeat(text, 1+8192/len(text)))
	for {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

// packet is one of SFTP.
func packet(kind byte, rest ...byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(1+len(rest)))
	return append(append(b, kind), rest...)
}

// The kinds of packets.
const (
	sftpVersion = 2
	sftpStat    = 17
	sftpRead    = 5
	sftpOpen    = 3
	sftpStatus  = 101
	sftpHandle  = 102
	sftpData    = 103
	sftpAttrs   = 105
)

// files answers SFTP: what a reading gives is said by data, which has the number of the request.
func files(size uint64, data func(id []byte, n uint32) []byte) func(protocol.Channel, protocol.Conn) {
	return func(c protocol.Channel, _ protocol.Conn) {
		for {
			var head [5]byte
			if _, err := io.ReadFull(c, head[:]); err != nil {
				return
			}
			body := make([]byte, binary.BigEndian.Uint32(head[:])-1)
			if _, err := io.ReadFull(c, body); err != nil {
				return
			}
			id := body[:4]
			reply := packet(sftpStatus, append(append([]byte(nil), id...), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)...)
			switch head[4] {
			case 1:
				reply = packet(sftpVersion, 0, 0, 0, 3)
			case sftpOpen:
				reply = packet(sftpHandle, append(append([]byte(nil), id...), 0, 0, 0, 1, 'h')...)
			case sftpStat, 8: // of a path, of a handle
				reply = packet(sftpAttrs, binary.BigEndian.AppendUint64(append(append([]byte(nil), id...), 0, 0, 0, 1), size)...)
			case sftpRead:
				reply = data(id, binary.BigEndian.Uint32(body[len(body)-4:]))
			}
			if _, err := c.Write(reply); err != nil {
				return
			}
		}
	}
}

// TestHostileHosts: whatever a host does, a command and a copy end, with an error that says so, and
// nothing is held of them.
func TestHostileHosts(t *testing.T) {
	silent := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }
	floods := func(request string, reply bool) func(protocol.Channel, protocol.Conn) {
		return func(_ protocol.Channel, c protocol.Conn) {
			for {
				if _, _, err := c.SendRequest(request, reply, make([]byte, 1000)); err != nil {
					return
				}
			}
		}
	}
	tests := map[string]struct {
		host hostileHost
		copy bool
		// code is that of the error, "none" where there is none, and "" where the time ends it.
		code string
	}{
		"says nothing":           {host: hostileHost{raw: silent}, code: "machine_failed"},
		"closes at once":         {host: hostileHost{raw: func(net.Conn) {}}, code: "machine_failed"},
		"is no server":           {host: hostileHost{raw: func(c net.Conn) { forever(c, "HTTP/1.1 200 OK\r\n") }}, code: "machine_failed"},
		"greets without end":     {host: hostileHost{raw: func(c net.Conn) { forever(c, "welcome\r\n") }}, code: "machine_failed"},
		"greets without a line":  {host: hostileHost{raw: func(c net.Conn) { forever(c, "a") }}, code: "machine_failed"},
		"sends garbage":          {host: hostileHost{raw: func(c net.Conn) { version(c); forever(c, "\x00\x00\xff\xff") }}, code: "machine_failed"},
		"sends packets of 4 GiB": {host: hostileHost{raw: func(c net.Conn) { version(c); forever(c, "\xff\xff\xff\xff") }}, code: "machine_failed"},
		"has a banner of 1 MiB":  {host: hostileHost{banner: func() string { return strings.Repeat("b", 1<<20) }}, code: "machine_failed"},
		"refuses sessions":       {host: hostileHost{open: func(n protocol.NewChannel) bool { _ = n.Reject(protocol.Prohibited, "no"); return false }}, code: "machine_failed"},
		"answers no session":     {host: hostileHost{open: func(protocol.NewChannel) bool { return false }}, code: "machine_failed"},
		"answers no environment": {host: hostileHost{answer: func(r *protocol.Request) bool { return r.Type != "env" }}, code: "machine_failed"},
		"answers no command":     {host: hostileHost{answer: func(r *protocol.Request) bool { return r.Type == "env" }}, code: "machine_failed"},
		"answers no subsystem":   {host: hostileHost{answer: func(r *protocol.Request) bool { return r.Type == "env" }}, copy: true, code: "machine_failed"},
		"says nothing of files":  {host: hostileHost{}, copy: true, code: "machine_failed"},
		"never ends":             {host: hostileHost{}},
		"is alive without end":   {host: hostileHost{begun: floods("keepalive@openssh.com", true)}, code: "machine_failed"},
		"tells news without end": {host: hostileHost{begun: floods("hostkeys-00@openssh.com", false)}, code: "machine_failed"},
		"opens channels":         {host: hostileHost{begun: func(_ protocol.Channel, c protocol.Conn) { opens(c) }}, code: "machine_failed"},
		"puts out without end":   {host: hostileHost{begun: func(c protocol.Channel, _ protocol.Conn) { forever(c, "out") }}, code: value.LimitExceeded},
		"complains without end":  {host: hostileHost{begun: func(c protocol.Channel, _ protocol.Conn) { forever(c.Stderr(), "err") }}, code: value.LimitExceeded},
		"exits and goes on": {host: hostileHost{begun: func(c protocol.Channel, _ protocol.Conn) {
			_, _ = c.SendRequest("exit-status", false, make([]byte, 4))
			forever(c, "x")
		}}, code: value.LimitExceeded},
		"exits a million times":   {host: hostileHost{begun: func(c protocol.Channel, _ protocol.Conn) { exits(c) }}, code: "none"},
		"has files of 2^64 bytes": {host: hostileHost{begun: files(1<<64-1, func(id []byte, n uint32) []byte { return data(id, int(n)) })}, copy: true, code: value.LimitExceeded},
		"has files without end":   {host: hostileHost{begun: files(1, func(id []byte, n uint32) []byte { return data(id, int(n)) })}, copy: true, code: value.LimitExceeded},
		"gives more than asked":   {host: hostileHost{begun: files(1<<40, func(id []byte, n uint32) []byte { return data(id, int(n)+1000) })}, copy: true, code: value.LimitExceeded},
		"gives nothing for ever":  {host: hostileHost{begun: files(1, func(id []byte, _ uint32) []byte { return data(id, 0) })}, copy: true, code: "machine_failed"},
		"answers another request": {host: hostileHost{begun: files(1, func([]byte, uint32) []byte { return data([]byte("none"), 1) })}, copy: true, code: "machine_failed"},
		"says a wrong length": {host: hostileHost{begun: files(1, func(id []byte, _ uint32) []byte {
			return packet(sftpData, append(append([]byte(nil), id...), 0xff, 0xff, 0xff, 0xff)...)
		})}, copy: true, code: "machine_failed"},
		"sends short packets": {host: hostileHost{begun: files(1, func([]byte, uint32) []byte { return packet(sftpData) })}, copy: true, code: "machine_failed"},
		"sends long packets":  {host: hostileHost{begun: files(1, func([]byte, uint32) []byte { return []byte{0xff, 0xff, 0xff, 0xff, sftpData} })}, copy: true, code: "machine_failed"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ledger := admit.NewLedger(admit.LedgerOptions{Budget: 64 << 20})
			o := ssh.Options{Dialer: network.NewDialer(here, network.DialOptions{}), Ledger: ledger, Grace: time.Second}
			if test.code == "machine_failed" {
				o.Handshake = time.Second // for some it is what ends them
			}
			w := newWorld(t, o, nil)
			_, _, err := w.registry.Put(t.Context(), ada, w.limits, "box", machines.Definition{Kind: machines.KindSSH, Address: fmt.Sprintf("ada@127.0.0.1:%d", test.host.serve(t))})
			if err != nil {
				t.Fatal(err)
			}
			// Where the time is to end it, it is short; elsewhere it never does.
			timeout := 10 * time.Minute
			if test.code == "" {
				timeout = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			if test.copy {
				err = w.machines().CopyFrom(ctx, "box", "file", &limited{left: 8 << 20})
			} else {
				_, err = w.machines().Run(ctx, "box", engine.MachineRun{Command: engine.MachineCommand{Text: "true"}, Env: map[string]string{engine.StepKey: "k"}, Most: 1 << 20})
			}
			var known *value.Error
			switch {
			case test.code == "" && !errors.Is(err, context.DeadlineExceeded):
				t.Errorf("it ended with %v", err)
			case test.code == "none" && err == nil:
			case test.code != "" && (!errors.As(err, &known) || known.Code != test.code):
				t.Errorf("it ended with %v, want %s", err, test.code)
			}
			if s := ledger.Stats(); s.Held != 0 || s.Waiting != 0 {
				t.Errorf("the ledger holds %+v", s)
			}
		})
	}
}

// data is a packet of so many bytes of a file.
func data(id []byte, n int) []byte {
	body := binary.BigEndian.AppendUint32(append([]byte(nil), id...), uint32(n))
	return packet(sftpData, append(body, make([]byte, n)...)...)
}

// limited takes so many bytes, as the files of an account do.
type limited struct{ left int }

func (l *limited) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, value.Exceeded("file_size", 8<<20, "the file is too large")
	}
	return len(b), nil
}

// opens asks for channels, as no server does.
func opens(c protocol.Conn) {
	for {
		var refused *protocol.OpenChannelError
		if _, _, err := c.OpenChannel("session", make([]byte, 1000)); err != nil && !errors.As(err, &refused) {
			return
		}
	}
}

// exits says so again and again.
func exits(c protocol.Channel) {
	for {
		if _, err := c.SendRequest("exit-status", false, make([]byte, 4)); err != nil {
			return
		}
	}
}
