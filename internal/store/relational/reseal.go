package relational

import (
	"context"
	"strconv"

	"ql/internal/account"
)

// Sealed is something that is stored sealed.
type Sealed struct {
	Account account.ID
	Kind    string // of package seal
	Name    string // under which it is sealed
	Bytes   []byte
}

const (
	resealRows  = 100
	resealBytes = 4 << 20 // beyond which one change seals no more, but for one that is larger alone
)

// sealedColumn is a column of what is sealed. Rows are told apart by two keys, of which the second
// may be a text.
type sealedColumn struct {
	// rows are both keys, the account, the id of a job or null, and what is sealed, of rows
	// behind two keys, in their order.
	rows   string
	update string // by both keys
	kind   string
	part   string // of what a job has sealed: the name is this and its id
	names  bool   // the name is the second key
	text   bool   // the second key is a text
	prefix string // of the name, where that is the second key
}

// sealedColumns are all of them. The parts of jobs are named as package worker does.
var sealedColumns = []sealedColumn{
	{
		rows:   "SELECT id, 0, id, NULL, sealed_key FROM accounts WHERE id > ?1 AND ?2 = ?2 AND sealed_key IS NOT NULL ORDER BY id LIMIT ?3",
		update: "UPDATE accounts SET sealed_key = ?3 WHERE id = ?1 AND ?2 = ?2", kind: "api-key",
	},
	{
		rows:   "SELECT account, name, account, NULL, sealed FROM secrets WHERE (account, name) > (?1, ?2) ORDER BY account, name LIMIT ?3",
		update: "UPDATE secrets SET sealed = ?3 WHERE account = ?1 AND name = ?2", kind: "secret", names: true, text: true,
	},
	{
		rows:   "SELECT account, number, account, NULL, sealed FROM webhook_secrets WHERE (account, number) > (?1, ?2) ORDER BY account, number LIMIT ?3",
		update: "UPDATE webhook_secrets SET sealed = ?3 WHERE account = ?1 AND number = ?2", kind: "webhook", names: true,
	},
	{
		rows:   "SELECT account, name, account, NULL, sealed FROM machines WHERE (account, name) > (?1, ?2) AND sealed IS NOT NULL ORDER BY account, name LIMIT ?3",
		update: "UPDATE machines SET sealed = ?3 WHERE account = ?1 AND name = ?2", kind: "machine", names: true, text: true,
	},
	{
		rows:   "SELECT account, id, account, NULL, head FROM mails WHERE (account, id) > (?1, ?2) ORDER BY account, id LIMIT ?3",
		update: "UPDATE mails SET head = ?3 WHERE account = ?1 AND id = ?2", kind: "snapshot", names: true, text: true, prefix: "mail-head:",
	},
	{
		rows:   "SELECT account, id, account, NULL, body FROM mails WHERE (account, id) > (?1, ?2) AND body IS NOT NULL ORDER BY account, id LIMIT ?3",
		update: "UPDATE mails SET body = ?3 WHERE account = ?1 AND id = ?2", kind: "snapshot", names: true, text: true, prefix: "mail-body:",
	},
	{
		rows: `SELECT account, name || ':' || first || ':' || last, account, NULL, content FROM shipped_parts
			WHERE content IS NOT NULL AND (account > ?1 OR account = ?1 AND name || ':' || first || ':' || last > ?2) ORDER BY account, name || ':' || first || ':' || last LIMIT ?3`,
		update: "UPDATE shipped_parts SET content = ?3 WHERE account = ?1 AND name || ':' || first || ':' || last = ?2", kind: "snapshot", names: true, text: true, prefix: "database:",
	},
	{
		rows:   "SELECT seq, 0, account, id, task FROM jobs WHERE seq > ?1 AND ?2 = ?2 AND task IS NOT NULL ORDER BY seq LIMIT ?3",
		update: "UPDATE jobs SET task = ?3 WHERE seq = ?1 AND ?2 = ?2", kind: "snapshot", part: "task",
	},
	{
		rows:   "SELECT seq, 0, account, id, request FROM jobs WHERE seq > ?1 AND ?2 = ?2 AND request IS NOT NULL ORDER BY seq LIMIT ?3",
		update: "UPDATE jobs SET request = ?3 WHERE seq = ?1 AND ?2 = ?2", kind: "snapshot", part: "request",
	},
	{
		rows: `SELECT job, 0, jobs.account, jobs.id, snapshot FROM job_snapshots JOIN jobs ON jobs.seq = job
			WHERE job > ?1 AND ?2 = ?2 ORDER BY job LIMIT ?3`,
		update: "UPDATE job_snapshots SET snapshot = ?3 WHERE job = ?1 AND ?2 = ?2", kind: "snapshot", part: "snapshot",
	},
	{
		rows: `SELECT job, step, jobs.account, jobs.id, entries FROM job_journal JOIN jobs ON jobs.seq = job
			WHERE (job, step) > (?1, ?2) ORDER BY job, step LIMIT ?3`,
		update: "UPDATE job_journal SET entries = ?3 WHERE job = ?1 AND step = ?2", kind: "snapshot", part: "journal",
	},
	{
		rows: `SELECT job, 0, jobs.account, jobs.id, sealed FROM job_prompts JOIN jobs ON jobs.seq = job
			WHERE job > ?1 AND ?2 = ?2 ORDER BY job LIMIT ?3`,
		update: "UPDATE job_prompts SET sealed = ?3 WHERE job = ?1 AND ?2 = ?2", kind: "snapshot", part: "form",
	},
	{
		rows: `SELECT job, number, jobs.account, jobs.id, data FROM job_signals JOIN jobs ON jobs.seq = job
			WHERE (job, number) > (?1, ?2) AND data IS NOT NULL ORDER BY job, number LIMIT ?3`,
		update: "UPDATE job_signals SET data = ?3 WHERE job = ?1 AND number = ?2", kind: "snapshot", part: "signal",
	},
}

// Reseal replaces all that is sealed by what f makes of it, and leaves what f returns nil for. It does
// so in changes of a bounded size, so that it may be interrupted and done again; f may be called more
// than once with the same. It returns how much it replaced.
func (s *Store) Reseal(ctx context.Context, f func(Sealed) ([]byte, error)) (replaced int, err error) {
	for i := range sealedColumns {
		n, err := s.resealColumn(ctx, &sealedColumns[i], f)
		replaced += n
		if err != nil {
			return replaced, err
		}
	}
	return replaced, nil
}

// sealedRow is a row of a column.
type sealedRow struct {
	first  int64
	second any // an int64 or a string
	Sealed
}

func (s *Store) resealColumn(ctx context.Context, c *sealedColumn, f func(Sealed) ([]byte, error)) (replaced int, err error) {
	last := sealedRow{first: -1, second: int64(-1)}
	if c.text {
		last.second = ""
	}
	for {
		n, seen := 0, 0
		var next sealedRow
		err := s.write(ctx, func(t tx) error {
			rows, err := t.sealedRows(c, &last)
			n, seen, next = 0, len(rows), last
			for i := range rows {
				next = rows[i]
				sealed, err := f(rows[i].Sealed)
				if err != nil {
					return err
				}
				if sealed == nil {
					continue
				}
				if _, err := t.exec(c.update, rows[i].first, rows[i].second, sealed); err != nil {
					return err
				}
				n++
			}
			return err
		})
		replaced += n
		if err != nil || seen == 0 {
			return replaced, err
		}
		last = next
	}
}

// sealedRows reads rows of a column behind one, as many as one change takes.
func (t tx) sealedRows(c *sealedColumn, last *sealedRow) (rows []sealedRow, err error) {
	bytes := 0
	err = t.each(c.rows, func(r row) {
		if bytes >= resealBytes {
			return
		}
		one := sealedRow{first: r.int(0), Sealed: Sealed{Account: account.ID(r.int(2)), Kind: c.kind, Bytes: r.bytes(4)}}
		if c.text {
			one.second = r.text(1)
		} else {
			one.second = r.int(1)
		}
		switch {
		case c.names && c.text:
			one.Name = c.prefix + r.text(1)
		case c.names:
			one.Name = strconv.FormatInt(r.int(1), 10)
		case c.part != "":
			one.Name = c.part + ":" + r.id(3).String()
		}
		bytes += len(one.Bytes)
		rows = append(rows, one)
	}, last.first, last.second, resealRows)
	return rows, err
}
