package wire

import (
	"encoding/base64"
	"io"
	"slices"
	"unicode/utf8"
)

// Pieces is an answer that is too large to be built whole: what it is made of, in its
// order. Texts are escaped while they are written.
type Pieces []piece

type piece struct {
	bytes []byte
	as    encoding
}

// encoding is how the bytes of a piece are written.
type encoding uint8

const (
	rawPiece    encoding = iota
	textPiece            // as a JSON text
	base64Piece          // as one of their base64
)

// largePiece is from when on a part of an answer is a piece of its own.
const largePiece = 8 << 10

// PieceBytes is how much of an answer is held in its written form.
const PieceBytes = 64 << 10

// extra is by how much a byte grows in a JSON text.
var extra = func() (t [256]uint8) {
	for b := range t {
		t[b] = uint8(len(appendValid(nil, []byte{byte(b)})) - 3)
	}
	return t
}()

// Len returns how many bytes Write writes.
func (p Pieces) Len() int64 {
	n, _ := p.LenInTurns(func() error { return nil })
	return n
}

// LenInTurns is Len that calls turn before each PieceBytes of a text, and ends with its
// error.
func (p Pieces) LenInTurns(turn func() error) (n int64, err error) {
	for i := range p {
		switch one := &p[i]; one.as {
		case textPiece:
			n += int64(len(one.bytes)) + 2
			for b := range slices.Chunk(one.bytes, PieceBytes) {
				if err := turn(); err != nil {
					return 0, err
				}
				for _, c := range b {
					n += int64(extra[c])
				}
			}
		case base64Piece:
			n += int64(base64.StdEncoding.EncodedLen(len(one.bytes))) + 2
		default:
			n += int64(len(one.bytes))
		}
	}
	return n, nil
}

// Write writes all pieces, through a buffer that is empty and has some room, 64 bytes
// at least. It stops at the first error.
func (p Pieces) Write(w io.Writer, buffer []byte) error {
	out := writer{to: w, buffer: buffer[:0]}
	for i := range p {
		switch one := &p[i]; one.as {
		case textPiece:
			out.text(one.bytes)
		case base64Piece:
			out.base64(one.bytes)
		default:
			out.raw(one.bytes)
		}
	}
	out.flush()
	return out.err
}

// writer writes through a buffer, until there is an error.
type writer struct {
	to     io.Writer
	buffer []byte
	err    error
}

func (w *writer) flush() {
	if w.err == nil && len(w.buffer) > 0 {
		_, w.err = w.to.Write(w.buffer)
	}
	w.buffer = w.buffer[:0]
}

// room returns how much fits in, n at least.
func (w *writer) room(n int) int {
	if cap(w.buffer)-len(w.buffer) < n {
		w.flush()
	}
	return cap(w.buffer) - len(w.buffer)
}

func (w *writer) raw(b []byte) {
	for len(b) > 0 && w.err == nil {
		n := min(w.room(1), len(b))
		w.buffer = append(w.buffer, b[:n]...)
		b = b[n:]
	}
}

const longestEscape = 6

func (w *writer) text(b []byte) {
	w.raw([]byte{'"'})
	for len(b) > 0 && w.err == nil {
		n := min(w.room(longestEscape)/longestEscape, len(b))
		w.buffer = appendEscaped(w.buffer, b[:n])
		b = b[n:]
	}
	w.raw([]byte{'"'})
}

func (w *writer) base64(b []byte) {
	w.raw([]byte{'"'})
	for len(b) > 0 && w.err == nil {
		n := min(w.room(4)/4*3, len(b)) // whole groups but for the end
		w.buffer = base64.StdEncoding.AppendEncode(w.buffer, b[:n])
		b = b[n:]
	}
	w.raw([]byte{'"'})
}

// parts collects an answer: all in dst, or where pieces is there what is large in
// pieces of its own.
type parts struct {
	dst    []byte
	pieces *Pieces
}

// cut ends what was collected so far with a piece of its own.
func (p *parts) cut(b []byte, as encoding) {
	if len(p.dst) > 0 {
		*p.pieces = append(*p.pieces, piece{bytes: p.dst})
		p.dst = nil
	}
	*p.pieces = append(*p.pieces, piece{b, as})
}

// raw adds what is JSON already.
func (p *parts) raw(b []byte) {
	if p.pieces != nil && len(b) >= largePiece {
		p.cut(b, rawPiece)
		return
	}
	p.dst = append(p.dst, b...)
}

// optional adds a field that is JSON already, unless there is none.
func (p *parts) optional(name string, value Raw) {
	if value != nil {
		p.dst = appendName(p.dst, name)
		p.raw(value)
	}
}

// text adds a text.
func (p *parts) text(s string) {
	if p.pieces != nil && len(s) >= largePiece && utf8.ValidString(s) {
		p.cut([]byte(s), textPiece)
		return
	}
	p.dst = appendText(p.dst, s)
}

// bytes adds bytes as a text where they are UTF-8, else their base64.
func (p *parts) bytes(b []byte) (isText bool) {
	if p.pieces == nil || len(b) < largePiece {
		p.dst, isText = appendBytes(p.dst, b)
		return isText
	}
	if isText = utf8.Valid(b); isText {
		p.cut(b, textPiece)
	} else {
		p.cut(b, base64Piece)
	}
	return isText
}

// Pieces returns the answer as AppendJSON appends it, in pieces.
func (j *Job) Pieces() Pieces {
	var list Pieces
	p := parts{pieces: &list}
	j.add(&p)
	return append(list, piece{bytes: p.dst})
}

// TextPieces returns the answer as Text does, in pieces.
func (j *Job) TextPieces(e *Error) Pieces {
	output, after := j.Text(e)
	return Pieces{{bytes: output}, {bytes: after}}
}
