package member

import (
	"context"
	"time"
)

// lookEvery is how often somebody looks who waits for renewals.
const lookEvery = 50 * time.Millisecond

// Seen is a member, and whether it was seen to renew.
type Seen struct {
	Info
	Lives bool
}

// Look returns the members, and which of them live: it waits until each has renewed, or for as long as one that
// lives may take for that.
func Look(ctx context.Context, s Store, lease time.Duration) (list []Seen, err error) {
	before, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	counters := map[Member]int64{}
	for _, i := range before {
		counters[i.Member] = i.Counter
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for until := BootTime() + lease; ; {
		now, err := s.List(ctx)
		if err != nil {
			return nil, err
		}
		list = list[:0]
		living := 0
		for _, i := range now {
			was, known := counters[i.Member]
			one := Seen{Info: i, Lives: !known || was != i.Counter}
			if one.Lives {
				living++
			}
			list = append(list, one)
		}
		if living == len(list) || BootTime() > until {
			return list, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
