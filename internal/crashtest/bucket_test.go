package crashtest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"ql/internal/store/blob/s3/s3test"
)

// TestBucket has the contents of files in S3, through kills of the server and an outage of the bucket:
// what is answered is there, and effects of jobs are exact.
func TestBucket(t *testing.T) {
	bucket := s3test.Start(t)
	t.Setenv("QL_BLOBS", bucket.URL("ql"))
	s := newServer(t)
	s.start()
	s.output(`CREATE TABLE steps (job TEXT, n INTEGER); CREATE TABLE counters (job TEXT PRIMARY KEY, n INTEGER);`)
	s.runStepsKilling(0, count(4, 60), func() time.Duration {
		if s.kills.Load() < int64(count(3, 30)) {
			return 500 * time.Millisecond
		}
		return time.Hour
	})

	large := strings.Repeat("0123456789abcdef", 1<<16)
	put := func(path, text string) (answer, error) {
		return s.try(request{method: http.MethodPut, path: "/v1/files" + path, body: []byte(text), owner: true})
	}
	if a, err := put("/large.txt", large); err != nil || a.status != http.StatusCreated {
		t.Fatalf("%s, %v", a, err)
	}
	s.kill()
	s.start()
	const read = `READ "/large.txt" AS TEXT SET ?text EMIT LENGTH(?text)`
	if got := s.output(read); got != "1048576" {
		t.Errorf("after a kill it has %s letters", got)
	}
	if got := s.command("", "files", "get", username, "/large.txt", "-"); got != large {
		t.Errorf("the command shows %d bytes", len(got))
	}

	bucket.Stop()
	for _, path := range []string{"/large.txt", "/other.txt"} {
		a, err := put(path, large+path)
		check(t, err)
		if a.status != http.StatusServiceUnavailable || !strings.Contains(string(a.body), "storage_unavailable") || strings.Contains(string(a.body), bucket.Address) {
			t.Errorf("without the bucket: %s", a)
		}
	}
	if got := s.output(`EMIT 1 + 1`); got != "2" {
		t.Errorf("without the bucket a script without files says %s", got)
	}
	bucket.Launch()
	deadline := time.Now().Add(time.Minute)
	for {
		a, err := put("/other.txt", large)
		check(t, err)
		if a.status == http.StatusCreated {
			break
		}
		if a.status != http.StatusServiceUnavailable || time.Now().After(deadline) {
			t.Fatalf("with the bucket again: %s", a)
		}
		<-time.After(50 * time.Millisecond)
	}
	if got := s.output(read); got != "1048576" {
		t.Errorf("after the outage it has %s letters", got)
	}
	s.stop()
}
