package load

import (
	"testing"
	"time"
)

func TestFigures(t *testing.T) {
	m := Measured{Took: 2 * time.Second}
	for i := range 100 {
		m.Times = append(m.Times, time.Duration(i+1))
	}
	if m.Rate() != 50 || m.Percentile(50) != 51 || m.Percentile(99) != 100 {
		t.Error(m.Rate(), m.Percentile(50), m.Percentile(99))
	}
	if got := Ratio([]float64{1, 9, 4}, []float64{2, 3, 4}); got != 1 {
		t.Errorf("the median of a half, three and one is %v", got)
	}
}
