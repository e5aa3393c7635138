package relational

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/job"
)

// keptSource names the source of an account.
type keptSource struct {
	account account.ID
	hash    [32]byte
}

// bySource returns where the records of each source are among others, and the sources in an order that is always the
// same, so that no two transactions that count the same ones wait for each other.
func bySource(records []*job.Record) (at map[keptSource][]int, order []keptSource) {
	for i, r := range records {
		if r.Call.Source == nil {
			continue
		}
		if at == nil {
			at = map[keptSource][]int{}
		}
		key := keptSource{r.Account, r.Call.Source.Hash}
		at[key] = append(at[key], i)
	}
	return at, slices.SortedFunc(maps.Keys(at), func(a, b keptSource) int {
		return cmp.Or(cmp.Compare(a.account, b.account), slices.Compare(a.hash[:], b.hash[:]))
	})
}

// keepSources counts the sources of records, each of which is stored where its account has it
// not yet, and returns their numbers, 0 for none. Of some it may be known that they are counted.
func (t tx) keepSources(records []*job.Record, counted countedSources) ([]int64, error) {
	numbers := make([]int64, len(records))
	at, order := bySource(records)
	for _, key := range order {
		places := at[key]
		number := counted[key].number
		if number == 0 {
			var err error
			r := records[places[0]]
			if number, err = t.keepSource(key.account, r.Call.Source, int64(len(places)), r.Created); err != nil {
				return nil, err
			}
		}
		for _, i := range places {
			numbers[i] = number
		}
	}
	return numbers, nil
}

// Members that store jobs of the same script at the same time count in the same row. In the transactions of the jobs
// all of them but one would have to be run again; so they count before, each by a statement of its own.

// countedSources are sources that were counted for jobs that are still to be stored.
type countedSources map[keptSource]countedSource

type countedSource struct{ number, jobs int64 }

// countSources counts the sources of records, those that their accounts have. What it does not count is left to
// who stores the jobs.
func (t Tx) countSources(records []*job.Record, counted countedSources) error {
	at, order := bySource(records)
	for _, key := range order {
		if counted[key].number != 0 { // it is run again
			continue
		}
		c := countedSource{jobs: int64(len(at[key]))}
		if _, err := t.one(countSource, func(r row) { c.number = r.int(0) }, c.jobs, int64(key.account), key.hash[:]); err != nil {
			return err
		}
		if c.number != 0 {
			counted[key] = c
		}
	}
	return nil
}

// uncountSources takes back what was counted for jobs that are certainly not stored.
func (t tx) uncountSources(counted countedSources) error {
	for key, c := range counted {
		if err := t.releaseSource(key.account, c.number, c.jobs); err != nil {
			return err
		}
	}
	return nil
}

const countSource = "UPDATE sources SET jobs = jobs + ? WHERE account = ? AND hash = ? RETURNING id"

// keepSource counts that so many more jobs of an account have a source, and returns its
// number, 0 for none.
func (t tx) keepSource(a account.ID, s *job.Source, jobs int64, now time.Time) (number int64, err error) {
	if s == nil {
		return 0, nil
	}
	found, err := t.one(countSource, func(r row) { number = r.int(0) }, jobs, int64(a), s.Hash[:])
	if err != nil || found {
		return number, err
	}
	var files any
	if len(s.Files) > 0 {
		if files, err = json.Marshal(s.Files); err != nil {
			return 0, err
		}
	}
	month, bytes := usage.MonthOf(now), s.Bytes()
	if number, err = t.insert("id", "INSERT INTO sources (account, hash, jobs, month, bytes, text, files) VALUES (?, ?, ?, ?, ?, ?, ?)",
		int64(a), s.Hash[:], jobs, int64(month), bytes, []byte(s.Text), files); err != nil {
		return 0, err
	}
	return number, t.keep(a, month, bytes)
}

// releaseSource counts that so many jobs fewer of an account have a source, which goes with
// the last.
func (t tx) releaseSource(a account.ID, number, jobs int64) error {
	if number == 0 || jobs == 0 {
		return nil
	}
	left, month, bytes := int64(1), int64(0), int64(0)
	if _, err := t.one("UPDATE sources SET jobs = jobs - ? WHERE id = ? RETURNING jobs, month, bytes", func(r row) {
		left, month, bytes = r.int(0), r.int(1), r.int(2)
	}, jobs, number); err != nil || left > 0 {
		return err
	}
	if _, err := t.exec("DELETE FROM sources WHERE id = ?", number); err != nil {
		return err
	}
	return t.keep(a, usage.Month(month), -bytes)
}

// sourcesSince is how many of the jobs that were stored after one have which source.
func (t tx) sourcesSince(seq int64) (jobs map[int64]int64, err error) {
	jobs = map[int64]int64{}
	err = t.each("SELECT source, count(*) FROM jobs WHERE seq > ? AND source IS NOT NULL GROUP BY source", func(r row) { jobs[r.int(0)] = r.int(1) }, seq)
	return jobs, err
}

// ByRef implements job.Store.
func (s Jobs) ByRef(ctx context.Context, a account.ID, ref int64) (j job.Listed, err error) {
	err = s.store.read(ctx, func(t tx) error {
		found, err := t.one("SELECT "+listedColumns+" FROM jobs WHERE seq = ? AND account = ?", func(r row) { j = readListed(r) }, ref, int64(a))
		if err == nil && !found {
			err = job.ErrNotFound
		}
		return err
	})
	return j, err
}

// Called implements job.Store.
func (s Jobs) Called(ctx context.Context, a account.ID, ref int64) (call job.Call, used job.Cost, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.snapshot(func() error {
			source := int64(0)
			found, err := t.one("SELECT name, source, request, origin, fuel, memory, fetches FROM jobs WHERE seq = ? AND account = ?", func(r row) {
				call = job.Call{Name: r.text(0), Request: r.bytes(2), Origin: r.int(3)}
				source = r.int(1)
				used = job.Cost{Fuel: r.int(4), Memory: r.int(5), Fetches: r.int(6)}
			}, ref, int64(a))
			if err == nil && !found {
				err = job.ErrNotFound
			}
			if err != nil || source == 0 {
				return err
			}
			call.Source, err = t.source(source)
			return err
		})
	})
	return call, used, err
}

// source reads the source with a number; nil where there is none.
func (t tx) source(number int64) (s *job.Source, err error) {
	var files []byte
	if _, err := t.one("SELECT hash, text, files FROM sources WHERE id = ?", func(r row) {
		s = &job.Source{Text: string(r.s.Blob(1))}
		copy(s.Hash[:], r.s.Blob(0))
		files = r.bytes(2)
	}, number); err != nil || files == nil {
		return s, err
	}
	return s, json.Unmarshal(files, &s.Files)
}

// CalledBytes implements job.Store.
func (s Jobs) CalledBytes(ctx context.Context, a account.ID, ref int64) (bytes int64, err error) {
	err = s.store.read(ctx, func(t tx) error {
		found, err := t.one(`SELECT coalesce(length(request), 0) + coalesce((SELECT bytes FROM sources WHERE id = source), 0)
			FROM jobs WHERE seq = ? AND account = ?`, func(r row) { bytes = r.int(0) }, ref, int64(a))
		if err == nil && !found {
			err = job.ErrNotFound
		}
		return err
	})
	return bytes, err
}

// History implements job.Store.
func (s Jobs) History(ctx context.Context, a account.ID, ref int64) (spec []byte, parts [][]byte, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.snapshot(func() error {
			var last []byte
			found, err := t.one("SELECT task, history FROM jobs WHERE seq = ? AND account = ? AND finished IS NOT NULL", func(r row) { spec, last = r.bytes(0), r.bytes(1) }, ref, int64(a))
			if err == nil && !found {
				err = job.ErrNotFound
			}
			if err != nil {
				return err
			}
			if err := t.each("SELECT entries FROM job_history WHERE job = ? ORDER BY step", func(r row) { parts = append(parts, r.bytes(0)) }, ref); err != nil {
				return err
			}
			if last != nil {
				parts = append(parts, last)
			}
			return nil
		})
	})
	return spec, parts, err
}
