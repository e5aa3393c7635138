package sqlite

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/resource/files"
)

// TestChangedOnTheDisk: what has changed in a row since it was written is told, and
// never given out; rows of before have no checksum, and are.
func TestChangedOnTheDisk(t *testing.T) {
	s := openTest(t, Options{})
	a, err := s.Accounts().Create(t.Context(), account.Account{Username: "ada", Plan: account.Free, Created: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	record := job.Record{
		Summary: job.Summary{ID: s.NewID(), Account: a, State: job.Complete, Mode: job.Sync, Convention: job.JSON, Credential: principal.ByPassword, Created: now, Finished: now},
		Result:  []byte("the right result"), Trace: []byte("[]"),
	}
	if err := s.Jobs().Record(t.Context(), []job.Record{record}); err != nil {
		t.Fatal(err)
	}
	node := files.Node{Path: "/a.txt", Size: 5, Modified: now, Tail: []byte("right")}
	if done, err := s.Files().Apply(t.Context(), a, files.Usage{}, files.Usage{Bytes: 5, Nodes: 1}, []files.Change{files.Put{Node: node}}); err != nil || !done {
		t.Fatal(done, err)
	}
	read := func() error {
		_, one := s.Jobs().ByID(t.Context(), record.ID)
		_, two := s.Queue().View(t.Context(), record.ID)
		_, three := s.Files().Content(t.Context(), a, files.Key("/a.txt"))
		for _, err := range []error{one, two, three} {
			if (err == nil) != (one == nil) || err != nil && (!strings.Contains(err.Error(), "has changed in the store") || fault.Of(err).Code != fault.Internal) {
				t.Errorf("%v", err)
			}
		}
		return errors.Join(one, two, three)
	}
	change := func(sql ...string) {
		t.Helper()
		for _, one := range sql {
			if err := s.write(t.Context(), func(t tx) error { _, err := t.exec(one); return err }); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	change("UPDATE jobs SET result = CAST('the rigth result' AS BLOB)", "UPDATE files SET tail = CAST('rigth' AS BLOB)")
	if read() == nil {
		t.Error("changed content was given out")
	}
	change("UPDATE jobs SET checksum = NULL", "UPDATE files SET checksum = NULL")
	if err := read(); err != nil {
		t.Errorf("rows of before: %v", err)
	}
}
