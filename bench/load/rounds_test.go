package load

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"
)

// fake answers so many calls a second, or as many as it is asked.
type fake struct {
	work  string
	rate  float64
	asked []float64
	fails error
}

func (f *fake) Work() string { return f.work }

func (f *fake) Usage(context.Context) (Usage, error) { return Usage{}, nil }

func (f *fake) Load(_ context.Context, _ int, p Plan) (*Measured, error) {
	f.asked = append(f.asked, p.Rate)
	calls := int(f.rate)
	if p.Rate > 0 {
		calls = int(p.Rate)
	}
	return &Measured{Took: time.Second, Times: make([]time.Duration, calls)}, f.fails
}

// TestEqualLoad: at equal load each gets half of what the slowest with its work does.
func TestEqualLoad(t *testing.T) {
	subjects := []*fake{{work: "a", rate: 20}, {work: "a", rate: 10}, {work: "b", rate: 40}}
	all, err := Measure(t.Context(), Turns{Rounds: 2, Connections: 1, Progress: io.Discard}, subjects)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{5, 5, 20} {
		if got := subjects[i].asked; !slices.Equal(got, []float64{0, 0, 0, want, want}) {
			t.Errorf("subject %d was asked for %v", i, got)
		}
		if r := all[i]; !slices.Equal(r.Load, []float64{want, want}) || !slices.Equal(r.Rate, []float64{subjects[i].rate, subjects[i].rate}) || len(r.Used) != 2 {
			t.Errorf("subject %d has %+v", i, r)
		}
	}
	broken := errors.New("broken")
	if _, err := Measure(t.Context(), Turns{Rounds: 1, Connections: 1, Progress: io.Discard}, []*fake{{fails: broken}}); !errors.Is(err, broken) {
		t.Errorf("a failed load ends with %v", err)
	}
}
