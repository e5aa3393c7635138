package ship

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestPages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	var w writer
	for _, count := range []int{0, 1, 7, maxPages, 3} {
		var want []page
		number := uint32(0)
		for range count {
			number += 1 + uint32(random.IntN(1_000_000))
			content := bytes.Repeat([]byte{byte(random.IntN(256))}, pageSize)
			want = append(want, page{number, content})
			if err := w.add(want[len(want)-1]); err != nil {
				t.Fatal(err)
			}
		}
		if w.full() != (count == maxPages) {
			t.Errorf("full with %d pages: %t", count, w.full())
		}
		encoded, err := w.take()
		if err != nil {
			t.Fatal(err)
		}
		got, err := readPages(encoded)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d of %d pages, %v", len(got), len(want), err)
		}
		for i := range got {
			if got[i].number != want[i].number || !bytes.Equal(got[i].content, want[i].content) {
				t.Fatalf("page %d is %d", want[i].number, got[i].number)
			}
		}
	}
}

func TestWrongPages(t *testing.T) {
	var w writer
	content := make([]byte, pageSize)
	for _, p := range []page{{1, content[:100]}, {0, content}} {
		if err := w.add(p); err == nil {
			t.Errorf("page %d of %d bytes was taken", p.number, len(p.content))
		}
	}
	if err := w.add(page{5, content}); err != nil {
		t.Fatal(err)
	}
	if err := w.add(page{5, content}); err == nil {
		t.Error("a page was taken twice")
	}
}

func FuzzReadPages(f *testing.F) {
	var w writer
	for _, number := range []uint32{1, 2, 700} {
		if err := w.add(page{number, make([]byte, pageSize)}); err != nil {
			f.Fatal(err)
		}
	}
	encoded, err := w.take()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encoded)
	f.Add(encoded[:len(encoded)/2])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, encoded []byte) {
		pages, err := readPages(encoded)
		if err != nil {
			return
		}
		last := uint32(0)
		for _, p := range pages {
			if p.number <= last || len(p.content) != pageSize {
				t.Fatalf("page %d of %d bytes behind %d", p.number, len(p.content), last)
			}
			last = p.number
		}
	})
}
