// Package networktest gives tests names of hosts that lead where they like, and
// elsewhere the next time: a real DNS server on this machine, and a resolver
// that asks it alone. What is then reached is left to the tests.
package networktest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// Names starts a DNS server and returns a resolver that asks it. For the n-th
// question, from 1 on, for the IPv4 addresses of a name it answers what f
// returns; without addresses, that there is no such name.
func Names(t testing.TB, f func(name string, n int) []netip.Addr) *net.Resolver {
	t.Helper()
	return Records(t, f, nil)
}

// Records is Names whose server also answers with a text to who asks for those of a name; of others
// there are none.
func Records(t testing.TB, f func(name string, n int) []netip.Addr, texts map[string]string) *net.Resolver {
	t.Helper()
	address := Server(t, f, texts)
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", address)
	}}
}

// Server starts the server of Records for other programs, and returns its address. It answers by UDP and
// by TCP.
func Server(t testing.TB, f func(name string, n int) []netip.Addr, texts map[string]string) (address string) {
	t.Helper()
	stream, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = stream.Addr().String()
	packets, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", address)
	if err != nil {
		_ = stream.Close()
		t.Fatal(err)
	}
	z := &zone{f: f, texts: texts, asked: map[string]int{}}
	var done sync.WaitGroup
	done.Go(func() { z.serve(packets) })
	done.Go(func() { z.serveStreams(stream) })
	t.Cleanup(func() {
		_ = stream.Close()
		_ = packets.Close()
		done.Wait()
	})
	return address
}

// Lead returns an f for Names by which each name leads to one address.
func Lead(to map[string]string) func(string, int) []netip.Addr {
	return func(name string, _ int) []netip.Addr {
		if a, ok := to[name]; ok {
			return []netip.Addr{netip.MustParseAddr(a)}
		}
		return nil
	}
}

// zone is what a server knows.
type zone struct {
	f     func(string, int) []netip.Addr
	texts map[string]string

	mu    sync.Mutex
	asked map[string]int
}

func (z *zone) serve(server net.PacketConn) {
	packet := make([]byte, 1500)
	for {
		n, from, err := server.ReadFrom(packet)
		if err != nil {
			return
		}
		if answer := z.answer(packet[:n]); answer != nil {
			_, _ = server.WriteTo(answer, from)
		}
	}
}

// serveStreams answers one question of each connection, as RFC 1035 section 4.2.2 has it.
func (z *zone) serveStreams(server net.Listener) {
	for {
		c, err := server.Accept()
		if err != nil {
			return
		}
		var length [2]byte
		if _, err := io.ReadFull(c, length[:]); err == nil {
			packet := make([]byte, binary.BigEndian.Uint16(length[:]))
			if _, err := io.ReadFull(c, packet); err == nil {
				answer := z.answer(packet)
				_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
			}
		}
		_ = c.Close()
	}
}

// answer returns the answer to a packet, nil for none.
func (z *zone) answer(packet []byte) []byte {
	q, ok := parseQuestion(packet)
	if !ok {
		return nil
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	var data [][]byte
	switch q.kind {
	case typeA:
		z.asked[q.name]++
		for _, a := range z.f(q.name, z.asked[q.name]) {
			four := a.As4()
			data = append(data, four[:])
		}
	case typeTXT:
		if text, ok := z.texts[q.name]; ok {
			data = append(data, append([]byte{byte(len(text))}, text...))
		}
	}
	return q.answer(data)
}

const (
	headLength = 12
	typeA      = 1
	typeTXT    = 16
	classIN    = 1
)

// question is a packet that asks for one name.
type question struct {
	id      []byte
	section []byte // as it came, to be sent back
	name    string
	kind    uint16
}

func parseQuestion(packet []byte) (question, bool) {
	if len(packet) < headLength {
		return question{}, false
	}
	var labels []string
	at := headLength
	for at < len(packet) && packet[at] != 0 {
		end := at + 1 + int(packet[at])
		if end > len(packet) {
			return question{}, false
		}
		labels = append(labels, string(packet[at+1:end]))
		at = end
	}
	end := at + 5 // the root, type and class
	if end > len(packet) {
		return question{}, false
	}
	return question{
		id:      append([]byte{}, packet[:2]...),
		section: append([]byte{}, packet[headLength:end]...),
		name:    strings.ToLower(strings.Join(labels, ".")),
		kind:    binary.BigEndian.Uint16(packet[at+1:]),
	}, true
}

// answer is RFC 1035 section 4, with a time to live of 0.
func (q question) answer(data [][]byte) []byte {
	flags := uint16(0x8180)
	if len(data) == 0 && (q.kind == typeA || q.kind == typeTXT) {
		flags |= 3 // no such name
	}
	b := append([]byte{}, q.id...)
	b = binary.BigEndian.AppendUint16(b, flags)
	for _, count := range []int{1, len(data), 0, 0} {
		b = binary.BigEndian.AppendUint16(b, uint16(count))
	}
	b = append(b, q.section...)
	for _, d := range data {
		b = append(b, 0xc0, headLength) // the name of the question
		b = binary.BigEndian.AppendUint16(b, q.kind)
		b = binary.BigEndian.AppendUint16(b, classIN)
		b = append(b, 0, 0, 0, 0)
		b = binary.BigEndian.AppendUint16(b, uint16(len(d)))
		b = append(b, d...)
	}
	return b
}
