package sqlite

import "ql/internal/store"

var _ store.Backend = (*Store)(nil)

// Aggregate returns the store by the interfaces that it implements.
func (s *Store) Aggregate() store.Store {
	return store.Store{
		Backend:      s,
		Accounts:     s.Accounts(),
		Audit:        s.Audit(),
		Versions:     s,
		SiteVersions: s,
		Jobs:         s.Jobs(),
		Changes:      s.Jobs(),
		Queue:        s.Queue().Parts(),
		Members:      s.Members(),
		Log:          s.Intake(),
		Deliveries:   s.Deliveries(),
		Files:        s.Files(),
		Shares:       s.Shares(),
		Machines:     s.Machines(),
		Sessions:     s.Sessions(),
		SignIns:      s.SignIns(),
		Usage:        s.Usage(),
		Databases:    s,
	}
}
