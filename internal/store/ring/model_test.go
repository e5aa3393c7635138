package ring

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// model is a ring, and what is known of it: what was appended and is needed.
type model struct {
	*Ring
	t      *testing.T
	chance *rand.Rand
	path   string
	from   Place // before which nothing is needed, as its owner has noted it
	kept   []frame
	count  int
}

type frame struct {
	entries []string
	end     Place
}

// TestModel appends by chance, frees, and crashes while a frame is written. What
// was appended is there afterwards, and nothing else but that frame, if it is whole.
func TestModel(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			m := &model{t: t, chance: rand.New(rand.NewPCG(seed, 0)), path: filepath.Join(t.TempDir(), "ring")}
			m.Ring = openTest(t, m.path, 0)
			for range 300 {
				switch n := m.chance.IntN(20); {
				case n == 0:
					m.crash()
				case n < 5:
					m.free()
				default:
					m.append()
				}
			}
			if m.next < 3*testSize {
				t.Errorf("it came to %d only", m.next)
			}
		})
	}
}

// entries are small, mostly.
func (m *model) entries() (list []string) {
	size := 10
	switch m.chance.IntN(4) {
	case 0:
		size = MaxFrame / 8
	case 1:
		size = 3 * Block
	}
	for range 1 + m.chance.IntN(4) {
		list = append(list, m.entry(m.chance.IntN(size)))
	}
	if m.chance.IntN(40) == 0 {
		list = []string{m.entry(MaxFrame - header - 4)}
	}
	return list
}

// entry returns one of which no block is in any other.
func (m *model) entry(size int) string {
	m.count++
	own := strconv.Itoa(m.count) + " "
	return strings.Repeat(own, size/len(own)+1)[:size]
}

func asBytes(entries []string) (list [][]byte) {
	for _, e := range entries {
		list = append(list, []byte(e))
	}
	return list
}

func (m *model) append() {
	entries := m.entries()
	end, err := m.Append(asBytes(entries))
	switch {
	case errors.Is(err, ErrNoRoom):
		if len(m.kept) == 0 {
			m.t.Fatal("an empty ring has no room")
		}
		m.free()
	case err != nil:
		m.t.Fatal(err)
	default:
		m.kept = append(m.kept, frame{entries, end})
	}
}

// free frees some of the first frames.
func (m *model) free() {
	if n := m.chance.IntN(len(m.kept) + 1); n > 0 {
		m.from = m.kept[n-1].end
		m.kept = m.kept[n:]
		m.Free(m.from)
	}
}

// crash ends the ring while a frame is written, of which any blocks may have come
// to the disk, and goes on with what is there.
func (m *model) crash() {
	torn := m.entries()
	whole, end := m.tear(torn)
	if err := m.Close(); err != nil {
		m.t.Fatal(err)
	}
	if whole {
		m.kept = append(m.kept, frame{torn, end})
	}
	at := m.from
	var want []string
	for _, f := range m.kept {
		at = f.end
		want = append(want, f.entries...)
	}
	got, to := readAll(m.t, m.path, m.from)
	if !slices.Equal(got, want) || to != at {
		m.t.Fatalf("after a crash there are %d entries from %d to %d, want %d to %d", len(got), m.from, to, len(want), at)
	}
	if m.chance.IntN(2) == 0 { // else they are not noted as stored before the next crash
		m.from, m.kept = to, nil
	}
	m.Ring = openTest(m.t, m.path, to)
	m.needed = m.from
}

// tear writes some blocks of a frame.
func (m *model) tear(entries []string) (whole bool, end Place) {
	length := header
	for _, e := range entries {
		length += 4 + len(e)
	}
	at := m.place(length)
	end = at + padded(length)
	if end-m.needed > m.size {
		return false, 0
	}
	b := m.buffer[:padded(length)]
	m.encode(b, length, at, asBytes(entries))
	all := m.chance.IntN(3) == 0
	whole = true
	for i := Place(0); i < padded(length); i += Block {
		if !all && m.chance.IntN(2) == 0 {
			whole = false
			continue
		}
		if err := m.file.write(b[i:i+Block], int64((at+i)%m.size)); err != nil {
			m.t.Fatal(err)
		}
	}
	return whole, end
}
