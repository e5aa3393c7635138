package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"ql/internal/member"
	"ql/internal/resource/databases/ship"
	"ql/internal/store/relational"
)

// shipped has the databases of accounts that are shipped. Each of their changes waits for the log: so one is a single
// statement, and its transaction too, and those that come at the same time share one.
type shipped struct {
	ship.Log
	store *Store
}

// part is one that is to be appended to a database.
type part struct {
	home ship.Home
	name string
	ship.Part
}

// errApart says that a part was not appended by the shared statement.
var errApart = errors.New("the part is to be appended by itself")

// Append implements ship.Log. What is not as most changes are, and what is refused, goes the longer way, which finds why.
func (s shipped) Append(ctx context.Context, h ship.Home, name string, p ship.Part) error {
	if p.Content == nil || p.First == 1 || p.Last < p.First || h.Member == (member.Member{}) {
		return s.Log.Append(ctx, h, name, p)
	}
	w, err := s.store.appender.open(ctx)
	if err != nil {
		return err
	}
	if err := w.submit(&write{ctx: ctx, part: &part{h, name, p}}); !errors.Is(err, errApart) {
		return err
	}
	return s.Log.Append(ctx, h, name, p)
}

// maxParts is how many parts a statement appends at most.
const maxParts = 16

// appender is the writer of parts. Its connection is opened when it is first needed: by nodes alone.
type appender struct {
	store *Store

	opened atomic.Pointer[writer]
	mu     sync.Mutex
	closed bool
}

func (a *appender) open(ctx context.Context) (*writer, error) {
	if w := a.opened.Load(); w != nil {
		return w, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if w := a.opened.Load(); w != nil {
		return w, nil
	}
	if a.closed {
		return nil, ErrClosed
	}
	c, err := connect(ctx, a.store.config)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(ctx, c, a.store, readCommitted)
	if err != nil {
		return nil, errors.Join(explain(err), c.close())
	}
	w.startGroup(maxParts, w.appendParts)
	a.opened.Store(w)
	return w, nil
}

func (a *appender) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if w := a.opened.Load(); w != nil {
		return w.close()
	}
	return nil
}

// appendParts appends parts, all of them or none, by one statement that is a transaction of its own.
func (w *writer) appendParts(batch []*write, _ attemptMode) result {
	args := make([]any, 0, 2+partParams*len(batch))
	args = append(args, w.id, w.number)
	c := w.conn
	c.line.patience = statementPatience
	for _, one := range batch {
		c.line.patience = min(c.line.patience, patienceFor(one.ctx))
		p, h := one.part, &one.part.home
		args = append(args, int64(h.Account), p.name, p.First, p.Last, p.Size, p.Content, h.Member.ID, h.Member.Incarnation, h.Epoch)
	}
	ctx := context.Background() // the end of a submitter's would undo the others' changes
	err := c.Query(ctx, appendRows[len(batch)-1], args, func(relational.Row) bool { return true })
	switch {
	case err == nil:
		w.number++
		w.committed(len(batch))
		return result{}
	case codeOf(err) != notAll || len(batch) > 1:
		return result{err: err, committing: true}
	}
	batch[0].err = errApart
	// Not refused for what it is, maybe, but for a number that an answer which was lost has left behind.
	return result{err: c.Query(ctx, "SELECT number FROM writers WHERE id = ?", []any{w.id}, func(r relational.Row) bool {
		w.number = r.Int(0)
		return false
	})}
}

// notAll is the error by which a statement undoes what it did to some parts: a division by zero.
const notAll = "22012"

// appendOne is what the statements do, for one part: it takes two thirds of the time of one that looks up a list.
const appendOne = `WITH fence AS (UPDATE writers SET number = number + 1 WHERE id = ?1 AND number = ?2 RETURNING id),
	mine AS (SELECT account FROM homes WHERE account = ?3 AND member = ?9 AND incarnation = ?10 AND epoch = ?11 AND
		EXISTS (SELECT 1 FROM members WHERE id = ?9 AND members.incarnation = ?10) FOR SHARE OF homes),
	extended AS (UPDATE shipped_databases SET last = ?6, size = ?7 WHERE account = ?3 AND name = ?4 AND last = ?5 - 1 AND
		EXISTS (SELECT 1 FROM mine) AND EXISTS (SELECT 1 FROM fence) RETURNING account),
	added AS (INSERT INTO shipped_parts (account, name, first, last, size, content)
		SELECT account, CAST(?4 AS TEXT), CAST(?5 AS BIGINT), CAST(?6 AS BIGINT), CAST(?7 AS BIGINT), CAST(?8 AS BYTEA) FROM extended RETURNING seq)
	SELECT 1 / CASE WHEN (SELECT count(*) FROM added) = 1 THEN 1 ELSE 0 END`

// appendRows append from one part on. The number of the writer says later whether that was done, and a statement that arrives
// when nobody waits for it any more does not find it as it was. The home is locked: who takes it over waits for what is
// appended at that moment, and afterwards nothing of the old home is.
var appendRows = func() (all [maxParts]string) {
	const row, more = "(CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BYTEA), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))",
		", (?, ?, ?, ?, ?, ?, ?, ?, ?)"
	all[0] = appendOne
	for i := 1; i < len(all); i++ {
		all[i] = fmt.Sprintf(`WITH fence AS (UPDATE writers SET number = number + 1 WHERE id = ? AND number = ? RETURNING id),
			parts (account, name, first, last, size, content, member, incarnation, epoch) AS (VALUES %s),
			mine AS (SELECT parts.* FROM parts JOIN homes ON homes.account = parts.account AND homes.member = parts.member AND homes.incarnation = parts.incarnation AND homes.epoch = parts.epoch
				WHERE EXISTS (SELECT 1 FROM members WHERE members.id = parts.member AND members.incarnation = parts.incarnation) FOR SHARE OF homes),
			extended AS (UPDATE shipped_databases SET last = mine.last, size = mine.size FROM mine, fence
				WHERE shipped_databases.account = mine.account AND shipped_databases.name = mine.name AND shipped_databases.last = mine.first - 1
				RETURNING mine.account, mine.name, mine.first, mine.last, mine.size, mine.content),
			added AS (INSERT INTO shipped_parts (account, name, first, last, size, content) SELECT * FROM extended RETURNING seq)
			SELECT 1 / CASE WHEN (SELECT count(*) FROM added) = %d THEN 1 ELSE 0 END`, row+strings.Repeat(more, i), i+1)
	}
	return all
}()

// partParams is how many parameters a part has.
const partParams = 9
