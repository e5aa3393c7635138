package relational

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
	"ql/internal/job"
	"ql/internal/member"
)

func (t tx) prompt(seq int64) (p *job.Prompt, err error) {
	_, err = t.one("SELECT id, kind, token, sealed, expires, message, schema, audience, sent, follows FROM job_prompts WHERE job = ?", func(r row) {
		p = &job.Prompt{ID: r.text(0), Kind: r.text(1), Sealed: r.bytes(3), Expires: r.time(4), Message: r.text(5), Schema: r.bytes(6), To: r.text(7), Sent: r.bool(8), Follows: r.bytes(9)}
		copy(p.Token[:], r.s.Blob(2))
	}, seq)
	return p, err
}

// Answer implements job.Prompts.
func (q Queue) Answer(ctx context.Context, id job.ID, a job.Answer, m member.Member, now time.Time) (job.Lease, error) {
	var l job.Lease
	err := q.store.write(ctx, func(t tx) error {
		found, err := t.one("SELECT seq, account, attempt FROM jobs WHERE id = ? AND state = 'paused'", func(r row) {
			l = job.Lease{Seq: r.int(0), ID: id, Account: account.ID(r.int(1)), Attempt: r.int(2) + 1}
		}, t.conn.IDs.place(id))
		if err != nil {
			return err
		}
		n := int64(0)
		if found {
			if n, err = t.exec("DELETE FROM job_prompts WHERE job = ? AND id = ?", l.Seq, a.Prompt); err != nil {
				return err
			}
		}
		if n == 0 {
			return job.ErrNotPaused
		}
		n, err = t.exec("UPDATE jobs SET state = 'running', attempt = ?, begun = 1, due = ?, member = ?, question_bytes = question_bytes + ? WHERE seq = ? AND "+isMember,
			l.Attempt, now, m.Incarnation, a.Bytes(), l.Seq, m.ID, m.Incarnation)
		if err != nil {
			return err
		}
		if n == 0 {
			return t.whyNoMember(m)
		}
		if _, err := t.exec("UPDATE questions SET state = 'answered', ended = ?, reply = ?, by = ?, by_name = ?, address = ?, decision = ?, note = ? WHERE job = ? AND prompt = ?",
			a.At, a.Reply[:], string(a.By), a.ByName, a.Address, a.Decision, a.Note, l.Seq, a.Prompt); err != nil {
			return err
		}
		if err := t.appendJournal(l.Seq, job.JournalEntry{Step: a.Step, Entries: a.Entries}, 0); err != nil {
			return err
		}
		return t.audit(ctx, audit.Event{Account: l.Account, Act: audit.Answered, On: id.Short() + " " + a.Prompt})
	})
	if err != nil {
		return job.Lease{}, err
	}
	return l, nil
}

// FindAnswer implements job.Prompts.
func (q Queue) FindAnswer(ctx context.Context, id job.ID, prompt string) (reply [32]byte, found bool, err error) {
	err = q.store.read(ctx, func(t tx) (err error) {
		found, err = t.one("SELECT reply FROM questions WHERE state = 'answered' AND prompt = ? AND job = (SELECT seq FROM jobs WHERE id = ?)", func(r row) {
			copy(reply[:], r.s.Blob(0))
		}, prompt, t.conn.IDs.place(id))
		return err
	})
	return reply, found, err
}
