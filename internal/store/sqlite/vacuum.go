package sqlite

import (
	"context"
	"fmt"
)

const (
	// vacuumPages is how many pages one change gives back to the disk.
	vacuumPages = 256
	// sparePages are kept for rows to come.
	sparePages = 1024
)

// incrementalVacuum gives pages back; a pragma takes no parameters.
var incrementalVacuum = fmt.Sprintf("PRAGMA incremental_vacuum(%d)", vacuumPages)

// Vacuum gives some of the room that removed rows left back to the disk, and
// reports whether there is more to give.
func (s *Store) Vacuum(ctx context.Context) (more bool, err error) {
	err = s.write(ctx, func(t tx) error {
		var unused int64
		if _, err := t.one("PRAGMA freelist_count", func(r row) { unused = r.int(0) }); err != nil {
			return err
		}
		if more = unused > sparePages+vacuumPages; !more {
			return nil
		}
		_, err := t.exec(incrementalVacuum)
		return err
	})
	return more, err
}

// FinishUpgrade implements store.Backend: a server alone upgrades its store when it starts.
func (s *Store) FinishUpgrade(context.Context) error { return nil }
