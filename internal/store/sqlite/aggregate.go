package sqlite

import (
	"ql/internal/store"
	"ql/internal/store/relational"
)

var (
	_ store.Backend     = (*Store)(nil)
	_ relational.Engine = (*Store)(nil)
)

// Aggregate returns the store by the interfaces that it implements.
func (s *Store) Aggregate() store.Store {
	all := s.Store.Aggregate()
	all.Backend, all.Versions, all.SiteVersions, all.Log = s, s, s, s.Intake()
	return all
}
