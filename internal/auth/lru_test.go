package auth

import "testing"

// TestLRU is what we ask of a library for it.
func TestLRU(t *testing.T) {
	l := newLRU[string, int](2)
	want := func(key string, value int, found bool) {
		t.Helper()
		if got, ok := l.Get(key); got != value || ok != found {
			t.Errorf("%s: got %d, %t, want %d, %t", key, got, ok, value, found)
		}
	}
	want("a", 0, false)
	l.Add("a", 1)
	l.Add("b", 2)
	want("a", 1, true) // is used, and stays
	l.Add("c", 3)
	want("b", 0, false)
	want("a", 1, true)
	l.Add("c", 4) // is replaced, used, and evicts nobody
	want("a", 1, true)
	want("c", 4, true)
	l.Add("a", 5)
	l.Add("d", 6)
	want("c", 0, false)
	want("a", 5, true)
	l.Remove("a")
	l.Remove("nobody")
	want("a", 0, false)
	if l.Len() != 1 {
		t.Errorf("%d are left, want 1", l.Len())
	}
	for i := range 1000 {
		l.Add(string(rune(i)), i)
	}
	if l.Len() != 2 {
		t.Errorf("%d are kept, want 2", l.Len())
	}
}
