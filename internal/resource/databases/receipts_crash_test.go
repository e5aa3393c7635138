package databases

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"ql/internal/engine"
	"ql/lang/bytecode"
	"ql/lang/value"
)

// The environment of a process that runs a job until it is killed.
const (
	jobFolder  = "QL_TEST_JOB_FOLDER"
	jobAttempt = "QL_TEST_JOB_ATTEMPT"
	jobDies    = "QL_TEST_JOB_DIES" // in which step by itself, between the change and the commit
)

func TestMain(m *testing.M) {
	if folder := os.Getenv(jobFolder); folder != "" {
		fmt.Fprintln(os.Stderr, runJob(folder))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// runJob does steps of a job without end, from the first that left no receipt.
// It writes a line before the first step and after each.
func runJob(folder string) error {
	attempt, err := strconv.ParseInt(os.Getenv(jobAttempt), 10, 64)
	if err != nil {
		return err
	}
	dies, err := strconv.Atoi(os.Getenv(jobDies))
	if err != nil {
		return err
	}
	d, ctx := New(Options{Folder: folder}), context.Background()
	done, err := d.Receipts(ctx, "", theJob, attempt)
	if err != nil {
		return err
	}
	next := int64(len(done))
	fmt.Println(next)
	for i := 0; ; i++ {
		r := receipt(attempt, next)
		write := r.Write
		r.Write = func(v value.Value) ([]byte, error) {
			if i == dies {
				die()
			}
			return write(v)
		}
		if err := runStep(ctx, d, r); err != nil {
			return err
		}
		next++
		fmt.Println(next)
	}
}

func die() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {}
}

// runStep adds 1 to the counter: every third time in a transaction of two
// halves.
func runStep(ctx context.Context, d *Databases, r *engine.Receipt) error {
	if r.Step%3 != 2 {
		q := query(bytecode.SQLValue, "UPDATE counter SET n = n + 2 RETURNING n / 2")
		q.Receipt = r
		_, err := d.Query(ctx, "", q)
		return err
	}
	tx, err := d.Begin(ctx, "")
	if err != nil {
		return err
	}
	for range 2 {
		if _, err := tx.Query(ctx, query(bytecode.SQLRows, "UPDATE counter SET n = n + 1")); err != nil {
			return err
		}
	}
	return tx.Commit(ctx, r)
}

// TestPromiseStepsHappenOnce kills a job again and again, and finds that each
// of its steps happened once and left its result.
func TestPromiseStepsHappenOnce(t *testing.T) {
	t.Parallel()
	kills := 20
	if os.Getenv("QL_PROMISES") == "1" {
		kills = 200
	}
	folder := t.TempDir()
	d := New(Options{Folder: folder})
	must(t, d, "CREATE TABLE counter(n)")
	must(t, d, "INSERT INTO counter VALUES (0)")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	told := 0 // steps that were said to be done
	for attempt := 1; attempt <= kills; attempt++ {
		dies := -1
		if attempt%2 == 0 {
			dies = random.IntN(8)
		}
		told = max(told, killJob(t, folder, attempt, dies, 1+random.IntN(8)))
	}

	d = open(t, Options{Folder: folder})
	all, err := d.Receipts(t.Context(), "", theJob, int64(kills+1))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < max(told, kills) {
		t.Errorf("%d steps were said to be done, and there are receipts of %d", told, len(all))
	}
	for i, k := range all {
		want := fmt.Sprint(i + 1)
		if i%3 == 2 {
			want = "null"
		}
		if k.Step != int64(i) || string(k.Bytes) != want {
			t.Fatalf("receipt %d is of step %d and keeps %s", i, k.Step, k.Bytes)
		}
	}
	if got, want := must(t, d, "SELECT n FROM counter"), fmt.Sprintf(`[{"n":%d}]`, 2*len(all)); got != want {
		t.Errorf("the counter is %s after %d steps", got, len(all))
	}
	if got := ask(t, d.open["main"].idleWriter, "PRAGMA integrity_check"); got != "ok" {
		t.Error(got)
	}
}

// killJob runs the job until it has written some lines, kills it and returns
// the last number that it wrote.
func killJob(t *testing.T, folder string, attempt, dies, lines int) int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	job := exec.CommandContext(t.Context(), self)
	job.Env = append(os.Environ(), jobFolder+"="+folder, jobAttempt+"="+strconv.Itoa(attempt), jobDies+"="+strconv.Itoa(dies))
	var complaint strings.Builder
	job.Stderr = &complaint
	out, err := job.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Start(); err != nil {
		t.Fatal(err)
	}
	last := -1
	for scanner := bufio.NewScanner(out); scanner.Scan(); lines-- {
		if last, err = strconv.Atoi(scanner.Text()); err != nil {
			t.Fatal(err)
		}
		if lines == 0 && dies < 0 {
			if err := job.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := job.Wait(); err == nil || complaint.Len() > 0 || last < 0 {
		t.Fatalf("attempt %d ended by itself: %v %s", attempt, err, complaint.String())
	}
	return last
}
