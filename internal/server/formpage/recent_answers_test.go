package formpage

import (
	"fmt"
	"testing"
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
