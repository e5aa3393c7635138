package sqlite

import (
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/member"
	"ql/internal/store/migrate"
)

// TestQuestionsOfAnOlderStore: what was open when there was no table of questions is found by its page
// and can be answered, and who answered before is still known.
func TestQuestionsOfAnOlderStore(t *testing.T) {
	folder, ctx := t.TempDir(), t.Context()
	steps, err := migrate.Load(migrations, "migrations")
	must(t, err)
	s, err := openSteps(t, folder, true, steps[:36])
	must(t, err)
	a, err := s.Accounts().Create(ctx, account.Account{Username: "ada", Plan: account.Free, Created: time.Unix(1, 0)})
	must(t, err)
	must(t, s.write(ctx, func(t tx) error {
		const columns = "INSERT INTO jobs (seq, id, account, state, mode, convention, credential, created, finished, steps, trace_dropped, result, encoding, program, task, attempt) VALUES "
		for _, sql := range []string{
			columns + "(5, x'00000000000000000000000000000005', 1, 'paused', 'sync', 'json', 'password', 1000000, NULL, 1, 0, x'', '', x'01', x'02', 1)",
			columns + "(6, x'00000000000000000000000000000006', 1, 'complete', 'sync', 'json', 'password', 1000000, 2000000, 1, 0, x'', '', NULL, NULL, 2)",
			"INSERT INTO job_prompts (job, id, kind, token, sealed, expires, message, audience) VALUES (5, 'open', 'confirm', zeroblob(32), x'01', 9000000, 'Sure?', 'finance')",
			"INSERT INTO job_answers (job, prompt, reply, by, address, at) VALUES (5, 'earlier', zeroblob(32), 'password', '192.0.2.1', 1500000), (6, 'last', zeroblob(32), 'none', '192.0.2.1', 1600000)",
		} {
			if _, err := t.exec(sql); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, s.Close())

	s = openTest(t, Options{Folder: folder, Own: true})
	q := s.Queue()
	open, err := q.QuestionByToken(ctx, [32]byte{})
	must(t, err)
	if open.State != job.QuestionOpen || open.Prompt != "open" || open.Kind != "confirm" || open.Audience != "finance" || open.Title != "Sure?" || open.Seq != 5 || !open.Expires.Equal(time.Unix(9, 0)) {
		t.Errorf("the open one is %+v", open)
	}
	answered, err := q.ListQuestions(ctx, a, job.QuestionQuery{State: job.QuestionAnswered, Limit: 10})
	must(t, err)
	if len(answered) != 2 || answered[0].Prompt != "last" || answered[0].By != "none" || answered[1].Prompt != "earlier" || !answered[1].Ended.Equal(time.UnixMicro(1500000)) || answered[1].Seq != 5 {
		t.Errorf("the answered ones are %+v", answered)
	}
	_, found, err := q.FindAnswer(ctx, open.Job.ID, "earlier")
	if err != nil || !found {
		t.Errorf("an answer of before is found: %t, %v", found, err)
	}
	m, _, err := s.Members().Join(ctx, member.Node{ID: 1})
	must(t, err)
	_, err = q.Answer(ctx, open.Job.ID, job.Answer{Prompt: "open", At: time.Unix(3, 0), Decision: "approved", Note: "yes", Entries: []byte("x")}, m, time.Unix(3, 0))
	must(t, err)
	if open, err = q.QuestionByToken(ctx, [32]byte{}); err != nil || open.State != job.QuestionAnswered || open.Note != "yes" {
		t.Errorf("then it is %+v, %v", open, err)
	}
}
