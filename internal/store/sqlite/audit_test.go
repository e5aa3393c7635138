package sqlite

import (
	"errors"
	"testing"

	"ql/internal/account"
	"ql/internal/audit"
)

// TestChangedLogIsFound changes a log in the file, each column in turn, as somebody would who can
// write to it.
func TestChangedLogIsFound(t *testing.T) {
	for _, change := range []string{
		"UPDATE audit_entries SET at = at + 1 WHERE number = 50",
		"UPDATE audit_entries SET act = 'x' WHERE number = 50",
		"UPDATE audit_entries SET target = target || 'x' WHERE number = 50",
		"UPDATE audit_entries SET by = 'x' WHERE number = 50",
		"UPDATE audit_entries SET key = 'x' WHERE number = 50",
		"UPDATE audit_entries SET network = 'x' WHERE number = 50",
		"UPDATE audit_entries SET result = 'failed' WHERE number = 50",
		"UPDATE audit_entries SET count = 2 WHERE number = 50",
		"UPDATE audit_entries SET hash = zeroblob(32) WHERE number = 50",
		"DELETE FROM audit_entries WHERE number = 50",
		"DELETE FROM audit_entries WHERE number < 50",
		"DELETE FROM audit_entries WHERE number > 50",
	} {
		s := openTest(t, Options{})
		id, err := s.Accounts().Create(t.Context(), account.Account{Username: "ada", Plan: account.Free})
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			if err := s.Audit().Append(t.Context(), audit.Event{Account: id, Act: audit.APIKeyShown}); err != nil {
				t.Fatal(err)
			}
		}
		if v, err := audit.Verify(t.Context(), s.Audit(), id); err != nil || v.Entries != 101 {
			t.Fatalf("%+v, %v", v, err)
		}
		if err := s.write(t.Context(), func(t tx) error {
			_, err := t.exec(change+" AND account = ?", int64(id))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		var broken *audit.Broken
		if _, err := audit.Verify(t.Context(), s.Audit(), id); !errors.As(err, &broken) || broken.Number != 50 && broken.Number != 51 && broken.Number != 1 {
			t.Errorf("%s: %v", change, err)
		}
	}
}
