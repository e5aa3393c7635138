// Package wasmtest has modules of WebAssembly for tests of whole services.
package wasmtest

import (
	"encoding/binary"
	"slices"
)

// Hello is a program for WASI that writes the line "hello": fd_write of one piece to descriptor 1.
const Hello = "\x00asm\x01\x00\x00\x00" +
	"\x01\x0c\x02\x60\x04\x7f\x7f\x7f\x7f\x01\x7f\x60\x00\x00" +
	"\x02\x23\x01\x16wasi_snapshot_preview1\x08fd_write\x00\x00" +
	"\x03\x02\x01\x01" +
	"\x05\x03\x01\x00\x01" +
	"\x07\x13\x02\x06memory\x02\x00\x06_start\x00\x01" +
	"\x0a\x0f\x01\x0d\x00\x41\x01\x41\x00\x41\x01\x41\x20\x10\x00\x1a\x0b" +
	"\x0b\x14\x01\x00\x41\x00\x0b\x0e\x08\x00\x00\x00\x06\x00\x00\x00hello\n"

// Parts of modules.

func number(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func vector(entries ...[]byte) []byte {
	return append(number(len(entries)), slices.Concat(entries...)...)
}

func sized(b []byte) []byte { return append(number(len(b)), b...) }

// Module is a program for WASI whose body is given, with further functions behind it. It has a page of
// memory, and fd_write as its function 0.
func Module(body []byte, further ...[]byte) string {
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

// Large is a program of so many functions of 400 sums each, another one for each seed: it takes long to
// compile.
func Large(seed, functions int) string {
	var further [][]byte
	for f := range functions {
		further = append(further, sums(seed*7+f, 400))
	}
	return Module(sums(seed, 10), further...)
}

func sums(seed, n int) []byte {
	b := []byte{0x41, 0}
	for i := range n {
		b = append(b, 0x41)
		b = append(b, number((seed+i)%60)...) // numbers that are no negative ones
		b = append(b, 0x6a)
	}
	return append(b, 0x1a)
}

// Bodies of programs that want more than they may have.
var (
	// Filling takes all the memory that it gets, writes to it, and again.
	Filling = []byte{0x03, 0x40, 0x41, 0x10, 0x40, 0x00, 0x1a, 0x41, 0x00, 0x41, 0x07, 0x3f, 0x00, 0x41, 0x10, 0x74, 0xfc, 0x0b, 0x00, 0x0c, 0x00, 0x0b}
	// Growing takes all the memory that it gets, page by page, and keeps it.
	Growing = []byte{0x03, 0x40, 0x41, 0x01, 0x40, 0x00, 0x1a, 0x0c, 0x00, 0x0b}
	// Writing puts out 32 KiB, and again.
	Writing = []byte{0x03, 0x40, 0x41, 0x01, 0x41, 0x00, 0x41, 0x01, 0x41, 0xc0, 0x00, 0x10, 0x00, 0x1a, 0x0c, 0x00, 0x0b}
	// Calling calls itself, twice.
	Calling = []byte{0x10, 0x01, 0x10, 0x01}
	// Endless does nothing, for ever.
	Endless = []byte{0x03, 0x40, 0x0c, 0x00, 0x0b}
)
