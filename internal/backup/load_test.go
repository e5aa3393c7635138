package backup_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/backup"
	"ql/internal/config"
	"ql/internal/operator"
	"ql/internal/sqlite"
)

// answer is what the service says of a script or a job.
type answer struct {
	code   int
	Status string
	JobID  string `json:"job_id"`
	Result string
	Error  struct{ Code string }
}

func call(ctx context.Context, method, address string, body any) (a answer, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return a, err
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(text))
	if err != nil {
		return a, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	a.code = res.StatusCode
	answered, err := io.ReadAll(res.Body)
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(answered, &a); err != nil {
		return a, fmt.Errorf("%w in %s", err, answered)
	}
	return a, nil
}

func run(ctx context.Context, url, mode, script string) (answer, error) {
	return call(ctx, http.MethodPost, url+"/v1/query", map[string]any{
		"auth": map[string]string{"username": "dev", "password": "dev"}, "mode": mode, "query": script,
	})
}

// output runs a script that must succeed and returns what it puts out.
func output(t *testing.T, url, script string) string {
	t.Helper()
	a, err := run(t.Context(), url, "sync", script)
	if err != nil || a.Status != "ok" {
		t.Fatalf("%s: %+v, %v", script, a, err)
	}
	return a.Result
}

// await waits until a job stands or is finished.
func await(t *testing.T, url, id string) answer {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		a, err := call(t.Context(), http.MethodGet, url+"/v1/job/"+id+"?wait=5", nil)
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != "accepted" && a.Status != "running" {
			return a
		}
		if time.Now().After(deadline) {
			t.Fatalf("the job %s is still %s", id, a.Status)
		}
	}
}

// load writes to a service until it is told to stop: each number into a table
// and into a file, by a call or by a job.
type load struct {
	url    string
	next   atomic.Int64
	enough atomic.Bool

	mu   sync.Mutex
	more *sync.Cond        // that done has grown, or nobody works any more
	done map[string]bool   // numbers that a call was answered for
	jobs map[string]string // ids of jobs that were accepted, by their numbers
}

// fileBytes is large enough for blobs.
const fileBytes = 80_000

func (l *load) work(ctx context.Context, client int) error {
	var last string // the job before
	for !l.enough.Load() {
		n := strconv.FormatInt(l.next.Add(1), 10)
		mode := "async"
		if client%2 == 0 {
			mode = "sync"
		}
		script := fmt.Sprintf(`INSERT INTO ledger VALUES ('%s'); SET ?n AS "%s" WRITE JOIN([?n, REPEAT("x", %d)], " ") TO "/files/%s.txt" UPDATE again SET n = n + 1; INSERT INTO twice VALUES ('%s'); EMIT "%s"`,
			n, n, fileBytes, n, n, n)
		a, err := run(ctx, l.url, mode, script)
		switch {
		case err != nil:
			return err
		case mode == "sync" && a.Status != "ok", mode == "async" && a.code != http.StatusAccepted:
			return fmt.Errorf("%s: %+v", mode, a)
		}
		// A job or two of each client wait, run, or have been done.
		if last != "" {
			if _, err := call(ctx, http.MethodGet, l.url+"/v1/job/"+last+"?wait=5", nil); err != nil {
				return err
			}
		}
		l.mu.Lock()
		if mode == "sync" {
			l.done[n] = true
			l.more.Broadcast()
		} else {
			l.jobs[n], last = a.JobID, a.JobID
		}
		l.mu.Unlock()
	}
	return nil
}

// acknowledged returns what was answered by now.
func (l *load) acknowledged() (done map[string]bool, jobs map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	done, jobs = map[string]bool{}, map[string]string{}
	for n := range l.done {
		done[n] = true
	}
	for n, id := range l.jobs {
		jobs[n] = id
	}
	return done, jobs
}

// TestPromiseRestoreUnderLoad backs a service up while it is written to, by
// calls and by jobs, and restores it elsewhere: all that was acknowledged before
// the backup began is there, and no job did anything twice.
func TestPromiseRestoreUnderLoad(t *testing.T) {
	rounds, least := 2, 30
	if os.Getenv("QL_PROMISES") != "" {
		rounds, least = 6, 60
	}
	s := apptest.Boot(t, func(s *config.Settings) {
		free := s.Plans[account.Free]
		free.StorageBytes = 0
		s.Plans[account.Free] = free
	})
	output(t, s.URL(), `CREATE TABLE ledger (n TEXT); CREATE TABLE twice (n TEXT); CREATE TABLE again (n INTEGER); INSERT INTO again VALUES (0);`)
	paused, err := run(t.Context(), s.URL(), "async", `INSERT INTO ledger VALUES ('paused'); CONFIRM "go on?" INSERT INTO ledger VALUES ('answered'); EMIT "went on"`)
	if err != nil {
		t.Fatal(err)
	}
	if a := await(t, s.URL(), paused.JobID); a.Status != "paused" {
		t.Fatalf("the job is %+v", a)
	}
	l := &load{url: s.URL(), done: map[string]bool{}, jobs: map[string]string{}}
	l.more = sync.NewCond(&l.mu)
	var working sync.WaitGroup
	for client := range 6 {
		working.Go(func() {
			if err := l.work(t.Context(), client); err != nil {
				t.Error(err)
			}
			l.more.Broadcast()
		})
	}
	defer working.Wait()
	defer l.enough.Store(true)
	for round := range rounds {
		l.mu.Lock()
		for enough := len(l.done) + least; len(l.done) < enough && !t.Failed(); {
			l.more.Wait()
		}
		l.mu.Unlock()
		done, jobs := l.acknowledged()
		dest := filepath.Join(t.TempDir(), "backup")
		if round%2 == 1 {
			dest += ".tar.gz"
		}
		var made backup.Counts
		s.Operate(func(o *operator.Operator) (err error) {
			made, err = o.Backup(t.Context(), dest, "test", true)
			return err
		})
		if t.Failed() {
			return
		}
		checkRestored(t, s, dest, made, done, jobs, paused.JobID)
	}
}

func checkRestored(t *testing.T, s *apptest.Service, dest string, made backup.Counts, done map[string]bool, jobs map[string]string, paused string) {
	t.Helper()
	again := s.Settings
	again.Data = filepath.Join(t.TempDir(), "restored")
	restored, err := backup.Restore(t.Context(), dest, again.Data, "")
	if err != nil || restored != made || made.Databases != 1 || made.Blobs < len(done) {
		t.Fatalf("restored %+v, made %+v, %v", restored, made, err)
	}
	checkIntegrity(t, again.Data)
	r := apptest.Start(t, again)
	defer func() {
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	interrupted := 0
	complete := map[string]bool{}
	for n, id := range jobs {
		a := await(t, r.URL(), id)
		switch {
		case a.Status == "complete" && a.Result == n:
			complete[n] = true
		case a.Status == "failed" && a.Error.Code == "interrupted":
			interrupted++
		default:
			t.Errorf("job %s is %+v", n, a)
		}
	}
	ledger := count(output(t, r.URL(), `SELECT n FROM ledger SET ?rows FOR ?row IN ?rows DO EMIT ?row.n, " " END`))
	twice := count(output(t, r.URL(), `SELECT n FROM twice SET ?rows FOR ?row IN ?rows DO EMIT ?row.n, " " END`))
	files := count(output(t, r.URL(), `LIST "/files" SET ?files FOR ?file IN ?files DO READ ?file.path AS TEXT SET ?text EMIT SPLIT(?text, " ")[0], " " END`))
	for n := range ledger {
		if ledger[n] > 1 || twice[n] > 1 {
			t.Errorf("%s was done %d and %d times", n, ledger[n], twice[n])
		}
	}
	for _, kept := range []map[string]bool{done, complete} {
		for n := range kept {
			if ledger[n] != 1 || twice[n] != 1 || files[n] != 1 {
				t.Errorf("of %s, which was acknowledged, there are %d and %d rows and %d files", n, ledger[n], twice[n], files[n])
			}
		}
	}
	t.Logf("%d calls and %d jobs acknowledged before: all there; %d jobs interrupted, %d of those accepted before", len(done), len(jobs), made.Interrupted, interrupted)
	if ledger["paused"] != 1 {
		t.Errorf("the paused job's row is there %d times", ledger["paused"])
	}
	if a, err := call(t.Context(), http.MethodPost, r.URL()+"/v1/confirm/"+paused, map[string]any{"approved": true}); err != nil || a.code >= 300 {
		t.Errorf("the answer was refused: %+v, %v", a, err)
	}
	if a := await(t, r.URL(), paused); a.Result != "went on" {
		t.Errorf("the paused job is %+v", a)
	}
}

func count(words string) map[string]int {
	counts := map[string]int{}
	for _, w := range strings.Fields(words) {
		counts[w]++
	}
	return counts
}

// checkIntegrity looks for damage in every database of a data folder.
func checkIntegrity(t *testing.T, data string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(data, "accounts", "*", "databases", "*.db"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no databases: %v", err)
	}
	for _, path := range append(paths, filepath.Join(data, "ql.db")) {
		c, err := sqlite.Open(path, sqlite.Config{Temporary: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		st, _, err := c.Prepare(t.Context(), "PRAGMA integrity_check")
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		if _, err := st.Step(t.Context()); err != nil || string(st.Text(0)) != "ok" {
			t.Errorf("%s: %s, %v", path, st.Text(0), err)
		}
	}
}
