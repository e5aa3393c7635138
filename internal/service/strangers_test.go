package service

import (
	"testing"
	"time"

	"ql/internal/account"
)

// TestAnswersOfStrangersAreSampled: however often strangers answer, the log has one entry an hour, and
// none of their answers is uncounted.
func TestAnswersOfStrangersAreSampled(t *testing.T) {
	var s strangers
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	entries, counted := 0, int64(0)
	answer := func(at time.Time) {
		n := s.due(7, at)
		if n > 0 {
			entries++
			counted += n
		}
		s.note(7, at, n > 0)
	}
	for i := range 7200 { // two hours
		answer(now.Add(time.Duration(i) * time.Second))
	}
	answer(now.Add(2 * time.Hour))
	if entries != 3 || counted != 7201 {
		t.Errorf("%d entries stand for %d answers", entries, counted)
	}
	if s.due(8, now) != 1 {
		t.Error("the first answer of another account is not due")
	}
	for i := range mostStrangers + 10 {
		s.note(account.ID(100+i), now, true)
	}
	if len(s.seen) > mostStrangers {
		t.Errorf("%d accounts are remembered", len(s.seen))
	}
}
