package attacktest

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	"ql/internal/resource/machines/wasmtest"

	"golang.org/x/crypto/ssh"
)

func init() {
	attacks = append(attacks, attack{name: "hostile modules", run: hostileModules}, attack{name: "hostile hosts", run: hostileHosts})
}

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
		for kind, body := range map[string][]byte{"growing": wasmtest.Filling, "writing": wasmtest.Writing, "calling": wasmtest.Calling} {
			m.put(ctx, name, "/"+kind+".wasm", wasmtest.Module(body))
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
			m.put(ctx, who, "/large.wasm", wasmtest.Large(i, 300))
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
