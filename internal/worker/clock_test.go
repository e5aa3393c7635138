package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ql/internal/job"
)

// TestPromiseClockJumps moves the clock to and fro by an hour while jobs of all
// kinds are under way: none is lost, and none does anything twice. What waits
// and what asks ends when its time has come by the clock, and not before.
func TestPromiseClockJumps(t *testing.T) {
	kinds, jumps := 3, 10
	if full() {
		kinds, jumps = 25, 40
	}
	e := newWorld(t, faults{}, func(o *Options) { o.Lease = 300 * time.Millisecond })
	ctx := context.Background()
	e.wantResult(e.submit(`CREATE TABLE steps (job TEXT, n INTEGER); EMIT "made"`), "made")

	var plain, waiting, long, expiring, asking []job.ID
	const steps = 20
	for i := range kinds {
		plain = append(plain, e.submit(fmt.Sprintf(`
			FOR ?i FROM 1 TO %d DO
				INSERT INTO steps VALUES ('plain %[2]d', ?i);
				APPEND "x" TO FILE "/plain-%[2]d.log"
				IF ?i %% 5 = 0 THEN
					WAIT 10 MINUTES
				END
			END
			READ "/plain-%[2]d.log" AS TEXT SET ?log
			SELECT count(*) AS n, count(DISTINCT n) AS d FROM steps WHERE job = 'plain %[2]d' SET ROW ?row
			EMIT "{=LENGTH(?log)} {?row.n} {?row.d}"`, steps, i)))
		waiting = append(waiting, e.submit(`EMIT "a" WAIT 30 MINUTES APPEND "x" TO FILE "/waited.log" EMIT "b"`))
		long = append(long, e.submit(`EMIT "a" WAIT 90 DAYS EMIT "b"`))
		expiring = append(expiring, e.submit(`TRY CONFIRM "sure?" WITHIN 20 MINUTES CATCH ?e APPEND "x" TO FILE "/expired.log" EMIT ?e.code END`))
		asking = append(asking, e.submit(`CONFIRM "sure?" WITHIN 80 DAYS SET ?ok APPEND "x" TO FILE "/asked.log" EMIT ?ok`))
	}
	up := 0
	for i := range jumps {
		by := time.Hour
		if i%2 == 1 { // as often back as on, at any moment
			by = -by
		} else {
			up++
		}
		e.jump(by)
		// What is due now gets on meanwhile, once more and once less.
		for range rand.N(100) {
			_, err := e.w.View(ctx, plain[0])
			check(t, err)
		}
	}
	for i := range kinds { // or the last jump would come before what it is for
		e.await(waiting[i], job.Waiting, job.Complete)
		e.await(expiring[i], job.Paused, job.Complete)
	}
	e.jump(3 * time.Hour)
	for i, id := range asking {
		e.await(id, job.Paused)
		check(t, e.reply(ctx, id, reply(i%2 == 0)))
	}
	for i := range kinds {
		e.wantResult(asking[i], fmt.Sprint(i%2 == 0))
		e.wantResult(expiring[i], "expired")
		e.wantResult(waiting[i], "ab")
		e.await(long[i], job.Waiting)
	}
	for _, id := range plain {
		for e.await(id, job.Running, job.Waiting, job.Complete).State != job.Complete {
			e.jump(10 * time.Minute)
		}
		e.wantResult(id, fmt.Sprintf("%d %d %[1]d", steps, steps))
	}
	e.jump(91 * 24 * time.Hour)
	for _, id := range long {
		e.wantResult(id, "ab")
	}
	e.wantResult(e.submit(`READ "/expired.log" AS TEXT SET ?a READ "/asked.log" AS TEXT SET ?b READ "/waited.log" AS TEXT SET ?c
		EMIT "{=LENGTH(?a)} {=LENGTH(?b)} {=LENGTH(?c)}"`), fmt.Sprintf("%d %[1]d %[1]d", kinds))
	t.Logf("%d jumps of the clock by an hour, %d of them on, under %d jobs: none was lost, and none did anything twice", jumps, up, 5*kinds)
}
