package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/resource/files"
	"ql/internal/resource/files/deployed"
	"ql/internal/resource/files/filestest"
	"ql/internal/service"
)

// ownedTrees opens the files of accounts in the store.
type ownedTrees struct{ trees *files.Trees }

func (o *ownedTrees) open(_ context.Context, a account.Account, l account.Limits) (service.FileTree, func(), error) {
	return ownedTree{o.trees.For(a.ID, files.Quota{Bytes: l.StorageBytes, File: l.FileBytes, Nodes: int64(l.Files)})}, func() {}, nil
}

type ownedTree struct{ *files.Tree }

func (t ownedTree) Open(ctx context.Context, path string) (service.FileContent, error) {
	c, err := t.Tree.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (t ownedTree) Deployed() service.DeployedSite { return deployed.Site{Tree: t.Tree} }

// AsOfRelease implements service.FileTree.
func (t ownedTree) AsOfRelease(ctx context.Context, release int64) (service.FileTree, engine.Files, int64, error) {
	shown, release, err := t.AsOfKnown(ctx, release)
	return ownedTree{shown}, shown, release, err
}

func (t ownedTree) Upload(ctx context.Context, path string, from io.Reader, size int64, may func(string, time.Time) error) (string, error) {
	return t.Tree.Upload(ctx, path, from, files.Upload{Size: size, If: may})
}

func (t ownedTree) Receive(ctx context.Context, name string, from io.Reader) (service.ReceivedFile, error) {
	r, err := t.Tree.Receive(ctx, name, from)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (t ownedTree) Remove(ctx context.Context, path string, may func(string, time.Time) error) error {
	return t.RemoveIf(ctx, path, may)
}

// Move implements service.Tree.
func (t ownedTree) Move(ctx context.Context, from, to string, replace bool, may func(string, time.Time) error) error {
	return t.MoveIf(ctx, from, to, files.Relocation{If: may, Replace: replace})
}

// Copy implements service.Tree.
func (t ownedTree) Copy(ctx context.Context, from, to string, replace bool, may func(string, time.Time) error) error {
	return t.CopyIf(ctx, from, to, files.Relocation{If: may, Replace: replace})
}

// fileClient calls for the files of one account.
type fileClient struct {
	*world
	auth string
}

func (w *world) filesOf(m member) fileClient { return fileClient{w, basic(m.name, m.password)} }

// call calls for a path, which is sent as it stands here.
func (f fileClient) call(method, path, body string, headers ...string) response {
	f.t.Helper()
	return f.send(method, "/v1/files"+path, "", body, append(headers, "Authorization", f.auth)...)
}

// want checks a status, and the code of an error.
func (r response) want(t *testing.T, what string, status int, code string) response {
	t.Helper()
	if r.status != status || code != "" && !strings.Contains(r.body, `"code":"`+code+`"`) {
		t.Errorf("%s: %d %.300s, want %d %s", what, r.status, r.body, status, code)
	}
	return r
}

func TestFiles(t *testing.T) {
	w := boot(t)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	f, other := w.filesOf(ada), w.filesOf(bob)

	made := f.call("PUT", "/reports/2026/june.csv", "a,b\n1,2\n").want(t, "making a file", 201, "")
	etag := made.header.Get("ETag")
	if want := `{"status":"ok","path":"/reports/2026/june.csv","size":8,"etag":` + quote(etag) + `}`; made.body != want {
		t.Errorf("the answer is %s, want %s", made.body, want)
	}
	got := f.call("GET", "/reports/2026/june.csv", "").want(t, "reading it", 200, "")
	for name, want := range map[string]string{
		"Content-Type": "text/csv; charset=utf-8", "Content-Length": "8", "ETag": etag, "Accept-Ranges": "bytes",
		"Content-Disposition": `attachment; filename="june.csv"`, "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "sandbox; default-src 'none'", "Cache-Control": "no-store",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, got.header.Get(name), want)
		}
	}
	if _, err := http.ParseTime(got.header.Get("Last-Modified")); err != nil || got.body != "a,b\n1,2\n" {
		t.Errorf("%q, written %v", got.body, err)
	}
	head := f.call("HEAD", "/reports/2026/june.csv", "").want(t, "its head", 200, "")
	if head.body != "" || head.header.Get("Content-Length") != "8" || head.header.Get("ETag") != etag {
		t.Errorf("the head: %v %q", head.header, head.body)
	}
	again := f.call("PUT", "/reports/2026/june.csv", "new").want(t, "writing it again", 200, "")
	if again.header.Get("ETag") == etag {
		t.Error("another content has the same ETag")
	}
	// What scripts of another account, or another account, see of it.
	other.call("GET", "/reports/2026/june.csv", "").want(t, "bob's", 404, "file_not_found")
	if r := other.call("GET", "/", "").want(t, "bob's files", 200, ""); r.body != `{"status":"ok","files":[],"next":null}` {
		t.Errorf("bob has %s", r.body)
	}

	f.call("DELETE", "/reports", "").want(t, "a folder that is not empty", 409, "folder_not_empty")
	f.call("DELETE", "/reports/2026/june.csv", "").want(t, "removing it", 200, "")
	f.call("DELETE", "/reports/2026/june.csv", "").want(t, "removing it again", 404, "file_not_found")
	f.call("GET", "/reports/2026/june.csv", "").want(t, "what is gone", 404, "file_not_found")
	f.call("HEAD", "/reports/2026/june.csv", "").want(t, "the head of what is gone", 404, "")
	f.call("DELETE", "/reports/2026", "").want(t, "an empty folder", 200, "")
	f.call("PATCH", "/reports", "").want(t, "PATCH", 405, "method_not_allowed")
	if log := w.log.String(); log != "" {
		t.Errorf("faults of the service:\n%s", log)
	}
}

func TestFolders(t *testing.T) {
	w := boot(t)
	f := w.filesOf(w.member("ada", account.Standard))
	for _, name := range []string{"b", "a", "c/d", "Z"} {
		f.call("PUT", "/dir/"+name, "12").want(t, name, 201, "")
	}
	names := func(path string) string {
		t.Helper()
		r := f.call("GET", path, "").want(t, path, 200, "")
		var list struct {
			Files []struct {
				Path, Name string
				Size       int64
				Folder     bool
				Modified   time.Time
			}
			Next *string
		}
		check(t, json.Unmarshal([]byte(r.body), &list))
		text := ""
		for _, e := range list.Files {
			text += fmt.Sprintf("%s %d %t, ", e.Path, e.Size, e.Folder)
			if e.Modified.IsZero() || !strings.HasSuffix(e.Path, "/"+e.Name) {
				t.Errorf("%+v", e)
			}
		}
		if list.Next != nil {
			text += "next " + *list.Next
		}
		return text
	}
	for path, want := range map[string]string{
		"/":                       "/dir 0 true, ",
		"/dir":                    "/dir/Z 2 false, /dir/a 2 false, /dir/b 2 false, /dir/c 0 true, ",
		"/dir/c":                  "/dir/c/d 2 false, ",
		"/dir?limit=2":            "/dir/Z 2 false, /dir/a 2 false, next a",
		"/dir?limit=2&after=a":    "/dir/b 2 false, /dir/c 0 true, ",
		"/dir?after=zzz":          "",
		"/dir?limit=4":            "/dir/Z 2 false, /dir/a 2 false, /dir/b 2 false, /dir/c 0 true, ",
		"/%64%69%72/%63":          "/dir/c/d 2 false, ",
		"/dir/c?after=d&limit=10": "",
	} {
		if got := names(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for path, code := range map[string]string{
		"/dir?limit=0": "invalid_request", "/dir?limit=10001": "invalid_request", "/dir?limit=x": "invalid_request", "/dir?more=1": "invalid_request",
		"/dir?after=a&after=b": "invalid_request",
	} {
		f.call("GET", path, "").want(t, path, 400, code)
	}
	f.call("GET", "/dir/", "").want(t, "a slash at the end", 422, "invalid_path")
	f.call("PUT", "/dir", "x").want(t, "writing to a folder", 409, "is_folder")
	f.call("PUT", "/dir/a/b", "x").want(t, "writing below a file", 409, "not_a_folder")
	f.call("PUT", "/", "x").want(t, "writing to the top", 422, "invalid_path")
	f.call("DELETE", "/", "").want(t, "removing the top", 422, "invalid_path")
	f.call("PUT", "/dir/x?limit=1", "x").want(t, "a parameter", 400, "invalid_request")
	f.send("GET", "/v1/files", "", "", "Authorization", f.auth).want(t, "without a slash", 404, "not_found")
}

func TestFileParts(t *testing.T) {
	w := boot(t)
	f := w.filesOf(w.member("ada", account.Standard))
	etag := f.call("PUT", "/x", "0123456789").header.Get("ETag")
	f.call("PUT", "/empty", "")
	for _, test := range []struct {
		asked, ifRange string
		status         int
		body, part     string
	}{
		{"bytes=0-3", "", 206, "0123", "bytes 0-3/10"},
		{"bytes=3-", "", 206, "3456789", "bytes 3-9/10"},
		{"bytes=-3", "", 206, "789", "bytes 7-9/10"},
		{"bytes=-30", "", 206, "0123456789", "bytes 0-9/10"},
		{"bytes=9-9", "", 206, "9", "bytes 9-9/10"},
		{"bytes=8-99999999999999999999", "", 206, "89", "bytes 8-9/10"},
		{"bytes=10-", "", 416, "", "bytes */10"},
		{"bytes=99999999999999999999-", "", 416, "", "bytes */10"},
		{"bytes=-0", "", 416, "", "bytes */10"},
		{"bytes=0-1,3-4", "", 200, "0123456789", ""},
		{"bytes=4-2", "", 200, "0123456789", ""},
		{"bytes=+1-2", "", 200, "0123456789", ""},
		{"bytes=a-b", "", 200, "0123456789", ""},
		{"lines=1-2", "", 200, "0123456789", ""},
		{"bytes=0-3", etag, 206, "0123", "bytes 0-3/10"},
		{"bytes=0-3", `"another"`, 200, "0123456789", ""},
		{"bytes=0-3", "Sun, 15 Nov 2026 08:30:00 GMT", 200, "0123456789", ""},
	} {
		headers := []string{"Range", test.asked}
		if test.ifRange != "" {
			headers = append(headers, "If-Range", test.ifRange)
		}
		r := f.call("GET", "/x", "", headers...).want(t, test.asked, test.status, "")
		if r.header.Get("Content-Range") != test.part || r.status != 416 && (r.body != test.body || r.header.Get("Content-Length") != strconv.Itoa(len(test.body))) {
			t.Errorf("%s, if %q: %q, %v", test.asked, test.ifRange, r.body, r.header)
		}
		if r.status == 416 {
			r.wantError(t, 416, "range_not_satisfiable")
		}
	}
	f.call("GET", "/empty", "", "Range", "bytes=0-").want(t, "a part of nothing", 416, "range_not_satisfiable")
	f.call("GET", "/empty", "").want(t, "nothing", 200, "")
}

func TestFileConditions(t *testing.T) {
	w := boot(t)
	f := w.filesOf(w.member("ada", account.Standard))
	r := f.call("PUT", "/x", "one")
	first := r.header.Get("ETag")
	const long, later = "Sun, 01 Jan 2006 00:00:00 GMT", "Thu, 01 Jan 2099 00:00:00 GMT"
	for _, test := range []struct {
		method, path, header, value string
		want                        int
	}{
		{"GET", "/x", "If-None-Match", first, 304},
		{"GET", "/x", "If-None-Match", "W/" + first, 304},
		{"GET", "/x", "If-None-Match", `"other", ` + first, 304},
		{"GET", "/x", "If-None-Match", "*", 304},
		{"GET", "/x", "If-None-Match", `"other"`, 200},
		{"GET", "/x", "If-Match", first, 200},
		{"GET", "/x", "If-Match", "*", 200},
		{"GET", "/x", "If-Match", `"other"`, 412},
		{"GET", "/x", "If-Match", "W/" + first, 412},
		{"GET", "/x", "If-Modified-Since", long, 200},
		{"GET", "/x", "If-Modified-Since", later, 304},
		{"GET", "/x", "If-Modified-Since", "yesterday", 200},
		{"GET", "/x", "If-Unmodified-Since", long, 412},
		{"GET", "/x", "If-Unmodified-Since", later, 200},
		{"GET", "/none", "If-Unmodified-Since", long, 404},
		{"HEAD", "/x", "If-Unmodified-Since", long, 412},
		{"PUT", "/x", "If-Unmodified-Since", long, 412},
		{"DELETE", "/x", "If-Unmodified-Since", long, 412},
		{"GET", "/x", "If-Match", "other", 400},
		{"GET", "/x", "If-None-Match", `"a" "b"`, 400},
		{"HEAD", "/x", "If-None-Match", first, 304},
		{"PUT", "/x", "If-None-Match", "*", 412},
		{"PUT", "/x", "If-None-Match", first, 412},
		{"PUT", "/x", "If-Match", `"other"`, 412},
		{"PUT", "/new", "If-Match", "*", 412},
		{"PUT", "/new", "If-Match", first, 412},
		{"DELETE", "/x", "If-Match", `"other"`, 412},
		{"DELETE", "/x", "If-None-Match", "*", 412},
		{"PUT", "/new", "If-None-Match", "*", 201},
		{"PUT", "/x", "If-Match", first, 200},
		{"PUT", "/x", "If-Match", first, 412},
		{"PUT", "/x", "If-Unmodified-Since", later, 200},
		{"PUT", "/x", "If-Modified-Since", later, 200},
		{"PUT", "/newer", "If-Unmodified-Since", long, 201},
		{"DELETE", "/newer", "If-Unmodified-Since", later, 200},
		{"DELETE", "/x", "If-Match", "*", 200},
	} {
		r := f.call(test.method, test.path, "two", test.header, test.value)
		r.want(t, fmt.Sprint(test), test.want, "")
		if r.status == 304 && (r.body != "" || r.header.Get("ETag") != first || r.header.Get("Content-Type") != "") {
			t.Errorf("%v: %v %q", test, r.header, r.body)
		}
	}
	f.call("PUT", "/x", "x", "Content-Range", "bytes 0-0/5").want(t, "a part", 400, "invalid_request")
	f.call("PUT", "/x", "x", "Content-Encoding", "gzip").want(t, "compressed", 415, "unsupported_media_type")
	f.call("GET", "/x", "").want(t, "after what was refused", 404, "file_not_found")
}

// noLength hides the length of a body, so that it is sent in pieces.
type noLength struct{ io.Reader }

func (f fileClient) put(path string, body io.Reader) response {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodPut, f.url+"/v1/files"+path, body)
	check(f.t, err)
	req.Header.Set("Authorization", f.auth)
	req.Header.Set("Expect", "100-continue")
	res, err := f.client.Do(req)
	check(f.t, err)
	text, err := io.ReadAll(res.Body)
	check(f.t, errors.Join(err, res.Body.Close()))
	return response{res.StatusCode, res.Header, string(text)}
}

func TestFileLimits(t *testing.T) {
	w := boot(t, settings{service: func(o *service.Options) {
		o.Limits = func(p account.Plan) account.Limits {
			l := p.Limits()
			l.FileBytes, l.StorageBytes, l.Files, l.Rate, l.RateBurst = 600_000, 1_000_000, 3, 1, 20
			return l
		}
	}})
	f := w.filesOf(w.member("ada", account.Standard))
	zeros := func(n int) io.Reader { return bytes.NewReader(make([]byte, n)) }
	f.put("/a", zeros(600_000)).want(t, "as large as may be", 201, "")
	f.put("/b", noLength{zeros(400_000)}).want(t, "as much as may be", 201, "")
	for what, body := range map[string]io.Reader{"said": zeros(600_001), "not said": noLength{zeros(600_001)}} {
		e := f.put("/a", body).wantError(t, 413, "too_large")
		if e.Error.Limit != "file_bytes" || e.Error.Value != 600_000 {
			t.Errorf("%s: %+v", what, e.Error)
		}
	}
	for _, over := range []struct {
		what, path string
		body       io.Reader
		limit      string
		most       int64
	}{
		{"too much together", "/b", zeros(400_001), "storage", 1_000_000},
		{"too much together, not said", "/b", noLength{zeros(400_001)}, "storage", 1_000_000},
		{"too many", "/c/d/e", zeros(0), "files", 3},
	} {
		e := f.put(over.path, over.body).wantError(t, 429, "quota_exceeded")
		if e.Error.Limit != over.limit || e.Error.Value != over.most {
			t.Errorf("%s: %+v", over.what, e.Error)
		}
	}
	// Over its quota an account still reads and removes.
	f.call("GET", "/a", "").want(t, "reading", 200, "")
	f.call("DELETE", "/a", "").want(t, "removing", 200, "")
	f.put("/b", zeros(500_000)).want(t, "where there is room again", 200, "")
	last := untilRefused(t, func() response { return f.call("GET", "/b", "") })
	last.want(t, "too often", 429, "rate_limited")
	if a := last.read(t); a.Error.Limit != "rate" || a.Error.Value != 1 {
		t.Errorf("too often: %+v", a.Error)
	}
	if last.header.Get("Retry-After") == "" || last.header.Get("RateLimit-Policy") == "" {
		t.Errorf("%v", last.header)
	}
}

func TestTransfersAtOnce(t *testing.T) {
	w := boot(t, settings{service: func(o *service.Options) {
		o.Limits = func(p account.Plan) account.Limits {
			l := p.Limits()
			l.Concurrent = 1
			return l
		}
	}})
	f := w.filesOf(w.member("ada", account.Standard))
	read, write := io.Pipe()
	started := make(chan struct{})
	done := make(chan response)
	go func() { done <- f.put("/slow", noLength{read}) }()
	go func() {
		_, err := write.Write([]byte("some"))
		check(t, err)
		close(started)
	}()
	<-started
	busy := f.call("GET", "/", "").want(t, "beside one that is under way", 429, "rate_limited")
	if a := busy.read(t); a.Error.Limit != "concurrent" || a.Error.Value != 1 {
		t.Errorf("too many at once: %+v", a.Error)
	}
	check(t, write.Close())
	(<-done).want(t, "the slow one", 201, "")
	if r := f.call("GET", "/slow", "").want(t, "afterwards", 200, ""); r.body != "some" {
		t.Errorf("%q", r.body)
	}
}

// heldUsage is a store of usage that counts what left when it is let.
type heldUsage struct {
	later
	let, done chan struct{}
}

func (h heldUsage) Reserve(ctx context.Context, a account.ID, d usage.Day, bytes, most int64) (bool, error) {
	<-h.let
	defer func() { h.done <- struct{}{} }()
	return h.later.Reserve(ctx, a, d, bytes, most)
}

// TestTransfersOneAfterTheOther: who has all of a file and asks for the next is
// not too many, though the first is not counted yet, and all that left counts.
func TestTransfersOneAfterTheOther(t *testing.T) {
	var w *world
	let, done := make(chan struct{}), make(chan struct{})
	w = boot(t, settings{service: func(o *service.Options) {
		o.Limits = func(p account.Plan) account.Limits {
			l := p.Limits()
			l.Concurrent = 1
			return l
		}
		o.Transfers = admit.NewTransferLimiter(admit.TransferOptions{Max: 16, Wait: 5 * time.Second})
		o.Usage = usage.NewTally(heldUsage{later{&w}, let, done}, time.Now)
	}})
	ada := w.member("ada", account.Standard)
	f := w.filesOf(ada)
	f.call("PUT", "/x", "0123456789").want(t, "making it", 201, "")
	served := 0
	for range 5 {
		// A connection is busy until its call was counted.
		if f.call("GET", "/x", "", "Connection", "close").want(t, "one after the other", 200, "").status == 200 {
			served++
		}
	}
	close(let)
	for range served {
		<-done
	}
	if used := *w.limits(ada).Limits[usage.Egress].Used; used != int64(served)*10 {
		t.Errorf("%d bytes were counted of %d calls", used, served)
	}
}

// TestCutUpload: what does not come to its end leaves what was.
func TestCutUpload(t *testing.T) {
	w := boot(t)
	f := w.filesOf(w.member("ada", account.Standard))
	f.call("PUT", "/x", "old")
	read, write := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, w.url+"/v1/files/x", read)
	check(t, err)
	req.ContentLength = 1 << 20
	req.Header.Set("Authorization", f.auth)
	go func() {
		_, err := write.Write(make([]byte, 300_000))
		check(t, errors.Join(err, write.CloseWithError(errors.New("the line is cut"))))
	}()
	if res, err := w.client.Do(req); err == nil {
		check(t, res.Body.Close())
		t.Errorf("a cut upload is answered with %d", res.StatusCode)
	}
	for range 2 { // the place of the other is given back when the server has seen its end
		if r := f.call("GET", "/x", ""); r.body != "old" {
			t.Errorf("after a cut upload the file is %.50q", r.body)
		}
	}
}

// TestEncodedSlashes: an encoded slash separates parts like one that is not, once, and the parts
// are held to the same rules.
func TestEncodedSlashes(t *testing.T) {
	w := boot(t)
	f := w.filesOf(w.member("ada", account.Standard))
	f.call("PUT", "/a%2fb%2Fc.txt", "1").want(t, "PUT", 201, "")
	for _, address := range []string{"/a/b/c.txt", "/a%2Fb/c.txt", "/%61%2fb%2Fc.txt"} {
		if r := f.call("GET", address, ""); r.status != 200 || r.body != "1" {
			t.Errorf("%s: %d %s", address, r.status, r.body)
		}
	}
	if r := f.call("GET", "/a%2Fb", ""); !strings.Contains(r.body, `"path":"/a/b/c.txt"`) {
		t.Errorf("the folder: %s", r.body)
	}
	// Decoded once: what was encoded twice is a name with a percent sign.
	f.call("PUT", "/a%252Fb", "2").want(t, "PUT", 201, "")
	if r := f.call("GET", "/a%252Fb", ""); r.body != "2" || !strings.Contains(f.call("GET", "/", "").body, `"/a%2Fb"`) {
		t.Errorf("encoded twice: %s", r.body)
	}
	f.call("GET", "/..%252Fa", "").want(t, "encoded twice", 404, "file_not_found")
	for _, address := range []string{
		"/..%2Fa", "/..%2fa", "/%2e%2e%2Fa", "/a%2F..%2Fb", "/a%2F..", "/a%2F.%2Fb", "/a/..%2F..%2Fetc%2Fpasswd", "/%2Fa", "/%2F", "/a%2F", "/a%2F%2Fb", "/a/%2Fb",
		"/a%2Fb%00", "/a%00%2Fb", "/%00", "/a%2F%00", "/a%5C..%5Cb", "/..%5Ca", "/..%c0%afa", "/a%2Fb%ff", "/a%2FCON",
	} {
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			f.call(method, address, "x").want(t, method+" "+address, 422, "invalid_path")
		}
	}
	f.call("DELETE", "/a%2Fb%2Fc.txt", "").want(t, "DELETE", 200, "")
	// Nor does one lead out of the files, to another address or from one.
	for _, address := range []string{"/v1/files%2Fx", "/v1%2Ffiles/x", "/v1/files/..%2Fjobs"} {
		if r := f.send("GET", address, "", "", "Authorization", f.auth); r.status != 404 && r.status != 422 {
			t.Errorf("%s: %d %s", address, r.status, r.body)
		}
	}
}

// TestHostilePaths sends all paths in addresses: encoded as little as can be, as much as can be
// between the slashes, and as a generated client does, which takes a path for one part.
func TestHostilePaths(t *testing.T) {
	w := boot(t, settings{service: func(o *service.Options) { o.Limiter = admit.NewLimiter(admit.LimiterOptions{Unlimited: true}) }})
	f := w.filesOf(w.member("ada", account.Standard))
	least := func(path string) string {
		parts := strings.Split(path, "/")
		for i, part := range parts {
			parts[i] = url.PathEscape(part)
		}
		return strings.Join(parts, "/")
	}
	most := func(path string) string {
		text := ""
		for _, b := range []byte(path) {
			if b == '/' {
				text += "/"
			} else {
				text += fmt.Sprintf("%%%02X", b)
			}
		}
		return text
	}
	whole := func(path string) string { return "/" + url.PathEscape(path[1:]) }
	hostile := 0
	for _, p := range filestest.Paths() {
		if p.Canonical == "" && strings.HasPrefix(p.Text, "/") {
			hostile++
		}
		for _, encode := range []func(string) string{least, most, whole} {
			if !strings.HasPrefix(p.Text, "/") {
				continue // an address has a slash there
			}
			address := encode(p.Text)
			if p.Canonical != "" {
				f.call("PUT", address, quote(p.Text)).want(t, address, 201, "")
				if r := f.call("GET", least(p.Canonical), ""); r.status != 200 || r.body != quote(p.Text) {
					t.Errorf("%q under its written form: %d %.200s", address, r.status, r.body)
				}
				for at := p.Canonical; at != ""; at = at[:strings.LastIndexByte(at, '/')] {
					f.call("DELETE", least(at), "").want(t, at, 200, "")
				}
				continue
			}
			for _, method := range []string{"PUT", "DELETE", "GET"} {
				if address == "/" && method == "GET" {
					continue // the one folder whose path is no file's
				}
				if r := f.call(method, address, "x").want(t, method+" "+address, 422, "invalid_path"); address == "/" && !strings.Contains(r.body, "the folder of all files") {
					t.Errorf("%s %s: %s", method, address, r.body)
				}
			}
		}
	}
	if hostile < 400 {
		t.Errorf("only %d hostile paths", hostile)
	}
	if r := f.call("GET", "/", ""); r.body != `{"status":"ok","files":[],"next":null}` {
		t.Errorf("what is left: %s", r.body)
	}
	for _, address := range []string{"/v1/%66iles/x", "/v1/files%2Fx", "/v1/./files/x", "//v1/files/x", "/V1/files/x"} {
		f.send("PUT", address, "", "x", "Authorization", f.auth).want(t, address, 404, "not_found")
	}
	if log := w.log.String(); log != "" {
		t.Errorf("faults of the service:\n%.2000s", log)
	}
}

// TestChangeFiles moves and copies files and makes folders.
func TestChangeFiles(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	as := []string{"Authorization", basic(ada.name, ada.password)}
	w.send("PUT", "/v1/files/a.txt", "", "a", as...)
	etag := w.send("PUT", "/v1/files/b.txt", "", "b", as...).header.Get("Etag")
	for _, test := range []struct {
		path, body string
		status     int
		want       string // the path, or the code
	}{
		{"/folder/inside", `{"folder":true}`, 201, "/folder/inside"},
		{"/folder/inside", `{"folder":true}`, 200, "/folder/inside"},
		{"/a.txt", `{"folder":true}`, 409, "not_a_folder"},
		{"/a.txt/x", `{"folder":true}`, 409, "not_a_folder"},
		{"/a.txt", `{"copy":"/folder/a.txt"}`, 201, "/folder/a.txt"},
		{"/a.txt", `{"copy":"/b.txt"}`, 409, "already_exists"},
		{"/a.txt", `{"copy":"/folder"}`, 409, "is_folder"},
		{"/folder", `{"copy":"/other"}`, 409, "is_folder"},
		{"/a.txt", `{"move":"/b.txt"}`, 409, "already_exists"},
		{"/a.txt", `{"move":"/b.txt","replace":true}`, 200, "/b.txt"},
		{"/a.txt", `{"move":"/c.txt"}`, 404, "file_not_found"},
		{"/folder", `{"move":"/folder/inside/x"}`, 422, "invalid_path"},
		{"/folder", `{"move":"/moved"}`, 200, "/moved"},
		{"/b.txt", `{"move":"no path"}`, 422, "invalid_path"},
		{"/b.txt", `{"move":"/x/../y"}`, 422, "invalid_path"},
		{"/b.txt", `{}`, 400, "invalid_request"},
		{"/b.txt", `{"move":"/x","copy":"/y"}`, 400, "invalid_request"},
		{"/b.txt", `{"move":""}`, 400, "invalid_request"},
		{"/b.txt", `{"folder":false}`, 400, "invalid_request"},
		{"/b.txt", `{"folder":true,"replace":true}`, 400, "invalid_request"},
		{"/b.txt", `{"rename":"/x"}`, 400, "invalid_request"},
	} {
		r := w.send("POST", "/v1/files"+test.path, jsonType, test.body, as...)
		if test.status >= 400 {
			r.wantError(t, test.status, test.want)
		} else if want := `{"status":"ok","path":` + quote(test.want) + `}`; r.status != test.status || r.body != want {
			t.Errorf("%s %s: %d %s", test.path, test.body, r.status, r.body)
		}
	}
	w.send("POST", "/v1/files/b.txt", jsonType, `{"move":"/d.txt"}`, append(as, "If-Match", etag)...).wantError(t, 412, "precondition_failed")
	if r := w.send("GET", "/v1/files/b.txt", "", "", as...); r.body != "a" {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := w.send("GET", "/v1/files/moved/a.txt", "", "", as...); r.body != "a" {
		t.Errorf("%d %s", r.status, r.body)
	}
	w.send("POST", "/v1/files/b.txt", jsonType, `{"copy":"/e.txt"}`, "Authorization", basic(bob.name, bob.password)).wantError(t, 404, "file_not_found")
}

// TestCopiesCount checks that a copy counts as what it is, and folders as files do.
func TestCopiesCount(t *testing.T) {
	w := boot(t, unlimitedCalls, settings{service: func(o *service.Options) {
		limits := o.Limits
		o.Limits = func(p account.Plan) account.Limits {
			l := limits(p)
			l.StorageBytes, l.Files = 1000, 4
			return l
		}
	}})
	ada := w.member("ada", account.Standard)
	as := []string{"Authorization", basic(ada.name, ada.password)}
	w.send("PUT", "/v1/files/a.txt", "", strings.Repeat("a", 600), as...)
	w.send("POST", "/v1/files/a.txt", jsonType, `{"copy":"/b.txt"}`, as...).wantError(t, 429, "quota_exceeded")
	w.send("POST", "/v1/files/1/2/3/4", jsonType, `{"folder":true}`, as...).wantError(t, 429, "quota_exceeded")
	w.send("GET", "/v1/files/1", "", "", as...).wantError(t, 404, "file_not_found")
	if r := w.send("POST", "/v1/files/a.txt", jsonType, `{"move":"/1/2/3"}`, as...); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
}
