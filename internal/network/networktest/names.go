// Package networktest gives tests names of hosts that lead where they like, and
// elsewhere the next time: a real DNS server on this machine, and a resolver
// that asks it alone. What is then reached is left to the tests.
package networktest

import (
	"context"
	"encoding/binary"
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
	server, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() { serve(server, f, texts) })
	t.Cleanup(func() {
		_ = server.Close()
		done.Wait()
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
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

func serve(server net.PacketConn, f func(string, int) []netip.Addr, texts map[string]string) {
	asked := map[string]int{}
	packet := make([]byte, 1500)
	for {
		n, from, err := server.ReadFrom(packet)
		if err != nil {
			return
		}
		q, ok := parseQuestion(packet[:n])
		if !ok {
			continue
		}
		var data [][]byte
		switch q.kind {
		case typeA:
			asked[q.name]++
			for _, a := range f(q.name, asked[q.name]) {
				four := a.As4()
				data = append(data, four[:])
			}
		case typeTXT:
			if text, ok := texts[q.name]; ok {
				data = append(data, append([]byte{byte(len(text))}, text...))
			}
		}
		_, _ = server.WriteTo(q.answer(data), from)
	}
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
