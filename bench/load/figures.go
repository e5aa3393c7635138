package load

import (
	"fmt"
	"slices"
	"time"
)

// Measured is what a load has given.
type Measured struct {
	Began time.Time
	Took  time.Duration
	Times []time.Duration // of each call, from its sending to the end of its answer, in order of length
}

// Calls returns how many there were.
func (m *Measured) Calls() int { return len(m.Times) }

// Rate returns how many there were in a second.
func (m *Measured) Rate() float64 { return float64(len(m.Times)) / m.Took.Seconds() }

// Percentile returns the time within which so many of a hundred calls were
// answered.
func (m *Measured) Percentile(p int) time.Duration { return Percentile(m.Times, p) }

// Percentile returns what so many of a hundred are within, of times in order.
func Percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

// Median returns the one in the middle.
func Median[T float64 | time.Duration](list []T) T {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// Ratio is the median, over the rounds, of what one gave by what another gave in
// the same round.
func Ratio[T float64 | time.Duration](own, other []T) float64 {
	var list []float64
	for i := range own {
		list = append(list, float64(own[i])/float64(other[i]))
	}
	return Median(list)
}

// Shown writes a time for a table.
func Shown(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
}
