package ring

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const testSize = 2 << 20

var testKey = Key{1, 2, 3, 4, 5, 6, 7, 8}

func openTest(t *testing.T, path string, at Place) *Ring {
	t.Helper()
	r, err := Open(path, testSize, testKey, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func add(t *testing.T, r *Ring, entries ...string) Place {
	t.Helper()
	list := make([][]byte, len(entries))
	for i, e := range entries {
		list[i] = []byte(e)
	}
	end, err := r.Append(list)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

func readAll(t *testing.T, path string, from Place) (entries []string, end Place) {
	t.Helper()
	entries, end, whole := readWhole(t, path, from)
	if !whole {
		t.Errorf("from %d on something is damaged", from)
	}
	return entries, end
}

func readWhole(t *testing.T, path string, from Place) (entries []string, end Place, whole bool) {
	t.Helper()
	end, whole, err := Read(path, testKey, from, func(e []byte) error {
		entries = append(entries, string(e))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries, end, whole
}

func wantEntries(t *testing.T, path string, from Place, end Place, want ...string) {
	t.Helper()
	got, at := readAll(t, path, from)
	if !slices.Equal(got, want) || at != end {
		t.Errorf("from %d on there are %d entries up to %d, want %d up to %d", from, len(got), at, len(want), end)
	}
}

func TestAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring")
	wantEntries(t, path, 0, 0) // before there is a file
	r := openTest(t, path, 0)
	wantEntries(t, path, 0, 0)
	one := add(t, r, "one")
	large := strings.Repeat("x", 3*Block)
	two := add(t, r, "", large, "three")
	if one != Block || two != 5*Block {
		t.Errorf("the places are %d and %d, want %d and %d", one, two, Block, 5*Block)
	}
	wantEntries(t, path, 0, two, "one", "", large, "three")
	wantEntries(t, path, one, two, "", large, "three")
	wantEntries(t, path, two, two)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() != testSize || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %d bytes and mode %o", info.Size(), info.Mode().Perm())
	}
	stop := errors.New("enough")
	if end, _, err := Read(path, testKey, 0, func([]byte) error { return stop }); !errors.Is(err, stop) || end != 0 {
		t.Errorf("reading that was stopped: %d, %v", end, err)
	}
}

// TestGoesRound fills the file many times. What is needed is never overwritten, and
// what is read is always what was appended last.
func TestGoesRound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring")
	r := openTest(t, path, 0)
	type frame struct {
		entry string
		end   Place
	}
	var kept []frame
	from, refused := Place(0), 0
	for i := range 3000 {
		entry := fmt.Sprintf("%d %s", i, strings.Repeat("y", i%17*1000))
		end, err := r.Append([][]byte{[]byte(entry)})
		if errors.Is(err, ErrNoRoom) {
			refused++
			half := len(kept) / 2
			from = kept[half-1].end
			r.Free(from)
			kept = kept[half:]
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, frame{entry, end})
		if i%250 == 0 {
			want := make([]string, len(kept))
			for j, f := range kept {
				want[j] = f.entry
			}
			wantEntries(t, path, from, end, want...)
		}
	}
	if refused < 5 || kept[len(kept)-1].end < 5*testSize {
		t.Errorf("the file was full %d times, and came to %d", refused, kept[len(kept)-1].end)
	}
}

func TestNoRoom(t *testing.T) {
	r := openTest(t, filepath.Join(t.TempDir(), "ring"), 0)
	if _, err := r.Append([][]byte{make([]byte, MaxFrame)}); !errors.Is(err, ErrNoRoom) {
		t.Errorf("an entry larger than a frame: %v", err)
	}
	if _, err := r.Append([][]byte{make([]byte, MaxFrame-header-4)}); err != nil {
		t.Errorf("an entry as large as a frame: %v", err)
	}
	if n := r.Used(); n != MaxFrame {
		t.Errorf("%d bytes are used by the largest frame", n)
	}
	r.Free(1 << 40) // of what there is, not more
	if n := r.Used(); n != 0 {
		t.Errorf("%d bytes are used by nothing", n)
	}
	end := add(t, r, "after it")
	if end != MaxFrame+Block {
		t.Errorf("the place is %d, want %d", end, MaxFrame+Block)
	}
	for range testSize/Block - 1 {
		end = add(t, r, "full")
	}
	if _, err := r.Append([][]byte{nil}); !errors.Is(err, ErrNoRoom) {
		t.Errorf("one more than there is room for: %v", err)
	}
	if n := r.Used(); n != testSize {
		t.Errorf("%d bytes are used where there is no room", n)
	}
	r.Free(end - Block)
	add(t, r, "again")
	if n := r.Used(); n != 2*Block {
		t.Errorf("%d bytes are used by two blocks", n)
	}
}

// TestGoesOn opens a ring again, at where it was read to.
func TestGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring")
	r := openTest(t, path, 10*testSize)
	first := add(t, r, "first")
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Append(nil); !errors.Is(err, errClosed) {
		t.Errorf("an append to a closed ring: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	r = openTest(t, path, first)
	second := add(t, r, "second")
	wantEntries(t, path, 10*testSize, second, "first", "second")
	wantEntries(t, path, 0, 0) // places of another time
	if end, _, err := Read(path, Key{9}, 10*testSize, func([]byte) error { return errors.New("read") }); err != nil || end != 10*testSize {
		t.Errorf("with another key: %d, %v", end, err)
	}
}

// TestSizes makes the file anew where it has another size, and of none but fitting.
func TestSizes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring")
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, path, 0, 0)
	r := openTest(t, path, 3*Block)
	wantEntries(t, path, 3*Block, add(t, r, "e"), "e")
	for _, bad := range []struct {
		size int64
		at   Place
	}{{0, 0}, {2*MaxFrame + 1, 0}, {2*MaxFrame - Block, 0}, {testSize, -Block}, {testSize, 1}} {
		if _, err := Open(path, bad.size, testKey, bad.at); err == nil {
			t.Errorf("a ring of %d bytes at %d was opened", bad.size, bad.at)
		}
	}
	if _, err := Open(filepath.Join(path, "below"), testSize, testKey, 0); err == nil {
		t.Error("a ring below a file was opened")
	}
	if _, err := os.Stat(path + ".new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was left: %v", err)
	}
}

// TestTorn cuts the last frame off at every block, and changes each of its bytes
// of note: what stands before is read, and the frame is not.
func TestTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring")
	r := openTest(t, path, 0)
	first := add(t, r, "first")
	add(t, r, strings.Repeat("z", 3*Block))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(name string, change func(frame []byte)) {
		t.Run(name, func(t *testing.T) {
			b := bytes.Clone(whole)
			change(b[first:])
			torn := filepath.Join(t.TempDir(), "ring")
			if err := os.WriteFile(torn, b, 0o600); err != nil {
				t.Fatal(err)
			}
			wantEntries(t, torn, 0, first, "first")
		})
	}
	for i := range 4 {
		check(fmt.Sprintf("block %d is missing", i), func(frame []byte) { clear(frame[i*Block : (i+1)*Block]) })
	}
	for i := range header + 8 {
		check(fmt.Sprintf("byte %d is another", i), func(frame []byte) { frame[i] ^= 0x40 })
	}
	if err := os.Truncate(path, int64(first)+2*Block); err != nil {
		t.Fatal(err)
	}
	wantEntries(t, path, 0, first, "first")
}

// TestDamaged changes a frame that others stand after, with the end of the file
// among them: they are read, and it is told.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring")
	const from = testSize - 3*Block
	r := openTest(t, path, from)
	var places []Place
	end := Place(from)
	names := []string{"a", "b" + strings.Repeat("b", Block), "c" + strings.Repeat("c", Block), "d", "e"}
	for _, name := range names {
		places = append(places, r.place(header+4+len(name)))
		end = add(t, r, name)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, damaged := range [][]int{{0}, {1}, {2}, {3}, {0, 1, 2}, {1, 3}} {
		b := bytes.Clone(whole)
		want := slices.Clone(names)
		for _, i := range slices.Backward(damaged) {
			b[int(places[i]%testSize)+header+4] ^= 1
			want = slices.Delete(want, i, i+1)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		got, at, whole := readWhole(t, path, from)
		if !slices.Equal(got, want) || at != end || whole {
			t.Errorf("with %v damaged there are %d entries up to %d, want %d up to %d, whole: %t", damaged, len(got), at, len(want), end, whole)
		}
	}
}

// TestNoFile checks that what is no file is told, and not waited for.
func TestNoFile(t *testing.T) {
	if _, _, err := Read(t.TempDir(), testKey, 0, nil); err == nil || err.Error() != "it is no file" {
		t.Errorf("reading a folder: %v", err)
	}
}

// TestForged puts an entry into a frame that looks like the frame which is to come
// in the next round.
func TestForged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring")
	r := openTest(t, path, 0)
	forge := func(key Key) []byte {
		r := &Ring{key: key}
		frame := make([]byte, Block)
		r.encode(frame, header+4+6, testSize+Block, [][]byte{[]byte("forged")})
		return append(make([]byte, Block-header-4), frame...)
	}
	for _, c := range []struct {
		key  Key
		want []string
	}{{Key{}, nil}, {testKey, []string{"forged"}}} { // the second proves that only the key is missing
		r.Free(r.next)
		entry := forge(c.key)
		if _, err := r.Append([][]byte{entry}); err != nil {
			t.Fatal(err)
		}
		got, _ := readAll(t, path, testSize+Block)
		if !slices.Equal(got, c.want) {
			t.Errorf("with the key %v: %q, want %q", c.key, got, c.want)
		}
		r.next = 0 // the same place once more
	}
}

// TestBroken checks that nothing is appended after a write has failed.
func TestBroken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring")
	r := openTest(t, path, 0)
	add(t, r, "kept")
	if err := r.file.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []Place{2 * Block, 0} { // the second is not written at all
		if end, err := r.Append([][]byte{[]byte("lost")}); !errors.Is(err, os.ErrClosed) || end != want {
			t.Fatalf("a write to a file that is not open: %d, %v; want the place %d", end, err, want)
		}
	}
	var err error
	if r.file, err = openFile(path); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Append([][]byte{[]byte("late")}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("an append after a failure: %v", err)
	}
	wantEntries(t, path, 0, Block, "kept")
}

// FuzzRead reads files that anybody may have written, as if they had the key.
func FuzzRead(f *testing.F) {
	r := &Ring{key: testKey}
	frame := make([]byte, 2*Block)
	r.encode(frame, header+4+3+4, 0, [][]byte{[]byte("one"), nil})
	f.Add(frame, int64(0))
	f.Add(frame[Block:], int64(Block))
	f.Add([]byte(magic), int64(1))
	f.Fuzz(func(t *testing.T, content []byte, from int64) {
		if len(content) >= header { // else a checksum would stop nearly all
			n := int(binary.BigEndian.Uint32(content[24:]))
			if n >= header && n <= len(content) {
				binary.BigEndian.PutUint32(content[4:], crc32.Checksum(content[8:n], castagnoli))
			}
		}
		sum := 0
		end, _, err := read(bytes.NewReader(content), Place(len(content)/Block*Block), testKey, Place(from), func(e []byte) error {
			sum += len(e)
			return nil
		})
		if sum > len(content) {
			t.Errorf("%d bytes were read of %d", sum, len(content))
		}
		if end < Place(from) && err == nil {
			t.Errorf("from %d on it was read to %d", from, end)
		}
	})
}
