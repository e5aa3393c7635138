package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/wire"
)

const (
	// feedInterval is how often a feed looks for changes while somebody follows it.
	feedInterval = 500 * time.Millisecond
	// feedTime is how long a feed may be followed at once: then whoever follows it shows anew that
	// it may.
	feedTime = 10 * time.Minute
	// mostFeedEvents is how many events who comes back may have missed.
	mostFeedEvents = 128
	// mostFeedChanges is how many changes are told at once, and mostFeedMarks how many jobs that are
	// not finished are looked after: where there are more, followers are told to list anew.
	mostFeedChanges = 100
	mostFeedMarks   = 1000
	// resyncInterval is how often they are told so where there are always more.
	resyncInterval = 10 * time.Second
	// mostIdleFeeds is how many feeds are remembered that nobody follows.
	mostIdleFeeds = 64
	// feedBytes is what who follows a feed may hold of it.
	feedBytes = 256 << 10
)

// The kinds of events of a feed.
const (
	FeedJob    = "job"    // a job is new, or stands otherwise
	FeedResync = "resync" // there may be changes that are not told: list the jobs
)

// feeds are those that somebody follows, and some others: who comes back is told what it missed.
type feeds struct {
	mu    sync.Mutex
	of    map[account.ID]*feed
	clock int64 // grows with each use
}

// feed is what happens to the jobs of an account. Those who follow it take turns to look: nothing is
// done where nobody does.
type feed struct {
	followers int   // guarded by feeds.mu
	lastUse   int64 // guarded by feeds.mu

	mu       sync.Mutex
	looked   time.Time // zero before the first look
	owner    standing  // as of the last look
	resynced time.Time
	last     int64              // number of the last job that was seen
	marks    map[int64]job.Mark // of those that are not finished
	events   []feedEvent        // the last ones
	next     int64              // number of the next event
}

type feedEvent struct {
	number int64
	job    *job.Listed // nil for a resync
}

func (f *feeds) enter(id account.ID) *feed {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[account.ID]*feed{}
	}
	if f.of[id] == nil {
		f.of[id] = &feed{}
	}
	f.of[id].followers++
	return f.of[id]
}

func (f *feeds) leave(one *feed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one.followers--
	f.clock++
	one.lastUse = f.clock
	idle, oldest := 0, account.ID(0)
	for id, other := range f.of {
		if other.followers > 0 {
			continue
		}
		idle++
		if oldest == 0 || other.lastUse < f.of[oldest].lastUse {
			oldest = id
		}
	}
	if idle > mostIdleFeeds {
		delete(f.of, oldest)
	}
}

// look finds what has happened since the last look, unless that was a moment ago, and how the
// account stands.
func (f *feed) look(ctx context.Context, s *Service, a account.ID, now time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.looked.IsZero() && now.Sub(f.looked) < feedInterval {
		return nil
	}
	// Before the changes, as a call that asked for them would be let in.
	owner, err := s.standing(ctx, a, true, now)
	if err != nil {
		return err
	}
	f.owner = owner
	return f.find(ctx, s.o.Changes, a, now)
}

// find finds what has happened since the last look. f.mu is held.
func (f *feed) find(ctx context.Context, store job.Changes, a account.ID, now time.Time) (err error) {
	if f.looked.IsZero() {
		if f.last, err = store.LastRef(ctx, a); err != nil {
			return err
		}
		if f.marks, err = store.Unfinished(ctx, a, mostFeedMarks+1); err != nil {
			return err
		}
		// Numbers of another process, or before this was forgotten, are smaller.
		f.looked, f.next = now, now.UnixMicro()
		return nil
	}
	added, err := store.After(ctx, a, f.last, mostFeedChanges+1)
	if err != nil {
		return err
	}
	marks, err := store.Unfinished(ctx, a, mostFeedMarks+1)
	if err != nil {
		return err
	}
	changed := f.changed(added, marks)
	if len(added) > mostFeedChanges || len(changed) > mostFeedChanges || len(marks) > mostFeedMarks {
		last, err := store.LastRef(ctx, a)
		if err != nil {
			return err
		}
		f.looked, f.last, f.marks = now, last, marks
		if now.Sub(f.resynced) >= resyncInterval {
			f.resynced = now
			f.append(nil)
		}
		return nil
	}
	var list []*job.Listed
	for i := range added {
		list = append(list, &added[i])
	}
	for _, ref := range changed {
		j, err := store.ByRef(ctx, a, ref)
		if err == nil { // and not one that is gone
			list = append(list, &j)
		}
	}
	for _, j := range list {
		f.append(j)
	}
	f.looked, f.marks = now, marks
	if len(added) > 0 {
		f.last = added[len(added)-1].Ref
	}
	return nil
}

// changed returns the numbers of jobs that stand otherwise than when they were last told, in their order.
func (f *feed) changed(added []job.Listed, now map[int64]job.Mark) (refs []int64) {
	for ref, was := range f.marks {
		if now[ref] != was {
			refs = append(refs, ref)
		}
	}
	// What was read a moment ago may have ended meanwhile.
	for i := range added {
		if j := &added[i]; !j.State.Finished() && now[j.Ref].State != j.State {
			refs = append(refs, j.Ref)
		}
	}
	slices.Sort(refs)
	return refs
}

// append adds an event; nil is a resync. f.mu is held.
func (f *feed) append(j *job.Listed) {
	f.events = append(f.events, feedEvent{f.next, j})
	f.next++
	if over := len(f.events) - mostFeedEvents; over > 0 {
		f.events = slices.Delete(f.events, 0, over)
	}
}

// since returns the events from a number on, and the number that follows. It reports false where some of
// them are not known any more, or never were. f.mu is held.
func (f *feed) since(number int64) (list []feedEvent, next int64, ok bool) {
	first := f.next - int64(len(f.events))
	if number < first || number > f.next {
		return nil, f.next, false
	}
	return slices.Clone(f.events[number-first:]), f.next, true
}

// errLetOut says that a caller who follows something would not be let in any more.
var errLetOut = errors.New("the credentials open nothing any more")

// standing is what tells whether credentials of an account that were right still are.
type standing struct {
	at    time.Time // when it was looked for
	epoch int64     // of the account
	keys  []account.NamedKey
}

// standing looks how an account stands, with its named keys where they are asked for. The error of one
// that is gone or disabled is errLetOut.
func (s *Service) standing(ctx context.Context, id account.ID, keys bool, now time.Time) (standing, error) {
	owner, err := s.o.Accounts.ByID(ctx, id)
	if errors.Is(err, account.ErrNotFound) || err == nil && owner.Disabled {
		err = errLetOut
	}
	if err != nil || !keys {
		return standing{at: now, epoch: owner.Epoch}, err
	}
	list, err := s.o.Keys.NamedKeys(ctx, id)
	return standing{now, owner.Epoch, list}, err
}

// admits tells whether somebody would be let in again by the credential that it was let in by.
func (s *standing) admits(who *principal.Principal, now time.Time) bool {
	if who.By != principal.ByNamedKey {
		return s.epoch == who.Account.Epoch
	}
	return slices.ContainsFunc(s.keys, func(k account.NamedKey) bool { return k.ID == who.Key.ID && !k.HasExpired(now) })
}

// JobFeed is the feed of an account's jobs as one caller sees it.
type JobFeed struct {
	s      *Service
	feed   *feed
	who    principal.Principal
	since  time.Time // when it was let in
	at     int64     // the number of the event that comes next
	until  time.Time
	leave  func()
	memory CallMemory
}

// FeedEvent is an event of a feed.
type FeedEvent struct {
	ID   int64
	Kind string
	Job  *wire.JobEntry // nil for a resync
}

// JobFeed follows the jobs of an account that a caller may see, from behind the event with an id on; 0
// for those from now on.
func (s *Service) JobFeed(ctx context.Context, c Caller, p *Credentials, after int64) (*JobFeed, Meta, error) {
	owner, err := s.authenticateOwner(ctx, c, p, access{what: "jobs", accepts: anyCredential})
	meta := Meta{Origin: owner.origin}
	if err != nil {
		return nil, meta, err
	}
	if err := limitQuery(&job.Query{}, &owner.Principal); err != nil {
		return nil, meta, err
	}
	if polls := s.countPoll(c, owner.Account); !polls.OK {
		meta.Rate = &polls
		return nil, meta, polls.Err()
	}
	leave, err := s.enterListeners(ctx, c, owner.Account)
	if err != nil {
		return nil, meta, err
	}
	now := s.o.Clock()
	f := &JobFeed{s: s, who: owner.Principal, since: now, at: after + 1, until: now.Add(feedTime), leave: leave}
	f.memory.Reservation = s.o.Ledger.Open(admit.AccountHolder(int64(owner.Account.ID)))
	if err := f.memory.Grow(ctx, feedBytes); err != nil {
		f.memory.Release()
		leave()
		return nil, meta, err
	}
	f.feed = s.feeds.enter(owner.Account.ID)
	return f, meta, nil
}

// Stop ends it.
func (f *JobFeed) Stop() {
	f.s.feeds.leave(f.feed)
	f.leave()
	f.memory.Release()
}

// Next waits for events, at most so long: then it returns none and true. It returns false when there
// will be no more, and an error too where whoever follows would not be let in any more.
func (f *JobFeed) Next(ctx context.Context, wait time.Duration) (list []FeedEvent, more bool, err error) {
	over := time.NewTimer(wait)
	defer over.Stop()
	look := time.NewTicker(feedInterval)
	defer look.Stop()
	for {
		if list, err = f.events(ctx); err != nil || len(list) > 0 {
			return list, true, err
		}
		if !f.s.o.Clock().Before(f.until) {
			return nil, false, nil
		}
		select {
		case <-look.C:
		case <-over.C:
			return nil, true, nil
		case <-ctx.Done():
			return nil, false, nil
		}
	}
}

// events returns those that were not sent yet.
func (f *JobFeed) events(ctx context.Context) ([]FeedEvent, error) {
	now := f.s.o.Clock()
	if err := f.feed.look(ctx, f.s, f.who.Account.ID, now); err != nil {
		return nil, err
	}
	found, next, ok, err := f.unsent(now)
	if err != nil {
		return nil, err
	}
	f.at = next
	if !ok {
		return []FeedEvent{{ID: next - 1, Kind: FeedResync}}, nil
	}
	var list []FeedEvent
	var names map[account.NamedKeyID]string
	for _, e := range found {
		switch {
		case e.job == nil:
			list = append(list, FeedEvent{ID: e.number, Kind: FeedResync})
			continue
		case !mayReach(&f.who, &e.job.Summary, 0):
			continue
		case e.job.KeyID != 0 && names == nil:
			keys, err := f.s.o.Keys.NamedKeys(ctx, f.who.Account.ID)
			if err != nil {
				return nil, err
			}
			names = maps.Collect(func(yield func(account.NamedKeyID, string) bool) {
				for i := range keys {
					if !yield(keys[i].ID, keys[i].Name) {
						return
					}
				}
			})
		}
		entry := jobEntry(e.job, names[e.job.KeyID])
		list = append(list, FeedEvent{ID: e.number, Kind: FeedJob, Job: &entry})
	}
	return list, nil
}

// unsent returns the events that were not sent yet, as since does, to who would still be let in.
func (f *JobFeed) unsent(now time.Time) (list []feedEvent, next int64, ok bool, err error) {
	f.feed.mu.Lock()
	defer f.feed.mu.Unlock()
	// What was looked for before it was let in may not know its key yet.
	if owner := &f.feed.owner; !owner.at.Before(f.since) && !owner.admits(&f.who, now) {
		return nil, 0, false, errLetOut
	}
	list, next, ok = f.feed.since(f.at)
	return list, next, ok, nil
}
