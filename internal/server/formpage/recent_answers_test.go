package formpage

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

func TestLatestForgetsTheOldest(t *testing.T) {
	l := newRecentAnswers()
	token := func(i int) string { return fmt.Sprint("token", i) }
	for i := range remembered + 1 {
		l.remember(answered{token: token(i), next: fmt.Sprint(i)})
	}
	if a, found := l.find(token(0)); found {
		t.Errorf("the oldest is still known: %+v", a)
	}
	for _, i := range []int{1, remembered} {
		if a, found := l.find(token(i)); !found || a.next != fmt.Sprint(i) {
			t.Errorf("answer %d: got %+v, %t", i, a, found)
		}
	}
	l.remember(answered{token: token(1), next: "again"})
	if a, _ := l.find(token(1)); a.next != "again" {
		t.Errorf("an answer kept again: got %+v", a)
	}
	if len(l.index) != remembered {
		t.Errorf("%d answers are remembered, want %d", len(l.index), remembered)
	}
}

func TestTurnsAreOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newRecentAnswers()
		take := func(ctx context.Context, token string) func() {
			t.Helper()
			done, err := l.lock(ctx, token)
			if err != nil {
				t.Fatal(err)
			}
			return done
		}
		first := take(t.Context(), "a")
		take(t.Context(), "b")() // waits for nobody

		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := l.lock(gone, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("who hung up got %v", err)
		}
		second := false
		go func() {
			take(t.Context(), "a")()
			second = true
		}()
		synctest.Wait()
		if second {
			t.Error("two had their turn at once")
		}
		first()
		synctest.Wait()
		if !second || len(l.locks) != 0 {
			t.Errorf("the second had its turn: %t; left over: %d", second, len(l.locks))
		}
	})
}
