package server_test

import (
	"strings"
	"testing"

	"ql/internal/account"
)

// TestWhatMayFollow: where its owner wants that, the page of a question says what its job may do after
// the answer, before anybody answers.
func TestWhatMayFollow(t *testing.T) {
	w := boot(t, unlimitedCalls)
	ada := w.member("ada", account.Standard)
	owner := []string{"Authorization", basic(ada.name, ada.password)}
	page := func(script string, headers ...string) string {
		t.Helper()
		paused := w.query(ada, script, "").read(t)
		r := w.send("GET", strings.TrimPrefix(paused.FormURL, "http://ql.example"), "", "", headers...)
		if r.status != 200 {
			t.Fatalf("%s: %d %s", script, r.status, r.body)
		}
		return r.body
	}
	const pays = `CREATE TABLE IF NOT EXISTS paid (n); SET ?secret AS "hush" CONFIRM "Pay?"
		INSERT INTO paid VALUES (1); FETCH "https://ada:hush@api.example.com/pay?key=hush" SET ?r WRITE "x" TO "/<b>.txt" CALL more()
		DEFINE more() USE DATABASE "shop" DELETE FROM goods; FETCH !GET("url") SET ?r GATHER "Who?" FIELDS name TEXT SET ?f END`
	if body := page(pays); strings.Contains(body, "follows") {
		t.Errorf("it is said although nobody has asked for it:\n%s", body)
	}
	if a := readAny(t, w.send("PATCH", "/v1/account", jsonType, `{"show_effects":true}`, owner...)); a["show_effects"] != true {
		t.Fatalf("the account is %v", a)
	}
	if log := strings.Join(w.acts(ada), ", "); !strings.Contains(log, "account_changed show_effects=true") {
		t.Errorf("the log has %s", log)
	}
	body := page(pays)
	last := 0
	for _, line := range []string{
		"<h2 id=\"follows\">What may follow your answer</h2>",
		"<li>changes the database <code dir=\"auto\">main</code> (INSERT)</li>",
		"<li>changes the database <code dir=\"auto\">shop</code> (DELETE)</li>",
		"<li>writes files: <code dir=\"auto\">/&lt;b&gt;.txt</code></li>",
		"<li>calls <code dir=\"auto\">https://api.example.com</code>, and a server that the script chooses (FETCH)</li>",
		"<li>asks somebody</li>", "<button class=\"main\" name=\"approved\"",
	} {
		at := strings.Index(body, line)
		if at < last {
			t.Errorf("%s is at %d:\n%s", line, at, body)
		}
		last = max(at, last)
	}
	if strings.Contains(body, "hush") {
		t.Errorf("a secret is on the page:\n%s", body)
	}
	if body := page(`GATHER "Wer?" FIELDS name TEXT SET ?f INSERT INTO t VALUES (1);`, "Accept-Language", "de"); !strings.Contains(body, "Was auf Ihre Antwort folgen kann") || !strings.Contains(body, "ändert die Datenbank <code dir=\"auto\">main</code> (INSERT)") {
		t.Errorf("in German:\n%s", body)
	}
	if body := page(`CREATE TABLE t (a); CONFIRM "Sure?" EMIT "done"`); !strings.Contains(body, "<li>Nothing is changed after this, and no server is called.</li>") {
		t.Errorf("of a script that does nothing more:\n%s", body)
	}

	// A job that goes on says it at its next question; and nothing is said when the owner wants that.
	paused := w.query(ada, `CONFIRM "One?" CONFIRM "Two?" REMOVE "/x"`, "").read(t)
	w.confirm(paused.JobID, `{"approved":true}`)
	second := w.reach(paused.JobID, "paused")
	path := strings.TrimPrefix(second.FormURL, "http://ql.example")
	if r := w.send("GET", path, "", ""); !strings.Contains(r.body, "removes files: <code dir=\"auto\">/x</code>") || strings.Contains(r.body, "asks somebody") {
		t.Errorf("the second question:\n%s", r.body)
	}
	readAny(t, w.send("PATCH", "/v1/account", jsonType, `{"show_effects":false}`, owner...))
	if r := w.send("GET", path, "", ""); r.status != 200 || strings.Contains(r.body, "follows") {
		t.Errorf("it is said still:\n%s", r.body)
	}
}
