package sqlite

import (
	"context"
	"fmt"
)

// Copy copies the whole store, as it is at one moment, over the file at path.
// Others may write to the store meanwhile. Where jobs that were accepted before it
// was opened would be missing, nothing is copied.
func (s *Store) Copy(ctx context.Context, path string) error {
	if s.replayErr != nil {
		return fmt.Errorf("jobs that were accepted last cannot be stored: %w", s.replayErr)
	}
	return s.read(ctx, func(t tx) error { return t.conn.db.Backup(ctx, path) })
}
