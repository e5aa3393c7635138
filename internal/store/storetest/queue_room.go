package storetest

import (
	"context"
	"errors"
	"testing"

	"ql/internal/account"
	"ql/internal/job"
)

// adopt stores a job that stands, within bounds.
func adopt(ctx context.Context, s Stores, a account.ID, n, most int, mostBytes int64) (job.Lease, error) {
	standing := pausedAt(n)
	standing.Most, standing.MostBytes = most, mostBytes
	task := task(a, n)
	task.State, task.Mode = standing.State, job.Sync
	return s.Queue.Adopt(ctx, task, standing)
}

// stand lets a job stand, within bounds.
func stand(ctx context.Context, s Stores, l job.Lease, most int, mostBytes int64) error {
	standing := waitingUntil(seconds(500))
	standing.Most, standing.MostBytes = most, mostBytes
	return s.Queue.Stand(ctx, l, standing)
}

// testQueueRoomToStand has jobs of an account stand, as many as may.
func testQueueRoomToStand(t *testing.T, s Stores) {
	ctx := t.Context()
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	first, err := adopt(ctx, s, ada.ID, 1, 2, 0)
	must(t, err)
	second := running(t, s, ada.ID, 2)
	must(t, stand(ctx, s, second, 2, 0))

	// The third finds no room, and stays as it is.
	third := running(t, s, ada.ID, 3)
	wantError(t, "one too many", stand(ctx, s, third, 2, 0), job.ErrTooMany)
	if got := load(t, s, third.Seq); got.State != job.Running || got.Snapshot != nil || got.Lease != third {
		t.Errorf("the one that found no room is %+v", got)
	}
	refused := task(ada.ID, 4)
	_, err = adopt(ctx, s, ada.ID, 4, 2, 0)
	wantError(t, "one too many of a caller", err, job.ErrTooMany)
	_, err = s.Queue.View(ctx, refused.ID)
	wantError(t, "what was not adopted", err, job.ErrNotFound)
	_, err = adopt(ctx, s, bob.ID, 5, 2, 0)
	must(t, err)

	// One that goes on keeps its room, and may stand again.
	second = take(t, s, due(t, s, second.Seq))
	wantError(t, "beside one that goes on", stand(ctx, s, third, 2, 0), job.ErrTooMany)
	must(t, stand(ctx, s, second, 2, 0))

	// One that ends leaves it.
	_, _, err = s.Queue.Cancel(ctx, first.ID, noon, nil, "")
	must(t, err)
	must(t, stand(ctx, s, third, 2, 0))
	third = take(t, s, due(t, s, third.Seq))
	must(t, s.Queue.Finish(ctx, third, end(task(ada.ID, 3), job.Complete)))
	_, err = adopt(ctx, s, ada.ID, 6, 2, 0)
	must(t, err)
	_, err = adopt(ctx, s, ada.ID, 7, 2, 0)
	wantError(t, "when all of it is taken again", err, job.ErrTooMany)

	// Without a bound there is room.
	_, err = adopt(ctx, s, ada.ID, 8, 0, 0)
	must(t, err)
}

// testQueueBytesToStand has jobs of an account stand that hold as much as they
// may.
func testQueueBytesToStand(t *testing.T, s Stores) {
	ctx := t.Context()
	a := create(t, s.Accounts, person("ada"))
	each := pausedAt(1).Held() + int64(len(task(a.ID, 1).Spec))
	var last job.Lease
	for n := range 3 {
		l, err := adopt(ctx, s, a.ID, n, 0, 3*each)
		must(t, err)
		last = l
	}
	_, err := adopt(ctx, s, a.ID, 3, 0, 4*each-1)
	wantError(t, "a byte too much", err, job.ErrTooMuch)
	l := running(t, s, a.ID, 4)
	wantError(t, "too much of a job", stand(ctx, s, l, 100, 3*each), job.ErrTooMuch)

	// What one held before makes room for what it holds next.
	last = take(t, s, due(t, s, last.Seq))
	must(t, stand(ctx, s, last, 3, 3*each))
	_, _, err = s.Queue.Cancel(ctx, last.ID, noon, nil, "")
	must(t, err)
	must(t, stand(ctx, s, l, 100, 3*each))
}

// testQueueRoomRace lets many jobs stand at once: as many do as may.
func testQueueRoomRace(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	const jobs, most = 16, 5
	errs := atOnce(jobs, func(n int) error {
		_, err := adopt(t.Context(), s, a.ID, n, most, 0)
		return err
	})
	stood := 0
	for _, err := range errs {
		switch {
		case err == nil:
			stood++
		case !errors.Is(err, job.ErrTooMany):
			t.Error(err)
		}
	}
	if stood != most {
		t.Errorf("%d stand, want %d", stood, most)
	}
}
