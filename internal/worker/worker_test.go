package worker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/lang/value"
)

func TestCompletes(t *testing.T) {
	e := newWorld(t, faults{})
	e.wantResult(e.submit(`EMIT "hello"`), "hello")
	e.wantResult(e.submit(`
		CREATE TABLE IF NOT EXISTS t (n INTEGER);
		FOR ?i FROM 1 TO 3 DO
			INSERT INTO t VALUES (?i);
			APPEND "x" TO FILE "/log.txt"
		END
		READ "/log.txt" AS TEXT SET ?log
		SELECT sum(n) FROM t SET VALUE ?sum
		EMIT "{?log} {?sum}"`), "xxx 6")
}

func TestPauses(t *testing.T) {
	e := newWorld(t, faults{})
	id := e.submit(`
		DEFINE ask(?n)
			TRY
				FOR ?x IN [1, 2] DO
					EMIT ?x
					CONFIRM "go on with {?n}?" SET ?ok
					IF NOT ?ok THEN
						FAIL "no" CODE "refused"
					END
				END
			CATCH ?e
				EMIT ?e.code
			END
			RETURN ?n * 2
		END
		EMIT "a"
		EMIT ask(21)`)
	for i, want := range []string{"a1", "a12"} {
		v := e.await(id, job.Paused)
		if string(v.Result) != want || v.Prompt.Message != "go on with 21?" {
			t.Fatalf("paused with %q at %q, want %q", v.Result, v.Prompt.Message, want)
		}
		check(t, e.reply(context.Background(), id, reply(i == 0)))
	}
	e.wantResult(id, "a12refused42")
}

func reply(approved bool) Reply { return Reply{Approved: &approved, By: principal.ByPassword} }

func TestReplies(t *testing.T) {
	e := newWorld(t, faults{})
	id := e.submit(`EMIT "one " CONFIRM "sure?" EMIT "two " CONFIRM "really?" EMIT "three"`)
	v := e.await(id, job.Paused)
	if string(v.Result) != "one " || v.Prompt == nil || v.Prompt.Message != "sure?" {
		t.Fatalf("paused as %+v with %q", v.Prompt, v.Result)
	}
	ctx := context.Background()
	first := v.Prompt.ID
	wrong := Reply{Fields: value.NewMap(nil, 0).Value()}
	if err := e.reply(ctx, id, wrong); !errors.Is(err, engine.ErrWrongReply) {
		t.Errorf("fields for a CONFIRM: %v", err)
	}
	r := reply(true)
	r.Prompt = first
	check(t, e.reply(ctx, id, r))
	v = e.await(id, job.Paused)
	if v.Prompt.Message != "really?" || string(v.Result) != "one two " {
		t.Fatalf("paused at %q with %q", v.Prompt.Message, v.Result)
	}
	check(t, e.reply(ctx, id, r)) // a double click
	if v := e.await(id, job.Paused); v.Prompt.Message != "really?" {
		t.Errorf("a double click answered %q", v.Prompt.Message)
	}
	r = reply(false)
	r.Prompt = first
	if err := e.reply(ctx, id, r); !errors.Is(err, job.ErrNotPaused) {
		t.Errorf("another reply to a question that was answered: %v", err)
	}
	check(t, e.reply(ctx, id, reply(true)))
	e.wantResult(id, "one two three")
}

func TestDeclines(t *testing.T) {
	e := newWorld(t, faults{})
	id := e.submit(`EMIT "a" CONFIRM "sure?" EMIT "b"`)
	e.await(id, job.Paused)
	check(t, e.reply(context.Background(), id, reply(false)))
	if v := e.await(id, job.Declined); string(v.Result) != "a" {
		t.Errorf("declined with %q", v.Result)
	}
}

func TestWaitsAndExpires(t *testing.T) {
	e := newWorld(t, faults{})
	waiting := e.submit(`EMIT "a" WAIT 2 HOURS EMIT "b"`)
	asking := e.submit(`EMIT "a" CONFIRM "sure?" WITHIN 1 HOUR EMIT "b"`)
	caught := e.submit(`TRY CONFIRM "sure?" WITHIN 1 HOUR CATCH ?e EMIT ?e.code END`)
	e.await(waiting, job.Waiting)
	e.await(asking, job.Paused)
	e.await(caught, job.Paused)
	e.jump(90 * time.Minute)
	e.await(asking, job.Expired)
	e.wantResult(caught, "expired")
	e.await(waiting, job.Waiting)
	e.jump(time.Hour)
	e.wantResult(waiting, "ab")
}

func TestCancels(t *testing.T) {
	e := newWorld(t, faults{})
	ctx := context.Background()
	for name, script := range map[string]string{
		"a loop":     `EMIT "x" SET ?n AS 0 WHILE true DO SET ?n AS ?n + 1 END`,
		"a question": `EMIT "x" CONFIRM "sure?"`,
		"a wait":     `EMIT "x" WAIT 1 HOUR`,
		"sql":        `EMIT "x" WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 100000000000) SELECT count(*) FROM c SET VALUE ?n`,
	} {
		t.Run(name, func(t *testing.T) {
			id := e.submit(script)
			e.await(id, job.Running, job.Paused, job.Waiting)
			_, err := e.w.Cancel(ctx, id)
			check(t, err)
			v := e.await(id, job.Cancelled)
			if name != "a loop" && name != "sql" && string(v.Result) != "x" {
				t.Errorf("cancelled with %q", v.Result)
			}
			state, err := e.w.Cancel(ctx, id)
			if err != nil || state != job.Cancelled {
				t.Errorf("cancelled again: %v, %v", state, err)
			}
		})
	}
}

// TestNoRoomToStand has one job more ask something than the account may have.
func TestNoRoomToStand(t *testing.T) {
	e := newWorld(t, faults{})
	submit := func(script string, change func(*account.Limits)) job.ID {
		s := e.submission(script)
		change(&s.Limits)
		_, err := e.w.Submit(context.Background(), s)
		check(t, err)
		return s.Summary.ID
	}
	two := func(l *account.Limits) { l.Suspended = 2 }
	first := submit(`CONFIRM "one"`, two)
	e.await(first, job.Paused)
	e.await(submit(`WAIT 1 HOUR`, two), job.Waiting)

	v := e.await(submit(`EMIT "a" GATHER "x" SET ?f EMIT "b"`, two), job.Failed)
	const want = `"the account has 2 jobs that wait for an answer or a moment, which is as many as it may have: answer or cancel some"`
	for _, part := range []string{`"quota_exceeded"`, `"limit":"standing"`, `"value":2`, `"step":"GATHER"`, want} {
		if !strings.Contains(string(v.Error), part) {
			t.Errorf("it lacks %s: %s", part, v.Error)
		}
	}
	if string(v.Result) != "a" {
		t.Errorf("it gave %q", v.Result)
	}
	v = e.await(submit(`WAIT 1 HOUR`, func(l *account.Limits) { l.SuspendedBytes = 1000 }), job.Failed)
	if !strings.Contains(string(v.Error), `"limit":"standing_bytes","value":1000`) {
		t.Errorf("too many bytes: %s", v.Error)
	}

	_, err := e.w.Cancel(context.Background(), first)
	check(t, err)
	e.await(submit(`CONFIRM "again"`, two), job.Paused)
}

// TestRoomToStandIsLifted has as many jobs stand as like to, as in development.
func TestRoomToStandIsLifted(t *testing.T) {
	e := newWorld(t, faults{}, func(o *Options) { o.Unlimited = true })
	for range 3 {
		s := e.submission(`CONFIRM "one"`)
		s.Limits.Suspended, s.Limits.SuspendedBytes = 1, 1
		_, err := e.w.Submit(context.Background(), s)
		check(t, err)
		e.await(s.Summary.ID, job.Paused)
	}
}

// TestStoppedTakesNothing has a worker that was stopped leave a submission and a
// reply to the next.
func TestStoppedTakesNothing(t *testing.T) {
	e := newWorld(t, faults{})
	id := e.submit(`CONFIRM "Go on?" SET ?yes EMIT ?yes`)
	e.await(id, job.Paused)
	check(t, e.w.Stop(context.Background()))
	approved := Reply{Approved: new(true)}
	if err := e.reply(context.Background(), id, approved); !errors.Is(err, ErrStopping) {
		t.Errorf("a reply to a stopped worker: %v", err)
	}
	if _, err := e.w.Submit(context.Background(), e.submission(`EMIT 1`)); !errors.Is(err, ErrStopping) {
		t.Errorf("a submission to a stopped worker: %v", err)
	}
	e.start()
	check(t, e.reply(context.Background(), id, approved))
	e.wantResult(id, "true")
}

func TestStopsAndGoesOn(t *testing.T) {
	e := newWorld(t, faults{})
	ctx := context.Background()
	var ids []job.ID
	for range 5 {
		ids = append(ids, e.submit(`
			CREATE TABLE IF NOT EXISTS steps (n INTEGER);
			FOR ?i FROM 1 TO 200 DO
				INSERT INTO steps VALUES (?i);
				APPEND "x" TO FILE "/log.txt"
			END
			EMIT "done"`))
	}
	// The worker is stopped and another takes over, a few times.
	for range 3 {
		stopped, cancel := context.WithTimeout(ctx, 10*time.Second)
		check(t, e.w.Stop(stopped))
		cancel()
		e.start()
	}
	for _, id := range ids {
		e.wantResult(id, "done")
	}
	e.wantResult(e.submit(`SELECT count(*) FROM steps SET VALUE ?n READ "/log.txt" AS TEXT SET ?log EMIT "{?n} {=LENGTH(?log)}"`), "1000 1000")
}
