package relational

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/job"
)

// recordBytes is job.Record.Bytes of a row. The length of a blob stands at the
// start of its row: however large it is, it is not read.
var recordBytes = fmt.Sprintf("%d + coalesce(length(error), 0) + coalesce(length(response), 0) + coalesce(length(trace), 0) + length(result) + coalesce(length(request), 0) + question_bytes + coalesce(length(task), 0) + coalesce(length(history), 0) + history_bytes", job.RowBytes)

const (
	// forgetPage is how many jobs are looked at, at once, for those to remove.
	forgetPage = 256
	// trimEach is how much the jobs that one change removes hold on average, at
	// most: pages are given back one by one, while others wait.
	trimEach = 64 << 10
)

// finishedJob is one of which nothing changes any more but that it goes.
type finishedJob struct {
	seq, created, finished int64
	bytes                  int64
}

// Forget implements job.Store. Jobs are numbered in about the order of their
// creation, and none ends before it is created: so those to remove come first.
func (s Jobs) Forget(ctx context.Context, a account.ID, before time.Time, limit int) (n int, err error) {
	old, err := s.endedBefore(ctx, a, before.UnixMicro(), limit)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	err = s.store.write(ctx, func(t tx) (err error) {
		n, err = t.forget(a, old, math.MaxInt64)
		return err
	})
	return n, err
}

// endedBefore returns an account's first jobs that ended before a moment.
func (s Jobs) endedBefore(ctx context.Context, a account.ID, before int64, limit int) (old []finishedJob, err error) {
	for after, more := int64(0), true; more && len(old) < limit; {
		looked, err := s.scan(ctx, a, after, forgetPage, func(e finishedJob, finished bool) {
			after = e.seq
			switch {
			case e.created >= before:
				more = false
			case finished && e.finished < before && len(old) < limit:
				old = append(old, e)
			}
		})
		if err != nil {
			return nil, err
		}
		more = more && looked == forgetPage
	}
	return old, nil
}

// scan calls f with a page of an account's jobs, those after one, and returns how
// many there were.
func (s Jobs) scan(ctx context.Context, a account.ID, after int64, page int, f func(e finishedJob, finished bool)) (looked int, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT seq, created, finished, "+recordBytes+" FROM jobs WHERE account = ? AND seq > ? ORDER BY seq LIMIT ?", func(r row) {
			looked++
			f(finishedJob{r.int(0), r.int(1), r.int(2), r.int(3)}, !r.null(2))
		}, int64(a), after, page)
	})
	return looked, err
}

// forget removes jobs of an account, in their order, until so many bytes are
// gone, and takes them from what it keeps. It returns how many went.
func (t tx) forget(a account.ID, list []finishedJob, bytes int64) (n int, err error) {
	gone, sources := map[usage.Month]int64{}, map[int64]int64{}
	for _, e := range list {
		if bytes <= 0 {
			break
		}
		if err := t.letGo(e.seq, nil); err != nil { // of one whose rows could not be read at its end
			return 0, err
		}
		removed, err := t.one("DELETE FROM jobs WHERE seq = ? AND finished = ? RETURNING source", func(r row) { sources[r.int(0)]++ }, e.seq, e.finished)
		if err != nil {
			return 0, err
		}
		if !removed {
			continue // by another
		}
		n++
		bytes -= e.bytes
		gone[usage.MonthOf(time.UnixMicro(e.finished))] += e.bytes
	}
	for source, jobs := range sources {
		if err := t.releaseSource(a, source, jobs); err != nil {
			return 0, err
		}
	}
	for m, bytes := range gone {
		if err := t.keep(a, m, -bytes); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// RecordBytes implements job.Store.
func (s Jobs) RecordBytes(ctx context.Context, a account.ID) (bytes int64, err error) {
	err = s.store.read(ctx, func(t tx) (err error) {
		bytes, err = t.recordBytes(a)
		return err
	})
	return bytes, err
}

func (t tx) recordBytes(a account.ID) (bytes int64, err error) {
	_, err = t.one("SELECT coalesce(sum(records), 0) FROM usage WHERE account = ?", func(r row) { bytes = r.int(0) }, int64(a))
	return bytes, err
}

// Trim implements job.Store. What to remove is looked for by those who only read;
// whether it must go is decided with the change itself.
func (s Jobs) Trim(ctx context.Context, a account.ID, most int64, limit int) (n int, err error) {
	kept, err := s.RecordBytes(ctx, a)
	if err != nil || kept <= most {
		return 0, err
	}
	oldest, err := s.endedFirst(ctx, a, min(kept-most, trimEach*int64(limit)), limit)
	if err != nil || len(oldest) == 0 {
		return 0, err
	}
	err = s.store.write(ctx, func(t tx) error {
		kept, err := t.recordBytes(a)
		if err != nil {
			return err
		}
		n, err = t.forget(a, oldest, kept-most)
		return err
	})
	return n, err
}

// endedFirst returns the jobs of an account that ended first, up to limit and as
// few as hold so many bytes. A job ends long after others that were stored after
// it where somebody let it stand: so it is taken when all have been looked at
// that were there when it ended.
func (s Jobs) endedFirst(ctx context.Context, a account.ID, bytes int64, limit int) (first []finishedJob, err error) {
	var seen []finishedJob
	page := limit + forgetPage
	for after, front := int64(0), int64(0); ; {
		looked, err := s.scan(ctx, a, after, page, func(e finishedJob, finished bool) {
			after, front = e.seq, max(front, e.created)
			if finished {
				seen = append(seen, e)
			}
		})
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(seen, func(a, b finishedJob) int { return cmp.Compare(a.finished, b.finished) })
		if looked < page {
			front = math.MaxInt64 // there are no others
		}
		n, held := 0, int64(0)
		for n < min(len(seen), limit) && held < bytes && seen[n].finished <= front {
			held += seen[n].bytes
			n++
		}
		if n == limit || held >= bytes || looked < page {
			return seen[:n], nil
		}
	}
}

// dropJobs removes jobs of an account, whatever their state.
func (t tx) dropJobs(a account.ID, limit int) (n int, err error) {
	var finished []finishedJob
	var others []int64
	if err := t.each("SELECT seq, finished, "+recordBytes+" FROM jobs WHERE account = ? LIMIT ?", func(r row) {
		if r.null(1) {
			others = append(others, r.int(0))
		} else {
			finished = append(finished, finishedJob{seq: r.int(0), finished: r.int(1), bytes: r.int(2)})
		}
	}, int64(a), limit); err != nil {
		return 0, err
	}
	for _, seq := range others {
		if err := t.letGo(seq, nil); err != nil {
			return 0, err
		}
		source := int64(0)
		if _, err := t.one("DELETE FROM jobs WHERE seq = ? RETURNING source", func(r row) { source = r.int(0) }, seq); err != nil {
			return 0, err
		}
		if err := t.releaseSource(a, source, 1); err != nil {
			return 0, err
		}
	}
	n, err = t.forget(a, finished, math.MaxInt64)
	return n + len(others), err
}
