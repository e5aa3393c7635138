package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Subject is what is measured beside others, in rounds.
type Subject interface {
	// Load loads it from so many connections.
	Load(ctx context.Context, connections int, p Plan) (*Measured, error)
	// Usage is what its server has used so far.
	Usage(ctx context.Context) (Usage, error)
	// Work names what it does: subjects with the same work are compared.
	Work() string
}

// Load loads a target from so many connections, which are closed afterwards. Of each the first and the
// last answer are checked whole.
func (t *Target) Load(ctx context.Context, connections int, p Plan) (*Measured, error) {
	crowd, err := Gather(ctx, t, connections)
	if err != nil {
		return nil, err
	}
	defer crowd.Close()
	m, err := crowd.Load(ctx, p)
	return m, errors.Join(err, crowd.Check())
}

// Rounds has one entry for each round of a subject.
type Rounds struct {
	Rate             []float64 // a second, as fast as it goes
	P50, P99         []time.Duration
	Used             []Usage   // by call
	Load             []float64 // a second, at equal load
	Equal50, Equal99 []time.Duration
}

// Turns says how subjects are measured in turn.
type Turns struct {
	Rounds, Connections int
	Each                time.Duration
	WarmUp              time.Duration
	Progress            io.Writer
}

// Measure measures subjects in turn: as fast as they go, then at half of what the slowest with the same
// work does.
func Measure[S Subject](ctx context.Context, o Turns, subjects []S) ([]*Rounds, error) {
	all := make([]*Rounds, len(subjects))
	for i, s := range subjects {
		all[i] = &Rounds{}
		if _, err := s.Load(ctx, o.Connections, Plan{Lasting: min(o.WarmUp, o.Each)}); err != nil {
			return nil, err
		}
	}
	inTurn := func(how string, measure func(s S, r *Rounds) error) error {
		for round := range o.Rounds {
			fmt.Fprintf(o.Progress, "round %d of %d, %s\n", round+1, o.Rounds, how)
			for i := range subjects {
				at := (i + round) % len(subjects)
				if err := measure(subjects[at], all[at]); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := inTurn("as fast as it goes", func(s S, r *Rounds) error {
		before, err := s.Usage(ctx)
		if err != nil {
			return err
		}
		got, err := s.Load(ctx, o.Connections, Plan{Lasting: o.Each})
		if err != nil {
			return err
		}
		after, err := s.Usage(ctx)
		if err != nil {
			return err
		}
		r.Rate = append(r.Rate, got.Rate())
		r.P50, r.P99 = append(r.P50, got.Percentile(50)), append(r.P99, got.Percentile(99))
		r.Used = append(r.Used, after.Since(before).Per(got.Calls()))
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = inTurn("at equal load", func(s S, r *Rounds) error {
		var rates []float64
		for i, other := range subjects {
			if other.Work() == s.Work() {
				rates = append(rates, Median(all[i].Rate))
			}
		}
		got, err := s.Load(ctx, o.Connections, Plan{Lasting: o.Each, Rate: slices.Min(rates) / 2})
		if err != nil {
			return err
		}
		r.Load = append(r.Load, got.Rate())
		r.Equal50, r.Equal99 = append(r.Equal50, got.Percentile(50)), append(r.Equal99, got.Percentile(99))
		return nil
	})
	return all, err
}
