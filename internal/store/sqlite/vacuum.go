package sqlite

import (
	"context"
	"fmt"
)

const (
	// shrinkPages is how many pages one change gives back to the disk.
	shrinkPages = 256
	// sparePages are kept for rows to come.
	sparePages = 1024
)

// incrementalVacuum gives pages back; a pragma takes no parameters.
var incrementalVacuum = fmt.Sprintf("PRAGMA incremental_vacuum(%d)", shrinkPages)

// Shrink gives some of the room that removed rows left back to the disk, and
// reports whether there is more to give.
func (s *Store) Shrink(ctx context.Context) (more bool, err error) {
	err = s.write(ctx, func(t tx) error {
		var unused int64
		if _, err := t.one("PRAGMA freelist_count", func(r row) { unused = r.int(0) }); err != nil {
			return err
		}
		if more = unused > sparePages+shrinkPages; !more {
			return nil
		}
		_, err := t.exec(incrementalVacuum)
		return err
	})
	return more, err
}
