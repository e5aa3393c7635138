package resource

import (
	"context"
	"errors"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/config"
	"ql/internal/engine"
	"ql/internal/resource/files"
	"ql/lang/value"
)

// TestStorageIsOne: files and databases of an account share its bytes, and what
// is removed of either makes room for both.
func TestStorageIsOne(t *testing.T) {
	a := start(t, func(s *config.Settings) {
		l := s.Plans[account.Free]
		l.StorageBytes, l.Databases = 1<<20, 2
		s.Plans[account.Free] = l
	})
	r := reach(t, a)
	const rows = "INSERT INTO t WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100) SELECT hex(zeroblob(2000)) FROM c"
	for _, text := range []string{"CREATE TABLE t(x)", rows} {
		if err := sql(t, r, "", text); err != nil {
			t.Fatal(err)
		}
	}
	half := make([]byte, 500<<10)
	if err := r.Files.Write(t.Context(), "/half", half); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a second half", r.Files.Write(t.Context(), "/half2", half), "quota_exceeded")
	wantCode(t, "a second hundred rows", sql(t, r, "", rows), "quota_exceeded")
	wantCode(t, "those of another database", errors.Join(sql(t, r, "other", "CREATE TABLE t(x)"), sql(t, r, "other", rows)), "quota_exceeded")
	wantCode(t, "a third database", sql(t, r, "third", "SELECT 1"), "quota_exceeded")

	if err := r.Files.Write(t.Context(), "/half", []byte("less")); err != nil {
		t.Errorf("less in its place: %v", err)
	}
	if err := sql(t, r, "", rows); err != nil {
		t.Errorf("where a file was: %v", err)
	}
	wantCode(t, "where rows are", r.Files.Write(t.Context(), "/half", half), "quota_exceeded")
	if err := sql(t, r, "", "DELETE FROM t"); err != nil {
		t.Errorf("removing rows: %v", err)
	}
	if err := r.Files.Write(t.Context(), "/half", half); err != nil {
		t.Errorf("where rows were: %v", err)
	}
	if err := r.Files.Remove(t.Context(), "/half"); err != nil {
		t.Errorf("removing a file: %v", err)
	}
	v, err := r.Quota(t.Context())
	if got := string(value.AppendJSON(nil, v)); err != nil || !strings.Contains(got, `"limit":1048576`) {
		t.Errorf("the quota is %s, %v", got, err)
	}
}

// TestPlansChangeTheStorage: the bound follows the plan while databases are
// open.
func TestPlansChangeTheStorage(t *testing.T) {
	a := start(t, nil)
	dev, err := a.accounts.EnsureDevelopment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l := a.settings.Limits(dev.Plan)
	open := func(bytes int64) engine.Resources {
		l.StorageBytes = bytes
		r, err := a.pool.Open(t.Context(), dev, l, "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Release)
		return r
	}
	const text = "CREATE TABLE t(x)"
	wantCode(t, "without room", sql(t, open(1), "", text), "quota_exceeded")
	if err := sql(t, open(0), "", text); err != nil {
		t.Errorf("without a bound: %v", err)
	}
	wantCode(t, "without room again", sql(t, open(1), "", "INSERT INTO t SELECT zeroblob(200000)"), "quota_exceeded")
}

// TestLimitsWaitForNobody: whoever opens what an account has does not wait for a store that says nothing to another one.
func TestLimitsWaitForNobody(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	s := &storage{
		usage: func(context.Context) (files.Usage, error) {
			close(asked)
			<-answer
			return files.Usage{}, nil
		},
		measure: func(context.Context) error { return nil },
	}
	s.setLimits(1000, 1)
	taken := make(chan bool)
	go func() {
		_, ok, err := s.ReserveFiles(t.Context(), files.Reservation{After: 500}, files.Reservation{})
		taken <- ok && err == nil
	}()
	<-asked
	s.setLimits(400, 1)
	close(answer)
	if <-taken {
		t.Error("a file of 500 bytes fits into 400")
	}
}
