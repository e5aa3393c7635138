package relational

import (
	"context"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/job"
)

// A member that dies after it has counted the sources of jobs, and before it has stored these, leaves counts that are too high. A source
// of which that is so goes with no job, so who looks at all jobs finds that none has it. Jobs may come meanwhile. So it is
// retired first: its name is made another one, by which nobody finds it. A job of the same text has the text stored again,
// and those that were counted by then are stored long before it goes.

const (
	// retiredFor is how long a source is retired before the sweep begins that removes it.
	retiredFor = 24 * time.Hour
	// sweptSources is how many sources of an account are looked for at once.
	sweptSources = 10_000
	// retiredTogether is how many are retired or removed by a change.
	retiredTogether = 64
	sweepPage       = 1000
)

const hashBytes = 32

// retiredName is the name of a source from a moment on: its hash comes first, and who reads it reads no further.
func retiredName(hash []byte, id int64, now time.Time) []byte {
	name := binary.BigEndian.AppendUint64(slices.Clone(hash), uint64(now.Unix()))
	return binary.BigEndian.AppendUint64(name, uint64(id))
}

// retiredAt returns when a source was retired; false where it was not.
func retiredAt(name []byte) (time.Time, bool) {
	if len(name) < hashBytes+8 {
		return time.Time{}, false
	}
	return time.Unix(int64(binary.BigEndian.Uint64(name[hashBytes:])), 0), true
}

// SweepSources implements job.Store.
func (s Jobs) SweepSources(ctx context.Context, sweep *job.SourceSweep, now time.Time, limit int) (done bool, err error) {
	for limit > 0 {
		if len(sweep.Unseen) == 0 {
			more, err := s.nextSources(ctx, sweep, now)
			if err != nil {
				return false, err
			}
			if !more {
				*sweep = job.SourceSweep{}
				return true, nil
			}
		}
		page, looked := min(limit, sweepPage), 0
		if err := s.store.read(ctx, func(t tx) error {
			return t.each("SELECT seq, coalesce(source, 0) FROM jobs WHERE account = ? AND seq > ? ORDER BY seq LIMIT ?", func(r row) {
				looked++
				sweep.Job = r.int(0)
				delete(sweep.Unseen, r.int(1))
			}, int64(sweep.Account), sweep.Job, page)
		}); err != nil {
			return false, err
		}
		limit -= max(1, looked)
		if looked < page {
			if err := s.retire(ctx, sweep, now); err != nil {
				return false, err
			}
			sweep.Unseen = nil
		}
	}
	return false, nil
}

// nextSources has a sweep look for the next sources; false where there are none.
func (s Jobs) nextSources(ctx context.Context, sweep *job.SourceSweep, now time.Time) (more bool, err error) {
	var next job.SourceSweep
	err = s.store.read(ctx, func(t tx) error {
		next = job.SourceSweep{Account: sweep.Account, Source: sweep.Source, Began: now}
		for {
			next.Unseen = map[int64]bool{}
			if err := t.each("SELECT id FROM sources WHERE account = ? AND id > ? ORDER BY id LIMIT ?", func(r row) {
				next.Source = r.int(0)
				next.Unseen[next.Source] = true
			}, int64(next.Account), next.Source, sweptSources); err != nil || len(next.Unseen) > 0 {
				more = err == nil
				return err
			}
			found := false
			if _, err := t.one("SELECT min(account) FROM sources WHERE account > ?", func(r row) {
				if found = !r.null(0); found {
					next.Account, next.Source = account.ID(r.int(0)), 0
				}
			}, int64(next.Account)); err != nil || !found {
				return err
			}
		}
	})
	if err == nil {
		*sweep = next
	}
	return more, err
}

// retire retires the sources that a sweep has seen no job of, and removes those that were retired long before it.
func (s Jobs) retire(ctx context.Context, sweep *job.SourceSweep, now time.Time) error {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(sweep.Unseen)), retiredTogether) {
		if err := s.store.write(ctx, func(t tx) error {
			for _, id := range ids {
				if err := t.retire(sweep.Account, id, sweep.Began, now); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func (t tx) retire(a account.ID, id int64, began, now time.Time) error {
	var name []byte
	var month, bytes int64
	found, err := t.one("SELECT hash, month, bytes FROM sources WHERE id = ?", func(r row) {
		name, month, bytes = r.bytes(0), r.int(1), r.int(2)
	}, id)
	if err != nil || !found {
		return err
	}
	at, isRetired := retiredAt(name)
	if !isRetired {
		_, err = t.exec("UPDATE sources SET hash = ? WHERE id = ?", retiredName(name, id, now), id)
		return err
	}
	if at.Add(retiredFor).After(began) {
		return nil
	}
	if _, err := t.exec("DELETE FROM sources WHERE id = ?", id); err != nil {
		return err
	}
	return t.keep(a, usage.Month(month), -bytes)
}
