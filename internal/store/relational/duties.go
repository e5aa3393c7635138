package relational

import (
	"context"

	"ql/internal/member"
)

var _ member.Duties = Members{}

// Assume implements member.Duties. Who has a duty, and who finds that another has it, changes nothing.
func (s Members) Assume(ctx context.Context, duty string, m member.Member) (has bool, err error) {
	free := false
	err = s.store.read(ctx, func(t tx) error {
		has, free = false, false
		found, err := t.one("SELECT member, member IN (SELECT incarnation FROM members) FROM duties WHERE name = ?", func(r row) {
			has, free = r.int(0) == m.Incarnation && r.bool(1), !r.bool(1)
		}, duty)
		free = free || !found
		return err
	})
	if err != nil || !free {
		return has, err
	}
	err = s.store.write(ctx, func(t tx) error {
		has = false
		if there, err := t.has("SELECT 1 WHERE "+isMember, m.ID, m.Incarnation); err != nil || !there {
			return err
		}
		n, err := t.exec(`INSERT INTO duties (name, member) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET member = excluded.member
			WHERE duties.member = excluded.member OR duties.member NOT IN (SELECT incarnation FROM members)`, duty, m.Incarnation)
		has = n > 0
		return err
	})
	return has && err == nil, err
}

// ListDuties implements member.Duties.
func (s Members) ListDuties(ctx context.Context) (map[string]int64, error) {
	list := map[string]int64{}
	err := s.store.read(ctx, func(t tx) error {
		return t.each("SELECT name, member FROM duties", func(r row) { list[r.text(0)] = r.int(1) })
	})
	return list, err
}
