package wasm

import (
	"context"
	"encoding/binary"
	"math"
)

// maxOpen is how many files a module may have open, with the three of its input and output and its
// top folder.
const maxOpen = 256

// descriptor is an open file or folder, or one of the streams.
type descriptor struct {
	node   *node // nil for a stream
	stream byte  // which one
	at     int64
	append bool
	read   bool
	write  bool
	// listed is what a folder holds, as of when it was first read.
	listed []entry
}

// The streams.
const (
	streamIn = iota
	streamOut
	streamError
	topFolder // the descriptor of the volume's top
)

func (p *process) descriptor(fd uint64) (*descriptor, errno) {
	n := uint32(fd)
	if uint64(n) >= uint64(len(p.open)) || p.open[n] == nil {
		return nil, eBADF
	}
	return p.open[n], success
}

// folder returns the path of an open folder.
func (p *process) folder(fd uint64) (string, errno) {
	d, e := p.descriptor(fd)
	switch {
	case e != success:
		return "", e
	case d.node == nil || !d.node.folder:
		return "", eNOTDIR
	}
	return d.node.path, success
}

// path returns the path that a call names.
func (p *process) path(fd, at, n uint64) (string, errno) {
	from, e := p.folder(fd)
	if e != success {
		return "", e
	}
	if n&math.MaxUint32 > maxPath {
		return "", eNAMETOOLONG
	}
	name, ok := p.bytes(at, n)
	if !ok {
		return "", eFAULT
	}
	return resolve(from, name)
}

// The flags of path_open, and of descriptors.
const (
	openCreate    = 1
	openDirectory = 2
	openExclusive = 4
	openTruncate  = 8

	flagAppend = 1

	rightRead  = 1 << 1
	rightWrite = 1 << 6
)

func pathOpen(ctx context.Context, p *process, a []uint64) errno {
	at, e := p.path(a[0], a[2], a[3])
	if e != success {
		return e
	}
	fd := len(p.open)
	for i := range p.open {
		if p.open[i] == nil {
			fd = i
			break
		}
	}
	if fd >= maxOpen {
		return eMFILE
	}
	flags, rights := a[4], a[5]
	d := &descriptor{append: a[7]&flagAppend != 0, read: rights&rightRead != 0, write: rights&rightWrite != 0}
	m := openMode{create: flags&openCreate != 0, folder: flags&openDirectory != 0, exclusive: flags&openExclusive != 0, truncate: flags&openTruncate != 0, write: d.write}
	if m.folder {
		m.write, d.write = false, false
	}
	d.node, e = p.volume.open(ctx, at, m)
	if e == eISDIR && !m.truncate { // some ask for all rights of what may be a folder
		m.write, d.write = false, false
		d.node, e = p.volume.open(ctx, at, m)
	}
	if e != success {
		return e
	}
	if fd == len(p.open) {
		p.open = append(p.open, nil)
	}
	p.open[fd] = d
	return p.put32(a[8], uint32(fd))
}

func fdClose(ctx context.Context, p *process, d *descriptor, a []uint64) errno {
	p.open[uint32(a[0])] = nil
	return p.closeDescriptor(ctx, d)
}

func (p *process) closeDescriptor(ctx context.Context, d *descriptor) errno {
	if d.listed != nil {
		p.charge(-int64(len(d.listed)) * entrySize)
	}
	if d.node == nil || d.node == p.top {
		return success
	}
	return p.volume.close(ctx, d.node)
}

// fdRenumber gives an open file the number of another, which is closed.
func fdRenumber(ctx context.Context, p *process, from *descriptor, a []uint64) errno {
	to, e := p.descriptor(a[1])
	if e != success || from == to {
		return e
	}
	p.open[uint32(a[1])], p.open[uint32(a[0])] = from, nil
	return p.closeDescriptor(ctx, to)
}

func fdSync(ctx context.Context, p *process, d *descriptor, _ []uint64) errno {
	if d.node == nil || p.volume.nodes[d.node.path] != d.node {
		return success
	}
	return p.volume.store(ctx, d.node)
}

// The kinds of files.
const (
	kindStream = 2
	kindFolder = 3
	kindFile   = 4
)

func (d *descriptor) kind() byte {
	switch {
	case d.node == nil:
		return kindStream
	case d.node.folder:
		return kindFolder
	}
	return kindFile
}

func fdStat(_ context.Context, p *process, d *descriptor, a []uint64) errno {
	b, ok := p.bytes(a[1], 24)
	if !ok {
		return eFAULT
	}
	clear(b)
	b[0] = d.kind()
	if d.append {
		b[2] = flagAppend
	}
	// All rights: each call says what it may not.
	binary.LittleEndian.PutUint64(b[8:], 1<<30-1)
	binary.LittleEndian.PutUint64(b[16:], 1<<30-1)
	return success
}

func fdSetFlags(_ context.Context, _ *process, d *descriptor, a []uint64) errno {
	d.append = a[1]&flagAppend != 0
	return success
}

// putStat writes what is known of a file.
func (p *process) putStat(at uint64, n *node, kind byte) errno {
	b, ok := p.bytes(at, 64)
	if !ok {
		return eFAULT
	}
	clear(b)
	b[16] = kind
	binary.LittleEndian.PutUint64(b[24:], 1)
	if n == nil {
		return success
	}
	binary.LittleEndian.PutUint64(b, 1)
	binary.LittleEndian.PutUint64(b[8:], n.inode)
	binary.LittleEndian.PutUint64(b[32:], uint64(n.size))
	if !n.modified.IsZero() {
		for _, place := range []int{40, 48, 56} {
			binary.LittleEndian.PutUint64(b[place:], uint64(n.modified.UnixNano()))
		}
	}
	return success
}

func fdFileStat(_ context.Context, p *process, d *descriptor, a []uint64) errno {
	return p.putStat(a[1], d.node, d.kind())
}

func pathFileStat(ctx context.Context, p *process, a []uint64) errno {
	at, e := p.path(a[0], a[2], a[3])
	if e != success {
		return e
	}
	n, e := p.volume.stat(ctx, at)
	if e != success {
		return e
	}
	kind := byte(kindFile)
	if n.folder {
		kind = kindFolder
	}
	return p.putStat(a[4], &n, kind)
}

func fdSetSize(ctx context.Context, p *process, d *descriptor, a []uint64) errno {
	switch {
	case d.node == nil || !d.write:
		return eBADF
	case a[1] > math.MaxInt64:
		return eFBIG
	}
	return p.volume.truncate(ctx, d.node, int64(a[1]))
}

// topName is what the volume's top is called.
const topName = "/"

func prestat(_ context.Context, p *process, d *descriptor, a []uint64) errno {
	if d.node != p.top {
		return eBADF
	}
	return firstOf(p.put32(a[1], 0), p.put32(a[1]+4, uint32(len(topName))))
}

func prestatName(_ context.Context, p *process, d *descriptor, a []uint64) errno {
	if d.node != p.top {
		return eBADF
	}
	b, ok := p.bytes(a[1], uint64(len(topName)))
	switch {
	case a[2]&math.MaxUint32 < uint64(len(topName)):
		return eNAMETOOLONG
	case !ok:
		return eFAULT
	}
	copy(b, topName)
	return success
}

// maxVectors is how many pieces of memory one call reads or writes. More are left for the next one.
const maxVectors = 1024

// pieceBytes is how much of one is read or written before there may be a turn.
const pieceBytes = 1 << 20

// vectors calls do with each piece of memory that a call names, until one is not filled, or read,
// to its end.
func (p *process) vectors(ctx context.Context, at, n uint64, do func(b []byte) (int, errno)) (uint32, errno) {
	var total uint64
	for range min(n&math.MaxUint32, maxVectors) {
		v, ok := p.bytes(at, 8)
		if !ok {
			return 0, eFAULT
		}
		b, ok := p.bytes(uint64(binary.LittleEndian.Uint32(v)), uint64(binary.LittleEndian.Uint32(v[4:])))
		if !ok {
			return 0, eFAULT
		}
		// The number must fit where it is put.
		if total+uint64(len(b)) > math.MaxUint32 {
			return uint32(total), success
		}
		for more := true; more; more = len(b) > 0 {
			piece := b[:min(len(b), pieceBytes)]
			done, e := do(piece)
			if e != success {
				if total > 0 {
					return uint32(total), success
				}
				return 0, e
			}
			total += uint64(done)
			if done < len(piece) {
				return uint32(total), success
			}
			b = b[len(piece):]
			p.turnIfDue(ctx)
		}
		at += 8
	}
	return uint32(total), success
}

func fdRead(ctx context.Context, p *process, d *descriptor, a []uint64) errno {
	n, e := p.vectors(ctx, a[1], a[2], func(b []byte) (int, errno) {
		switch {
		case d.node == nil && d.stream == streamIn:
			n := copy(b, p.input)
			p.input = p.input[n:]
			return n, success
		case d.node == nil || !d.read:
			return 0, eBADF
		}
		n, e := p.volume.readAt(ctx, d.node, b, d.at)
		d.at += int64(n)
		return n, e
	})
	return p.put32If(e, a[3], n)
}

// put32If writes a number where there was no error.
func (p *process) put32If(e errno, at uint64, n uint32) errno {
	if e != success {
		return e
	}
	return p.put32(at, n)
}

// atPlace is a call that reads or writes an open file at a place, whatever was read before.
func atPlace(may func(*descriptor) bool, do func(*volume, context.Context, *node, []byte, int64) (int, errno)) wasiFunc {
	return withFile(func(ctx context.Context, p *process, d *descriptor, a []uint64) errno {
		if d.node == nil || !may(d) || a[3] > math.MaxInt64 {
			return eBADF
		}
		at := int64(a[3])
		n, e := p.vectors(ctx, a[1], a[2], func(b []byte) (int, errno) {
			n, e := do(p.volume, ctx, d.node, b, at)
			at += int64(n)
			return n, e
		})
		return p.put32If(e, a[4], n)
	})
}

func fdWrite(ctx context.Context, p *process, d *descriptor, a []uint64) errno {
	n, e := p.vectors(ctx, a[1], a[2], func(b []byte) (int, errno) {
		switch {
		case d.node == nil && d.stream != streamIn:
			p.print(d.stream == streamError, b)
			return len(b), success
		case d.node == nil || !d.write:
			return 0, eBADF
		}
		if d.append {
			d.at = d.node.size
		}
		n, e := p.volume.writeAt(ctx, d.node, b, d.at)
		d.at += int64(n)
		return n, e
	})
	return p.put32If(e, a[3], n)
}

const eSPIPE errno = 70

func fdSeek(_ context.Context, p *process, d *descriptor, a []uint64) errno {
	switch {
	case d.node == nil:
		return eSPIPE
	case d.node.folder:
		return eBADF
	}
	base := int64(0)
	switch uint32(a[2]) {
	case 0:
	case 1:
		base = d.at
	case 2:
		base = d.node.size
	default:
		return eINVAL
	}
	offset := int64(a[1])
	if offset > 0 && base > math.MaxInt64-offset || base+offset < 0 {
		return eINVAL
	}
	d.at = base + offset
	return p.put64(a[3], uint64(d.at))
}

func fdTell(_ context.Context, p *process, d *descriptor, a []uint64) errno {
	if d.node == nil {
		return eSPIPE
	}
	return p.put64(a[1], uint64(d.at))
}

// fdReaddir writes the entries of a folder from a number on, as many as fit, and the last one in
// part where it does not.
func fdReaddir(ctx context.Context, p *process, d *descriptor, a []uint64) errno {
	if d.node == nil || !d.node.folder {
		return eNOTDIR
	}
	if a[3] == 0 || d.listed == nil {
		p.charge(-int64(len(d.listed)) * entrySize)
		d.listed = nil
		listed, e := p.volume.list(ctx, d.node)
		if e != success {
			return e
		}
		d.listed = listed
	}
	buffer, ok := p.bytes(a[1], a[2])
	if !ok {
		return eFAULT
	}
	used := 0
	for i := a[3]; i < uint64(len(d.listed)) && used < len(buffer); i++ {
		one := d.listed[i]
		var head [24]byte
		binary.LittleEndian.PutUint64(head[:], i+1)
		binary.LittleEndian.PutUint64(head[8:], one.inode)
		binary.LittleEndian.PutUint32(head[16:], uint32(len(one.name)))
		head[20] = kindFile
		if one.folder {
			head[20] = kindFolder
		}
		used += copy(buffer[used:], head[:])
		used += copy(buffer[used:], one.name)
	}
	return p.put32(a[4], uint32(used))
}

// withPath is a call on what is at a path.
func withPath(do func(*volume, context.Context, string) errno) wasiFunc {
	return func(ctx context.Context, p *process, a []uint64) errno {
		at, e := p.path(a[0], a[1], a[2])
		if e != success {
			return e
		}
		return do(p.volume, ctx, at)
	}
}

func pathRename(ctx context.Context, p *process, a []uint64) errno {
	from, e := p.path(a[0], a[1], a[2])
	if e != success {
		return e
	}
	to, e := p.path(a[3], a[4], a[5])
	if e != success {
		return e
	}
	return p.volume.rename(ctx, from, to)
}
