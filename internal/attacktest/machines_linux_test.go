package attacktest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/crypto/ssh"
)

func init() {
	attacks = append(attacks, attack{name: "hostile modules", run: hostileModules}, attack{name: "hostile hosts", run: hostileHosts})
}

// Parts of modules.

func leb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func vector(entries ...[]byte) []byte {
	return append(leb(len(entries)), slices.Concat(entries...)...)
}

func sized(b []byte) []byte { return append(leb(len(b)), b...) }

// moduleOf is a module whose program is a body, with further functions.
func moduleOf(body []byte, further ...[]byte) string {
	functions, codes := [][]byte{{1}}, [][]byte{sized(slices.Concat([]byte{0}, body, []byte{0x0b}))}
	for _, f := range further {
		functions, codes = append(functions, []byte{1}), append(codes, sized(slices.Concat([]byte{0}, f, []byte{0x0b})))
	}
	section := func(id byte, content []byte) string { return string(id) + string(sized(content)) }
	text := func(s string) []byte { return sized([]byte(s)) }
	return "\x00asm\x01\x00\x00\x00" +
		section(1, vector([]byte{0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f}, []byte{0x60, 0, 0})) +
		section(2, vector(slices.Concat(text("wasi_snapshot_preview1"), text("fd_write"), []byte{0, 0}))) +
		section(3, vector(functions...)) + section(5, vector([]byte{0, 1})) +
		section(7, vector(slices.Concat(text("memory"), []byte{2, 0}), slices.Concat(text("_start"), []byte{0, 1}))) +
		section(10, vector(codes...)) +
		section(11, vector(slices.Concat([]byte{0, 0x41, 0, 0x0b}, text("\x00\x00\x00\x00\x00\x80\x00\x00"))))
}

// sums is a function of so many sums, other ones for each seed.
func sums(seed, n int) []byte {
	b := []byte{0x41, 0}
	for i := range n {
		b = append(b, 0x41)
		b = append(b, leb((seed+i)%60)...) // numbers that are no negative ones
		b = append(b, 0x6a)
	}
	return append(b, 0x1a)
}

var (
	// growing takes all the memory that it gets, writes to it, and again.
	growing = []byte{0x03, 0x40, 0x41, 0x10, 0x40, 0x00, 0x1a, 0x41, 0x00, 0x41, 0x07, 0x3f, 0x00, 0x41, 0x10, 0x74, 0xfc, 0x0b, 0x00, 0x0c, 0x00, 0x0b}
	// writing puts out 32 KiB, and again.
	writing = []byte{0x03, 0x40, 0x41, 0x01, 0x41, 0x00, 0x41, 0x01, 0x41, 0xc0, 0x00, 0x10, 0x00, 0x1a, 0x0c, 0x00, 0x0b}
	// calling calls itself.
	calling = []byte{0x10, 0x01, 0x10, 0x01}
)

// machine defines a machine.
func (m *mallory) machine(ctx context.Context, account, name, definition string) {
	header := basic(account)
	header.Set("Content-Type", "application/json")
	m.send(ctx, http.MethodPut, "/v1/machines/"+name, "192.0.2.1", header, strings.NewReader(definition))
}

// hostileModules has many accounts run modules that take memory, put out as much as they can, call
// themselves, and are compiled again and again since each is another one.
func hostileModules(ctx context.Context, m *mallory) {
	names := append(crowdNames(), "mallory", "trudy")
	for _, name := range names {
		for kind, body := range map[string][]byte{"growing": growing, "writing": writing, "calling": calling} {
			m.put(ctx, name, "/"+kind+".wasm", moduleOf(body))
			if name != "trudy" || kind == "growing" { // who has two machines
				m.machine(ctx, name, kind, fmt.Sprintf(`{"kind":"wasm","module":"/%s.wasm"}`, kind))
			}
		}
		m.machine(ctx, name, "large", `{"kind":"wasm","module":"/large.wasm"}`)
	}
	repeat(ctx, 24, func(i int) {
		who := names[i%len(names)]
		switch i % 4 {
		case 0:
			var further [][]byte
			for f := range 300 {
				further = append(further, sums(i*7+f, 400))
			}
			m.put(ctx, who, "/large.wasm", moduleOf(sums(i, 10), further...))
			m.submit(ctx, who, `RUN "m" ON "large" TIMEOUT 5 SECONDS`, "")
		case 1:
			m.submit(ctx, who, `RUN "m" ON "growing" TIMEOUT 5 SECONDS`, "")
		case 2:
			m.sync(ctx, who, `RUN "m" ON "writing" TIMEOUT 5 SECONDS SET ?x EMIT LENGTH(?x.stdout)`)
		default:
			m.sync(ctx, who, `RUN "m" ON "calling" TIMEOUT 5 SECONDS`)
		}
	})
}

// hostileHosts has many accounts run commands on a host that does what it likes: it says nothing, puts out
// as much as it can, or sends what nobody asked for.
func hostileHosts(ctx context.Context, m *mallory) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", m.Hang)
	if err != nil {
		panic(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		panic(err)
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
	config.AddHostKey(signer)
	var kinds atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { _ = c.Close() })
			go misbehave(c, config, int(kinds.Add(1)))
		}
	}()
	names := append(crowdNames(), "mallory", "trudy")
	for _, name := range names {
		m.machine(ctx, name, "box", fmt.Sprintf(`{"kind":"ssh","address":"x@%s"}`, m.Hang))
	}
	repeat(ctx, 24, func(i int) {
		who := names[i%len(names)]
		switch i % 3 {
		case 0:
			m.submit(ctx, who, `RUN "yes" ON "box" TIMEOUT 5 SECONDS`, "")
		case 1:
			m.sync(ctx, who, `RUN "yes" ON "box" TIMEOUT 2 SECONDS SET ?x EMIT LENGTH(?x.stdout)`)
		default:
			m.submit(ctx, who, `COPY "f" ON "box" TO "/f"`, "")
		}
	})
}

// misbehave serves a connection in one of some ways.
func misbehave(c net.Conn, config *ssh.ServerConfig, kind int) {
	defer c.Close()
	if kind%6 == 0 {
		_, _ = io.Copy(io.Discard, c)
		return
	}
	conn, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for n := range channels {
		if kind%6 == 1 {
			continue
		}
		channel, asked, err := n.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range asked {
				if kind%6 == 2 {
					continue
				}
				if r.WantReply {
					_ = r.Reply(true, nil)
				}
				if r.Type == "env" {
					continue
				}
				go func() {
					piece := make([]byte, 32<<10)
					for err := error(nil); err == nil; {
						if kind%6 == 3 {
							_, _, err = conn.SendRequest("keepalive@openssh.com", true, piece[:100])
						} else {
							_, err = channel.Write(piece)
						}
					}
				}()
			}
		}()
	}
}
