package service

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestDeadline(t *testing.T) {
	type key struct{}
	parent, stop := context.WithCancel(context.WithValue(context.Background(), key{}, "kept"))
	stop()
	cases := []struct {
		name string
		use  func(t *testing.T, ctx context.Context, cancel context.CancelFunc)
	}{
		{"ends by its time where nobody waits", func(t *testing.T, ctx context.Context, _ context.CancelFunc) {
			if err := ctx.Err(); err != nil {
				t.Fatal("ended with its parent:", err)
			}
			time.Sleep(time.Minute)
			if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal("got", err)
			}
			<-ctx.Done()
		}},
		{"wakes who waits", func(t *testing.T, ctx context.Context, _ context.CancelFunc) {
			began := time.Now()
			<-ctx.Done()
			if took := time.Since(began); took != time.Minute || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				t.Fatal("took", took, ctx.Err())
			}
		}},
		{"is cancelled", func(t *testing.T, ctx context.Context, cancel context.CancelFunc) {
			cancel()
			<-ctx.Done()
			if err := ctx.Err(); !errors.Is(err, context.Canceled) {
				t.Fatal("got", err)
			}
			time.Sleep(2 * time.Minute)
			if err := ctx.Err(); !errors.Is(err, context.Canceled) {
				t.Fatal("the error has changed to", err)
			}
		}},
		{"is cancelled while somebody waits", func(t *testing.T, ctx context.Context, cancel context.CancelFunc) {
			ended := make(chan error)
			go func() {
				<-ctx.Done()
				ended <- ctx.Err()
			}()
			synctest.Wait()
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Fatal("got", err)
			}
		}},
		{"ends its children", func(t *testing.T, ctx context.Context, cancel context.CancelFunc) {
			child, stop := context.WithTimeout(context.WithValue(ctx, key{}, 2), time.Hour)
			defer stop()
			if end, _ := child.Deadline(); time.Until(end) != time.Minute {
				t.Fatal("the child may take longer:", time.Until(end))
			}
			cancel()
			<-child.Done()
			if err := child.Err(); !errors.Is(err, context.Canceled) {
				t.Fatal("got", err)
			}
		}},
		{"keeps values", func(t *testing.T, ctx context.Context, _ context.CancelFunc) {
			for range 2 { // before and after the timer
				if got := ctx.Value(key{}); got != "kept" {
					t.Fatal("got", got)
				}
				ctx.Done()
			}
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := withTimeout(parent, time.Minute)
				defer cancel()
				c.use(t, ctx, cancel)
			})
		})
	}
}
