package sqlite

import (
	"testing"

	"ql/internal/store/storetest"
)

func TestSourceSweep(t *testing.T) {
	s := openTest(t, Options{})
	storetest.RunSourceSweep(t, s.Aggregate(), func(sql string) {
		t.Helper()
		if err := s.write(t.Context(), func(tx tx) error { return tx.conn.script(t.Context(), sql) }); err != nil {
			t.Fatal(err)
		}
	})
}
