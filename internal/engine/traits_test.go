package engine

import (
	"context"
	"testing"

	"ql/lang/bytecode"
)

// traitJournal notes which effects come by, and what they ask of their journal.
type traitJournal struct {
	fakeJournal
	asked         map[bytecode.Effect]int64 // by their numbers
	changed, sent map[int64]bool
}

func (j *traitJournal) BeforeEffect(_ context.Context, r *Run) error {
	e := r.Machine().Effect()
	j.asked[e.Kind] = e.Seq
	return nil
}

func (j *traitJournal) Append(t Result) { j.asked[t.Kind] = t.Seq }

func (j *traitJournal) Checkpoint(ctx context.Context, t Result) context.Context {
	j.changed[t.Seq] = true
	return ctx
}

func (j *traitJournal) Receipt(_ context.Context, _ string, t Result, _ func() int64) *Receipt {
	j.changed[t.Seq] = true
	return nil
}

func (j *traitJournal) BeforeCall(_ context.Context, seq int64) (string, error) {
	j.sent[seq] = true
	return "key", nil
}

func (j *traitJournal) BeforeCommand(_ context.Context, seq int64) (string, bool, error) {
	j.sent[seq] = true
	return "key", false, nil
}

// TestEffectsDoWhatTheirTraitsSay runs each effect under a journal: one that
// changes something has its journal store that with the change, one that reaches
// outside has all before it stored first, and one that suspends comes back.
func TestEffectsDoWhatTheirTraitsSay(t *testing.T) {
	scripts := map[bytecode.Effect]string{
		bytecode.EffectNow:             `EMIT NOW()`,
		bytecode.EffectRandom:          `EMIT RANDOM()`,
		bytecode.EffectUUID:            `EMIT UUID()`,
		bytecode.EffectToken:           `EMIT TOKEN()`,
		bytecode.EffectPasswordHash:    `EMIT PASSWORD_HASH("x")`,
		bytecode.EffectPasswordMatches: `EMIT PASSWORD_MATCHES("x", "$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$AAAAAAAAAAAAAAAAAAAAAA")`,
		bytecode.EffectSessionGet:      `START SESSION EMIT !SESSION('a')`,
		bytecode.EffectSessionSet:      `START SESSION SET "a" AS 1 OF !SESSION`,
		bytecode.EffectSessionUnset:    `START SESSION UNSET "a" OF !SESSION`,
		bytecode.EffectSessionStart:    `START SESSION`,
		bytecode.EffectSessionEnd:      `START SESSION END SESSION`,
		bytecode.EffectAccountGet:      `EMIT !ACCOUNT`,
		bytecode.EffectQuotaGet:        `EMIT !QUOTA`,
		bytecode.EffectSecretGet:       `EMIT !SECRET('key')`,
		bytecode.EffectJobGet:          `EMIT !JOB`,
		bytecode.EffectConfirm:         `CONFIRM "x"`,
		bytecode.EffectGather:          `GATHER "a" SET ?x`,
		bytecode.EffectWait:            `WAIT 1 HOUR`,
		bytecode.EffectWaitUntil:       `WAIT UNTIL "2030-01-01T00:00:00Z"`,
		bytecode.EffectFileRead:        `READ "/a" SET ?x`,
		bytecode.EffectFileWrite:       `WRITE "x" TO "/b"`,
		bytecode.EffectFileAppend:      `APPEND "x" TO FILE "/a"`,
		bytecode.EffectFileList:        `LIST "/" SET ?x`,
		bytecode.EffectFileCopy:        `COPY "/a" TO "/b"`,
		bytecode.EffectFileMove:        `MOVE "/a" TO "/b"`,
		bytecode.EffectFileRemove:      `REMOVE "/a"`,
		bytecode.EffectRender:          `RENDER "/a"`,
		bytecode.EffectShare:           `SHARE "/a" SET ?x`,
		bytecode.EffectUnshare:         `UNSHARE "https://files.example.com/files/1"`,
		bytecode.EffectMail:            `MAIL TO "ada@example.com" SUBJECT "a" TEXT "b"`,
		bytecode.EffectMailQuestion:    `TRY CONFIRM "a" TO "ada@example.com" BY MAIL WITHIN 0 DAYS SET ?ok CATCH ?e END`,
		bytecode.EffectSQL:             `UPDATE t SET a = 1;`,
		bytecode.EffectTxBegin:         `TRANSACTION EMIT "" END`,
		bytecode.EffectTxCommit:        `TRANSACTION EMIT "" END`,
		bytecode.EffectTxRollback:      `TRY TRANSACTION FAIL "x" END CATCH ?e END`,
		bytecode.EffectFetch:           `FETCH "https://a.example"`,
		bytecode.EffectRun:             `RUN "uptime" ON "box"`,
		bytecode.EffectFetchAll:        `FETCH ALL ["https://a.example"]`,
		bytecode.EffectCallScript:      `RUN SCRIPT "s" SET ?r`,
		bytecode.EffectStartScript:     `START SCRIPT "s" SET ?r`,
		bytecode.EffectWaitJob:         `WAIT FOR "j"`,
		bytecode.EffectWaitSignal:      `WAIT FOR SIGNAL "s"`,
		bytecode.EffectSignal:          `SIGNAL "s" TO "j"`,
		bytecode.EffectMachineCopy:     `COPY "/a" TO "a" ON "box"`,
		bytecode.EffectSQLFile:         `SELECT 1 SET FILE "/b.csv"`,
		bytecode.EffectImport:          `IMPORT [{a: 1}] INTO t`,
		bytecode.EffectFileOpen:        `FOR ?x IN FILE "/a" DO END`,
		bytecode.EffectFileRows:        `FOR ?x IN FILE "/a" DO END`,
	}
	// What makes a session finds it again when it is repeated.
	unrecorded := map[bytecode.Effect]bool{bytecode.EffectSessionStart: true}
	for e := bytecode.EffectNone + 1; e.Info().Name != ""; e++ {
		i := e.Info()
		if (effects[e] == nil) != i.Suspends {
			t.Errorf("%s suspends %t, and is done at once %t", e, i.Suspends, effects[e] != nil)
		}
		w := newWorld(t)
		w.files["/a"] = "x"
		j := &traitJournal{asked: map[bytecode.Effect]int64{}, changed: map[int64]bool{}, sent: map[int64]bool{}}
		w.o.Mails, w.o.Job = &fakeMails{}, jobPage
		w.o.Journal, w.o.Network, w.o.Shares, w.o.Machines, w.o.Calls = j, &fakeNetwork{}, &logShares{}, &fakeMachines{}, &fakeCalls{}
		r := w.start(scripts[e])
		out, err := r.Continue(w.ctx)
		seq, ok := j.asked[e]
		if !ok {
			t.Errorf("%s is not asked for by %s, but %v", e, scripts[e], j.asked)
			continue
		}
		if out.Status == Failed || err != nil {
			t.Errorf("%s: %s comes to %v, %v, %v", e, scripts[e], out.Status, out.Err, err)
		}
		if got, want := j.changed[seq], i.Changes && !unrecorded[e]; got != want {
			t.Errorf("%s is recorded with its change: %t, want %t", e, got, want)
		}
		if got := j.sent[seq]; got != i.Outside {
			t.Errorf("%s has all before it stored: %t, want %t", e, got, i.Outside)
		}
		if got := out.Status == Paused || out.Status == Waiting; got != (i.Suspends || e == bytecode.EffectCallScript) {
			t.Errorf("%s comes back: %t, want %t", e, got, i.Suspends)
		}
		if got := len(r.State().Secrets) > 0; got != i.Secret {
			t.Errorf("%s has a secret remembered: %t, want %t", e, got, i.Secret)
		}
	}
}
