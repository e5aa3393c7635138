package sqlite

import (
	"errors"
	"testing"

	"ql/internal/account"
)

// TestWhatAnotherCommitsIsSeenAtOnce changes an account through a second store of
// the same folder, as another process does, between two readings.
func TestWhatAnotherCommitsIsSeenAtOnce(t *testing.T) {
	here := openTest(t, Options{Own: true})
	id := benchmarkAccount(t, here, "ada")
	there := openTest(t, Options{Folder: here.folder(t)})
	alias := account.Alias{Kind: account.Username, Name: "ada"}
	read := func() account.Account {
		t.Helper()
		a, err := here.Accounts().ByAlias(t.Context(), alias)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for i := range 200 {
		before := read()
		if kept := read(); kept.Epoch != before.Epoch {
			t.Fatalf("round %d: it changes by itself", i)
		}
		store := []*Store{here, there}[i%2]
		if err := store.Accounts().SetPassword(t.Context(), id, "hash"); err != nil {
			t.Fatal(err)
		}
		if after := read(); after.Epoch != before.Epoch+1 {
			t.Fatalf("round %d: epoch %d after %d", i, after.Epoch, before.Epoch)
		}
	}
	if err := there.Accounts().Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := here.Accounts().ByAlias(t.Context(), alias); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("after its end: %v", err)
	}
}

func (s *Store) folder(t *testing.T) string {
	t.Helper()
	folder := ""
	err := s.read(t.Context(), func(t tx) error {
		_, err := t.one("PRAGMA database_list", func(r row) { folder = r.text(2) })
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folder[:len(folder)-len("/"+fileName)]
}
