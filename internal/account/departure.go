package account

import (
	"context"
	"errors"
	"time"
)

const (
	// emptyAtOnce is how many rows one change of the store removes.
	emptyAtOnce = 1000
	// departureKept is how long a removed account is remembered: what a script
	// of it leaves that was running at the time is removed too.
	departureKept = 24 * time.Hour
	// developmentKept is how long the shared account keeps what it is given.
	developmentKept = 24 * time.Hour
)

// Depart disables an account for good, since it is to be removed. Its
// credentials and domains are dead when it returns.
func (s *Service) Depart(ctx context.Context, name string) error {
	return s.with(ctx, name, func(a Account) error { return s.store.Depart(ctx, a.ID, s.now()) })
}

// Delete removes an account and all that the store keeps of it, little by
// little. Where it is interrupted, the account is disabled; Delete again, or
// FinishDeletes, does the rest.
func (s *Service) Delete(ctx context.Context, name string) error {
	return s.with(ctx, name, func(a Account) error {
		if err := s.store.Depart(ctx, a.ID, s.now()); err != nil {
			return err
		}
		return s.remove(ctx, a.ID)
	})
}

// FinishDeletes does what is left of removing accounts. Outside removes what an
// account keeps outside the store.
func (s *Service) FinishDeletes(ctx context.Context, now time.Time, outside func(ID) error) error {
	list, err := s.store.Departures(ctx)
	for _, d := range list { // one that cannot be removed now is not in the way of others
		err = errors.Join(err, s.finishDelete(ctx, d, now, outside))
	}
	return err
}

func (s *Service) finishDelete(ctx context.Context, d Departure, now time.Time, outside func(ID) error) error {
	if err := outside(d.Account); err != nil {
		return err
	}
	if err := s.remove(ctx, d.Account); err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	if now.Sub(d.Since) < departureKept {
		return nil
	}
	return s.store.Departed(ctx, d.Account)
}

// EmptyDevelopment removes what the shared development account keeps, once a
// day: anybody may have put it there.
func (s *Service) EmptyDevelopment(ctx context.Context, now time.Time, outside func(ID) error) error {
	a, err := s.store.ByAlias(ctx, Alias{Username, Development})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	last := a.Emptied
	if last.IsZero() {
		last = a.Created
	}
	if now.Sub(last) < developmentKept {
		return nil
	}
	if err := outside(a.ID); err != nil {
		return err
	}
	if err := s.empty(ctx, a.ID); err != nil {
		return err
	}
	return s.store.SetEmptied(ctx, a.ID, now.UTC().Truncate(time.Microsecond))
}

func (s *Service) remove(ctx context.Context, id ID) error {
	if err := s.empty(ctx, id); err != nil {
		return err
	}
	return s.store.Delete(ctx, id)
}

func (s *Service) empty(ctx context.Context, id ID) error {
	for {
		n, err := s.store.Empty(ctx, id, emptyAtOnce)
		if err != nil || n == 0 {
			return err
		}
	}
}
