package relational

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/principal"
)

// storeQuestion stores the question at which a job is suspended, or that it will ask one. One that
// was announced before is asked now.
func (t tx) storeQuestion(l job.Lease, s *job.Suspension) error {
	if s.Announced != nil {
		_, err := t.exec("INSERT INTO questions (account, job, state, token, kind, audience, title) VALUES (?, ?, 'announced', ?, '', '', '') ON CONFLICT (token) DO NOTHING",
			int64(l.Account), l.Seq, s.Announced[:])
		return err
	}
	p := s.Prompt
	if p == nil {
		return nil
	}
	_, err := t.exec(`INSERT INTO questions (account, job, state, prompt, token, kind, audience, title, asked, expires) VALUES (?, ?, 'open', ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (token) DO UPDATE SET state = 'open', prompt = excluded.prompt, kind = excluded.kind, audience = excluded.audience, title = excluded.title,
			asked = excluded.asked, expires = excluded.expires, ended = NULL WHERE questions.job = excluded.job`,
		int64(l.Account), l.Seq, p.ID, p.Token[:], p.Kind, p.To, job.Title(p.Message), s.At, p.Expires)
	return err
}

// endQuestions ends the question that a job has open. One that was merely announced is withdrawn
// with its job, and asked yet where the one before it expired.
func (t tx) endQuestions(seq int64, end job.QuestionState, now time.Time) error {
	of := "state = 'open'"
	if end == job.QuestionWithdrawn {
		of = "state IN ('open', 'announced')"
	}
	_, err := t.exec("UPDATE questions SET state = ?, ended = ? WHERE job = ? AND "+of, string(end), now, seq)
	return err
}

// questionColumns are those of a question. One that is open while its job has ended is of a job whose
// rows could not be read at its end.
const questionColumns = `SELECT questions.seq, questions.job, CASE WHEN questions.state IN ('announced', 'open') AND jobs.finished IS NOT NULL THEN 'withdrawn' ELSE questions.state END,
	questions.prompt, questions.kind, questions.audience, questions.title, questions.asked, questions.expires, coalesce(questions.ended, jobs.finished),
	questions.reply, questions.by, questions.by_name, questions.decision, questions.note FROM questions JOIN jobs ON jobs.seq = questions.job WHERE `

// numberedQuestion is a question with its place in listings.
type numberedQuestion struct {
	seq int64
	job.Question
}

func readQuestion(r row) numberedQuestion {
	q := job.Question{
		Seq: r.int(1), State: job.QuestionState(r.text(2)), Prompt: r.text(3), Kind: r.text(4), Audience: r.text(5), Title: r.text(6),
		Asked: r.time(7), Expires: r.time(8), By: principal.Credential(r.text(11)), ByName: r.text(12), Decision: r.text(13), Note: r.text(14),
	}
	if q.State.IsEnd() {
		q.Ended = r.time(9)
	}
	copy(q.Reply[:], r.s.Blob(10))
	return numberedQuestion{r.int(0), q}
}

// ofJob adds whose question it is.
func (t tx) ofJob(q *job.Question) error {
	_, err := t.one("SELECT "+summaryColumns+" FROM jobs WHERE seq = ?", func(r row) { q.Job = readSummary(r) }, q.Seq)
	return err
}

// question returns the first question of a condition.
func (t tx) question(where string, args ...any) (job.Question, error) {
	var q numberedQuestion
	found, err := t.one(questionColumns+where, func(r row) { q = readQuestion(r) }, args...)
	if err == nil && !found {
		err = job.ErrNotFound
	}
	if err == nil {
		err = t.ofJob(&q.Question)
	}
	return q.Question, err
}

// QuestionByToken implements job.Questions.
func (q Queue) QuestionByToken(ctx context.Context, token [32]byte) (one job.Question, err error) {
	err = q.store.read(ctx, func(t tx) error {
		return t.snapshot(func() (err error) {
			one, err = t.question("questions.token = ?", token[:])
			return err
		})
	})
	return one, err
}

// Question implements job.Questions.
func (q Queue) Question(ctx context.Context, id job.ID, prompt string) (one job.Question, err error) {
	const ofJob = "questions.job = (SELECT seq FROM jobs WHERE id = ?) AND "
	err = q.store.read(ctx, func(t tx) error {
		return t.snapshot(func() (err error) {
			if prompt == "" {
				one, err = t.question(ofJob+"questions.prompt IS NOT NULL ORDER BY questions.seq DESC LIMIT 1", t.conn.IDs.place(id))
			} else {
				one, err = t.question(ofJob+"questions.prompt = ?", t.conn.IDs.place(id), prompt)
			}
			return err
		})
	})
	return one, err
}

// NextQuestion implements job.Questions.
func (q Queue) NextQuestion(ctx context.Context, after *job.Question) (one job.Question, err error) {
	err = q.store.read(ctx, func(t tx) error {
		return t.snapshot(func() (err error) {
			one, err = t.question(`questions.job = ? AND questions.seq > (SELECT seq FROM questions WHERE job = ?1 AND prompt = ?)
				AND questions.state IN ('open', 'answered') AND questions.audience = ? AND (questions.audience <> '' OR questions.kind = ?)
				ORDER BY questions.seq LIMIT 1`, after.Seq, after.Prompt, after.Audience, after.Kind)
			if err == nil && one.State == job.QuestionOpen {
				err = t.wordsOf(&one)
			}
			return err
		})
	})
	return one, err
}

// ListQuestions implements job.Questions.
func (q Queue) ListQuestions(ctx context.Context, a account.ID, query job.QuestionQuery) (list []job.Question, err error) {
	err = q.store.read(ctx, func(t tx) error {
		return t.snapshot(func() (err error) {
			list, err = t.listQuestions(a, &query)
			return err
		})
	})
	return list, err
}

// listQuestions reads each state by its part of the index, so that none is looked through for
// another.
func (t tx) listQuestions(a account.ID, query *job.QuestionQuery) (list []job.Question, err error) {
	where, args := questionsWhere(query)
	limit := max(query.Limit, 0)
	before := int64(math.MaxInt64)
	if query.Before != "" {
		before = 0
		if _, err := t.one("SELECT seq FROM questions WHERE account = ? AND prompt = ?", func(r row) { before = r.int(0) }, int64(a), query.Before); err != nil {
			return nil, err
		}
	}
	states := job.QuestionStates
	if query.State != "" {
		states = []job.QuestionState{query.State}
	}
	of := "questions.account"
	if query.Job != 0 {
		of = "+questions.account" // a job's questions are found by the job
	}
	var all []numberedQuestion
	for _, state := range states {
		if err := t.each(questionColumns+of+" = ? AND questions.state = ? AND questions.seq < ? AND questions.prompt IS NOT NULL"+where+" ORDER BY questions.seq DESC LIMIT ?",
			func(r row) { all = append(all, readQuestion(r)) }, slices.Concat([]any{int64(a), string(state), before}, args, []any{limit})...); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b numberedQuestion) int { return cmp.Compare(b.seq, a.seq) })
	for _, one := range all[:min(len(all), limit)] {
		if err := t.ofJob(&one.Question); err != nil {
			return nil, err
		}
		if one.State == job.QuestionOpen {
			if err := t.wordsOf(&one.Question); err != nil {
				return nil, err
			}
		}
		list = append(list, one.Question)
	}
	return list, nil
}

// questionsWhere is what a listing asks for beside the state of questions.
func questionsWhere(q *job.QuestionQuery) (where string, args []any) {
	add := func(condition string, values ...any) { where, args = where+" AND "+condition, append(args, values...) }
	if q.Job != 0 {
		add("questions.job = ?", q.Job)
	}
	if q.Audience != "" {
		add("questions.audience = ?", q.Audience)
	}
	if q.Credential != "" {
		add("jobs.credential = ?", string(q.Credential))
	}
	if q.KeyID != 0 {
		add("jobs.key_id = ?", int64(q.KeyID))
	}
	if len(q.Programs) > 0 {
		names := make([]any, len(q.Programs))
		for i, name := range q.Programs {
			names[i] = name
		}
		add("jobs.program_name IN (?"+strings.Repeat(", ?", len(names)-1)+")", names...)
	}
	return where, args
}

// wordsOf adds what there is of an open question alone.
func (t tx) wordsOf(q *job.Question) error {
	_, err := t.one("SELECT sealed, coalesce(length(schema), 0) > ?, CASE WHEN length(schema) <= ?1 THEN schema END, sent FROM job_prompts WHERE job = ? AND id = ?",
		func(r row) { q.Sealed, q.Large, q.Schema, q.Sent = r.bytes(0), r.bool(1), r.bytes(2), r.bool(3) }, job.AlwaysShownBytes, q.Seq, q.Prompt)
	return err
}
