package listen

import (
	"context"
	"testing"
	"time"
)

func TestAwaited(t *testing.T) {
	ctx, cancel := context.WithCancel(awaited{context.Background()})
	defer cancel()
	if _, waits := ctx.Deadline(); !waits {
		t.Error("nobody waits for what a caller asks")
	}
	if _, waits := context.WithoutCancel(ctx).Deadline(); waits {
		t.Error("somebody waits for what goes on by itself")
	}
	soon, cancelSoon := context.WithTimeout(ctx, time.Minute)
	defer cancelSoon()
	if end, _ := soon.Deadline(); time.Until(end) > time.Minute {
		t.Errorf("a minute ends at %s", end)
	}
}
