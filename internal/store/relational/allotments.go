package relational

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"slices"

	"ql/internal/admit"
)

// Allotments has how nodes share out limits of accounts: one row for each account of which several have something.
type Allotments struct{ store *Store }

var _ admit.Allotments = Allotments{}

// Allotments returns the store's allotments.
func (s *Store) Allotments() Allotments { return Allotments{s} }

// Allotment implements admit.Allotments.
func (s Allotments) Allotment(ctx context.Context, account int64) (a admit.Allotment, members []int64, err error) {
	err = s.store.read(ctx, func(t tx) error {
		a, members, err = t.Allotment(account)
		return err
	})
	return a, members, err
}

// Allotment reads that of an account, and then who is a member: who holds a share joined before.
func (t Tx) Allotment(account int64) (a admit.Allotment, members []int64, err error) {
	var nodes []byte
	found, err := t.one("SELECT version, nodes FROM allotments WHERE account = ?", func(r row) { a.Version, nodes = r.int(0), r.bytes(1) }, account)
	if err == nil && found {
		a.Nodes, err = admit.ReadNodes(nodes)
	}
	if err == nil {
		members, err = t.incarnations()
	}
	return a, members, err
}

func (t tx) incarnations() (list []int64, err error) {
	err = t.each("SELECT incarnation FROM members", func(r row) { list = append(list, r.int(0)) })
	return list, err
}

// SwapAllotment implements admit.Allotments.
func (s Allotments) SwapAllotment(ctx context.Context, account, version int64, now admit.Allotment) (next int64, err error) {
	err = s.store.write(ctx, func(t tx) error {
		next, err = t.SwapAllotment(account, version, now)
		return err
	})
	return next, err
}

// SwapAllotment replaces an allotment, by one statement. Versions are random: a row that was removed and made again
// has none that it had before.
func (t Tx) SwapAllotment(account, version int64, now admit.Allotment) (next int64, err error) {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	next = int64(binary.BigEndian.Uint64(b[:])>>1) | 1
	var changed int64
	switch {
	case version == 0 && len(now.Nodes) == 0:
		return 0, nil
	case version == 0:
		changed, err = t.exec("INSERT INTO allotments (account, version, contended, nodes) VALUES (?, ?, ?, ?) ON CONFLICT (account) DO NOTHING", account, next, now.IsContended(), now.AppendNodes(nil))
	case len(now.Nodes) == 0:
		changed, err = t.exec("DELETE FROM allotments WHERE account = ? AND version = ?", account, version)
	default:
		changed, err = t.exec("UPDATE allotments SET version = ?, contended = ?, nodes = ? WHERE account = ? AND version = ?", next, now.IsContended(), now.AppendNodes(nil), account, version)
	}
	if err != nil || changed == 0 {
		return 0, err
	}
	return next, nil
}

// Contended implements admit.Allotments.
func (s Allotments) Contended(ctx context.Context, limit int) (list []int64, err error) {
	err = s.store.read(ctx, func(t tx) error {
		list, err = t.ContendedAllotments(limit)
		return err
	})
	return list, err
}

// ContendedAllotments lists accounts of which a node wants a greater share.
func (t Tx) ContendedAllotments(limit int) (list []int64, err error) {
	err = t.each("SELECT account FROM allotments WHERE contended = 1 ORDER BY account LIMIT ?", func(r row) { list = append(list, r.int(0)) }, limit)
	return list, err
}

// SweepAllotments removes shares of those who are no members, of accounts after one, and returns the last of those
// that it looked at; 0 where there are no more.
func (t Tx) SweepAllotments(after int64) (last int64, err error) {
	const page = 500
	type stored struct {
		account int64
		admit.Allotment
	}
	var list []stored
	var unreadable error
	if err := t.each("SELECT account, version, nodes FROM allotments WHERE account > ? ORDER BY account LIMIT ?", func(r row) {
		one := stored{account: r.int(0), Allotment: admit.Allotment{Version: r.int(1)}}
		if one.Nodes, err = admit.ReadNodes(r.s.Blob(2)); err != nil {
			unreadable = err
		}
		list = append(list, one)
	}, after, page); err != nil || unreadable != nil {
		return 0, cmp.Or(err, unreadable)
	}
	members, err := t.incarnations()
	if err != nil {
		return 0, err
	}
	for _, one := range list {
		if !slices.ContainsFunc(one.Nodes, func(n admit.NodeShares) bool { return !slices.Contains(members, n.Incarnation) }) {
			continue
		}
		// Where somebody has changed it meanwhile, he has left them out.
		if _, err := t.SwapAllotment(one.account, one.Version, one.Among(members)); err != nil {
			return 0, err
		}
	}
	if len(list) < page {
		return 0, nil
	}
	return list[len(list)-1].account, nil
}
