package relational

import (
	"fmt"
	"hash/crc32"

	"ql/internal/account"
	"ql/internal/job"
)

// What callers get as it stands in a row has a checksum there: SQLite has none in its
// file, and would give whatever the disk made of it. An error of this kind has no code,
// so that who asked gets an id, under which the log has it.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) int64 { return int64(crc32.Checksum(b, castagnoli)) }

// matches reports whether bytes have the checksum in a column; those of rows that were
// written before there was one have none, and match.
func (r row) matches(i int, b []byte) bool { return r.null(i) || r.int(i) == checksum(b) }

func damagedResult(id job.ID) error {
	return fmt.Errorf("the result of the job %s has changed in the store since it was written: the disk is damaged", id)
}

func damagedFile(a account.ID, key string) error {
	return fmt.Errorf("the content of the file %q of account %d has changed in the store since it was written: the disk is damaged", key, a)
}
