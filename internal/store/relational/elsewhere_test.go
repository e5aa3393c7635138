package relational

import (
	"testing"

	"ql/internal/account"
)

// TestElsewhereCounts: jobs go uncounted while there is room for them, and for no longer.
func TestElsewhereCounts(t *testing.T) {
	const most = 1_000
	c := NewElsewhereCounts()
	if c.fits(1, 1, most) {
		t.Error("what was never counted fits")
	}
	c.set(1, 10)
	fit := 10
	for c.fits(1, 10, most) {
		fit += 10
	}
	if fit != most-nearLimit(most) {
		t.Errorf("%d jobs go uncounted", fit)
	}
	if c.fits(2, 1, most) || (*ElsewhereCounts)(nil).fits(1, 1, most) {
		t.Error("what nobody counted fits")
	}
	c.accounts[1] = elsewhereCount{1, c.accounts[1].counted.Add(-countedFor)}
	if c.fits(1, 1, most) {
		t.Error("a count of long ago is gone by")
	}
	for a := range 2 * mostCounted {
		c.set(account.ID(a), 1)
	}
	if len(c.accounts) > mostCounted {
		t.Errorf("%d accounts are remembered", len(c.accounts))
	}
}
