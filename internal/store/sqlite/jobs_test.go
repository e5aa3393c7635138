package sqlite

import (
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/principal"
)

// TestRecordsOfAllKindsInABatch has batches of every length around those that
// are inserted at once, with records in them that are to be left out.
func TestRecordsOfAllKindsInABatch(t *testing.T) {
	s := openTest(t, Options{Own: true})
	ada := benchmarkAccount(t, s, "ada")
	bob := benchmarkAccount(t, s, "bob")
	gone := bob + 1
	stored := 0
	for n := range 2*32 + 4 {
		var batch, want []job.Record
		for i := range n {
			r := job.Record{Summary: job.Summary{
				ID: job.NewID(), Account: []account.ID{ada, bob, gone}[i%3], State: job.Complete, Mode: job.Sync, Convention: job.JSON,
				Credential: principal.ByPassword, Created: time.Unix(1, 0).UTC(), Finished: time.Unix(2, 0).UTC(), Steps: int64(i),
			}, Trace: []byte("[]")}
			if i%2 == 0 {
				r.Result, r.Encoding = []byte{byte(i), 0xff}, job.Base64
			}
			// Those that simply ended are inserted by a statement of their own, where all are that it inserts.
			if n%3 == 0 && i%2 == 0 || n%3 == 1 && i == n-1 {
				r.Error = []byte(`{}`)
			}
			if n%3 == 0 && i%5 == 1 {
				r.Response, r.ProgramName, r.Call.Name = []byte(`{"status":204}`), "hello", "hello"
			}
			batch = append(batch, r)
			if r.Account != gone {
				want = append(want, r)
			}
			if i%5 == 4 {
				again := r
				again.State = job.Failed // what was stored first stays
				batch = append(batch, again)
			}
		}
		if err := s.Jobs().Record(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		for _, r := range want {
			got, err := s.Jobs().ByID(t.Context(), r.ID)
			if err != nil || got.Summary != r.Summary || string(got.Result) != string(r.Result) || got.Result == nil ||
				string(got.Error) != string(r.Error) || (got.Error == nil) != (r.Error == nil) || got.Encoding != r.Encoding ||
				string(got.Response) != string(r.Response) || (got.Response == nil) != (r.Response == nil) || string(got.Trace) != string(r.Trace) {
				t.Fatalf("of %d: got %+v, %v, want %+v", n, got, err, r)
			}
		}
		stored += len(want)
	}
	rows := int64(0)
	err := s.read(t.Context(), func(t tx) (err error) {
		rows, err = t.conn.number(t.ctx, "SELECT count(*) FROM jobs")
		return err
	})
	if err != nil || rows != int64(stored) {
		t.Errorf("%d jobs are stored, not %d: %v", rows, stored, err)
	}
}
