package relational

import (
	"bytes"
	"crypto/aes"
	"slices"
	"testing"
	"time"

	"ql/internal/job"
)

// TestPlacesOfIDs checks that every id has one place, that ids are valid and look
// like nothing, and that those made one after the other stand so.
func TestPlacesOfIDs(t *testing.T) {
	block, err := aes.NewCipher([]byte("sixteen bytes of"))
	if err != nil {
		t.Fatal(err)
	}
	s := New(nil, &IDs{block: block})
	var places [][]byte
	ones := make([]int, 128)
	const many = 4000
	for range many {
		id := s.NewID()
		if parsed, ok := job.ParseID(id.String()); !ok || parsed != id {
			t.Fatalf("%s is no id", id)
		}
		place := s.ids.place(id)
		if back := s.ids.id(place); back != id {
			t.Fatalf("%s came back as %s", id, back)
		}
		places = append(places, place)
		for bit := range ones {
			ones[bit] += int(id[bit/8] >> (7 - bit%8) & 1)
		}
	}
	sorted := slices.Clone(places)
	slices.SortFunc(sorted, bytes.Compare)
	moved := 0
	for i := range places {
		if !bytes.Equal(places[i][:6], sorted[i][:6]) {
			moved++
		}
	}
	if moved > many/10 {
		t.Errorf("%d of %d stand elsewhere than they were made", moved, many)
	}
	for bit, n := range ones {
		fixed := bit >= 48 && bit < 52 || bit == 64 || bit == 65
		if !fixed && (n < many*4/10 || n > many*6/10) {
			t.Errorf("bit %d is set in %d of %d ids", bit, n, many)
		}
	}
	for range 1000 {
		id := job.NewID()
		if back := s.ids.id(s.ids.place(id)); back != id {
			t.Fatalf("%s came back as %s", id, back)
		}
	}
	odd := job.ID{1, 2, 3}
	if back := s.ids.id(s.ids.place(odd)); back != odd {
		t.Errorf("%v came back as %v", odd, back)
	}
}

// TestMadeAt: an id tells its store when it was made, and one of somebody else's nothing that is near.
func TestMadeAt(t *testing.T) {
	block, err := aes.NewCipher([]byte("sixteen bytes of"))
	if err != nil {
		t.Fatal(err)
	}
	s := New(nil, &IDs{block: block})
	for range 100 {
		before := time.Now()
		made, ok := s.MadeAt(s.NewID())
		if !ok || made.Before(before.Add(-time.Millisecond)) || made.After(time.Now()) {
			t.Fatalf("an id of %v was made at %v, %t", before, made, ok)
		}
		if made, ok := s.MadeAt(job.NewID()); ok && time.Since(made).Abs() < time.Hour {
			t.Errorf("an id of another was made at %v", made)
		}
	}
	if _, ok := New(nil, &IDs{}).MadeAt(job.NewID()); ok {
		t.Error("without a key it tells when")
	}
}
