package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/apptest"
	"ql/internal/config"
)

// uploader sends files to the page of a question.
type uploader struct {
	t    *testing.T
	b    *apptest.Service
	user string
	pass string
}

func (u uploader) run(script string) answer {
	u.t.Helper()
	return query(u.t, u.b.URL(), u.user, u.pass, script)
}

// stored lists what lies where the files of answers are.
func (u uploader) stored() (files []string) {
	u.t.Helper()
	a := u.run(`TRY LIST "/uploads" SET ?l CATCH SET ?l AS [] END EMIT TO_JSON(?l)`)
	var list []struct{ Path string }
	if err := json.Unmarshal([]byte(a.Result), &list); err != nil {
		u.t.Fatalf("%v: %s", err, a.body)
	}
	for _, f := range list {
		files = append(files, f.Path)
	}
	return files
}

// piece is a part of a form, with a file where it has a file's name.
type piece struct {
	name, file string
	content    io.Reader
}

func value(name, text string) piece { return piece{name: name, content: strings.NewReader(text)} }

func file(name string, content io.Reader) piece { return piece{name, name + ".bin", content} }

// random is content of so many bytes that nothing can make smaller.
func random(bytes int64) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{byte(bytes), byte(bytes >> 8), byte(bytes >> 16)}), bytes)
}

// request is a form with parts that are made while they are sent.
func (u uploader) request(ctx context.Context, form string, pieces ...piece) *http.Request {
	u.t.Helper()
	in, out := io.Pipe()
	w := multipart.NewWriter(out)
	go func() {
		for _, p := range pieces {
			var part io.Writer
			var err error
			if p.file != "" {
				part, err = w.CreateFormFile(p.name, p.file)
			} else {
				part, err = w.CreateFormField(p.name)
			}
			if err == nil {
				_, err = io.Copy(part, p.content)
			}
			if err != nil {
				out.CloseWithError(err)
				return
			}
		}
		out.CloseWithError(w.Close())
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, form, in)
	if err != nil {
		u.t.Fatal(err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	return req
}

func (u uploader) send(form string, pieces ...piece) answer {
	u.t.Helper()
	return settle(u.t, send(u.t, u.request(u.t.Context(), form, pieces...)))
}

// watched is content that is hashed, and looked at the process's memory with, while it is sent.
type watched struct {
	io.Reader
	sum  hash.Hash
	read int64
	next int64
	peak uint64
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.sum.Write(p[:n])
	if w.read += int64(n); w.read >= w.next {
		w.next = w.read + 8<<20
		w.peak = max(w.peak, heap())
	}
	return n, err
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// TestPromiseStreamedUploads: a file of a form arrives whole, however large, and little of it is held in
// memory.
func TestPromiseStreamedUploads(t *testing.T) {
	size := int64(96 << 20)
	if os.Getenv("QL_PROMISES") != "" {
		size = 1 << 30
	}
	u := uploader{t, apptest.Boot(t), "dev", "dev"}
	a := u.run(`GATHER "A film?" FIELDS title TEXT, film FILE REQUIRED MAX 2000000000, year INTEGER SET ?f EMIT "{?f.title} {?f.film.name} {?f.film.size} {?f.year} {?f.film.path}"`)
	runtime.GC()
	before := heap()
	film := &watched{Reader: random(size), sum: sha256.New()}
	u.send(formURL(t, a), value("title", "Ada"), file("film", film), value("year", "1979")).want(t, 200, "Thank you")
	more := int64(max(film.peak, heap())) - int64(before)
	t.Logf("%d MiB arrived with %d MiB more memory", size>>20, more>>20)
	if more > 64<<20 {
		t.Errorf("it took %d bytes more of memory", more)
	}
	end := get(t, u.b.URL()+"/v1/job/"+a.JobID+"?wait=60")
	path := end.Result[strings.LastIndexByte(end.Result, ' ')+1:]
	if want := fmt.Sprintf("Ada film.bin %d 1979 /uploads/", size); end.Status != "complete" || !strings.HasPrefix(end.Result, want) {
		t.Fatalf("the job is %s with %q, want %q", end.Status, end.Result, want)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, u.b.URL()+"/v1/files"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth("dev", "dev")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	sum := sha256.New()
	if n, err := io.Copy(sum, res.Body); err != nil || n != size || !bytes.Equal(sum.Sum(nil), film.sum.Sum(nil)) {
		t.Errorf("the file has %d bytes, or others than were sent: %v", n, err)
	}
}

// TestRefusedUploads: a file that is not taken keeps the other answers, wherever in the form they stand,
// and leaves nothing behind.
func TestRefusedUploads(t *testing.T) {
	const plan = account.Free
	b := apptest.Boot(t, apptest.Production, func(s *config.Settings) {
		l := s.Plans[plan]
		l.FileBytes, l.StorageBytes = 300_000, 500_000
		s.Plans[plan] = l
	})
	b.Account("ada", plan)
	u := uploader{t, b, "ada", apptest.Password}
	a := u.run(`GATHER "x" FIELDS before TEXT, small FILE MAX 1000, large FILE MAX 1000000, after INTEGER SET ?f EMIT ?f.before, ?f.small.size, ?f.large.size`)
	form := formURL(t, a)
	for _, test := range []struct {
		name   string
		sent   []piece
		status int
		want   []string
	}{
		{
			"larger than its field", []piece{file("small", random(2000)), value("after", "many")}, 422,
			[]string{"Must be a file of at most 1000 bytes.", "Must be a whole number.", `value="many"`},
		},
		{"larger than the plan's files", []piece{file("large", random(400_000)), value("after", "7")}, 413, []string{"300000", `value="7"`}},
		{
			"more than the storage", []piece{file("large", random(290_000)), file("small", random(1000)), value("after", "7")}, 200, []string{"Thank you"},
		},
	} {
		p := u.send(form, append([]piece{value("before", "kept")}, test.sent...)...)
		p.want(t, test.status, test.want...)
		if test.status != 200 {
			p.want(t, test.status, `value="kept"`)
			if files := u.stored(); len(files) != 0 {
				t.Errorf("%s: %v is stored", test.name, files)
			}
		}
	}
	if files := u.stored(); len(files) != 2 {
		t.Errorf("%v is stored", files)
	}
	// What is there counts: another answer has no room, and the question stays open.
	a = u.run(`GATHER "y" FIELDS note TEXT, large FILE MAX 1000000 SET ?f`)
	form = formURL(t, a)
	u.send(form, value("note", "kept"), file("large", random(290_000))).want(t, 429, `value="kept"`, "Please choose the file again.")
	// A link does not take more than what is asked for may need.
	u.send(form, value("note", "kept"), file("large", random(40<<20))).want(t, 429, `value="kept"`)
	u.send(form, value("note", "kept"), file("other", random(40<<20))).want(t, 413, `value="kept"`)
	u.send(form, value("note", strings.Repeat("x", 2<<20))).want(t, 413)
	if files := u.stored(); len(files) != 2 {
		t.Errorf("%v is stored", files)
	}
	u.send(form, value("note", "without")).want(t, 200, "Thank you")
}

// TestUploadsAtOnce: of several answers with files one counts, and the files of the others are gone.
func TestUploadsAtOnce(t *testing.T) {
	u := uploader{t, apptest.Boot(t), "dev", "dev"}
	a := u.run(`GATHER "x" FIELDS f FILE SET ?f EMIT ?f.f.size`)
	form := formURL(t, a)
	pages := make([]answer, 6)
	var group sync.WaitGroup
	for i := range pages {
		group.Go(func() {
			pages[i] = u.send(fmt.Sprintf("%s?once=%d", form, i), file("f", random(300_000+int64(i))))
		})
	}
	group.Wait()
	won := 0
	for _, p := range pages {
		if p.status == 200 {
			won++
		} else {
			p.want(t, 410, "Already answered", "was not taken")
		}
	}
	if files := u.stored(); won != 1 || len(files) != 1 {
		t.Errorf("%d answers count, and %v is stored", won, files)
	}
	// The same again is known, file and all; another file is none.
	for i, p := range pages {
		again := u.send(fmt.Sprintf("%s?once=%d", form, i), file("f", random(300_000+int64(i))))
		other := u.send(fmt.Sprintf("%s?once=%d", form, i), file("f", random(300_100+int64(i))))
		if again.status != p.status || other.status != 410 {
			t.Errorf("sent again: %d, with another file: %d, where it was %d", again.status, other.status, p.status)
		}
	}
	if files := u.stored(); len(files) != 1 {
		t.Errorf("%v is stored", files)
	}
}

// TestUploadsUnderWay: files that strangers send leave some of the account's transfers, who has to wait
// keeps the answers, and of what is broken off nothing stays.
func TestUploadsUnderWay(t *testing.T) {
	const plan = account.Free
	b := apptest.Boot(t, apptest.Production, func(s *config.Settings) {
		l := s.Plans[plan]
		l.Concurrent = 2
		s.Plans[plan] = l
	})
	b.Account("ada", plan)
	u := uploader{t, b, "ada", apptest.Password}
	form := formURL(t, u.run(`GATHER "x" FIELDS n INTEGER, f FILE SET ?f EMIT ?f.f.size`))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ended sync.WaitGroup
	var held []*io.PipeWriter
	for range 2 {
		in, out := io.Pipe()
		held = append(held, out)
		req := u.request(ctx, form, value("n", "1"), file("f", in))
		ended.Go(func() {
			if res, err := http.DefaultClient.Do(req); err == nil {
				_ = res.Body.Close()
			}
		})
		if _, err := out.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	waitFor(t, "the account has all its transfers", func() bool {
		p := u.send(form, value("n", "no number"), file("f", random(100)))
		if p.status == 422 { // the others have not begun yet
			return false
		}
		p.want(t, 429, `value="no number"`, "Please choose the file again.", "files")
		if p.header.Get("Retry-After") == "" {
			t.Errorf("it does not say when to try again: %v", p.header)
		}
		return true
	})
	cancel()
	for _, out := range held {
		_ = out.CloseWithError(context.Canceled)
	}
	ended.Wait()
	waitFor(t, "it has them back", func() bool {
		return u.send(form, value("n", "2"), file("f", random(100))).status == 200
	})
	if files := u.stored(); len(files) != 1 {
		t.Errorf("%v is stored", files)
	}
	if p := post(t, form, "application/x-www-form-urlencoded", url.Values{"n": {"3"}}.Encode()); p.status != 410 {
		t.Errorf("the question is open: %d", p.status)
	}
}

// waitFor waits until something is so.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("after a minute it is not so that %s", what)
		}
	}
}
