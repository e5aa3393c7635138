package deployed

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"strings"

	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/resource/files"
	"ql/internal/wire"
)

// What a zip file of a site may be. A few bytes of one can say anything, so nothing is unpacked before
// all that the directory says was compared with these.
const (
	mostZipBytes = 512 << 20
	// mostEntries has folders and what is left out beside the files.
	mostEntries = 4 * files.MaxSiteFiles
	// mostDirectory is how much is read to find the entries: the standard library makes each of what
	// it reads, however many the file says that there are.
	mostDirectory = 2 << 20
	mostUnpacked  = 1 << 30
	// mostRatio is how many bytes one byte may become, in a file that is larger than freeRatio.
	mostRatio = 100
	freeRatio = 1 << 20
	unpacking = 64 << 10 // bytes between two turns
)

// StoreZip stores all contents of a zip file, as StoreContent does, and returns what the site would have:
// contents by paths. Nothing is stored before all of it was unpacked once and found sound. The zip file
// counts as what the account stores while it is read, and is gone afterwards. No file may be larger than
// mostFile, 0 for no bound.
func (s Site) StoreZip(ctx context.Context, from io.Reader, mostFile int64, pace engine.Pace) (map[string]wire.Digest, error) {
	received, err := s.Tree.Receive(ctx, "the zip file", &boundedZip{from: from})
	if err != nil {
		return nil, err
	}
	defer received.Discard()
	content, err := received.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }() // it is only read
	z := &zipped{source: zipSource{ctx: ctx, content: content}, size: content.Size()}
	entries, err := z.open()
	if err != nil {
		return nil, err
	}
	if err := z.choose(entries, mostFile); err != nil {
		return nil, err
	}
	found := make(map[string]wire.Digest, len(z.files))
	for _, f := range z.files {
		found[f.path] = wire.Digest{}
	}
	if _, err := manifest(found); err != nil { // before any work for it
		return nil, err
	}
	if err := z.digest(pace); err != nil {
		return nil, err
	}
	pace.Yield()
	for _, f := range z.files {
		found[f.path] = f.digest
	}
	plan, err := s.Plan(ctx, found)
	if err != nil {
		return nil, err
	}
	return found, s.storeMissing(ctx, z, plan.Missing)
}

// storeMissing stores those contents of a zip file that are not there.
func (s Site) storeMissing(ctx context.Context, z *zipped, list []wire.Digest) error {
	missing := make(map[wire.Digest]bool, len(list))
	for _, d := range list {
		missing[d] = true
	}
	return z.each(func(f *zippedFile, content io.Reader) error {
		if !missing[f.digest] {
			return nil
		}
		delete(missing, f.digest)
		_, err := s.StoreContent(ctx, f.digest, content, int64(f.entry.UncompressedSize64))
		return err
	})
}

// boundedZip is a zip file on its way.
type boundedZip struct {
	from io.Reader
	read int64
}

// Read implements io.Reader.
func (b *boundedZip) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	if b.read += int64(n); b.read > mostZipBytes {
		return 0, zipTooLarge("is too large: a zip file of a site has %d bytes at most; `ql push` sends larger sites", mostZipBytes)
	}
	return n, err
}

func zipTooLarge(format string, args ...any) error {
	e := fault.New(fault.TooLarge, format, args...)
	e.Field = "body"
	return e
}

// badZip says what is wrong with a zip file.
func badZip(format string, args ...any) error { return fault.Invalid("body", format, args...) }

// badEntry says what is wrong with one entry of it.
func badEntry(name, format string, args ...any) error {
	return badZip("has the entry %.200q, which "+format, append([]any{name}, args...)...)
}

// zipped is a zip file that is read.
type zipped struct {
	source zipSource
	size   int64
	files  []zippedFile // of the site, as they follow each other
}

// zippedFile is a file of the site in a zip file.
type zippedFile struct {
	entry  *zip.File
	path   string // in the site
	digest wire.Digest
}

// open finds the entries.
func (z *zipped) open() ([]*zip.File, error) {
	z.source.opening = true
	if err := z.checkCount(); err != nil {
		return nil, err
	}
	r, err := zip.NewReader(&z.source, z.size)
	switch {
	case z.source.failed != nil:
		return nil, z.source.failed
	case err != nil:
		return nil, badZip("is no zip file, or a damaged one: its directory cannot be read")
	case len(r.File) > mostEntries:
		return nil, tooManyEntries(len(r.File))
	}
	z.source.opening = false
	return r.File, nil
}

func tooManyEntries(n int) error {
	return zipTooLarge("has %d entries: a zip file of a site has %d at most, with folders", n, mostEntries)
}

// checkCount refuses a file whose end says that it has too many entries: the standard library makes room
// for as many as that.
func (z *zipped) checkCount() error {
	const endSize, locatorSize = 22, 20
	const longest = endSize + math.MaxUint16
	tail := make([]byte, min(z.size, longest+locatorSize))
	if _, err := z.source.ReadAt(tail, z.size-int64(len(tail))); err != nil {
		return err
	}
	at := bytes.LastIndex(tail[:max(len(tail)-endSize+4, 0)], []byte("PK\x05\x06"))
	if at < 0 {
		return badZip("is no zip file, or is cut off: the end of its directory is missing")
	}
	if at >= locatorSize && bytes.HasPrefix(tail[at-locatorSize:], []byte("PK\x06\x07")) {
		return badZip("is of the kind for large archives (ZIP64): zip files of up to 65,534 entries and 4 GiB are read")
	}
	if n := int(binary.LittleEndian.Uint16(tail[at+10:])); n > mostEntries {
		return tooManyEntries(n)
	}
	return nil
}

// choose chooses the files of the site among the entries, by what the directory says of them.
func (z *zipped) choose(entries []*zip.File, mostFile int64) error {
	seen, total := make(map[string]bool, len(entries)), uint64(0)
	for _, e := range entries {
		if err := checkEntryName(e.Name); err != nil {
			return err
		}
		if isLeftOut(e.Name) || strings.HasSuffix(e.Name, "/") {
			continue
		}
		if err := checkEntry(e, mostFile); err != nil {
			return err
		}
		if seen[e.Name] {
			return badEntry(e.Name, "it has twice: each file has a name of its own")
		}
		seen[e.Name] = true
		if total += e.UncompressedSize64; total > mostUnpacked {
			return zipTooLarge("is too large: with the entry %.200q it unpacks to more than %d bytes", e.Name, mostUnpacked)
		}
		if z.files = append(z.files, zippedFile{entry: e, path: e.Name}); len(z.files) > files.MaxSiteFiles {
			return zipTooLarge("has more than %d files, which is the most that a site has", files.MaxSiteFiles)
		}
	}
	if len(z.files) == 0 {
		return badZip("is a zip file without files: a site has some")
	}
	z.stripTop()
	return nil
}

// checkEntryName refuses names that lead out of the site, or somewhere else on other systems.
func checkEntryName(name string) error {
	switch {
	case name == "":
		return badEntry(name, "has no name")
	case strings.Contains(name, `\`):
		return badEntry(name, "has a backslash in its name: / parts folders")
	case strings.HasPrefix(name, "/"):
		return badEntry(name, "is absolute: names such as css/look.css fit")
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		if part == "" || part == "." || part == ".." {
			return badEntry(name, "has an empty part, . or .. in its name: names such as css/look.css fit")
		}
	}
	return nil
}

// isLeftOut tells whether an entry is none of the site: what `ql push` leaves out, and what macOS adds.
func isLeftOut(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") && part != wellKnown || part == "node_modules" || part == "__MACOSX" {
			return true
		}
	}
	return false
}

const wellKnown = ".well-known"

// checkEntry refuses a file that cannot be one of a site.
func checkEntry(e *zip.File, mostFile int64) error {
	const encrypted = 1
	switch {
	case e.Mode()&fs.ModeSymlink != 0:
		return badEntry(e.Name, "is a symbolic link: only files and folders fit")
	case !e.Mode().IsRegular():
		return badEntry(e.Name, "is no file: only files and folders fit")
	case e.Flags&encrypted != 0:
		return badEntry(e.Name, "is encrypted")
	case e.Method != zip.Store && e.Method != zip.Deflate:
		return badEntry(e.Name, "is packed by method %d: stored and deflated files are read", e.Method)
	case mostFile > 0 && e.UncompressedSize64 > uint64(mostFile):
		err := fault.New(fault.TooLarge, "has the entry %.200q, which is too large: a file has %d bytes at most", e.Name, mostFile)
		err.Field, err.Limit, err.Value = "body", "file_bytes", mostFile
		return err
	case e.UncompressedSize64 > mostUnpacked:
		return zipTooLarge("has the entry %.200q, which is too large: all files together have %d bytes at most", e.Name, mostUnpacked)
	case e.UncompressedSize64 > freeRatio && e.UncompressedSize64/mostRatio > e.CompressedSize64:
		return zipTooLarge("has the entry %.200q, which unpacks to more than %d times its size: send it with `ql push`, or stored", e.Name, mostRatio)
	}
	return nil
}

// stripTop takes away the one folder that all files are in: most programs pack a folder with its name.
func (z *zipped) stripTop() {
	top, _, inFolder := strings.Cut(z.files[0].path, "/")
	if !inFolder || top == wellKnown {
		return
	}
	for i := range z.files {
		if !strings.HasPrefix(z.files[i].path, top+"/") {
			return
		}
	}
	for i := range z.files {
		z.files[i].path = z.files[i].path[len(top)+1:]
	}
}

// digest unpacks all files once.
func (z *zipped) digest(pace engine.Pace) error {
	buffer := make([]byte, unpacking)
	return z.each(func(f *zippedFile, content io.Reader) error {
		sum := sha256.New()
		for {
			if err := pace.Turn(z.source.ctx); err != nil {
				return err
			}
			n, err := content.Read(buffer)
			sum.Write(buffer[:n])
			if errors.Is(err, io.EOF) {
				f.digest = wire.Digest(sum.Sum(nil))
				return nil
			}
			if err != nil {
				return err
			}
		}
	})
}

// each reads the files from the first to the last.
func (z *zipped) each(read func(*zippedFile, io.Reader) error) error {
	if _, err := z.source.content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	z.source.at = 0
	for i := range z.files {
		f := &z.files[i]
		content := zippedReader{z: z, name: f.entry.Name}
		packed, err := f.entry.Open()
		if err != nil {
			return content.fault(err)
		}
		content.from = packed
		err = read(f, &content)
		_ = packed.Close() // it was only read
		if err != nil {
			return err
		}
	}
	return nil
}

// zippedReader is the content of an entry. Its errors say what is wrong with the zip file.
type zippedReader struct {
	z    *zipped
	name string
	from io.Reader
}

// Read implements io.Reader.
func (r *zippedReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = r.fault(err)
	}
	return n, err
}

func (r *zippedReader) fault(err error) error {
	switch {
	case r.z.source.failed != nil:
		return r.z.source.failed
	case errors.Is(err, errBackwards):
		return badEntry(r.name, "overlaps another, or stands elsewhere than the directory has it: the entries must follow each other in its order")
	case errors.Is(err, zip.ErrChecksum):
		return badEntry(r.name, "does not fit its checksum")
	}
	return badEntry(r.name, "is damaged, or unpacks to another size than the directory says")
}

// zipSource is the zip file on the disk. Once its directory was found it is read from the beginning to the
// end only: entries that share bytes, or that have it read again and again, are refused so.
type zipSource struct {
	ctx     context.Context
	content *files.Content
	at      int64
	opening bool
	read    int64 // while opening
	failed  error // what is no fault of the zip file
}

var errBackwards = errors.New("the zip file would be read backwards")

// ReadAt implements io.ReaderAt.
func (s *zipSource) ReadAt(p []byte, from int64) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, s.fail(err)
	}
	switch {
	case s.opening:
		if s.read += int64(len(p)); s.read > mostDirectory {
			return 0, s.fail(zipTooLarge("has a directory of entries that is too large: %d bytes is the most", mostDirectory))
		}
		if _, err := s.content.Seek(from, io.SeekStart); err != nil {
			return 0, err
		}
	case from < s.at:
		return 0, errBackwards
	default:
		skipped, err := io.CopyN(io.Discard, s.content, from-s.at)
		if s.at += skipped; err != nil {
			return 0, s.ended(err)
		}
	}
	n, err := io.ReadFull(s.content, p)
	s.at = from + int64(n)
	return n, s.ended(err)
}

// ended tells the end of the zip file from a disk that fails.
func (s *zipSource) ended(err error) error {
	switch {
	case err == nil:
		return nil
	case s.at >= s.content.Size():
		return io.EOF
	}
	return s.fail(err)
}

func (s *zipSource) fail(err error) error {
	s.failed = err
	return err
}
