package lib

import (
	archive "archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"ql/lang/value"
)

// call calls a function of the library.
func call(c *Call, name string, args ...value.Value) (value.Value, error) {
	i, _ := Lookup(name)
	return At(i).Fn(c, args)
}

// TestArchivesOfOthers checks that we read what Go writes, and Go what we write.
func TestArchivesOfOthers(t *testing.T) {
	files := map[string]string{"a.txt": "hello", "b/c.txt": strings.Repeat("long ", 10_000), "empty": ""}
	var theirs bytes.Buffer
	w := archive.NewWriter(&theirs)
	if err := w.SetComment("PK\x05\x06 in a comment, which looks like the end of an archive"); err != nil {
		t.Fatal(err)
	}
	ours := value.NewMap(nil, 0)
	for name, content := range files {
		f, err := w.Create(name) // with the sizes behind the content
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, content); err != nil {
			t.Fatal(err)
		}
		ours.SetText(name, value.Text(content))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	v, err := call(newCall(), "FROM_ZIP", value.Bytes(theirs.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if got, _ := v.Map().Get(name); got.IsNull() || got.Str() != content {
			t.Errorf("%s is read with %d bytes, want %d", name, len(got.Str()), len(content))
		}
	}
	packed, err := call(newCall(), "TO_ZIP", ours.Value())
	if err != nil {
		t.Fatal(err)
	}
	r, err := archive.NewReader(bytes.NewReader(packed.Raw()), int64(len(packed.Raw())))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.File {
		content, err := contentOf(f)
		if err != nil || string(content) != files[f.Name] {
			t.Errorf("Go reads %s with %d bytes, %v", f.Name, len(content), err)
		}
	}
	if len(r.File) != len(files) {
		t.Errorf("Go finds %d files", len(r.File))
	}
}

// TestPackedBytesStay checks that what is packed becomes the same bytes as ever: a job
// that is run again from its history computes them again. Where a new version of Go
// packs otherwise, the compressor of the old one has to be kept.
func TestPackedBytesStay(t *testing.T) {
	content := value.Text(strings.Repeat("the quick brown fox ", 500) + strings.Repeat("é", 3000))
	for name, want := range map[string]string{"GZIP": gzipGolden, "TO_ZIP": zipGolden} {
		arg := content
		if name == "TO_ZIP" {
			arg = nested("a.txt", content)
		}
		v, err := call(newCall(), name, arg)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(v.Raw())); got != want {
			t.Errorf("%s gives bytes of the hash %s, want %s", name, got, want)
		}
	}
}

const (
	gzipGolden = "0b96bfd36c32eea9e91ebf168d524a0fc36f6d07676108cbdfbd750ed8e26607"
	zipGolden  = "0bc2693f401cb36734b01df0631cfecce2bb8a97e9640892b8bfd48ea0c924e4"
)

// bombOf is an archive of one file that says so of its size and its packed content.
func bombOf(packed []byte, size uint32, sum uint32) []byte {
	a := value.NewMap(nil, 1)
	a.SetText("a", value.Text(strings.Repeat("x", 100)))
	v, _ := call(newCall(), "TO_ZIP", a.Value())
	whole := v.Raw()
	old := len(whole) - zipEndSize - zipEntrySize - 1 - zipFileSize - 1
	head := bytes.Clone(whole[:zipFileSize+1])
	entry := bytes.Clone(whole[zipFileSize+1+old : len(whole)-zipEndSize])
	end := bytes.Clone(whole[len(whole)-zipEndSize:])
	for _, h := range [][]byte{head[14:], entry[16:]} {
		binary.LittleEndian.PutUint32(h, sum)
		binary.LittleEndian.PutUint32(h[4:], uint32(len(packed)))
		binary.LittleEndian.PutUint32(h[8:], size)
	}
	binary.LittleEndian.PutUint32(end[16:], uint32(len(head)+len(packed)))
	return bytes.Join([][]byte{head, packed, entry, end}, nil)
}

// TestPackedBombs checks that what is packed ends at the limits of what it would
// become, and before that is allocated; and that archives which lie are refused.
func TestPackedBombs(t *testing.T) {
	zeros := make([]byte, 32<<20)
	out := buffer{c: &Call{}}
	if err := (&deflater{c: &Call{}}).add(&out, zeros); err != nil {
		t.Fatal(err)
	}
	sum := crc32.ChecksumIEEE(zeros)
	gz, _ := call(&Call{}, "GZIP", value.Bytes(zeros))
	for _, c := range []struct {
		name  string
		fn    string
		bytes []byte
		limit string
	}{
		{"a file of 32 MiB", "FROM_ZIP", bombOf(out.b, 32<<20, sum), "value_size"},
		{"gzip of 32 MiB", "GUNZIP", gz.Raw(), "value_size"},
		{"a file that is longer than it says", "FROM_ZIP", bombOf(out.b, 1000, sum), ""},
		{"a file that is shorter than it says", "FROM_ZIP", bombOf([]byte{3, 0}, 2000, 0), ""},
		{"a file that says more than can be", "FROM_ZIP", bombOf([]byte{3, 0}, 1<<31, 0), ""},
	} {
		metered := newCall()
		metered.Meter.Text, metered.Meter.Memory, metered.Meter.BytesLeft = 1<<20, 8<<20, 8<<20
		var err error
		limit := limited(func() { _, err = call(metered, c.fn, value.Bytes(c.bytes)) })
		var bad *value.Error
		switch {
		case limit != nil && limit.Name == c.limit:
		case limit == nil && c.limit == "" && errors.As(err, &bad) && bad.Code == value.BadZIP:
		default:
			t.Errorf("%s ends with %v, %v", c.name, limit, err)
		}
	}
	// Two entries of the directory for the same bytes, which would be unpacked twice.
	two := bombOf(out.b, 32<<20, sum)
	entry := bytes.Clone(two[len(two)-zipEndSize-zipEntrySize-1 : len(two)-zipEndSize])
	entry[len(entry)-1] = 'b'
	end := bytes.Clone(two[len(two)-zipEndSize:])
	end[8], end[10] = 2, 2
	binary.LittleEndian.PutUint32(end[12:], uint32(2*len(entry)))
	overlapping := bytes.Join([][]byte{two[:len(two)-zipEndSize], entry, end}, nil)
	if _, err := call(newCall(), "ZIP_LIST", value.Bytes(overlapping)); err == nil || !strings.Contains(err.Error(), "overlap") {
		t.Errorf("files that overlap: %v", err)
	}
}

// FuzzZIP checks that no bytes upset the reader of archives, and that what it reads
// as Go does is the same.
func FuzzZIP(f *testing.F) {
	for _, files := range []value.Value{table(0), table(1), nested("a/", value.Text("")), nested("é", value.Text(strings.Repeat("c", 100)))} {
		v, err := call(newCall(), "TO_ZIP", files)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(v.Raw())
	}
	f.Add(bombOf([]byte{3, 0}, 2000, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		var v value.Value
		var err error
		c := newCall()
		c.Meter.Text = 1 << 20
		if limited(func() { v, err = call(c, "FROM_ZIP", value.Bytes(b)) }) != nil {
			return
		}
		_, listErr := call(newCall(), "ZIP_LIST", value.Bytes(b))
		if err != nil {
			var bad *value.Error
			if !errors.As(err, &bad) || bad.Code != value.BadZIP || strings.Contains(bad.Message, "%!") {
				t.Fatalf("error %v", err)
			}
			return
		}
		if listErr != nil {
			var bad *value.Error
			if !errors.As(listErr, &bad) || bad.Code != value.BadTime {
				t.Fatalf("it is read, but not listed: %v", listErr)
			}
		}
		r, err := archive.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for _, f := range r.File {
			content, err := contentOf(f)
			if got, ok := v.Map().Get(f.Name); ok && err == nil && got.Str() != string(content) {
				t.Fatalf("%q is read as %q, want %q", f.Name, got.Str(), content)
			}
		}
	})
}

// FuzzGUNZIP compares with Go's reader, which ours is around.
func FuzzGUNZIP(f *testing.F) {
	for _, s := range []string{"", "hello", strings.Repeat("a", 10_000)} {
		v, err := call(newCall(), "GZIP", value.Text(s))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(v.Raw())
		f.Add(append(bytes.Clone(v.Raw()), v.Raw()...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := newCall()
		c.Meter.Text = 1 << 20
		var v value.Value
		var err error
		if limited(func() { v, err = call(c, "GUNZIP", value.Bytes(b)) }) != nil {
			return
		}
		var want []byte
		r, bad := gzip.NewReader(bytes.NewReader(b))
		if bad == nil {
			want, bad = io.ReadAll(r)
		}
		if (err != nil) != (bad != nil) || err == nil && v.Str() != string(want) {
			t.Fatalf("%x gives %v, want %q, %v", b, err, want, bad)
		}
	})
}
