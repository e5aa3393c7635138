package relational

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/audit"
	"ql/internal/principal"
)

// Audit keeps the logs of who did what.
type Audit struct{ store *Store }

var _ audit.Store = Audit{}

// Audit returns the store's logs of who did what.
func (s *Store) Audit() Audit { return Audit{s} }

const (
	// operatorLogBytes is how many bytes the operator's log may have.
	operatorLogBytes = 64 << 20
	// pruneBatch is how many entries one change removes at most.
	pruneBatch = 1000
	// auditPage is how many entries are read at once.
	auditPage = 500
)

// Append implements audit.Log.
func (s Audit) Append(ctx context.Context, e audit.Event) error {
	return s.store.write(ctx, func(t tx) error {
		if e.Account != audit.Operator {
			if err := t.requireAccount(e.Account); err != nil {
				return err
			}
		}
		return t.audit(ctx, e)
	})
}

// audit logs an act in the transaction that does it. Who acts is in the context of the caller,
// which is not that of the transaction.
func (t tx) audit(caller context.Context, e audit.Event) error {
	if t.conn.Old.NoAudit {
		return nil
	}
	actor, ok := audit.FromContext(caller)
	if !ok {
		actor = t.conn.Actor
	}
	if actor.Silent {
		return nil
	}
	e.Count = max(e.Count, actor.Count)
	now := time.Now()
	if e.Account != audit.Operator {
		if err := t.appendAudit(audit.NewEntry(e, actor, now), actor.Most); err != nil {
			return err
		}
		if actor.By != audit.ByOperator && e.Act != audit.AccountCreated && e.Act != audit.AccountDeleted {
			return nil
		}
		name := ""
		if _, err := t.one("SELECT username FROM accounts WHERE id = ?", func(r row) { name = r.text(0) }, int64(e.Account)); err != nil {
			return err
		}
		if e.On != "" {
			name += " " + e.On
		}
		e.Account, e.On = audit.Operator, name
	}
	return t.appendAudit(audit.NewEntry(e, actor, now), operatorLogBytes)
}

// auditChange is change with an entry of the log of the account.
func (s Accounts) auditChange(ctx context.Context, e audit.Event, sql string, args ...any) error {
	return s.store.write(ctx, func(t tx) error { return t.auditChange(ctx, e, sql, args...) })
}

func (t tx) auditChange(caller context.Context, e audit.Event, sql string, args ...any) error {
	defer t.conn.Conn.ChangesAccount(e.Account)()
	n, err := t.exec(sql, args...)
	if err == nil && n == 0 {
		err = account.ErrNotFound
	}
	if err != nil {
		return err
	}
	return t.audit(caller, e)
}

// appendAudit puts an entry at the end of its log, and prunes that to so many bytes; 0 prunes
// nothing.
func (t tx) appendAudit(e audit.Entry, most int64) error {
	head, err := t.auditHead(e.Account)
	if err != nil {
		return err
	}
	head = head.Follow(&e)
	if err := t.insertAudit(&e); err != nil {
		return err
	}
	if most > 0 && head.Bytes > most {
		if head, err = t.pruneAudit(head, &e, most); err != nil {
			return err
		}
	}
	_, err = t.exec(`INSERT INTO audit_logs (account, number, hash, bytes, pruned, pruned_hash) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (account) DO UPDATE SET number = excluded.number, hash = excluded.hash, bytes = excluded.bytes, pruned = excluded.pruned, pruned_hash = excluded.pruned_hash`,
		int64(e.Account), head.Number, head.Hash[:], head.Bytes, head.Pruned, head.PrunedHash[:])
	return err
}

func (t tx) insertAudit(e *audit.Entry) error {
	_, err := t.exec("INSERT INTO audit_entries (account, number, at, act, target, by, key, network, result, count, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		int64(e.Account), e.Number, e.At, string(e.Act), e.On, string(e.By), e.Key, e.From, string(e.Result), e.Count, e.Hash[:])
	return err
}

// pruneAudit removes the oldest entries of a log until it has an eighth less than it may have, so
// that this is done now and then, and appends the anchor of what is left. The newest stays.
func (t tx) pruneAudit(head audit.Head, newest *audit.Entry, most int64) (audit.Head, error) {
	id, enough, before := int64(newest.Account), most-most/8, head.Pruned
	err := t.each("SELECT "+auditColumns+" FROM audit_entries WHERE account = ? AND number < ? ORDER BY number LIMIT ?", func(r row) {
		if e := readAudit(newest.Account, r); head.Bytes > enough {
			head.Bytes -= e.Bytes()
			head.Pruned, head.PrunedHash = e.Number, e.Hash
		}
	}, id, newest.Number, pruneBatch)
	if err != nil || head.Pruned == before { // the newest alone is more than fits
		return head, err
	}
	if _, err := t.exec("DELETE FROM audit_entries WHERE account = ? AND number <= ?", id, head.Pruned); err != nil {
		return head, err
	}
	anchor := audit.NewEntry(audit.Event{
		Account: newest.Account, Act: audit.Pruned, On: audit.PrunedOn(head.Pruned, head.PrunedHash),
	}, audit.Actor{By: audit.ByService}, newest.At)
	head = head.Follow(&anchor)
	return head, t.insertAudit(&anchor)
}

func (t tx) auditHead(id account.ID) (h audit.Head, err error) {
	_, err = t.one("SELECT number, hash, bytes, pruned, pruned_hash FROM audit_logs WHERE account = ?", func(r row) {
		h.Number, h.Bytes, h.Pruned = r.int(0), r.int(2), r.int(3)
		copy(h.Hash[:], r.s.Blob(1))
		copy(h.PrunedHash[:], r.s.Blob(4))
	}, int64(id))
	return h, err
}

const auditColumns = "number, at, act, target, by, key, network, result, count, hash"

func readAudit(id account.ID, r row) audit.Entry {
	e := audit.Entry{
		Account: id, Number: r.int(0), At: r.time(1), Act: audit.Act(r.text(2)), On: r.text(3), By: principal.Credential(r.text(4)), Key: r.text(5),
		From: r.text(6), Result: audit.Result(r.text(7)), Count: r.int(8),
	}
	copy(e.Hash[:], r.s.Blob(9))
	return e
}

// Entries implements audit.Store.
func (s Audit) Entries(ctx context.Context, id account.ID, before int64, limit int) (list []audit.Entry, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.each("SELECT "+auditColumns+" FROM audit_entries WHERE account = ?1 AND (?2 = 0 OR number < ?2) ORDER BY number DESC LIMIT ?3",
			func(r row) { list = append(list, readAudit(id, r)) }, int64(id), before, max(limit, 0))
	})
	return list, err
}

// Scan implements audit.Store.
func (s Audit) Scan(ctx context.Context, id account.ID, f func(audit.Entry) error) (head audit.Head, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.snapshot(func() error {
			if head, err = t.auditHead(id); err != nil {
				return err
			}
			page := make([]audit.Entry, 0, auditPage)
			for after := int64(0); ; {
				page = page[:0]
				if err := t.each("SELECT "+auditColumns+" FROM audit_entries WHERE account = ? AND number > ? ORDER BY number LIMIT ?",
					func(r row) { page = append(page, readAudit(id, r)) }, int64(id), after, auditPage); err != nil {
					return err
				}
				for _, e := range page {
					after = e.Number
					if err := f(e); err != nil {
						return err
					}
				}
				if len(page) < auditPage {
					return nil
				}
			}
		})
	})
	return head, err
}

// dropAudit removes up to limit entries of the log of an account that is to be removed, the oldest
// first: until it is gone, somebody may still look at the others.
func (t tx) dropAudit(id account.ID, limit int) (int, error) {
	n, err := t.exec(`DELETE FROM audit_entries WHERE account = ?1 AND EXISTS (SELECT 1 FROM departures WHERE account = ?1)
		AND number IN (SELECT number FROM audit_entries WHERE account = ?1 ORDER BY number LIMIT ?2)`, int64(id), limit)
	return int(n), err
}
