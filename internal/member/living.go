package member

import (
	"context"
	"time"
)

// CountLiving returns how many members renew. Where there are any, it waits for so long as one that lives may take
// for that.
func CountLiving(ctx context.Context, s Store, lease time.Duration) (living int, err error) {
	before, err := s.List(ctx)
	if err != nil || len(before) == 0 {
		return 0, err
	}
	counters := map[Member]int64{}
	for _, i := range before {
		counters[i.Member] = i.Counter
	}
	timer := time.NewTimer(lease)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := s.List(ctx)
	for _, i := range after {
		if was, known := counters[i.Member]; !known || was != i.Counter {
			living++
		}
	}
	return living, err
}
