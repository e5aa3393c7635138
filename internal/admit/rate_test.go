package admit

import (
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// clock is a clock that stands until it is set.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)} }

func (c *clock) read() time.Time { return c.now }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

var standard = Rate{Name: "account", Count: 600, Per: time.Minute, Burst: 100}

func TestLimiter(t *testing.T) {
	c := newClock()
	l := NewLimiter(LimiterOptions{Clock: c.read})
	key := ByAccount("account", 7)
	for i := range 100 {
		v := l.Allow(key, standard)
		if !v.OK || v.Err() != nil || v.Remaining != 99-i {
			t.Fatalf("call %d of the burst: %+v", i, v)
		}
	}
	v := l.Allow(key, standard)
	var refused *Refused
	if v.OK || v.Remaining != 0 || v.RetryAfter != 100*time.Millisecond || !errors.As(v.Err(), &refused) {
		t.Fatalf("after the burst: %+v", v)
	}
	if refused.Reason != RateExceeded || refused.Code() != "rate_limited" || refused.RetryAfter != v.RetryAfter ||
		refused.Error() != "too many requests: the next one is taken in 1 second" {
		t.Errorf("got %+v: %v", refused, refused)
	}
	// A refused call costs nothing.
	c.pass(v.RetryAfter - 1)
	if l.Allow(key, standard).OK {
		t.Error("taken too early")
	}
	c.pass(1)
	if v := l.Allow(key, standard); !v.OK || v.Remaining != 0 {
		t.Errorf("not taken in time: %+v", v)
	}
	c.pass(time.Second)
	for i := range 11 {
		if got, want := l.Allow(key, standard).OK, i < 10; got != want {
			t.Errorf("call %d after a second: %t", i, got)
		}
	}
	c.pass(time.Hour)
	if v := l.Allow(key, standard); v.Remaining != 99 {
		t.Errorf("after an hour: %+v", v)
	}
	if s := l.Stats(); s.Allowed != 112 || s.Refused != 3 || s.Keys != 1 {
		t.Errorf("got %+v", s)
	}
}

// TestLimiterHoldsRate checks over a long time that no more calls are taken than
// the rate says, and that a steady caller within it is never refused.
func TestLimiterHoldsRate(t *testing.T) {
	c := newClock()
	l := NewLimiter(LimiterOptions{Clock: c.read})
	rate := Rate{Name: "r", Count: 7, Per: time.Second, Burst: 3}
	taken := 0
	for range 10_000 {
		if l.Allow(ByAccount("r", 1), rate).OK {
			taken++
		}
		c.pass(10 * time.Millisecond)
	}
	if most := 3 + 7*100; taken > most || taken < most-3 {
		t.Errorf("%d taken in 100 seconds, want about %d", taken, most)
	}
	for i := range 1000 {
		if v := l.Allow(ByAccount("r", 2), rate); !v.OK {
			t.Fatalf("steady call %d: %+v", i, v)
		}
		c.pass(143 * time.Millisecond)
	}
}

func TestLimiterKeys(t *testing.T) {
	once := Rate{Name: "a", Count: 1, Per: time.Hour}
	v4, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	keys := []Key{
		ByAccount("a", 1), ByAccount("a", 2), ByAccount("b", 1),
		BySource("a", v4), BySource("a", other), BySourceOf("a", 1, v4),
		ByOrigin("a", 1, "https://a.example", v4), ByOrigin("a", 1, "https://b.example", v4),
		ByOrigin("a", 2, "https://a.example", v4), ByOrigin("a", 1, "https://a.example", other),
		BySource("a", netip.MustParseAddr("2001:db8:1:2::1")), BySource("a", netip.MustParseAddr("2001:db8:1:3::1")),
		BySource("a", netip.Addr{}),
	}
	l := NewLimiter(LimiterOptions{Clock: newClock().read})
	for i, k := range keys {
		if !l.Allow(k, once).OK {
			t.Errorf("key %d is another one's", i)
		}
	}
	same := []Key{
		ByAccount("a", 1),
		BySource("a", netip.MustParseAddr("::ffff:192.0.2.1")),
		BySource("a", netip.MustParseAddr("2001:db8:1:2:ffff::9%eth0")),
	}
	for i, k := range same {
		if l.Allow(k, once).OK {
			t.Errorf("key %d is not the one it should be", i)
		}
	}
}

func TestLimiterForgets(t *testing.T) {
	c := newClock()
	l := NewLimiter(LimiterOptions{Clock: c.read, MaxKeys: 1600})
	rate := Rate{Name: "r", Count: 60, Per: time.Minute, Burst: 2}
	for i := range 100_000 {
		l.Allow(ByAccount("r", int64(i)), rate)
		if i%1000 == 0 {
			if s := l.Stats(); s.Keys > 1600 {
				t.Fatalf("%d keys after %d callers", s.Keys, i)
			}
		}
	}
	c.pass(time.Hour)
	for i := range 2000 {
		l.Allow(ByAccount("r", int64(-i-1)), Rate{Name: "r", Count: 1, Per: time.Nanosecond})
		c.pass(time.Second)
	}
	if s := l.Stats(); s.Keys > 200 {
		t.Errorf("%d keys are left of callers long gone", s.Keys)
	}
}

// TestLimiterKeepsTheBusy checks that those who used up their allowance are not
// the ones forgotten while idle ones are there.
func TestLimiterKeepsTheBusy(t *testing.T) {
	c := newClock()
	l := NewLimiter(LimiterOptions{Clock: c.read, MaxKeys: 16 * 64})
	hour := Rate{Name: "h", Count: 1, Per: time.Hour}
	l.Allow(ByAccount("h", 1), hour)
	for i := range 10_000 {
		l.Allow(ByAccount("s", int64(i)), Rate{Name: "s", Count: 1, Per: time.Second})
		c.pass(100 * time.Millisecond)
	}
	if l.Allow(ByAccount("h", 1), hour).OK {
		t.Error("forgotten")
	}
}

func TestLimiterWithoutLimits(t *testing.T) {
	c := newClock()
	unlimited := NewLimiter(LimiterOptions{Clock: c.read, Unlimited: true})
	strict := NewLimiter(LimiterOptions{Clock: c.read})
	for range 10 {
		if !unlimited.Allow(ByAccount("r", 1), Rate{Name: "r", Count: 1, Per: time.Hour}).OK {
			t.Error("refused though unlimited")
		}
		if !strict.Allow(ByAccount("r", 1), Rate{Name: "r"}).OK {
			t.Error("refused without a rate")
		}
	}
	if s := unlimited.Stats(); s.Keys != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestLimiterClockBack checks that a clock set back does not let more through.
func TestLimiterClockBack(t *testing.T) {
	c := newClock()
	l := NewLimiter(LimiterOptions{Clock: c.read})
	rate := Rate{Name: "r", Count: 1, Per: time.Minute}
	l.Allow(ByAccount("r", 1), rate)
	c.pass(-time.Second)
	if l.Allow(ByAccount("r", 1), rate).OK {
		t.Error("taken after the clock was set back")
	}
}

func TestLimiterConcurrent(t *testing.T) {
	l := NewLimiter(LimiterOptions{Clock: newClock().read, MaxKeys: 64})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				l.Allow(ByAccount("r", 1), Rate{Name: "r", Count: 100, Per: time.Hour})
			}
		})
	}
	wg.Wait()
	if s := l.Stats(); s.Allowed != 100 || s.Refused != 7900 {
		t.Errorf("got %+v", s)
	}
}

func TestRateLimitHeaders(t *testing.T) {
	c := newClock()
	l := NewLimiter(LimiterOptions{Clock: c.read})
	rate := Rate{Name: "account", Count: 60, Per: time.Minute, Burst: 2}
	tests := []struct{ policy, limit string }{
		{`"account";q=60;w=60`, `"account";r=1;t=1`},
		{`"account";q=60;w=60`, `"account";r=0;t=2`},
		{`"account";q=60;w=60`, `"account";r=0;t=1`},
	}
	for i, test := range tests {
		v := l.Allow(ByAccount("account", 1), rate)
		if v.Policy() != test.policy || v.Limit() != test.limit {
			t.Errorf("call %d: %s and %s, want %s and %s", i, v.Policy(), v.Limit(), test.policy, test.limit)
		}
	}
}

func BenchmarkLimiter(b *testing.B) {
	l := NewLimiter(LimiterOptions{})
	rate := Rate{Name: "account", Count: 1e9, Per: time.Second}
	key := ByAccount("account", 7)
	b.ReportAllocs()
	for b.Loop() {
		if v := l.Allow(key, rate); !v.OK {
			b.Fatal(v)
		}
	}
}

func BenchmarkLimiterNewKeys(b *testing.B) {
	l := NewLimiter(LimiterOptions{})
	rate := Rate{Name: "source", Count: 60, Per: time.Minute}
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		l.Allow(ByAccount("source", i), rate)
	}
}
