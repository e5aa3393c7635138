package server_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"ql/internal/account"
	"ql/internal/auth"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/redacted"
	"ql/internal/service"
	"ql/internal/wire"
)

// publish publishes a script of ada's for some callers.
func (w *world) publish(name, text string, callers account.Callers, change ...func(*account.Publication)) account.Published {
	w.t.Helper()
	p := account.Publication{Name: name, Text: text, Switches: account.Switches{Callers: callers}, Keep: account.DefaultKeep}
	for _, c := range change {
		c(&p)
	}
	published, _, err := w.accounts.Publish(w.t.Context(), "ada", p)
	check(w.t, err)
	return published
}

func withSecrets(p *account.Publication) { p.Secrets = true }

// call calls a published script by its name in the JSON convention.
func (w *world) call(m member, script, more string, headers ...string) response {
	w.t.Helper()
	body := `{"script":` + quote(script)
	if m.name != "" {
		body += `,"auth":{"username":` + quote(m.name) + `,"password":` + quote(m.password) + `}`
	}
	if more != "" {
		body += "," + more
	}
	return w.send("POST", "/v1/query", jsonType, body+"}", headers...)
}

// TestProgramCallers: who calls a published script by its name, and what they are told of
// one that they may not call.
func TestProgramCallers(t *testing.T) {
	w := boot(t)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	for entry, publishedOnly := range map[string]bool{"shop.example.com": false, "pub.example.com": true} {
		_, err := w.accounts.AddDomain(t.Context(), "ada", entry, publishedOnly)
		check(t, err)
	}
	const script = `EMIT !ACCOUNT('username')`
	for _, callers := range []account.Callers{account.CallersKeys, account.CallersDomains, account.CallersAnyone} {
		w.publish(string(callers), script, callers)
	}
	for _, name := range []string{"keys", "domains", "anyone"} {
		if a := w.call(ada, name, "").read(t); a.Status != "ok" || *a.Result != "ada" {
			t.Errorf("the owner calls %s: %+v", name, a)
		}
		w.call(bob, name, "").wantError(t, 404, "script_not_found")
		for _, page := range []string{listed, "https://pub.example.com"} {
			r := w.call(member{}, name, "", "Origin", page)
			if name == "keys" {
				r.wantError(t, 403, "script_not_published")
			} else if a := r.read(t); a.Status != "ok" || *a.Result != "ada" {
				t.Errorf("a page calls %s: %+v", name, a)
			}
			if r.header.Get("Access-Control-Allow-Origin") != page {
				t.Errorf("a page cannot read the answer of %s", name)
			}
		}
		w.call(member{}, name, "", "Origin", unlisted).wantError(t, 403, "origin_not_allowed")
		w.call(member{}, name, "").wantError(t, 401, "bad_credentials")
	}
	w.call(ada, "none", "").wantError(t, 404, "script_not_found")
	w.call(ada, "keys@2", "").wantError(t, 404, "script_not_found")
	w.call(ada, "keys@x", "").wantError(t, 404, "script_not_found")

	// A page is not told which there are.
	hidden := w.call(member{}, "keys", "", "Origin", listed)
	if none := w.call(member{}, "none", "", "Origin", listed); none.body != hidden.body || none.status != hidden.status {
		t.Errorf("one that is there is %s, and one that is not %s", hidden.body, none.body)
	}
	w.send("POST", "/v1/query", jsonType, `{"script":"keys","query":"EMIT 1"}`).wantError(t, 400, "invalid_request")

	// A job tells what it runs.
	ran := w.call(ada, "keys@1", "").read(t)
	jobs, err := w.recorder.List(t.Context(), ada.ID, job.Query{Limit: 100})
	check(t, err)
	found := false
	for _, j := range jobs {
		if j.ID.String() == ran.JobID {
			found = j.ProgramName == "keys"
		}
	}
	if !found {
		t.Errorf("the job %s is not listed with its script: %+v", ran.JobID, jobs)
	}
	accepted := w.call(ada, "keys", `"mode":"async"`).read(t)
	if a := w.send("GET", "/v1/job/"+accepted.JobID+"?wait=10", "", "").read(t); a.Status != "complete" || *a.Result != "ada" {
		t.Errorf("as a job: %+v", a)
	}
}

// visitor calls a published script by its owner's name, as an address of its own does.
func (w *world) visitor(p service.Program, c service.Caller, credentials *service.Credentials) (service.Answer, error) {
	if !c.Addr.IsValid() {
		c.Addr = netip.MustParseAddr("127.0.0.1")
	}
	return w.service.Query(context.WithoutCancel(w.t.Context()), c, service.Query{
		Convention: job.JSON, Program: &p, Credentials: credentials, Within: func(wire.Limits) error { return nil },
	})
}

// TestProgramsByOwner: by an owner's name everybody may call what is for everybody, and
// what is not there is as what is not for them.
func TestProgramsByOwner(t *testing.T) {
	w := boot(t)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	for _, callers := range []account.Callers{account.CallersKeys, account.CallersDomains, account.CallersAnyone} {
		w.publish(string(callers), `EMIT !ACCOUNT('username')`, callers, func(p *account.Publication) { p.Methods = []string{"GET", "POST"} })
	}
	page := func(origin string) service.Caller {
		return service.Caller{Page: origin, Source: auth.Source{Origin: auth.ReadOrigin([]string{origin})}}
	}
	password := func(m member) *service.Credentials {
		return &service.Credentials{By: principal.ByPassword, Name: m.name, Secret: redacted.Text(m.password)}
	}
	for _, test := range []struct {
		what        string
		caller      service.Caller
		credentials *service.Credentials
		may         map[string]bool
		origin      string
	}{
		{"anybody", service.Caller{}, nil, map[string]bool{"anyone": true}, ""},
		{"a listed page", page(listed), nil, map[string]bool{"anyone": true, "domains": true}, listed},
		{"another page", page(unlisted), nil, map[string]bool{"anyone": true}, ""},
		{"the owner", service.Caller{}, password(ada), map[string]bool{"anyone": true, "domains": true, "keys": true}, ""},
		{"another owner", service.Caller{}, password(bob), map[string]bool{"anyone": true}, ""},
	} {
		var refused []string
		for _, name := range []string{"keys", "domains", "anyone", "none", "anyone@1", "anyone@2"} {
			a, err := w.visitor(service.Program{Owner: "ada", Name: name, Method: "GET"}, test.caller, test.credentials)
			may := test.may[strings.TrimSuffix(name, "@1")]
			switch {
			case may && (err != nil || a.Status != 200 || a.Origin != test.origin):
				t.Errorf("%s calls %s: %+v, %v", test.what, name, a, err)
			case !may && !fault.Is(err, fault.ScriptNotFound):
				t.Errorf("%s calls %s: %+v, %v", test.what, name, a, err)
			case !may:
				refused = append(refused, err.Error())
			}
		}
		if test.credentials == nil || test.what == "another owner" {
			for _, text := range refused {
				if text != refused[0] {
					t.Errorf("%s is told that %q and %q", test.what, refused[0], text)
				}
			}
		}
	}
	for _, owner := range []string{"Ada", "nobody", "ada@example.com", "a/b", " ada"} {
		a, err := w.visitor(service.Program{Owner: owner, Name: "anyone"}, service.Caller{}, nil)
		if !fault.Is(err, fault.ScriptNotFound) {
			t.Errorf("a script of %q: %+v, %v", owner, a, err)
		}
	}
	_, err = w.visitor(service.Program{Owner: "ada", Name: "anyone", Method: "DELETE"}, service.Caller{}, nil)
	if !fault.Is(err, fault.MethodNotAllowed) {
		t.Errorf("by another method: %v", err)
	}
	if _, err := w.visitor(service.Program{Owner: "ada", Name: "anyone", Method: "HEAD"}, service.Caller{}, nil); err != nil {
		t.Errorf("HEAD is not taken for GET: %v", err)
	}
	check(t, w.accounts.SetFlag(t.Context(), "ada", "disabled", true))
	if _, err := w.visitor(service.Program{Owner: "ada", Name: "anyone"}, service.Caller{}, nil); !fault.Is(err, fault.ScriptNotFound) {
		t.Errorf("of a disabled account: %v", err)
	}
}

// TestStrangersHaveARate: nobody uses up an owner's calls without credentials, or asks for
// any number of names.
func TestStrangersHaveARate(t *testing.T) {
	w := boot(t, limited(func(l *account.Limits) { l.OriginRate = 4 }))
	ada := w.member("ada", account.Standard)
	w.publish("open", "EMIT 1", account.CallersAnyone)
	calls := func(name, from string) (allowed int) {
		for range 40 {
			_, err := w.visitor(service.Program{Owner: "ada", Name: name}, service.Caller{Source: auth.Source{Addr: netip.MustParseAddr(from)}}, nil)
			if service.Refused(err0(err)).Status != 429 {
				allowed++
			}
		}
		return allowed
	}
	if got := calls("open", "192.0.2.1"); got != 4 {
		t.Errorf("%d calls of a stranger are answered", got)
	}
	if got := calls("none", "192.0.2.1"); got != 30 {
		t.Errorf("%d names may be asked for", got)
	}
	if got := calls("none", "192.0.2.200"); got != 30 {
		t.Errorf("another may ask for %d names", got)
	}
	if r := w.call(ada, "open", ""); r.status != 200 {
		t.Errorf("the owner gets %d", r.status)
	}
}

// err0 is an error that Refused can be asked about.
func err0(err error) error {
	if err == nil {
		return fault.New(fault.NotFound, "none")
	}
	return err
}

// TestProgramSecrets: a script that somebody else than the owner calls reads secrets where
// it was published so, and never because it was sent.
func TestProgramSecrets(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	check(t, w.accounts.SetSecret(t.Context(), "ada", "key", "very secret"))
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", false)
	check(t, err)
	const script = `EMIT LENGTH(!SECRET('key'))`
	w.publish("closed", script, account.CallersAnyone)
	w.publish("open", script, account.CallersAnyone, withSecrets)
	// An earlier version reads what it was published to read, if the current one does.
	w.publish("was", script, account.CallersAnyone, withSecrets)
	w.publish("was", "EMIT 1", account.CallersAnyone)
	w.publish("is", script, account.CallersAnyone)
	w.publish("is", "EMIT 1", account.CallersAnyone, withSecrets)
	for name, want := range map[string]bool{"closed": false, "open": true, "was@1": false, "is@1": false} {
		if a := w.call(ada, name, "").read(t); a.Status != "ok" {
			t.Errorf("the owner calls %s: %+v", name, a)
		}
		r := w.call(member{}, name, "", "Origin", listed)
		a, err := w.visitor(service.Program{Owner: "ada", Name: name}, service.Caller{}, nil)
		check(t, err)
		if got := r.status == 200; got != want || (a.Status == 200) != want {
			t.Errorf("%s is called by a page: %s, and by anybody: %d", name, r.body, a.Status)
		}
		if !want {
			r.wantError(t, 422, "not_available")
		}
	}
	r := w.send("POST", "/v1/query", jsonType, `{"query":`+quote(script)+`}`, "Origin", listed)
	r.wantError(t, 422, "not_available")
}

// TestProgramVersions: pages that were loaded before a script was published anew go on to
// call it, by its text and by its version, as long as was asked for.
func TestProgramVersions(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", true)
	check(t, err)
	const first, second = "EMIT 'one'\nEMIT '!'", "EMIT 'two'"
	w.publish("x", first, account.CallersDomains)
	if p := w.publish("x", strings.ReplaceAll(first, "\n", "\r\n")+"\r\n", account.CallersDomains); p.Version != 1 {
		t.Errorf("other line ends make version %d", p.Version)
	}
	w.publish("x", second, account.CallersDomains)
	sent := func(script string) response {
		return w.send("POST", "/v1/query", jsonType, `{"query":`+quote(script)+`}`, "Origin", listed)
	}
	want := func(r response, result string) {
		t.Helper()
		if a := r.read(t); a.Status != "ok" || *a.Result != result {
			t.Errorf("it answers %s, want %s", r.body, result)
		}
	}
	want(sent(first), "one!")
	want(sent(strings.ReplaceAll(first, "\n", "\r\n")), "one!")
	want(sent(second), "two")
	for _, m := range []member{ada, {}} {
		want(w.call(m, "x", "", "Origin", listed), "two")
		want(w.call(m, "x@1", "", "Origin", listed), "one!")
		want(w.call(m, "x@2", "", "Origin", listed), "two")
	}
	w.publish("x", second, account.CallersDomains, func(p *account.Publication) { p.Keep = 0 })
	sent(first).wantError(t, 403, "script_not_published")
	w.call(member{}, "x@1", "", "Origin", listed).wantError(t, 403, "script_not_published")
	w.call(ada, "x@1", "").wantError(t, 404, "script_not_found")
	want(w.call(ada, "x", ""), "two")
}

// TestProgramKeepsItsVersion: a job goes on with the text that it began with.
func TestProgramKeepsItsVersion(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	w.publish("x", "CONFIRM 'Go on?' EMIT 'one'", account.CallersKeys)
	paused := w.call(ada, "x", "").read(t)
	if paused.Status != "paused" {
		t.Fatalf("%+v", paused)
	}
	w.publish("x", "EMIT 'two'", account.CallersKeys, func(p *account.Publication) { p.Keep = 0 })
	check(t, w.accounts.Unpublish(t.Context(), "ada", "x"))
	r := w.send("POST", "/v1/confirm/"+paused.JobID, jsonType, `{"approved":true}`)
	if a := r.read(t); a.Status != "complete" || *a.Result != "one" {
		t.Errorf("it goes on to %s", r.body)
	}
}

// TestProgramIdempotency: a repeat finds its job though the script was published anew
// meanwhile, and a page finds nothing of the owner's.
func TestProgramIdempotency(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	_, err := w.accounts.AddDomain(t.Context(), "ada", "shop.example.com", true)
	check(t, err)
	w.publish("x", "EMIT 'one'", account.CallersDomains)
	first := w.call(ada, "x", "", "Idempotency-Key", "k").read(t)
	w.publish("x", "EMIT 'two'", account.CallersDomains)
	if again := w.call(ada, "x", "", "Idempotency-Key", "k").read(t); again.JobID != first.JobID || *again.Result != "one" {
		t.Errorf("the repeat gives %+v", again)
	}
	w.call(ada, "x@1", "", "Idempotency-Key", "k").wantError(t, 422, "idempotency_mismatch")
	w.query(ada, "EMIT 'one'", "", "Idempotency-Key", "k").wantError(t, 422, "idempotency_mismatch")
	if page := w.call(member{}, "x", "", "Idempotency-Key", "k", "Origin", listed).read(t); page.JobID == first.JobID || *page.Result != "two" {
		t.Errorf("a forged Origin finds %+v", page)
	}
}

// TestRemovedProgramIsDead: under load, no call that begins after a script was taken back
// is answered by it.
func TestRemovedProgramIsDead(t *testing.T) {
	w := boot(t, unlimitedCalls)
	w.member("ada", account.Standard)
	const rounds, callers = 12, 4
	for round := range rounds {
		name := fmt.Sprintf("r%d", round)
		w.publish(name, fmt.Sprintf("EMIT %d", round), account.CallersAnyone)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					_, _ = w.visitor(service.Program{Owner: "ada", Name: name}, service.Caller{}, nil)
				}
			})
		}
		if _, err := w.visitor(service.Program{Owner: "ada", Name: name}, service.Caller{}, nil); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		if round%2 == 0 {
			check(t, w.accounts.Unpublish(t.Context(), "ada", name))
		} else { // or closed
			w.publish(name, fmt.Sprintf("EMIT %d", round), account.CallersKeys)
		}
		for range 20 {
			if _, err := w.visitor(service.Program{Owner: "ada", Name: name}, service.Caller{}, nil); !fault.Is(err, fault.ScriptNotFound) {
				t.Errorf("round %d: it is answered after it was taken back: %v", round, err)
			}
		}
		close(stop)
		wg.Wait()
	}
}

// TestNarrowedPlan: a script that was published under another plan is held to the limits
// of today.
func TestNarrowedPlan(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	w.publish("long", "EMIT 1"+strings.Repeat(" ", 100<<10), account.CallersKeys)
	if r := w.call(ada, "long", ""); r.status != 200 {
		t.Errorf("%s", r.body)
	}
	check(t, w.accounts.SetPlan(t.Context(), "ada", "free"))
	if a := w.call(ada, "long", "").wantError(t, 413, "too_large"); a.Error.Limit != "script_bytes" {
		t.Errorf("%+v", a.Error)
	}
}

// TestKeyOfEverybody: a key without the scope calls what is for everybody as a stranger does, by
// the program's address. By its name it would get the id of the job, and answer its question.
func TestKeyOfEverybody(t *testing.T) {
	w := boot(t)
	ada := w.member("ada", account.Standard)
	w.publish("ask", `EMIT "inside" CONFIRM "pay"`, account.CallersAnyone)
	key := bearer(w.key(ada, "files", "files"))
	for _, script := range []string{"ask", "ask@1", "none"} {
		r := w.send("POST", "/v1/query", jsonType, `{"script":"`+script+`"}`, key...)
		r.wantError(t, 403, "scope_missing")
		if strings.Contains(r.body, "confirm") || strings.Contains(r.body, "job_id") {
			t.Errorf("%s: %s", script, r.body)
		}
	}
	stranger, theirs := w.send("POST", "/run/ada/ask", "", ""), w.send("POST", "/run/ada/ask", "", "", key...)
	if stranger.status != 202 || theirs.body != stranger.body || theirs.status != 202 {
		t.Errorf("a stranger gets %d %s, the key %d %s", stranger.status, stranger.body, theirs.status, theirs.body)
	}
	// So its job is a stranger's in all that is known of it.
	check(t, w.recorder.Flush(t.Context()))
	jobs := w.send("GET", "/v1/jobs", "", "", "Authorization", basic(ada.name, ada.password)).body
	if strings.Count(jobs, `"by":"none"`) != 2 || strings.Contains(jobs, `"key":"files"`) {
		t.Errorf("the jobs are %s", jobs)
	}
	may := w.send("POST", "/v1/query", jsonType, `{"script":"ask"}`, bearer(w.key(ada, "ask", "run:ask"))...).read(t)
	if may.Status != "paused" || may.JobID == "" {
		t.Errorf("a key of the program gets %+v", may)
	}
}
