package server_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ql/internal/account"
)

// emptyDigest is the SHA-256 of nothing.
const emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// deployEmpty makes sure that accounts have a first release.
func (w *world) deployEmpty(members ...member) {
	w.t.Helper()
	for _, m := range members {
		if r := w.send("PUT", "/v1/sites/main", jsonType, `{"files":{}}`, "Authorization", basic(m.name, m.password)); r.status != 201 && r.status != 200 {
			w.t.Fatalf("%d %s", r.status, r.body)
		}
	}
}

// siteAnswer is what the routes of a site answer.
type siteAnswer struct {
	Release *struct {
		Number, Files, Bytes int64
		By                   string
		Key                  *string
		Restored             *int64
	}
	Releases []struct{ Number int64 }
	Next     *string
	Error    struct {
		Code, Message, Field string
		Details              []struct {
			File, Message string
			Line          int
		}
	}
}

func digestOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// manifestJSON is the body that names the files of a site.
func manifestJSON(site map[string]string) string {
	digests := map[string]string{}
	for path, content := range site {
		digests[path] = digestOf(content)
	}
	text, _ := json.Marshal(map[string]any{"files": digests})
	return string(text)
}

// siteOwner deploys as an account.
type siteOwner struct {
	*world
	member
}

func (o siteOwner) call(method, path, body string, headers ...string) (int, siteAnswer, response) {
	o.t.Helper()
	kind := jsonType
	if strings.Contains(path, "/content/") {
		kind = "application/octet-stream"
	}
	r := o.send(method, "/v1/sites/main"+path, kind, body, append(headers, "Authorization", basic(o.name, o.password))...)
	var a siteAnswer
	if err := json.Unmarshal([]byte(r.body), &a); err != nil {
		o.t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return r.status, a, r
}

// plan asks what is missing.
func (o siteOwner) plan(site map[string]string) (p struct {
	Release                          *int64
	Missing, Added, Changed, Removed []string
}) {
	o.t.Helper()
	r := o.send("POST", "/v1/sites/main/plan", jsonType, manifestJSON(site), "Authorization", basic(o.name, o.password))
	if err := json.Unmarshal([]byte(r.body), &p); err != nil || r.status != 200 {
		o.t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return p
}

// deploy sends what is missing, and deploys.
func (o siteOwner) deploy(site map[string]string, headers ...string) (int, siteAnswer) {
	o.t.Helper()
	missing := o.plan(site).Missing
	for _, content := range site {
		if !slices.Contains(missing, digestOf(content)) {
			continue
		}
		if status, _, r := o.call("PUT", "/content/"+digestOf(content), content); status != 201 && status != 200 {
			o.t.Fatalf("%d %s", status, r.body)
		}
	}
	status, a, _ := o.call("PUT", "", manifestJSON(site), headers...)
	return status, a
}

func TestSiteIsDeployed(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := siteOwner{w, w.member("ada", account.Standard)}
	status, a, r := ada.call("GET", "", "")
	if status != 200 || a.Release != nil || r.header.Get("Etag") != "" {
		t.Errorf("a site without a release: %d %s %s", status, r.body, r.header.Get("Etag"))
	}
	site := map[string]string{"index.ql": `INCLUDE "/site/_lib.ql"` + "\nEMIT twice(2)", "_lib.ql": "DEFINE twice(?n)\nRETURN 2 * ?n\nEND", "css/a.css": strings.Repeat("a", 100_000)}
	p := ada.plan(site)
	if p.Release != nil || len(p.Missing) != 3 || !slices.Equal(p.Added, []string{"_lib.ql", "css/a.css", "index.ql"}) || len(p.Changed)+len(p.Removed) != 0 {
		t.Errorf("the plan is %+v", p)
	}
	if status, a, _ := ada.call("PUT", "", manifestJSON(site)); status != 409 || a.Error.Code != "content_missing" || a.Error.Field != "files" {
		t.Errorf("a deploy before its content: %d %+v", status, a.Error)
	}
	if status, a, _ := ada.call("PUT", "/content/"+emptyDigest, "x"); status != 400 || a.Error.Code != "invalid_request" {
		t.Errorf("content of another hash: %d %+v", status, a.Error)
	}
	status, a = ada.deploy(site, "If-None-Match", "*")
	if status != 201 || a.Release == nil || a.Release.Number != 1 || a.Release.Files != 3 || a.Release.By != "password" || a.Release.Key != nil {
		t.Fatalf("%d %+v", status, a)
	}
	if status, a = ada.deploy(site); status != 200 || a.Release.Number != 1 {
		t.Errorf("the same again: %d %+v", status, a)
	}
	if r := w.send("GET", "/v1/files/site/_lib.ql", "", "", "Authorization", basic(ada.name, ada.password)); r.body != site["_lib.ql"] {
		t.Errorf("a file of the site: %d %s", r.status, r.body)
	}

	// Somebody else's deploy is not overwritten.
	site["index.ql"] = "EMIT 2"
	for _, condition := range [][]string{{"If-None-Match", "*"}, {"If-Match", `"2"`}} {
		if status, a := ada.deploy(site, condition...); status != 412 || a.Error.Code != "precondition_failed" || !strings.Contains(a.Error.Message, "release 1 is the current one") {
			t.Errorf("%s: %d %+v", condition, status, a.Error)
		}
	}
	if status, a = ada.deploy(site, "If-Match", `"1"`); status != 201 || a.Release.Number != 2 {
		t.Errorf("%d %+v", status, a)
	}
	_, _, r = ada.call("GET", "", "")
	if tag := r.header.Get("Etag"); tag != `"2"` {
		t.Errorf("the ETag is %s", tag)
	}

	// Back, and forth.
	if status, a, _ = ada.call("POST", "/releases/1/restore", ""); status != 201 || a.Release.Number != 3 || a.Release.Restored == nil || *a.Release.Restored != 1 {
		t.Errorf("restored: %d %+v", status, a)
	}
	for _, ref := range []string{"9", "x", "0", "-1", "01"} {
		if status, a, _ = ada.call("POST", "/releases/"+ref+"/restore", ""); status != 404 || a.Error.Code != "not_found" {
			t.Errorf("release %s: %d %+v", ref, status, a.Error)
		}
	}
	_, page, _ := ada.call("GET", "/releases?limit=2", "")
	if len(page.Releases) != 2 || page.Releases[0].Number != 3 || page.Next == nil || *page.Next != "2" {
		t.Errorf("the first page is %+v", page)
	}
	_, page, _ = ada.call("GET", "/releases?before=2", "")
	if len(page.Releases) != 1 || page.Releases[0].Number != 1 || page.Next != nil {
		t.Errorf("the second page is %+v", page)
	}
	for _, query := range []string{"limit=0", "before=x", "more=1"} {
		if status, _, r := ada.call("GET", "/releases?"+query, ""); status != 400 {
			t.Errorf("%s: %d %s", query, status, r.body)
		}
	}
	// A key leaves its name, and all of it is in the log.
	key := w.key(ada.member, "ci", "run", "manage")
	if r := w.send("PUT", "/v1/sites/main", jsonType, `{"files":{}}`, "Authorization", "Bearer "+key); r.status != 201 || !strings.Contains(r.body, `"by":"named_key","key":"ci"`) {
		t.Errorf("by a key: %d %s", r.status, r.body)
	}
	log := w.send("GET", "/v1/account/log", "", "", "Authorization", basic(ada.name, ada.password)).body
	for _, entry := range []string{`"act":"site_deployed","on":"main@1"`, `"act":"site_restored","on":"main@3"`, `"act":"site_deployed","on":"main@4","by":"named_key","key":"ci"`} {
		if !strings.Contains(log, entry) {
			t.Errorf("the log has no %s: %s", entry, log)
		}
	}
	bob := siteOwner{w, w.member("bob", account.Standard)}
	if p := bob.plan(map[string]string{"a": strings.Repeat("a", 100_000)}); len(p.Missing) != 1 {
		t.Errorf("another account is told of content: %+v", p)
	}
}

// TestSiteMustCompile: what is wrong with any script of a site stops its deploy, and all of it is told.
func TestSiteMustCompile(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := siteOwner{w, w.member("ada", account.Free)}
	site := map[string]string{
		"a.ql": "EMIT 1 +", "b/c.ql": "EMIT 1\nEMIT ?none", "fine.ql": "EMIT 1", "no.txt": "EMIT +",
		"_bad.ql": "DEFINE x(", "d.ql": `INCLUDE "/site/_bad.ql"`, "e.ql": `INCLUDE "/site/gone.ql"`,
	}
	status, a := ada.deploy(site)
	if status != 422 || a.Error.Code != "syntax_error" {
		t.Fatalf("%d %+v", status, a.Error)
	}
	var got []string
	for _, d := range a.Error.Details {
		got = append(got, fmt.Sprintf("%s:%d", d.File, d.Line))
	}
	slices.Sort(got)
	if want := []string{"/site/_bad.ql:1", "/site/a.ql:1", "/site/b/c.ql:2", "/site/e.ql:1"}; !slices.Equal(slices.Compact(got), want) {
		t.Errorf("the errors are in %v, want %v", got, want)
	}
	if _, a, _ := ada.call("GET", "", ""); a.Release != nil {
		t.Errorf("there is a release: %+v", a)
	}
	// A script that was larger than one may be.
	if status, a := ada.deploy(map[string]string{"a.ql": strings.Repeat("# x\n", 20_000)}); status != 413 {
		t.Errorf("a large script: %d %+v", status, a.Error)
	}
	// An INCLUDE sees the files of the manifest, not those that are there.
	if status, a := ada.deploy(map[string]string{"gone.ql": "DEFINE f()\nRETURN 1\nEND", "e.ql": "INCLUDE \"/site/gone.ql\"\nEMIT f()"}); status != 201 {
		t.Errorf("%d %+v", status, a.Error)
	}
	if status, a := ada.deploy(map[string]string{"e.ql": "INCLUDE \"/site/gone.ql\"\nEMIT f()"}); status != 422 {
		t.Errorf("an INCLUDE of what goes: %d %+v", status, a.Error)
	}
}

// TestSiteRefusals: what is wrong with a manifest is named.
func TestSiteRefusals(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := siteOwner{w, w.member("ada", account.Free)}
	many := map[string]string{}
	for i := range 2001 {
		many[fmt.Sprintf("%d", i)] = ""
	}
	for _, test := range []struct {
		body, want string
		status     int
	}{
		{`{}`, "files: is missing", 400},
		{`{"files":[]}`, "files: is a list: an object fits", 400},
		{`{"files":{"a":1}}`, `files[\"a\"]: is a number: a text fits`, 400},
		{`{"files":{"a":"x"}}`, "64 hexadecimal digits fits", 400},
		{`{"file":{}}`, "is no known field", 400},
		{manifestJSON(many), "2000", 400},
		{`{"files":{"` + strings.Repeat("a", 1<<20) + `":""}}`, "too large", 413},
		{manifestJSON(map[string]string{"/a": ""}), "paths of a site are relative", 422},
		{manifestJSON(map[string]string{"../a": ""}), "is no name", 422},
		{manifestJSON(map[string]string{"a": "", "A": ""}), "the same name on some systems", 422},
		{manifestJSON(map[string]string{"a": "", "a/b": ""}), "it is a file, and other files stand in a folder of this name", 422},
		{manifestJSON(map[string]string{"a/x": "", "A/y": ""}), "the same name on some systems", 422},
	} {
		for _, to := range []struct{ method, path string }{{"POST", "/plan"}, {"PUT", ""}} {
			if status, _, r := ada.call(to.method, to.path, test.body); status != test.status || !strings.Contains(r.body, test.want) {
				t.Errorf("%s %s %.80s: %d %.300s, want %d with %s", to.method, to.path, test.body, status, r.body, test.status, test.want)
			}
		}
	}
	for _, id := range []string{"x", strings.Repeat("g", 64), emptyDigest + "0"} {
		if status, _, r := ada.call("PUT", "/content/"+id, ""); status != 400 {
			t.Errorf("content %s: %d %s", id, status, r.body)
		}
	}
	big := strings.Repeat("b", 10<<20+1)
	if status, a, _ := ada.call("PUT", "/content/"+digestOf(big), big); status != 413 || a.Error.Code != "too_large" {
		t.Errorf("content that is too large: %d %+v", status, a.Error)
	}
}

// TestDeployRate: an account deploys so often a minute, and no more.
func TestDeployRate(t *testing.T) {
	w := boot(t)
	ada := siteOwner{w, w.member("ada", account.Standard)}
	for i := range 12 {
		if status, _, r := ada.call("PUT", "", `{"files":{}}`); status >= 300 {
			t.Fatalf("deploy %d: %d %s", i, status, r.body)
		}
	}
	for _, to := range []struct{ method, path, body string }{{"PUT", "", `{"files":{}}`}, {"POST", "/releases/1/restore", ""}} {
		if status, a, r := ada.call(to.method, to.path, to.body); status != 429 || a.Error.Code != "rate_limited" || r.header.Get("Retry-After") == "" {
			t.Errorf("%s %s: %d %s", to.method, to.path, status, r.body)
		}
	}
	if status, _, r := ada.call("GET", "", ""); status != 200 {
		t.Errorf("to look is no deploy: %d %s", status, r.body)
	}
}
