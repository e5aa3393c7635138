package account

import (
	"context"
	"errors"
	"time"
)

const (
	// purgeBatch is how many rows one change of the store removes.
	purgeBatch = 1000
	// tombstoneRetention is how long a removed account has a tombstone: what a script
	// of it leaves that was running at the time is removed too.
	tombstoneRetention = 24 * time.Hour
	// developmentRetention is how long the shared account keeps what it is given.
	developmentRetention = 24 * time.Hour
)

// MarkDeleted disables an account for good, since it is to be removed. Its
// credentials and domains are dead when it returns.
func (s *Service) MarkDeleted(ctx context.Context, name string) error {
	return s.with(ctx, name, func(a Account) error { return s.store.MarkDeleted(ctx, a.ID, s.now()) })
}

// Delete removes an account and all that the store keeps of it, little by
// little. Where it is interrupted, the account is disabled; Delete again, or
// FinishDeletions, does the rest.
func (s *Service) Delete(ctx context.Context, name string) error {
	return s.with(ctx, name, func(a Account) error {
		if err := s.store.MarkDeleted(ctx, a.ID, s.now()); err != nil {
			return err
		}
		return s.remove(ctx, a.ID)
	})
}

// FinishDeletions does what is left of removing accounts. Outside removes what an
// account keeps outside the store.
func (s *Service) FinishDeletions(ctx context.Context, now time.Time, outside func(ID) error) error {
	list, err := s.store.Tombstones(ctx)
	for _, d := range list { // one that cannot be removed now is not in the way of others
		err = errors.Join(err, s.finishDeletion(ctx, d, now, outside))
	}
	return err
}

func (s *Service) finishDeletion(ctx context.Context, d Tombstone, now time.Time, outside func(ID) error) error {
	if err := outside(d.Account); err != nil {
		return err
	}
	if err := s.remove(ctx, d.Account); err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if now.Sub(d.Since) < tombstoneRetention {
		return nil
	}
	return s.store.DropTombstone(ctx, d.Account)
}

// PurgeDevelopment removes what scripts of the shared development account left,
// once a day: anybody may have put it there.
func (s *Service) PurgeDevelopment(ctx context.Context, now time.Time, outside func(ID) error) error {
	a, err := s.store.ByAlias(ctx, developmentAlias)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	last := a.Purged
	if last.IsZero() {
		last = a.Created
	}
	if now.Sub(last) < developmentRetention {
		return nil
	}
	if err := outside(a.ID); err != nil {
		return err
	}
	if err := s.purge(ctx, a.ID); err != nil {
		return err
	}
	return s.store.SetPurged(ctx, a.ID, now.UTC().Truncate(time.Microsecond))
}

func (s *Service) remove(ctx context.Context, id ID) error {
	if err := s.purge(ctx, id); err != nil {
		return err
	}
	return s.store.Delete(ctx, id)
}

func (s *Service) purge(ctx context.Context, id ID) error {
	for {
		n, err := s.store.Purge(ctx, id, purgeBatch)
		if err != nil || n == 0 {
			return err
		}
	}
}
