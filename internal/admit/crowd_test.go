package admit

import (
	"errors"
	"testing"
)

func TestCrowd(t *testing.T) {
	c := NewCrowd(CrowdOptions{Most: 3})
	enter := func(account int64, most int, want Reason) func() {
		t.Helper()
		leave, err := c.Enter(account, most)
		var refused *Refused
		if want == 0 && err != nil || want != 0 && (!errors.As(err, &refused) || refused.Reason != want) {
			t.Fatalf("account %d: %v, want reason %d", account, err, want)
		}
		return leave
	}
	first := enter(1, 2, 0)
	second := enter(1, 2, 0)
	enter(1, 2, TooManyTransfers)
	third := enter(2, 0, 0)
	enter(2, 0, Overloaded)
	enter(3, 5, Overloaded)
	first()
	enter(2, 1, TooManyTransfers)
	again := enter(1, 2, 0)
	for _, leave := range []func(){second, third, again} {
		leave()
	}
	if c.all != 0 || len(c.count) != 0 {
		t.Errorf("when all have left, there are %d and %v", c.all, c.count)
	}
	c.o.Lifted = true
	for range 10 {
		enter(1, 2, 0)
	}
}
