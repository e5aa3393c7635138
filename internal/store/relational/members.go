package relational

import (
	"context"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/member"
)

// Members has the processes that share the store.
type Members struct{ store *Store }

var _ member.Store = Members{}

// Members returns the store's members.
func (s *Store) Members() Members { return Members{s} }

// Join implements member.Store.
func (s Members) Join(ctx context.Context, n member.Node) (m member.Member, last int64, err error) {
	err = s.store.write(ctx, func(t tx) error {
		m.ID = n.ID
		t.conn.joined(n.ID)
		// A move that began after the store was opened.
		if err := t.CheckMoves(); err != nil {
			return err
		}
		if err := t.checkProgram(n); err != nil {
			return err
		}
		// Those who were alone must see that they are not any more.
		if _, err := t.one(`UPDATE head SET incarnation = incarnation + 1, last = last + CASE WHEN EXISTS (SELECT 1 FROM members WHERE id <> ?) THEN 1 ELSE 0 END
			WHERE one = 1 RETURNING incarnation, last`, func(r row) { m.Incarnation, last = r.int(0), r.int(1) }, n.ID); err != nil {
			return err
		}
		_, err := t.exec(`INSERT INTO members (id, incarnation, counter, seen, version, formats, address, knows) VALUES (?, ?, 0, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET incarnation = excluded.incarnation, counter = 0, seen = excluded.seen, version = excluded.version, formats = excluded.formats, address = excluded.address, knows = excluded.knows`,
			n.ID, m.Incarnation, last, n.Version, n.Formats, n.Address, n.Knows)
		return err
	})
	if err != nil {
		return member.Member{}, 0, err
	}
	return m, last, nil
}

// checkProgram refuses a program that does not know what the store needs. It is in the transaction of who joins: so
// either who raises that number sees the member, or the member sees the number.
func (t tx) checkProgram(n member.Node) error {
	if t.conn.MinReader == "" {
		return nil
	}
	needed, err := t.number(t.conn.MinReader)
	if err == nil && needed > int64(n.Knows) {
		err = member.ErrOldProgram
	}
	return err
}

// Renew implements member.Store.
func (s Members) Renew(ctx context.Context, m member.Member, seen int64) error {
	return s.store.write(ctx, func(t tx) error {
		_, err := t.RenewMember(m, seen)
		return err
	})
}

// RenewMember renews a member, and returns how many there are. Where nobody changes anything meanwhile, it is one
// statement: what it looks at is as it was at one moment, and a change that it does not know of came later.
func (t Tx) RenewMember(m member.Member, seen int64) (members int64, err error) {
	renewed, err := t.one(`UPDATE members SET counter = counter + 1, seen = ?3 WHERE id = ?1 AND incarnation = ?2 AND (SELECT last FROM head WHERE one = 1) = ?3
		RETURNING (SELECT count(*) FROM members)`, func(r row) { members = r.int(0) }, m.ID, m.Incarnation, seen)
	if err == nil && !renewed {
		err = t.whyNoMember(m)
	}
	return members, err
}

// rejoinTime is when a process that was buried is a member again, more or less.
const rejoinTime = 2 * time.Second

// buried is the error of a process whose member is another one by now, or none. A caller may have asked for what it could not do.
func buried(why error) error {
	return fault.Retryable(fault.StorageUnavailable, rejoinTime, "this node was taken for dead, and joins the others again: nothing was done; send this again").WithCause(why)
}

// whyNoMember says why a member could not renew, or act as one.
func (t tx) whyNoMember(m member.Member) error {
	var incarnation int64
	found, err := t.one("SELECT incarnation FROM members WHERE id = ?", func(r row) { incarnation = r.int(0) }, m.ID)
	switch {
	case err != nil:
		return err
	case !found:
		return buried(member.ErrBuried)
	case incarnation != m.Incarnation:
		return buried(member.ErrReplaced)
	}
	return member.ErrBehind
}

// isMember is the condition that the two parameters, from a number on, are of a member.
const isMember = "EXISTS (SELECT 1 FROM members WHERE id = ? AND incarnation = ?)"

// LastChange implements member.Store.
func (s Members) LastChange(ctx context.Context) (last int64, err error) {
	err = s.store.read(ctx, func(t tx) error {
		last, err = t.LastChange()
		return err
	})
	return last, err
}

// LastChange returns the number of the last change that all members must see.
func (t Tx) LastChange() (int64, error) { return t.number("SELECT last FROM head WHERE one = 1") }

// ChangedAccounts returns of how many of the changes between two it is known whose accounts they were of, and whose;
// account 0 stands for all.
func (t Tx) ChangedAccounts(after, last int64) (known int64, of map[account.ID]bool, err error) {
	of = map[account.ID]bool{}
	before := after
	err = t.each("SELECT change, account FROM changes WHERE change > ? AND change <= ? ORDER BY change", func(r row) {
		if change := r.int(0); change != before {
			before = change
			known++
		}
		of[account.ID(r.int(1))] = true
	}, after, last)
	return known, of, err
}

// List implements member.Store.
func (s Members) List(ctx context.Context) (list []member.Info, err error) {
	err = s.store.read(ctx, func(t tx) error {
		list, err = t.Members()
		return err
	})
	return list, err
}

// Members returns all members, by their node.
func (t Tx) Members() (list []member.Info, err error) {
	err = t.each("SELECT "+memberColumns+" FROM members ORDER BY id", func(r row) { list = append(list, readMember(r)) })
	return list, err
}

const memberColumns = "id, incarnation, counter, seen, version, formats, address, knows"

func readMember(r row) member.Info {
	return member.Info{
		Member: member.Member{ID: r.int(0), Incarnation: r.int(1)}, Counter: r.int(2), Seen: r.int(3),
		Version: r.text(4), Formats: int(r.int(5)), Address: r.text(6), Knows: int(r.int(7)),
	}
}

// Bury implements member.Store.
func (s Members) Bury(ctx context.Context, i member.Info) (done bool, err error) {
	err = s.store.write(ctx, func(t tx) error {
		n, err := t.exec("DELETE FROM members WHERE id = ? AND incarnation = ? AND counter = ?", i.ID, i.Incarnation, i.Counter)
		done = n > 0
		return err
	})
	return done && err == nil, err
}

// Leave implements member.Store.
func (s Members) Leave(ctx context.Context, m member.Member) error {
	return s.store.write(ctx, func(t tx) error {
		_, err := t.exec("DELETE FROM members WHERE id = ? AND incarnation = ?", m.ID, m.Incarnation)
		return err
	})
}
