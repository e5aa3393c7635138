package relational

import (
	"context"
	"maps"
	"slices"

	"ql/internal/account"
)

// ListDatabases returns the databases of accounts that were there when they were last
// noted.
func (s *Store) ListDatabases(ctx context.Context) (map[account.ID][]string, error) {
	known := map[account.ID][]string{}
	err := s.read(ctx, func(t tx) error {
		clear(known)
		return t.each("SELECT account, name FROM known_databases ORDER BY account, name", func(r row) {
			known[account.ID(r.int(0))] = append(known[account.ID(r.int(0))], r.text(1))
		})
	})
	return known, err
}

// SaveDatabaseList notes the databases that are there, of accounts that are. Names are in
// their order.
func (s *Store) SaveDatabaseList(ctx context.Context, found map[account.ID][]string) error {
	known, err := s.ListDatabases(ctx)
	if err != nil || maps.EqualFunc(known, found, slices.Equal) {
		return err
	}
	return s.write(ctx, func(t tx) error {
		if _, err := t.exec("DELETE FROM known_databases"); err != nil {
			return err
		}
		for id, names := range found {
			for _, name := range names {
				if _, err := t.exec("INSERT INTO known_databases SELECT id, ? FROM accounts WHERE id = ?", name, int64(id)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// CountUsers returns how many jobs have not ended whose programs use databases.
func (s *Store) CountUsers(ctx context.Context) (n int, err error) {
	err = s.read(ctx, func(t tx) error {
		count, err := t.number("SELECT count(*) FROM jobs WHERE program IS NOT NULL AND uses_databases = 1")
		n = int(count)
		return err
	})
	return n, err
}
