package signin

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/redacted"
)

// TestLink: a link signs one browser in, within the hour, and another one takes its place.
func TestLink(t *testing.T) {
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	s := New(nil, nil, func() time.Time { return now })
	for _, token := range []string{"", "x"} {
		if s.UseLink(redacted.Text(token)) {
			t.Errorf("%q counts where there is no link", token)
		}
	}
	first, second := s.NewLink(), s.NewLink()
	if len(second) < 43 || first == second {
		t.Errorf("%s, %s", first.Reveal(), second.Reveal())
	}
	if s.UseLink(first) || s.UseLink("") || s.UseLink(second[:42]) {
		t.Error("another one counts")
	}
	var used atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			if s.UseLink(second) {
				used.Add(1)
			}
		})
	}
	group.Wait()
	if used.Load() != 1 {
		t.Errorf("it was used %d times", used.Load())
	}
	late := s.NewLink()
	now = now.Add(linkTime)
	if s.UseLink(late) {
		t.Error("it counts after its time")
	}
}
