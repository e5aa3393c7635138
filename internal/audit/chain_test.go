package audit

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/principal"
)

// rows is a store of one log.
type rows struct {
	Store
	head    Head
	entries []Entry
}

func (r *rows) Scan(_ context.Context, _ account.ID, f func(Entry) error) (Head, error) {
	for _, e := range r.entries {
		if err := f(e); err != nil {
			return r.head, err
		}
	}
	return r.head, nil
}

func (r *rows) append(e Event) {
	entry := NewEntry(e, Actor{By: principal.ByPassword, Key: "k", From: NetworkOf(netip.MustParseAddr("2001:db8::1"))}, time.Unix(1e9, 0))
	r.head = r.head.Follow(&entry)
	r.entries = append(r.entries, entry)
}

// prune removes the first n entries.
func (r *rows) prune(n int) {
	last := r.entries[n-1]
	r.entries = r.entries[n:]
	r.head.Pruned, r.head.PrunedHash = last.Number, last.Hash
	r.append(Event{Account: 7, Act: Pruned, On: PrunedOn(last.Number, last.Hash)})
}

func log(n int) *rows {
	r := &rows{}
	for range n {
		r.append(Event{Account: 7, Act: SecretSet, On: "name"})
	}
	return r
}

func pruned() *rows {
	r := log(30)
	r.prune(10)
	r.append(Event{Account: 7, Act: SecretSet})
	r.prune(5)
	return r
}

func TestWholeLogs(t *testing.T) {
	for name, r := range map[string]*rows{"empty": {}, "one": log(1), "many": log(20), "pruned": pruned()} {
		v, err := Verify(t.Context(), r, 7)
		if err != nil || v.Entries != int64(len(r.entries)) || v.Head != r.head {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// TestChangedBytesAreFound changes every field of every entry, and of the head.
func TestChangedBytesAreFound(t *testing.T) {
	changes := map[string]func(*Entry){
		"account": func(e *Entry) { e.Account++ },
		"number":  func(e *Entry) { e.Number++ },
		"at":      func(e *Entry) { e.At = e.At.Add(time.Microsecond) },
		"act":     func(e *Entry) { e.Act += "x" },
		"on":      func(e *Entry) { e.On += "x" },
		"by":      func(e *Entry) { e.By = "x" },
		"key":     func(e *Entry) { e.Key = "" },
		"from":    func(e *Entry) { e.From = "" },
		"result":  func(e *Entry) { e.Result = Failed },
		"count":   func(e *Entry) { e.Count++ },
		"hash":    func(e *Entry) { e.Hash[31] ^= 1 },
		"texts":   func(e *Entry) { e.On, e.Key = e.On+e.Key, "" },
	}
	for _, make := range []func() *rows{func() *rows { return log(5) }, pruned} {
		for name, change := range changes {
			for i := range make().entries {
				r := make()
				change(&r.entries[i])
				wantBroken(t, name, r)
			}
		}
		for i := range make().entries {
			r := make()
			r.entries = append(r.entries[:i], r.entries[i+1:]...)
			wantBroken(t, "removed", r)
			r = make()
			r.entries = append(r.entries[:i+1], r.entries[i:]...)
			wantBroken(t, "twice", r)
		}
		for name, change := range map[string]func(*Head){
			"number":      func(h *Head) { h.Number++ },
			"hash":        func(h *Head) { h.Hash[0] ^= 1 },
			"pruned":      func(h *Head) { h.Pruned++ },
			"pruned hash": func(h *Head) { h.PrunedHash[0] ^= 1 },
		} {
			r := make()
			change(&r.head)
			wantBroken(t, "head "+name, r)
		}
	}
	r := log(5)
	r.entries = nil
	wantBroken(t, "all removed", r)
}

func wantBroken(t *testing.T, what string, r *rows) {
	t.Helper()
	var broken *Broken
	if _, err := Verify(t.Context(), r, 7); !errors.As(err, &broken) {
		t.Errorf("%s: a changed log is taken for a whole one (%v)", what, err)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	e := NewEntry(Event{On: strings.Repeat("é", 500)}, Actor{}, time.Now())
	if len(e.On) > longestText || !strings.HasSuffix(e.On, "é…") {
		t.Errorf("%d bytes: %q", len(e.On), e.On)
	}
}

func TestNetworkOf(t *testing.T) {
	for addr, want := range map[string]string{"203.0.113.77": "203.0.113.0/24", "::ffff:203.0.113.77": "203.0.113.0/24", "2001:db8:1:2::3": "2001:db8:1::/48"} {
		if got := NetworkOf(netip.MustParseAddr(addr)).String(); got != want {
			t.Errorf("%s is of %s, want %s", addr, got, want)
		}
	}
	if NetworkOf(netip.Addr{}).IsValid() {
		t.Error("no address is of a network")
	}
}

func FuzzParsePruned(f *testing.F) {
	f.Add("12 " + Hash{1}.String())
	f.Add("0 00")
	f.Fuzz(func(t *testing.T, on string) {
		if number, hash, ok := ParsePruned(on); ok && PrunedOn(number, hash) != on {
			t.Errorf("%q is read as %d %s", on, number, hash)
		}
	})
}
