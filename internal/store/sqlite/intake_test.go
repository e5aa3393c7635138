package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/record"
	"ql/internal/store/ring"

	"github.com/google/go-cmp/cmp"
)

// brief returns the record with a number of a job that came to its end at once.
func brief(a account.ID, n int) *job.Record {
	at := time.Date(2026, 11, 15, 12, 0, n, 0, time.UTC)
	return &job.Record{
		Summary: job.Summary{
			ID: job.ID{15: byte(n), 6: 0x40, 8: 0x80}, Account: a, State: job.Complete, Mode: job.Async, Convention: job.JSON, Credential: principal.ByKey,
			Created: at, Finished: at.Add(time.Millisecond), Steps: int64(n),
		},
		Result: fmt.Appendf(nil, "result %d", n), Trace: []byte("[]"), Ran: time.Second,
	}
}

func briefs(a account.ID, numbers ...int) (list []*job.Record) {
	for _, n := range numbers {
		list = append(list, brief(a, n))
	}
	return list
}

func values(list []*job.Record) (records []job.Record) {
	for _, r := range list {
		records = append(records, *r)
	}
	return records
}

func appendTo(t *testing.T, s *Store, list []*job.Record) record.Position {
	t.Helper()
	to, err := s.Intake().Append(list)
	must(t, err)
	return to
}

// wantBriefs checks which records of an account are stored, the newest first, and
// that each is counted once.
func wantBriefs(t *testing.T, what string, s *Store, a account.ID, numbers ...int) {
	t.Helper()
	list, err := s.Jobs().List(t.Context(), a, job.Query{Limit: 100})
	must(t, err)
	var got []int
	for _, j := range list {
		got = append(got, int(j.Steps))
	}
	if !slices.Equal(got, numbers) {
		t.Errorf("%s: the records %v are stored, want %v", what, got, numbers)
	}
	used, err := s.Usage().Used(t.Context(), a, usage.MonthOf(brief(a, 0).Finished))
	must(t, err)
	if want := (usage.Used{Calls: int64(len(numbers)), Running: time.Duration(len(numbers)) * time.Second}); used != want {
		t.Errorf("%s: %+v is counted, want %+v", what, used, want)
	}
}

// TestIntakeSurvives shows that what was appended is stored by the next process, in
// its order and once, and that what was stored is not stored again, even where it
// was removed meanwhile.
func TestIntakeSurvives(t *testing.T) {
	folder := t.TempDir()
	s := openTest(t, Options{Folder: folder, Own: true})
	a := benchmarkAccount(t, s, "ada")
	appendTo(t, s, briefs(a, 1))
	appendTo(t, s, briefs(a, 2, 3))
	wantBriefs(t, "before", s, a)

	after := openTest(t, Options{Folder: snapshot(t, folder), Own: true})
	wantBriefs(t, "after a crash", after, a, 3, 2, 1)
	got, err := after.Jobs().ByID(t.Context(), brief(a, 2).ID)
	must(t, err)
	if diff := cmp.Diff(*brief(a, 2), got); diff != "" {
		t.Errorf("the record (-want +got):\n%s", diff)
	}
	appendTo(t, after, briefs(a, 4))
	again := openTest(t, Options{Folder: snapshot(t, after.folder(t)), Own: true})
	wantBriefs(t, "after another", again, a, 4, 3, 2, 1)

	must(t, s.Intake().Store(t.Context(), values(briefs(a, 1)), 4096))
	wantBriefs(t, "the first alone", s, a, 1)
	if n, err := s.Jobs().Forget(t.Context(), a, time.Now().AddDate(100, 0, 0), 10); err != nil || n != 1 {
		t.Fatalf("%d were forgotten, %v", n, err)
	}
	later := openTest(t, Options{Folder: snapshot(t, folder), Own: true})
	list, err := later.Jobs().List(t.Context(), a, job.Query{Limit: 10})
	must(t, err)
	if len(list) != 2 || list[0].Steps != 3 || list[1].Steps != 2 {
		t.Errorf("a record that was removed came back: %v", list)
	}
	must(t, later.Close())
	must(t, again.Close())
	wantBriefs(t, "started once more", openTest(t, Options{Folder: again.path(), Own: true}), a, 4, 3, 2, 1)
}

// path is the folder that a closed store was in.
func (s *Store) path() string { return filepath.Dir(s.writer.conn.path) }

// TestIntakeIsSeenByOthers shows that a command beside the server stores what was
// accepted, and that the server counts it no second time.
func TestIntakeIsSeenByOthers(t *testing.T) {
	s := openTest(t, Options{Own: true})
	a := benchmarkAccount(t, s, "ada")
	to := appendTo(t, s, briefs(a, 1, 2))
	beside := openTest(t, Options{Folder: s.folder(t)})
	wantBriefs(t, "beside the server", beside, a, 2, 1)
	if _, err := beside.Intake().Append(briefs(a, 9)); !errors.Is(err, record.ErrNoRoom) {
		t.Errorf("a command beside the server appended: %v", err)
	}
	must(t, s.Intake().Store(t.Context(), values(briefs(a, 1, 2)), to))
	wantBriefs(t, "stored by the server too", s, a, 2, 1)
	to = appendTo(t, s, briefs(a, 3))
	must(t, s.Intake().Store(t.Context(), values(briefs(a, 3)), to))
	wantBriefs(t, "in a store that is beside", beside, a, 3, 2, 1)

	// It may be faster than the server is to store what it could not append for sure.
	appendTo(t, s, briefs(a, 4))
	openTest(t, Options{Folder: s.folder(t)})
	_, err := s.Queue().AcceptEnded(t.Context(), &job.Task{}, &job.End{Record: *brief(a, 4)})
	must(t, err)
	wantBriefs(t, "stored by both", s, a, 4, 3, 2, 1)
}

// TestIntakeOfNobody shows that what belongs to an account that is gone is left out.
func TestIntakeOfNobody(t *testing.T) {
	folder := t.TempDir()
	s := openTest(t, Options{Folder: folder, Own: true})
	a := benchmarkAccount(t, s, "ada")
	appendTo(t, s, append(briefs(a+1, 7), briefs(a, 1)...))
	after := openTest(t, Options{Folder: snapshot(t, folder), Own: true})
	wantBriefs(t, "after a crash", after, a, 1)
	if _, err := after.Jobs().ByID(t.Context(), brief(a, 7).ID); !errors.Is(err, job.ErrNotFound) {
		t.Errorf("the record of nobody: %v", err)
	}
}

// TestIntakeFills shows that records have no room until others are stored, and that
// nothing is lost where it goes round.
func TestIntakeFills(t *testing.T) {
	folder := t.TempDir()
	s := openTest(t, Options{Folder: folder, Own: true})
	a := benchmarkAccount(t, s, "ada")
	large := brief(a, 1)
	large.Result = make([]byte, 600<<10)
	if _, err := s.Intake().Append([]*job.Record{large, large}); !errors.Is(err, record.ErrNoRoom) {
		t.Errorf("more than goes into a frame: %v", err)
	}
	var first record.Position
	n := 0
	for ; ; n++ {
		to, err := s.Intake().Append([]*job.Record{large})
		if errors.Is(err, record.ErrNoRoom) {
			break
		}
		must(t, err)
		if n == 0 {
			first = to
		}
	}
	if n < 4 || n > intakeSize/len(large.Result) {
		t.Errorf("%d records had room", n)
	}
	must(t, s.Intake().Store(t.Context(), []job.Record{*large}, first))
	appendTo(t, s, briefs(a, 2))
	wantBriefs(t, "after a crash", openTest(t, Options{Folder: snapshot(t, folder), Own: true}), a, 2, 1)
}

// TestIntakeOfAnotherVersion shows that a server does not start over what it cannot
// read, and that commands go on, but for one that would copy a part.
func TestIntakeOfAnotherVersion(t *testing.T) {
	folder := t.TempDir()
	s := openTest(t, Options{Folder: folder, Own: true})
	if _, err := s.intake.Append([][]byte{{calledEntryVersion + 1, 0}}); err != nil {
		t.Fatal(err)
	}
	copied := snapshot(t, folder)
	_, err := Open(t.Context(), Options{Folder: copied, Own: true})
	if err == nil || !strings.Contains(err.Error(), intakeName) || !strings.Contains(err.Error(), "start the version that wrote it") {
		t.Errorf("the error of a server: %v", err)
	}
	err = openTest(t, Options{Folder: copied}).Copy(t.Context(), filepath.Join(t.TempDir(), "copy"))
	if err == nil || !strings.Contains(err.Error(), intakeName) {
		t.Errorf("the error of a copy: %v", err)
	}
}

// TestIntakeThatIsNoFile shows that a server says what to do.
func TestIntakeThatIsNoFile(t *testing.T) {
	folder := t.TempDir()
	must(t, openTest(t, Options{Folder: folder, Own: true}).Close())
	path := filepath.Join(folder, intakeName)
	must(t, os.Remove(path))
	must(t, os.Mkdir(path, 0o700))
	_, err := Open(t.Context(), Options{Folder: folder, Own: true})
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("the error of a server: %v", err)
	}
}

// TestIntakeDamaged shows that of a damaged intake all is stored that can be read,
// that the damage is told, and that it is not found again.
func TestIntakeDamaged(t *testing.T) {
	folder := t.TempDir()
	s := openTest(t, Options{Folder: folder, Own: true})
	a := benchmarkAccount(t, s, "ada")
	for n := range 4 {
		appendTo(t, s, briefs(a, n+1))
	}
	copied := snapshot(t, folder)
	path := filepath.Join(copied, intakeName)
	b, err := os.ReadFile(path)
	must(t, err)
	b[ring.Block+100] ^= 1
	must(t, os.WriteFile(path, b, 0o600))
	var warned []string
	warn := func(err error) { warned = append(warned, err.Error()) }
	after := openTest(t, Options{Folder: copied, Own: true, Warn: warn})
	wantBriefs(t, "after a crash", after, a, 4, 3, 1)
	if len(warned) != 1 || !strings.Contains(warned[0], path) {
		t.Errorf("the warnings are %q, want one that names %s", warned, path)
	}
	appendTo(t, after, briefs(a, 5))
	again := openTest(t, Options{Folder: snapshot(t, copied), Own: true, Warn: warn})
	wantBriefs(t, "after another", again, a, 5, 4, 3, 1)
	if len(warned) != 1 {
		t.Errorf("there was a warning again: %q", warned)
	}

	must(t, os.Truncate(filepath.Join(folder, intakeName), 2*ring.Block))
	wantBriefs(t, "cut off", openTest(t, Options{Folder: snapshot(t, folder), Own: true, Warn: warn}), a, 2, 1)
	if len(warned) != 2 {
		t.Errorf("the warnings are %q, want one of a file that is cut off too", warned)
	}
}

// TestIntakeOfACopy shows that the intake of a folder means nothing to a copy of the
// folder that has gone its own way: the accounts in it are others.
func TestIntakeOfACopy(t *testing.T) {
	folder := t.TempDir()
	s := openTest(t, Options{Folder: folder, Own: true})
	copied := snapshot(t, folder)
	appendTo(t, s, briefs(benchmarkAccount(t, s, "ada"), 1))

	other := openTest(t, Options{Folder: copied, Own: true})
	bob := benchmarkAccount(t, other, "bob")
	must(t, other.Close())
	b, err := os.ReadFile(filepath.Join(folder, intakeName))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(copied, intakeName), b, 0o600))
	wantBriefs(t, "beside another's intake", openTest(t, Options{Folder: copied, Own: true}), bob)
}

// failing is a log that says that it failed, having written all the same.
type failing struct {
	Intake
	err error
}

func (f failing) Append(records []*job.Record) (record.Position, error) {
	to, err := f.Intake.Append(records)
	return to, errors.Join(err, f.err)
}

// TestIntakeFailed shows that a job which stands in the intake, and was stored in
// another way because that had failed, does not come back once it was removed.
func TestIntakeFailed(t *testing.T) {
	s := openTest(t, Options{Own: true})
	a := benchmarkAccount(t, s, "ada")
	broken := errors.New("the disk is gone")
	r := record.NewRecorder(s.Jobs(), record.Options{Log: failing{s.Intake(), broken}})
	one := brief(a, 1)
	if err := r.RecordDurably(*one, time.Minute); !errors.Is(err, broken) {
		t.Fatalf("RecordDurably: %v", err)
	}
	_, err := s.Queue().AcceptEnded(t.Context(), &job.Task{}, &job.End{Record: *one})
	must(t, err)
	wantBriefs(t, "stored by its caller", s, a, 1)
	must(t, r.Close(t.Context()))
	if n, err := s.Jobs().Forget(t.Context(), a, time.Now().AddDate(100, 0, 0), 10); err != nil || n != 1 {
		t.Fatalf("%d were forgotten, %v", n, err)
	}
	list, err := openTest(t, Options{Folder: s.folder(t)}).Jobs().List(t.Context(), a, job.Query{Limit: 10})
	must(t, err)
	if len(list) != 0 {
		t.Errorf("a record that was removed came back: %v", list)
	}
}

// TestIntakeUnderLoad keeps more than the intake holds, while commands beside the
// server store what they find: each record is stored and counted once.
func TestIntakeUnderLoad(t *testing.T) {
	const callers, each = 8, 30
	s := openTest(t, Options{Own: true})
	a := benchmarkAccount(t, s, "ada")
	r := record.NewRecorder(s.Jobs(), record.Options{Log: s.Intake(), Linger: time.Millisecond})
	var refused atomic.Int64
	var keeping sync.WaitGroup
	for c := range callers {
		keeping.Go(func() {
			for i := range each {
				one := brief(a, 1)
				one.ID[0], one.ID[1] = byte(c), byte(i)
				one.Result = make([]byte, 100<<10)
				err := r.RecordDurably(*one, time.Minute)
				if errors.Is(err, record.ErrNoRoom) {
					refused.Add(1)
					_, err = s.Queue().AcceptEnded(t.Context(), &job.Task{}, &job.End{Record: *one})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 5 {
		beside, err := Open(t.Context(), Options{Folder: s.folder(t)})
		must(t, err)
		must(t, beside.Close())
	}
	keeping.Wait()
	must(t, r.Close(t.Context()))
	used, err := s.Usage().Used(t.Context(), a, usage.MonthOf(brief(a, 1).Finished))
	must(t, err)
	list, err := s.Jobs().List(t.Context(), a, job.Query{Limit: 2 * callers * each})
	must(t, err)
	if used.Calls != callers*each || len(list) != callers*each || refused.Load() == callers*each {
		t.Errorf("%d records were kept, of which %d had no room: %d are stored, and %d counted", callers*each, refused.Load(), len(list), used.Calls)
	}
}

// TestIntakeWithoutItsFile shows that a store whose intake is lost goes on, and what
// it appends then survives.
func TestIntakeWithoutItsFile(t *testing.T) {
	folder := t.TempDir()
	s := openTest(t, Options{Folder: folder, Own: true})
	a := benchmarkAccount(t, s, "ada")
	to := appendTo(t, s, briefs(a, 1))
	must(t, s.Intake().Store(t.Context(), values(briefs(a, 1)), to))
	copied := snapshot(t, folder)
	must(t, os.Remove(filepath.Join(copied, intakeName)))
	s = openTest(t, Options{Folder: copied, Own: true})
	appendTo(t, s, briefs(a, 2))
	wantBriefs(t, "after a crash", openTest(t, Options{Folder: snapshot(t, copied), Own: true}), a, 2, 1)
}
