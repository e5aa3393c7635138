package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
)

func TestIdempotency(t *testing.T) {
	h := newHold(t)
	w := boot(t, h.settings())
	t.Cleanup(h.free)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	const count = "CREATE TABLE IF NOT EXISTS t (n INTEGER);\nINSERT INTO t VALUES (1);\nSELECT COUNT(*) AS n FROM t SET VALUE ?n\nEMIT ?n"
	key := func(k string) []string { return []string{"Idempotency-Key", k} }

	// A synchronous call is repeated to the byte.
	first := w.query(ada, count, "", key("a")...)
	if again := w.query(ada, count, "", key("a")...); again.status != 200 || again.body != first.body {
		t.Errorf("repeated: %d %s\nfirst %s", again.status, again.body, first.body)
	}
	// So is a form, also one that fails.
	for i, script := range []string{count, "EMIT \"so far\" EMIT 1 / 0", `SET "status" AS 201 OF !RESPONSE`, `EMIT FROM_BASE64("/wD+")`, `EMIT JSON {a: 1}`, `EMIT JSON 1 FAIL "x"`} {
		k := key(fmt.Sprint("form ", i))
		first, again := w.form(ada, script, nil, k...), w.form(ada, script, nil, k...)
		if again.status != first.status || again.body != first.body {
			t.Errorf("repeated: %d %s\nfirst %d %s", again.status, again.body, first.status, first.body)
		}
		for _, name := range []string{"QL-Job-Id", "QL-Status", "QL-Error", "QL-Response", "Content-Type"} {
			if again.header.Get(name) != first.header.Get(name) {
				t.Errorf("%s: %s is %q, then %q", script, name, first.header.Get(name), again.header.Get(name))
			}
		}
	}
	if r := w.query(ada, "EMIT 1 / 0", "", key("fails")...); r.status != 422 || w.query(ada, "EMIT 1 / 0", "", key("fails")...).body != r.body {
		t.Errorf("%d %s", r.status, r.body)
	}
	// A job is accepted once.
	accepted := w.query(ada, count, `"mode":"async"`, key("b")...)
	again := w.query(ada, count, `"mode":"async"`, key("b")...)
	if again.status != 202 || again.body != accepted.body || again.header.Get("Location") != accepted.header.Get("Location") {
		t.Errorf("repeated: %d %s\nfirst %s", again.status, again.body, accepted.body)
	}
	if a := w.reach(accepted.read(t).JobID, "complete"); *a.Result != "3" {
		t.Errorf("run more than once: %+v", a)
	}
	// After its end too.
	if again := w.query(ada, count, `"mode":"async"`, key("b")...); again.status != 202 || again.body != accepted.body {
		t.Errorf("repeated: %d %s", again.status, again.body)
	}

	// The session is the first call's, and no other is made for a repeat.
	if r := w.query(ada, "START SESSION", `"mode":"async"`, key("s")...); r.cookie(t) == nil {
		t.Errorf("%v", r.header)
	}
	if r := w.query(ada, "START SESSION", `"mode":"async"`, key("s")...); r.status != 202 || r.cookie(t) != nil {
		t.Errorf("repeated: %d %v", r.status, r.header)
	}

	// Another request under the same key is refused, whatever differs.
	w.query(ada, count+" ", "", key("a")...).wantError(t, 422, "idempotency_mismatch")
	w.query(ada, count, `"mode":"async"`, key("a")...).wantError(t, 422, "idempotency_mismatch")
	w.query(ada, count, `"request":{"path":"/x"}`, key("a")...).wantError(t, 422, "idempotency_mismatch")
	w.query(ada, count, `"mode":"async","options":{"webhook":"https://example.com"}`, key("b")...).wantError(t, 422, "idempotency_mismatch")
	if r := w.form(ada, count, nil, key("a")...); r.status != 422 || r.header.Get("QL-Error") != "idempotency_mismatch" || !strings.HasPrefix(r.body, "error: idempotency_mismatch: ") {
		t.Errorf("%d %s", r.status, r.body)
	}
	// Keys are an account's own.
	if a := w.query(bob, count, "", key("a")...).read(t); *a.Result != "1" {
		t.Errorf("%+v", a)
	}
	w.query(ada, count, "", key(strings.Repeat("k", 256))...).wantError(t, 400, "invalid_request")

	// A repeat beside the first call does not run.
	done := make(chan response, 2)
	go func() { done <- w.query(ada, "EMIT !QUOTA('x')", "", key("c")...) }()
	h.wait(t)
	w.query(ada, "EMIT !QUOTA('x')", "", key("c")...).wantError(t, 409, "idempotency_in_progress")
	w.query(ada, "EMIT 1", "", key("c")...).wantError(t, 422, "idempotency_mismatch")
	go func() { done <- w.form(ada, "EMIT !QUOTA('x')", nil, key("d")...) }()
	h.wait(t)
	if r := w.form(ada, "EMIT !QUOTA('x')", nil, key("d")...); r.status != 409 || r.header.Get("QL-Error") != "idempotency_in_progress" {
		t.Errorf("%d %s", r.status, r.body)
	}
	h.free()
	for range 2 {
		if r := <-done; r.status != 200 {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	if r := w.query(ada, "EMIT !QUOTA('x')", "", key("c")...); r.status != 200 {
		t.Errorf("afterwards: %d %s", r.status, r.body)
	}

	// A call that paused is shown as it stands.
	const asks = `EMIT "a" CONFIRM "Sure?" EMIT "b"`
	paused := w.query(ada, asks, "", key("e")...)
	if again := w.query(ada, asks, "", key("e")...); again.status != 202 || again.body != paused.body {
		t.Errorf("repeated: %d %s\nfirst %s", again.status, again.body, paused.body)
	}
	w.confirm(paused.read(t).JobID, `{"approved":true}`)
	if again := w.query(ada, asks, "", key("e")...); again.status != 200 || again.read(t).Status != "ok" || *again.read(t).Result != "ab" {
		t.Errorf("repeated after the answer: %d %s", again.status, again.body)
	}
	form := w.form(ada, asks, nil, key("f")...)
	w.confirm(form.header.Get("QL-Job-Id"), `{"approved":false}`)
	if again := w.form(ada, asks, nil, key("f")...); again.status != 200 || again.header.Get("QL-Status") != "declined" || again.body != "a" {
		t.Errorf("repeated after a no: %d %s %v", again.status, again.body, again.header)
	}
}

// TestKeysBelongToCallers: pages are known by an Origin that anybody can send. They
// neither find what an owner's key led to nor use it up, and nor do pages of
// another entry of the list. The owner's credentials of both conventions are one
// caller, whose requests differ by the convention.
func TestKeysBelongToCallers(t *testing.T) {
	h := newHold(t)
	w := boot(t, h.settings(), limited(func(l *account.Limits) { l.OriginRate, l.Concurrent = 0, 0 }))
	t.Cleanup(h.free)
	ada := w.member("ada", account.Unlimited)
	check(t, w.accounts.SetSecret(t.Context(), "ada", "key", "very secret"))
	for _, entry := range []string{"shop.example.com", "*.blog.example.com"} {
		_, err := w.accounts.AddDomain(t.Context(), "ada", entry, false)
		check(t, err)
	}
	page := func(origin string) func(string, string) response {
		return func(script, key string) response {
			return w.send("POST", "/v1/query", jsonType, `{"query":`+quote(script)+`}`, "Origin", origin, "Idempotency-Key", key)
		}
	}
	type caller struct {
		name, principal string
		send            func(script, key string) response
	}
	callers := []caller{
		{"the owner", "owner", func(script, key string) response { return w.query(ada, script, "", "Idempotency-Key", key) }},
		{"the key", "owner as a form", func(script, key string) response { return w.form(ada, script, nil, "Idempotency-Key", key) }},
		{"a page", "shop", page("https://shop.example.com")},
		{"the same page, spelled otherwise", "shop", page("https://SHOP.example.com:443")},
		{"another page", "blog", page("https://a.blog.example.com")},
		{"a page below the same wildcard", "blog", page("https://b.blog.example.com")},
	}
	isOwner := func(c caller) bool { return strings.HasPrefix(c.principal, "owner") }
	code := func(r response) string {
		if e := r.header.Get("QL-Error"); e != "" || r.status == 200 {
			return e
		}
		return r.read(t).Error.Code
	}
	id := func(r response) string {
		if id := r.header.Get("QL-Job-Id"); id != "" {
			return id
		}
		return r.read(t).JobID
	}
	done := make(chan response)
	held := 0
	for _, first := range callers {
		for _, second := range callers {
			what := first.name + ", then " + second.name
			mine, others := first.principal == second.principal, isOwner(first) != isOwner(second) || !isOwner(first) && first.principal != second.principal
			key := func(kind string) string { return kind + ": " + what }

			// After the first call's end.
			one := first.send("EMIT 1", key("ended"))
			two := second.send("EMIT 1", key("ended"))
			switch {
			case mine && (two.status != 200 || id(two) != id(one)):
				t.Errorf("%s: %d %s, not the first call's job %s", what, two.status, two.body, id(one))
			case others && (two.status != 200 || id(two) == id(one)):
				t.Errorf("%s: %d %s, not a job of its own", what, two.status, two.body)
			case !mine && !others && code(two) != "idempotency_mismatch":
				t.Errorf("%s: %d %s", what, two.status, two.body)
			}
			first.send("EMIT 1", key("other"))
			two = second.send("EMIT 2", key("other"))
			if others && two.status != 200 || !others && code(two) != "idempotency_mismatch" {
				t.Errorf("%s, another request: %d %s", what, two.status, two.body)
			}

			// While the first call runs.
			go func() { done <- first.send("EMIT !QUOTA('x')", key("running")) }()
			h.wait(t)
			held++
			if others {
				if two := second.send("EMIT 2", key("running")); two.status != 200 {
					t.Errorf("%s, another request while the first runs: %d %s", what, two.status, two.body)
				}
				continue
			}
			want := "idempotency_in_progress"
			if !mine {
				want = "idempotency_mismatch"
			}
			if two := second.send("EMIT !QUOTA('x')", key("running")); code(two) != want {
				t.Errorf("%s, while the first runs: %d %s", what, two.status, two.body)
			}
			if two := second.send("EMIT 2", key("running")); code(two) != "idempotency_mismatch" {
				t.Errorf("%s, another request while the first runs: %d %s", what, two.status, two.body)
			}
		}
	}
	// The same request of another caller runs beside the first.
	go func() { done <- callers[0].send("EMIT !QUOTA('x')", "beside") }()
	h.wait(t)
	go func() { done <- callers[2].send("EMIT !QUOTA('x')", "beside") }()
	h.wait(t)
	h.free()
	for range held + 2 {
		if r := <-done; r.status != 200 {
			t.Errorf("%d %s", r.status, r.body)
		}
	}

	// As it was tried: the owner's result has a secret in it.
	w.query(ada, "EMIT !SECRET('key')", "", "Idempotency-Key", "tried").read(t)
	if r := page("https://shop.example.com")("EMIT !SECRET('key')", "tried"); strings.Contains(r.body, "very secret") {
		t.Errorf("a page reads %s", r.body)
	}
}

// TestRepeatOfEnded: a call whose job was ended before its own end has failed for
// whoever goes by the status; a no is an end that the script was written for.
func TestRepeatOfEnded(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	const asks = `EMIT "half" CONFIRM "Sure?" EMIT "whole"`
	for _, test := range []struct {
		state  string
		script string
		end    func(id string)
		status int
		code   string
		text   string
	}{
		{"expired", `EMIT "half" CONFIRM "Sure?" WITHIN 0.01 SECONDS`, func(string) {}, 422, "expired", "half\nerror: expired: nobody answered in time (line 1, column 13)\n"},
		{"cancelled", asks, func(id string) { w.send("DELETE", "/v1/job/"+id, "", "") }, 422, "cancelled", "half\nerror: cancelled: somebody stopped the job: what it did stays done\n"},
		{"declined", asks, func(id string) { w.confirm(id, `{"approved":false}`) }, 200, "", "half"},
	} {
		t.Run(test.state, func(t *testing.T) {
			key := []string{"Idempotency-Key", test.state}
			first := w.form(ada, test.script, nil, key...)
			id := first.header.Get("QL-Job-Id")
			if first.status != 202 {
				t.Fatalf("%d %s", first.status, first.body)
			}
			test.end(id)
			if a := w.ended(id); a.Status != test.state {
				t.Fatalf("the job is %s", a.Status)
			}
			r := w.form(ada, test.script, nil, key...)
			if r.status != test.status || r.header.Get("QL-Status") != test.state || r.header.Get("QL-Error") != test.code || r.header.Get("QL-Job-Id") != id || r.body != test.text {
				t.Errorf("as a form: %d %v %q", r.status, r.header, r.body)
			}
			key[1] += " in JSON"
			id = w.query(ada, test.script, "", key...).read(t).JobID
			test.end(id)
			if a := w.ended(id); a.Status != test.state {
				t.Fatalf("the job is %s", a.Status)
			}
			r = w.query(ada, test.script, "", key...)
			if a := r.read(t); r.status != test.status || a.Status != test.state || a.Error.Code != test.code || *a.Result != "half" || a.JobID != id {
				t.Errorf("in JSON: %d %s", r.status, r.body)
			}
			// A poll is 200 whatever became of the job.
			if r := w.poll(id, ""); r.status != 200 {
				t.Errorf("polled: %d %s", r.status, r.body)
			}
		})
	}
}

// TestMalformedKeys: a key that says nothing, or cannot be told from another by
// everybody, runs nothing.
func TestMalformedKeys(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	for name, test := range map[string]struct{ key, found string }{
		"empty":      {"", "is empty"},
		"of spaces":  {"  ", "is empty"},
		"not ASCII":  {"schlüssel", "has characters that are not printable ASCII"},
		"not UTF-8":  {"a\xff", "has characters that are not printable ASCII"},
		"with a tab": {"a\tb", "has characters that are not printable ASCII"},
		"too long":   {strings.Repeat("k", 256), "has 256 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			headers := []string{"Idempotency-Key", test.key}
			a := w.query(ada, `WRITE "x" TO "/f"`, "", headers...).wantError(t, 400, "invalid_request")
			if a.Error.Field != "Idempotency-Key" || !strings.Contains(a.Error.Message, test.found) || !strings.Contains(a.Error.Message, "1 to 255 printable ASCII characters fit") {
				t.Errorf("told %+v", a.Error)
			}
			form := w.form(ada, `WRITE "x" TO "/f"`, nil, headers...)
			if form.status != 400 || !strings.Contains(form.body, "Idempotency-Key: "+test.found) {
				t.Errorf("as a form: %d %s", form.status, form.body)
			}
		})
	}
	for _, key := range []string{"~", "with a space", strings.Repeat("k", 255)} {
		if r := w.query(ada, `EMIT 1`, "", "Idempotency-Key", key); r.status != 200 {
			t.Errorf("%q: %d %s", key, r.status, r.body)
		}
	}
}

// TestIdempotencyOfRefused checks that a call that was not let in leaves its key
// free: it is meant to be sent again.
func TestIdempotencyOfRefused(t *testing.T) {
	h := newHold(t)
	w := boot(t, h.settings(), limited(func(l *account.Limits) { l.Concurrent, l.Queued = 1, 0 }), quickGate())
	t.Cleanup(h.free)
	ada := w.member("ada", account.Standard)
	done := make(chan response, 1)
	go func() { done <- w.query(ada, "EMIT !QUOTA('x')", "") }()
	h.wait(t)
	key := []string{"Idempotency-Key", "a"}
	w.query(ada, "EMIT 1", "", key...).wantError(t, 429, "rate_limited")
	h.free()
	<-done
	if r := w.query(ada, "EMIT 1", "", key...); r.status != 200 {
		t.Errorf("sent again: %d %s", r.status, r.body)
	}
}

// TestIdempotencyOfUncompiled: a script that does not compile has not run, so its
// key stays free in every convention, and leads to what it led to before.
func TestIdempotencyOfUncompiled(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	for name, send := range map[string]func(script string, key ...string) response{
		"sync":  func(script string, key ...string) response { return w.query(ada, script, "", key...) },
		"async": func(script string, key ...string) response { return w.query(ada, script, `"mode":"async"`, key...) },
		"form":  func(script string, key ...string) response { return w.form(ada, script, nil, key...) },
	} {
		t.Run(name, func(t *testing.T) {
			key := []string{"Idempotency-Key", name}
			library := "/" + name + ".ql"
			w.query(ada, `WRITE "DEFINE f() RETURN 1 END" TO "`+library+`"`, "").read(t)
			for range 2 {
				if r := send("EMIT (", key...); r.status != 422 || !strings.Contains(r.body, "syntax_error") && r.header.Get("QL-Error") != "syntax_error" {
					t.Fatalf("%d %s", r.status, r.body)
				}
			}
			mended := `INCLUDE "` + library + `" EMIT f()`
			first := send(mended, key...)
			if first.status >= 400 {
				t.Fatalf("mended: %d %s", first.status, first.body)
			}
			if r := send("EMIT (", key...); r.status != 422 || !strings.Contains(r.body, "idempotency_mismatch") {
				t.Errorf("another one that does not compile: %d %s", r.status, r.body)
			}
			// What it includes is no part of the request.
			w.query(ada, `WRITE "DEFINE (" TO "`+library+`"`, "").read(t)
			if again := send(mended, key...); again.status != first.status || again.body != first.body {
				t.Errorf("repeated: %d %s\nfirst %d %s", again.status, again.body, first.status, first.body)
			}
		})
	}
}

// TestIdempotencyOfForgotten: a key whose job is removed runs nothing, and says
// what became of it.
func TestIdempotencyOfForgotten(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	const script = `APPEND "x" TO FILE "/log"`
	for name, test := range map[string]struct{ more, want string }{
		"sync":  {"", "was cut off, or is kept no more: what it did stays done"},
		"async": {`"mode":"async"`, "is over, and its job is kept no more: what it did stays done"},
	} {
		key := []string{"Idempotency-Key", name}
		w.ended(w.query(ada, script, test.more, key...).read(t).JobID)
		check(t, w.recorder.Flush(t.Context()))
		if n, err := w.store.Jobs().Forget(t.Context(), ada.ID, time.Now().Add(time.Hour), 10); n == 0 || err != nil {
			t.Fatalf("%d jobs are forgotten, %v", n, err)
		}
		a := w.query(ada, script, test.more, key...).wantError(t, 409, "idempotency_in_progress")
		if !strings.Contains(a.Error.Message, test.want) {
			t.Errorf("%s: told %q", name, a.Error.Message)
		}
	}
	if a := w.query(ada, `READ "/log" SET ?log EMIT ?log`, "").read(t); *a.Result != "xx" {
		t.Errorf("the file holds %q", *a.Result)
	}
}
