package postgres

import (
	"testing"

	"ql/internal/store/storetest"
)

func TestSourceSweep(t *testing.T) {
	s := openTest(t, Options{})
	storetest.RunSourceSweep(t, s.Aggregate(), func(sql string) {
		t.Helper()
		if _, err := s.writer.conn.Exec(t.Context(), sql, nil); err != nil {
			t.Fatal(err)
		}
	})
}
