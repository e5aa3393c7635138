package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
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
	return s.Queue.Suspend(ctx, l, standing)
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
	wantError(t, "one too many", stand(ctx, s, third, 2, 0), job.ErrSuspendLimit)
	if got := load(t, s, third.Seq); got.State != job.Running || got.Snapshot != nil || got.Lease != third {
		t.Errorf("the one that found no room is %+v", got)
	}
	refused := task(ada.ID, 4)
	_, err = adopt(ctx, s, ada.ID, 4, 2, 0)
	wantError(t, "one too many of a caller", err, job.ErrSuspendLimit)
	_, err = s.Queue.View(ctx, refused.ID)
	wantError(t, "what was not adopted", err, job.ErrNotFound)
	_, err = adopt(ctx, s, bob.ID, 5, 2, 0)
	must(t, err)

	// One that goes on keeps its room, and may stand again.
	second = claimJob(t, s, due(t, s, second.Seq))
	wantError(t, "beside one that goes on", stand(ctx, s, third, 2, 0), job.ErrSuspendLimit)
	must(t, stand(ctx, s, second, 2, 0))

	// One that ends leaves it.
	_, _, err = s.Queue.Cancel(ctx, first.ID, noon, nil, "")
	must(t, err)
	must(t, stand(ctx, s, third, 2, 0))
	third = claimJob(t, s, due(t, s, third.Seq))
	must(t, s.Queue.Finish(ctx, third, end(task(ada.ID, 3), job.Complete)))
	_, err = adopt(ctx, s, ada.ID, 6, 2, 0)
	must(t, err)
	_, err = adopt(ctx, s, ada.ID, 7, 2, 0)
	wantError(t, "when all of it is taken again", err, job.ErrSuspendLimit)

	// Without a bound there is room.
	_, err = adopt(ctx, s, ada.ID, 8, 0, 0)
	must(t, err)
}

// testQueueBytesToStand has jobs of an account stand that hold as much as they
// may.
func testQueueBytesToStand(t *testing.T, s Stores) {
	ctx := t.Context()
	a := create(t, s.Accounts, person("ada"))
	each := pausedAt(1).Held() + int64(len(task(a.ID, 1).Spec)+len(task(a.ID, 1).Code))
	var last job.Lease
	for n := range 3 {
		l, err := adopt(ctx, s, a.ID, n, 0, 3*each)
		must(t, err)
		last = l
	}
	_, err := adopt(ctx, s, a.ID, 3, 0, 4*each-1)
	wantError(t, "a byte too much", err, job.ErrStorageLimit)
	l := running(t, s, a.ID, 4)
	wantError(t, "too much of a job", stand(ctx, s, l, 100, 3*each), job.ErrStorageLimit)

	// What one held before makes room for what it holds next.
	last = claimJob(t, s, due(t, s, last.Seq))
	must(t, stand(ctx, s, last, 3, 3*each))
	_, _, err = s.Queue.Cancel(ctx, last.ID, noon, nil, "")
	must(t, err)
	must(t, stand(ctx, s, l, 100, 3*each))
}

// testQueuePrograms: what is stored of an account's programs has a bound; those
// that no job needs make way.
func testQueuePrograms(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	const size = 1000
	give := func(a account.ID, n int, most int64) (*job.Task, error) {
		one := task(a, n)
		one.ID = job.NewID()
		one.State = job.Accepted
		one.Code = bytes.Repeat([]byte{byte(n)}, size)
		one.Program, one.MostPrograms = sha256.Sum256(one.Code), most
		_, _, err := s.Queue.Accept(ctx, one, node(t, s), noon)
		return one, err
	}
	first, err := give(ada.ID, 1, 2*size)
	must(t, err)
	_, err = give(ada.ID, 2, 2*size)
	must(t, err)
	refused, err := give(ada.ID, 3, 2*size)
	wantError(t, "a third", err, job.ErrStorageLimit)
	_, err = s.Queue.View(ctx, refused.ID)
	wantError(t, "what was not accepted", err, job.ErrNotFound)
	_, err = give(bob.ID, 3, 2*size)
	must(t, err)
	// Who uses it gives no other.
	same3, err := give(ada.ID, 3, 1)
	must(t, err)
	_, _, err = s.Queue.Cancel(ctx, first.ID, noon, nil, "")
	must(t, err)
	_, err = give(ada.ID, 4, 2*size)
	must(t, err)
	_, err = s.Queue.Program(ctx, first.Program)
	if err == nil {
		t.Error("what no job needs is still there")
	}
	without := task(ada.ID, 5)
	without.State, without.Program, without.Code = job.Accepted, first.Program, nil
	_, _, err = s.Queue.Accept(ctx, without, node(t, s), noon)
	wantError(t, "a job of a program that made way", err, job.ErrNoProgram)
	without.Program = same3.Program
	_, _, err = s.Queue.Accept(ctx, without, node(t, s), noon)
	must(t, err)
	// A job that stands holds its program, whoever gave it.
	standing := pausedAt(6)
	standing.MostBytes = standing.Held() + size
	stands := task(ada.ID, 6)
	stands.Program, stands.Code, stands.State, stands.Mode = same3.Program, nil, standing.State, job.Sync
	_, err = s.Queue.Adopt(ctx, stands, standing)
	wantError(t, "one that stands", err, job.ErrStorageLimit)
	standing.MostBytes += int64(len(stands.Spec))
	_, err = s.Queue.Adopt(ctx, stands, standing)
	must(t, err)
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
		case !errors.Is(err, job.ErrSuspendLimit):
			t.Error(err)
		}
	}
	if stood != most {
		t.Errorf("%d stand, want %d", stood, most)
	}
}
