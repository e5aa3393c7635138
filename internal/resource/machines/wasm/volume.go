package wasm

import (
	"context"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ql/internal/engine"
	"ql/lang/value"
)

// errno is a number by which WASI says how a call went.
type errno uint32

// Those that are used here, by the names that POSIX has for them.
const (
	success      errno = 0
	eACCES       errno = 2
	eBADF        errno = 8
	eDQUOT       errno = 19
	eEXIST       errno = 20
	eFAULT       errno = 21
	eFBIG        errno = 22
	eILSEQ       errno = 25
	eINVAL       errno = 28
	eIO          errno = 29
	eISDIR       errno = 31
	eMFILE       errno = 33
	eNAMETOOLONG errno = 37
	eNOENT       errno = 44
	eNOSPC       errno = 51
	eNOSYS       errno = 52
	eNOTDIR      errno = 54
	eNOTEMPTY    errno = 55
	eNOTSOCK     errno = 57
	eNOTSUP      errno = 58
	ePERM        errno = 63
	eROFS        errno = 69
)

// The bounds of a volume.
const (
	maxPath    = 1024   // bytes
	maxEntries = 10_000 // that a scratch folder holds, and that a folder is listed with
	entrySize  = 512    // bytes that one takes beside its content
)

// volume is the tree of files that a module sees at its top: a scratch folder that lasts as long
// as the run, or a folder of the account's files. Paths in it have no slash in front; "" is the
// top. There are no links, so a path means what it says.
type volume struct {
	files    engine.Files // nil for a scratch folder
	folder   string       // of the account's files, "" for all of them
	writable bool
	charge   func(bytes int64) bool // counts memory; negative gives it back
	clock    func() time.Time
	// nodes are the files and folders of a scratch folder, or those of the account's files that
	// are open.
	nodes map[string]*node
	// removed are those that are open, and not in the tree any more.
	removed map[*node]bool
	inode   uint64
}

// node is a file or a folder. The content of one of the account's is read piece by piece as long as
// it is only read, and in memory from the first change on, until the last who has it open closes it.
type node struct {
	path     string
	folder   bool
	inode    uint64
	modified time.Time
	held     engine.FileContent // nil where data has the content
	data     []byte
	size     int64
	dirty    bool
	opens    int
}

func newVolume(files engine.Files, folder string, writable bool, charge func(int64) bool) *volume {
	v := &volume{files: files, folder: strings.TrimSuffix(folder, "/"), writable: writable, charge: charge, clock: time.Now, nodes: map[string]*node{}, removed: map[*node]bool{}, inode: 1}
	if files == nil {
		v.writable = true
		v.nodes[""] = &node{folder: true, inode: 1, modified: v.clock()}
	}
	return v
}

// resolve returns the path that a module means by a name, seen from a folder.
func resolve(from string, name []byte) (string, errno) {
	switch {
	case len(name) > maxPath:
		return "", eNAMETOOLONG
	case !utf8.Valid(name):
		return "", eILSEQ
	case len(name) == 0:
		return "", eNOENT
	case name[0] == '/' || slices.Contains(name, 0):
		return "", ePERM
	}
	var parts []string
	if from != "" {
		parts = strings.Split(from, "/")
	}
	for part := range strings.SplitSeq(string(name), "/") {
		switch part {
		case "", ".":
		case "..":
			if len(parts) == 0 {
				return "", ePERM // nothing is above the top
			}
			parts = parts[:len(parts)-1]
		default:
			parts = append(parts, part)
		}
	}
	at := strings.Join(parts, "/")
	if len(at) > maxPath {
		return "", eNAMETOOLONG
	}
	return at, success
}

// account returns the path that the account has for one of the volume's.
func (v *volume) account(at string) string {
	if at == "" {
		if v.folder == "" {
			return "/"
		}
		return v.folder
	}
	return v.folder + "/" + at
}

// fail makes an errno of an error of the account's files, or one that ends the run.
func (v *volume) fail(err error) errno {
	var known *value.Error
	if !errors.As(err, &known) {
		panic(stop{err})
	}
	switch known.Code {
	case "file_not_found":
		return eNOENT
	case "is_folder":
		return eISDIR
	case "not_a_folder":
		return eNOTDIR
	case "folder_not_empty":
		return eNOTEMPTY
	case "invalid_path":
		return eINVAL
	case "quota_exceeded":
		return eDQUOT
	case "limit_exceeded":
		return eFBIG
	case "already_exists":
		return eEXIST
	}
	return eACCES
}

// outside calls the account's files, which computes nothing.
func (v *volume) outside(ctx context.Context, do func() error) error {
	engine.Yield(ctx)
	err := do()
	if turn := engine.Turn(ctx); turn != nil {
		panic(stop{turn})
	}
	return err
}

// stater and folderMaker are what files can do besides: not all can.
type stater interface {
	Stat(ctx context.Context, paths []string) ([]engine.FileInfo, error)
}

type folderMaker interface {
	MakeFolder(ctx context.Context, path string) (created bool, err error)
}

// stat tells what stands at a path.
func (v *volume) stat(ctx context.Context, at string) (node, errno) {
	if n := v.nodes[at]; n != nil {
		return *n, success
	}
	if v.files == nil {
		return node{}, v.missing(at)
	}
	if at == "" {
		return node{folder: true, inode: 1}, success
	}
	n := node{path: at, inode: 2 + hashPath(at)}
	if s, ok := v.files.(stater); ok {
		var all []engine.FileInfo
		err := v.outside(ctx, func() (err error) {
			all, err = s.Stat(ctx, []string{v.account(at)})
			return err
		})
		if err != nil {
			return node{}, v.fail(err)
		}
		if all[0].Path == "" {
			return node{}, eNOENT
		}
		n.folder, n.size, n.modified = all[0].Folder, all[0].Size, all[0].Modified
		return n, success
	}
	var held engine.FileContent
	err := v.outside(ctx, func() (err error) {
		if held, err = v.files.Hold(ctx, v.account(at)); err != nil {
			return err
		}
		n.size, err = held.Seek(0, io.SeekEnd)
		return errors.Join(err, held.Close())
	})
	if err != nil {
		if n.folder = v.fail(err) == eISDIR; !n.folder {
			return node{}, v.fail(err)
		}
	}
	return n, success
}

// hashPath makes up the number of a file: WASI asks for one that is the same each time.
func hashPath(at string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for i := range len(at) {
		h = (h ^ uint64(at[i])) * prime
	}
	return h >> 2
}

// missing says why nothing is at a path of a scratch folder.
func (v *volume) missing(at string) errno {
	for at != "" {
		at = parent(at)
		if n := v.nodes[at]; n != nil && !n.folder {
			return eNOTDIR
		}
	}
	return eNOENT
}

func parent(at string) string {
	folder := path.Dir(at)
	if folder == "." {
		return ""
	}
	return folder
}

// How a file is opened.
type openMode struct{ create, exclusive, truncate, folder, write bool }

// open opens what stands at a path, or makes a file there. Whoever opens it closes it.
func (v *volume) open(ctx context.Context, at string, m openMode) (*node, errno) {
	if (m.write || m.create || m.truncate) && !v.writable {
		if m.write || m.truncate {
			return nil, eROFS
		}
		m.create = false
	}
	found, e := v.stat(ctx, at)
	switch {
	case e == eNOENT && m.create && !m.folder:
		return v.makeFile(ctx, at)
	case e != success:
		return nil, e
	case m.create && m.exclusive:
		return nil, eEXIST
	case m.folder && !found.folder:
		return nil, eNOTDIR
	case found.folder && (m.write || m.truncate):
		return nil, eISDIR
	}
	n := v.nodes[at]
	if n == nil { // one of the account's
		if !v.charge(entrySize) {
			return nil, eNOSPC
		}
		n = &found
		if !n.folder {
			err := v.outside(ctx, func() (err error) {
				if n.held, err = v.files.Hold(ctx, v.account(at)); err != nil {
					return err
				}
				n.size, err = n.held.Seek(0, io.SeekEnd)
				return err
			})
			if err != nil {
				v.charge(-entrySize)
				if n.held != nil {
					err = errors.Join(err, n.held.Close())
				}
				return nil, v.fail(err)
			}
		}
		v.nodes[at] = n
	}
	n.opens++
	if m.truncate {
		if e := v.truncate(ctx, n, 0); e != success {
			return nil, firstOf(e, v.close(ctx, n))
		}
	}
	return n, success
}

// firstOf returns the first of two that is one.
func firstOf(first, second errno) errno {
	if first != success {
		return first
	}
	return second
}

// makeFile makes an empty file and opens it.
func (v *volume) makeFile(ctx context.Context, at string) (*node, errno) {
	if e := v.mayMake(ctx, at); e != success {
		return nil, e
	}
	v.inode++
	n := &node{path: at, inode: v.inode, modified: v.clock(), opens: 1}
	if v.files != nil {
		n.inode, n.dirty = 2+hashPath(at), true
		// Whether it may be there is known at once, not when it is closed.
		if e := v.store(ctx, n); e != success {
			v.charge(-entrySize)
			return nil, e
		}
	}
	v.nodes[at] = n
	return n, success
}

// mayMake checks that there can be something at a path, and counts it.
func (v *volume) mayMake(ctx context.Context, at string) errno {
	if !v.writable {
		return eROFS
	}
	folder, e := v.stat(ctx, parent(at))
	switch {
	case e != success:
		return e
	case !folder.folder:
		return eNOTDIR
	case len(path.Base(at)) > 255:
		return eNAMETOOLONG
	case len(v.nodes) >= maxEntries || !v.charge(entrySize):
		return eNOSPC
	}
	return success
}

// close lets go of a node. What was changed is written by the last who does.
func (v *volume) close(ctx context.Context, n *node) errno {
	n.opens--
	if n.opens > 0 || v.files == nil && v.nodes[n.path] == n {
		return success
	}
	e := success
	if v.nodes[n.path] == n { // it was not removed meanwhile
		e = v.store(ctx, n)
		delete(v.nodes, n.path)
	}
	if n.held != nil {
		_ = n.held.Close() // was read only
	}
	delete(v.removed, n)
	v.charge(-entrySize - int64(cap(n.data)))
	n.data, n.held = nil, nil
	return e
}

// store writes a file of the account's that was changed.
func (v *volume) store(ctx context.Context, n *node) errno {
	if v.files == nil || !n.dirty {
		return success
	}
	n.dirty = false
	if err := v.outside(ctx, func() error { return v.files.Write(ctx, v.account(n.path), n.data) }); err != nil {
		return v.fail(err)
	}
	return success
}

// storeAll writes what is open and was changed: a module that ends has closed all its files. The
// module cannot be told of an error any more, so it is returned as it is.
func (v *volume) storeAll(ctx context.Context) error {
	if v.files == nil {
		return nil
	}
	for _, at := range slices.Sorted(maps.Keys(v.nodes)) {
		n := v.nodes[at]
		if !n.dirty {
			continue
		}
		n.dirty = false
		if err := v.outside(ctx, func() error { return v.files.Write(ctx, v.account(n.path), n.data) }); err != nil {
			return err
		}
	}
	return nil
}

// release lets go of everything, without a write.
func (v *volume) release() {
	for _, n := range v.nodes {
		v.removed[n] = true
	}
	for n := range v.removed {
		if n.held != nil {
			_ = n.held.Close() // was read only
		}
	}
	clear(v.nodes)
	clear(v.removed)
}

// readAt reads from a place of a file.
func (v *volume) readAt(ctx context.Context, n *node, b []byte, off int64) (int, errno) {
	switch {
	case n.folder:
		return 0, eISDIR
	case off >= n.size || len(b) == 0:
		return 0, success
	case n.held == nil:
		return copy(b, n.data[off:]), success
	}
	var count int
	err := v.outside(ctx, func() error {
		if _, err := n.held.Seek(off, io.SeekStart); err != nil {
			return err
		}
		var err error
		count, err = io.ReadFull(n.held, b[:min(int64(len(b)), n.size-off)])
		return err
	})
	if err != nil {
		return 0, v.fail(err)
	}
	return count, success
}

// writeAt writes at a place of a file.
func (v *volume) writeAt(ctx context.Context, n *node, b []byte, off int64) (int, errno) {
	if n.folder {
		return 0, eISDIR
	}
	if off > n.size || int64(len(b)) > n.size-off {
		if off > maxPages*page { // what cannot be in memory cannot be written
			return 0, eFBIG
		}
		if e := v.truncate(ctx, n, off+int64(len(b))); e != success {
			return 0, e
		}
	} else if e := v.load(ctx, n); e != success {
		return 0, e
	}
	n.dirty, n.modified = true, v.clock()
	return copy(n.data[off:], b), success
}

// load brings a file's content into memory, to be changed.
func (v *volume) load(ctx context.Context, n *node) errno {
	if n.held == nil {
		return success
	}
	if !v.charge(n.size) {
		return eNOSPC
	}
	data := make([]byte, n.size)
	if _, e := v.readAt(ctx, n, data, 0); e != success {
		v.charge(-n.size)
		return e
	}
	_ = n.held.Close() // was read only
	n.held, n.data = nil, data
	return success
}

// truncate gives a file another size.
func (v *volume) truncate(ctx context.Context, n *node, size int64) errno {
	switch {
	case !v.writable:
		return eROFS
	case n.folder:
		return eISDIR
	case size < 0:
		return eINVAL
	case size > maxPages*page:
		return eFBIG
	}
	if n.held != nil && size == 0 {
		_ = n.held.Close() // was read only
		n.held, n.size = nil, 0
	}
	if e := v.load(ctx, n); e != success {
		return e
	}
	if size > int64(cap(n.data)) {
		grown := max(size, min(2*int64(cap(n.data)), int64(cap(n.data))+8<<20))
		if !v.charge(grown) {
			return eNOSPC
		}
		data := make([]byte, size, grown)
		copy(data, n.data)
		v.charge(-int64(cap(n.data)))
		n.data = data
	} else {
		old := len(n.data)
		n.data = n.data[:size]
		if int(size) > old {
			clear(n.data[old:])
		}
	}
	n.size, n.dirty, n.modified = size, true, v.clock()
	return success
}

// entry is one of a folder.
type entry struct {
	name   string
	folder bool
	inode  uint64
}

// list returns what is in a folder, by name, with itself and the folder above. Each is charged.
func (v *volume) list(ctx context.Context, folder *node) (all []entry, e errno) {
	at := folder.path
	add := func(one entry) bool {
		if !v.charge(entrySize) {
			v.charge(-int64(len(all)) * entrySize)
			all, e = nil, eNOSPC
			return false
		}
		all = append(all, one)
		return true
	}
	if !add(entry{".", true, folder.inode}) || !add(entry{"..", true, 1}) {
		return nil, e
	}
	if v.files == nil {
		for _, key := range slices.Sorted(maps.Keys(v.nodes)) {
			if n := v.nodes[key]; key != "" && parent(key) == at && !add(entry{path.Base(key), n.folder, n.inode}) {
				break
			}
		}
		return all, e
	}
	err := v.outside(ctx, func() error {
		for info, err := range v.files.List(ctx, v.account(at), "") {
			if err != nil {
				return err
			}
			inside := strings.TrimPrefix(at+"/"+info.Name, "/")
			if len(all) == maxEntries || !add(entry{info.Name, info.Folder, 2 + hashPath(inside)}) {
				break
			}
		}
		return nil
	})
	if err != nil {
		v.charge(-int64(len(all)) * entrySize)
		return nil, v.fail(err)
	}
	return all, e
}

// makeFolder makes an empty folder.
func (v *volume) makeFolder(ctx context.Context, at string) errno {
	if _, e := v.stat(ctx, at); e == success {
		return eEXIST
	} else if e != eNOENT {
		return e
	}
	if e := v.mayMake(ctx, at); e != success {
		return e
	}
	if v.files == nil {
		v.inode++
		v.nodes[at] = &node{path: at, folder: true, inode: v.inode, modified: v.clock()}
		return success
	}
	v.charge(-entrySize)
	err := v.outside(ctx, func() error {
		if m, ok := v.files.(folderMaker); ok {
			_, err := m.MakeFolder(ctx, v.account(at))
			return err
		}
		// A file makes its folder, which stays without it.
		first := v.account(at) + "/new"
		if err := v.files.Write(ctx, first, nil); err != nil {
			return err
		}
		return v.files.Remove(ctx, first)
	})
	if err != nil {
		return v.fail(err)
	}
	return success
}

// unlink removes a file, and removeFolder an empty folder.
func (v *volume) unlink(ctx context.Context, at string) errno       { return v.remove(ctx, at, false) }
func (v *volume) removeFolder(ctx context.Context, at string) errno { return v.remove(ctx, at, true) }

// remove removes a file, or an empty folder.
func (v *volume) remove(ctx context.Context, at string, folder bool) errno {
	if !v.writable {
		return eROFS
	}
	n, e := v.stat(ctx, at)
	switch {
	case e != success:
		return e
	case at == "":
		return eACCES
	case folder && !n.folder:
		return eNOTDIR
	case !folder && n.folder:
		return eISDIR
	}
	if v.files == nil {
		for key := range v.nodes {
			if key != "" && parent(key) == at {
				return eNOTEMPTY
			}
		}
	} else if err := v.outside(ctx, func() error { return v.files.Remove(ctx, v.account(at)) }); err != nil {
		return v.fail(err)
	}
	v.forget(at)
	return success
}

// forget takes a node out of the tree. Who has it open keeps its content.
func (v *volume) forget(at string) {
	n := v.nodes[at]
	if n == nil {
		return
	}
	delete(v.nodes, at)
	n.dirty = false
	if n.opens > 0 {
		v.removed[n] = true
		return
	}
	v.charge(-entrySize - int64(cap(n.data)))
}

// rename gives a file or a folder another path.
func (v *volume) rename(ctx context.Context, from, to string) errno {
	if !v.writable {
		return eROFS
	}
	n, e := v.stat(ctx, from)
	if e != success {
		return e
	}
	old, e := v.stat(ctx, to)
	switch {
	case from == "" || to == "":
		return eACCES
	case from == to:
		return success
	case strings.HasPrefix(to, from+"/"):
		return eINVAL
	case e == success && old.folder && !n.folder:
		return eISDIR
	case e == success && !old.folder && n.folder:
		return eNOTDIR
	case e != success && e != eNOENT:
		return e
	}
	if into, e := v.stat(ctx, parent(to)); e != success || !into.folder {
		return firstOf(e, eNOTDIR)
	}
	if old.folder && e == success {
		if e := v.remove(ctx, to, true); e != success {
			return e
		}
	}
	if v.files != nil {
		if open := v.nodes[from]; open != nil {
			if e := v.store(ctx, open); e != success {
				return e
			}
		}
		if err := v.outside(ctx, func() error { return v.files.Move(ctx, v.account(from), v.account(to)) }); err != nil {
			return v.fail(err)
		}
	}
	v.forget(to)
	for _, key := range slices.Collect(maps.Keys(v.nodes)) {
		if key == from || strings.HasPrefix(key, from+"/") {
			moved := v.nodes[key]
			delete(v.nodes, key)
			moved.path = to + key[len(from):]
			v.nodes[moved.path] = moved
		}
	}
	return success
}
