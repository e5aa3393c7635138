package engine

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ql/lang"
	"ql/lang/form"
	"ql/lang/value"
	"ql/lang/vm"
)

func TestScripts(t *testing.T) {
	tests := []struct{ script, want string }{
		{`EMIT "hello"`, `hello`},
		{`EMIT 1 / 0`, `|division_by_zero: cannot divide 1 by zero`},

		// What is not computed.
		{`EMIT NOW()`, `2026-11-15T08:30:00Z`},
		{`EMIT UUID()`, `2a2a2a2a-2a2a-4a2a-aa2a-2a2a2a2a2a2a`},
		{`EMIT TOKEN()`, `KioqKioqKioqKioqKioqKioqKioqKioqKioqKioqKio`},
		{`EMIT TOKEN(16)`, `KioqKioqKioqKioqKioqKg`},
		{`EMIT TOKEN(15)`, `|bad_argument: TOKEN takes a number of bytes from 16 to 64, not the number 15`},
		{`EMIT TOKEN("x")`, `|bad_argument: TOKEN takes a number of bytes from 16 to 64, not the text "x"`},
		{`SET ?r AS RANDOM() EMIT ?r >= 0 AND ?r < 1`, `true`},
		{`EMIT RANDOM(7, 7)`, `7`},
		{`SET ?r AS RANDOM(-3, 3) EMIT ?r IN [-3, -2, -1, 0, 1, 2, 3]`, `true`},
		{`SET ?r AS RANDOM(-9223372036854775807, 9223372036854775807) EMIT TYPE(?r)`, `number`},
		{`EMIT RANDOM(2, 1)`, `|bad_argument: RANDOM takes the lower number first, not 2 and then 1`},
		{`EMIT RANDOM(6)`, `|bad_argument: RANDOM takes nothing, or two whole numbers such as RANDOM(1, 6), not the number 6 and null`},
		{`EMIT RANDOM(1, 2.5)`, `|bad_argument: RANDOM takes nothing, or two whole numbers such as RANDOM(1, 6), not the number 1 and the number 2.5`},
		{`SET ?h AS PASSWORD_HASH("hunter2") EMIT STARTS_WITH(?h, "$argon2id$"), PASSWORD_MATCHES("hunter2", ?h), PASSWORD_MATCHES("hunter3", ?h)`, `truetruefalse`},
		{`EMIT PASSWORD_MATCHES(NULL, "x") IS NULL, PASSWORD_MATCHES("x", NULL) IS NULL, PASSWORD_HASH(NULL) IS NULL`, `truetruetrue`},
		{`EMIT PASSWORD_MATCHES("x", "junk")`, `|bad_argument: this is no password hash: it must be an argon2id hash such as PASSWORD_HASH makes`},
		{`EMIT PASSWORD_HASH(REPEAT("x", 257))`, `|bad_argument: a password has at most 256 bytes`},
		{`EMIT PASSWORD_MATCHES(REPEAT("x", 257), PASSWORD_HASH("x"))`, `false`},
		{`EMIT PASSWORD_HASH(1)`, `|wrong_kind: the password that PASSWORD_HASH takes is a text, not the number 1`},

		// The world around.
		{`EMIT !ACCOUNT('username'), !ACCOUNT('nothing'), !ACCOUNT`, `ada{"username":"ada","plan":"standard"}`},
		{`EMIT !QUOTA, !JOB('id') IS NULL`, `{}true`},
		{`EMIT !SECRET('key')`, `s3cr3t-key`},
		{`EMIT !SECRET('none')`, `|secret_not_found: there is no secret named "none"`},
		{`EMIT !SECRET`, `|bad_argument: !SECRET wants the name of a secret, such as !SECRET('api_key')`},
		{`EMIT NUMBER(!SECRET('key'))`, `|not_a_number: the text "•••" is not a number; a number looks like 12, -3.5 or 1e6`},
		{`FAIL "key " + !SECRET('key') + " and pin " + !SECRET('pin')`, `|script_failed: key ••• and pin 42`},
		{`FAIL "x" CODE !SECRET('key')`, `|script_failed: x`},
		{`FAIL {message: "x", code: "a_" + UPPER(!SECRET('key'))}`, `|script_failed: x`},
		{`SET ?key AS !SECRET('key') FAIL REPEAT("x", 9995) + ?key`, `|script_failed: ` + strings.Repeat("x", 9995) + `•••…`},
		{`SET ?key AS !SECRET('key') FAIL REPEAT("ä", 1000000)`, `|script_failed: ` + strings.Repeat("ä", 9999) + `…`},

		// Sessions.
		{`EMIT !SESSION('a')`, `|no_session: there is no session yet: write START SESSION first`},
		{`SET "a" AS 1 OF !SESSION`, `|no_session: there is no session yet: write START SESSION first`},
		{`END SESSION`, `|no_session: there is no session yet: write START SESSION first`},
		{`START SESSION START SESSION SET "a" AS {b: 1} OF !SESSION SET "c" AS 2 OF !SESSION UNSET "c" OF !SESSION EMIT !SESSION('a'), !SESSION`, `{"b":1}{"a":{"b":1}}`},
		{`START SESSION END SESSION EMIT !SESSION`, `|no_session: there is no session yet: write START SESSION first`},

		// People and time.
		{`CONFIRM "Sure?"`, `|paused: confirm Sure?`},
		{`CONFIRM 5 SET ?ok`, `|paused: confirm 5`},
		{`CONFIRM "x" WITHIN 0 SECONDS SET ?ok`, `|bad_argument: WITHIN takes a time in which somebody can answer, not 0`},
		{`CONFIRM REPEAT("x", 10001)`, `|bad_argument: CONFIRM asks in at most 10000 characters`},
		{`SET ?s AS [] FOR ?i FROM 1 TO 60 DO SET ?s AS [?s, ?s] END CONFIRM ?s`, `|bad_argument: CONFIRM asks in at most 10000 characters`},
		{`CONFIRM ["a", {b: 1}]`, `|paused: confirm ["a",{"b":1}]`},
		{`GATHER "T" FIELDS a TEXT SET ?f`, `|paused: gather T`},
		{`GATHER "a", "b" SET ?f`, `|paused: gather `},
		{`GATHER "T" FIELDS a CHOICE [] SET ?f`, `|bad_form: the field "a": CHOICE has nothing to choose from: its list is empty`},
		{`WAIT 10 MINUTES`, `|waiting: 2026-11-15T08:40:00Z`},
		{`WAIT 0 SECONDS EMIT "on"`, `on`},
		{`WAIT UNTIL "2026-11-15T09:00:00+01:00" EMIT "past"`, `past`},
		{`WAIT UNTIL "2026-12-01T08:00:00Z"`, `|waiting: 2026-12-01T08:00:00Z`},
		{`WAIT UNTIL "tomorrow"`, `|bad_time: WAIT UNTIL takes a time such as 2026-12-31T08:00:00Z, not "tomorrow": PARSE_TIME(…) reads others`},
		{`WAIT UNTIL 5`, `|wrong_kind: WAIT UNTIL takes a time as text, not the number 5`},

		// Files.
		{`WRITE "hi" TO "/a.txt" READ "/a.txt" SET ?x EMIT ?x`, `hi`},
		{`WRITE {a: [1, 2.5, NULL]} TO "/a.json" READ "/a.json" SET ?x EMIT ?x.a[1]`, `2.5`},
		{`WRITE {a: 1} TO "/a.json" READ "/a.json" AS TEXT SET ?x EMIT TYPE(?x), ?x`, `text{"a":1}`},
		{`WRITE [{a: 1, b: "x,y"}] TO "/a.csv" READ "/a.csv" SET ?x EMIT ?x READ "/a.csv" AS TEXT SET ?t EMIT ?t`, "[{\"a\":\"1\",\"b\":\"x,y\"}]a,b\n1,\"x,y\"\n"},
		{`WRITE ["a", {b: 1}] TO "/a.jsonl" READ "/a.jsonl" SET ?x EMIT ?x`, `["a","{\"b\":1}"]`},
		{`WRITE ["a", "b"] AS LINES TO "/a.txt" READ "/a.txt" SET ?x EMIT ?x`, "a\nb\n"},
		{`WRITE ["a\nb"] AS LINES TO "/a.txt"`, `|bad_argument: line 1 has a line end inside it, so that it would be read as two lines`},
		{`WRITE 5 AS LINES TO "/a.txt"`, `|wrong_kind: a file of lines takes a list, not the number 5`},
		{`WRITE 5 AS BYTES TO "/a.txt"`, `|wrong_kind: a file of bytes takes bytes or a text, not the number 5`},
		{`WRITE 5 TO "/a.txt" READ "/a.txt" SET ?x EMIT TYPE(?x), ?x`, `text5`},
		{`WRITE [1] TO "/a" READ "/a" SET ?x EMIT TYPE(?x), ?x`, `text[1]`},
		{`WRITE NULL TO "/a" READ "/a" SET ?x EMIT LENGTH(?x)`, `0`},
		{`WRITE "a,b" AS CSV TO "/a" READ "/a" SET ?x EMIT ?x`, `a,b`},
		{`WRITE FROM_HEX("ff00") TO "/a" READ "/a" SET ?x EMIT TYPE(?x), HEX(?x)`, `bytesff00`},
		{`WRITE FROM_HEX("ff00") TO "/a.txt" READ "/a.txt" SET ?x`, `|not_text: /a.txt is not UTF-8 text: READ it AS BYTES`},
		{`WRITE "text" TO "/a.png" READ "/a.png" SET ?x EMIT TYPE(?x)`, `bytes`},
		{`WRITE "{" TO "/a.json" READ "/a.json" SET ?x`, `|bad_json: /a.json: this is not JSON: a key in quotes is missing, found the end of the text at line 1, column 2`},
		{`READ "/none.txt" SET ?x`, `|file_not_found: there is no file /none.txt`},
		{`READ "/none.txt" OPTIONAL SET ?x EMIT ?x IS NULL`, `true`},
		{`READ 5 SET ?x`, `|wrong_kind: the path that READ takes is a text, not the number 5`},
		{`APPEND LINE {a: 1} TO FILE "/l.log" APPEND 2 TO FILE "/l.log" READ "/l.log" SET ?x EMIT ?x`, `["{\"a\":1}","2"]`},
		{`WRITE "x" TO "/d/a.txt" LIST "/d" SET ?l EMIT ?l`, `[{"path":"/d/a.txt","name":"a.txt","size":1,"modified":"2026-11-15T08:30:00Z","folder":false}]`},
		{`WRITE "x" TO "/a" COPY "/a" TO "/b" MOVE "/b" TO "/c" REMOVE "/a" LIST "/" SET ?l EMIT MAP(?l, ?f -> ?f.path)`, `["/c"]`},
		{`WRITE "<p>{\{.name}}</p>" TO "/p.html" RENDER "/p.html" USING {name: "<Ada>"}`, `<p>&lt;Ada&gt;</p>`},
		{`WRITE "x{\{" TO "/p.html" RENDER "/p.html"`, `|bad_template: the template /p.html:1: unclosed action`},
		{`WRITE "{\{range 1000000000000}}{\{end}}" TO "/p.html" RENDER "/p.html"`, `|limit_exceeded: the script did more than 10 000 000 steps of work, its limit [fuel]`},
		{`TRY READ "/none" SET ?x CATCH ?e EMIT ?e.code, " ", ?e.line, " ", ?e.step END`, `file_not_found 1 READ`},

		// What is not there yet.
		{`RUN "ls" ON "studio"`, `|not_available: there are no machines here`},
		{`COPY "/a" TO "a" ON "studio"`, `|not_available: there are no machines here`},
		{`SHARE "/a" SET ?u`, `|not_available: there are no links here`},
		{`UNSHARE "x"`, `|not_available: there are no links here`},

		// Databases.
		{`SELECT BREAK FROM t SET ?x`, `|internal: something went wrong inside the service|log: disk on fire`},
		{`TRY SELECT FAIL FROM t SET ?x CATCH ?e EMIT ?e.code END`, `sql_error`},
	}
	for _, tt := range tests {
		w := newWorld(t)
		w.limits.Fuel = 10_000_000
		if got := w.result(w.start(tt.script)); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.script, got, tt.want)
		}
	}
}

// TestCompute runs scripts without effects, with a run and without one.
func TestCompute(t *testing.T) {
	for _, script := range []string{
		`EMIT "hello"`,
		`SET ?x AS [1, 2] FOR ?n IN ?x DO EMIT ?n END`,
		`EMIT "some" EMIT 1 / 0`,
		`TRY FAIL "x" CATCH ?err EMIT ?err.code END`,
		`FAIL "it" CODE "mine"`,
		`WHILE TRUE DO SET ?x AS 1 END`,
		`EMIT REPEAT("x", 100000000)`,
	} {
		w := newWorld(t)
		w.limits.Fuel = 1_000_000
		run := w.start(script)
		want := w.result(run)
		p, err := lang.Compile(script, lang.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if p.HasEffects() {
			t.Errorf("%s has effects", script)
		}
		m := vm.New(p, w.limits, vm.Input{})
		if got := w.said(m)(Compute(w.ctx, m, nil)); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
	// One with effects, which nobody is there to serve, is a fault.
	p, err := lang.Compile(`READ "/a" SET ?x`, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	out, err := Compute(w.ctx, vm.New(p, w.limits, vm.Input{}), nil)
	if err == nil || out.Status != Failed || out.Err.Code != "internal" {
		t.Errorf("it gave %v, %v", out, err)
	}
}

func TestNothingThere(t *testing.T) {
	for script, want := range map[string]string{
		`READ "/a" SET ?x`:          `|not_available: there are no files here`,
		`WRITE 1 TO "/a"`:           `|not_available: there are no files here`,
		`APPEND 1 TO FILE "/a"`:     `|not_available: there are no files here`,
		`LIST "/" SET ?x`:           `|not_available: there are no files here`,
		`MOVE "/a" TO "/b"`:         `|not_available: there are no files here`,
		`REMOVE "/a"`:               `|not_available: there are no files here`,
		`RENDER "/a"`:               `|not_available: there are no files here`,
		`SELECT 1`:                  `|not_available: there are no databases here`,
		`TRANSACTION SELECT 1; END`: `|not_available: there are no databases here`,
		`START SESSION`:             `|not_available: there are no sessions here`,
		`EMIT !SECRET('x')`:         `|secret_not_found: there is no secret named "x"`,
		`EMIT !ACCOUNT`:             `{}`,
		`EMIT LENGTH(UUID())`:       `36`,
		`EMIT LENGTH(NOW())`:        `20`,
	} {
		w := newWorld(t)
		w.o = Options{}
		if got := w.result(w.start(script)); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
}

func TestDatabases(t *testing.T) {
	tests := []struct {
		name, script, want string
		log                []string
	}{
		{"plain", `SET ?n AS 5 SELECT * FROM t WHERE a = ?n SET ?x USE DATABASE "shop" DELETE FROM t;`, "[]\n",
			[]string{"main: SELECT * FROM t WHERE a = ? [5]", "shop: DELETE FROM t []"}},
		{"transaction", `TRANSACTION INSERT INTO t VALUES (1); TRY INSERT INTO t VALUES (2); CATCH EMIT "no" END END`, "[]\n[]\n",
			[]string{"begin main", "tx main: INSERT INTO t VALUES (1) []", "tx main: INSERT INTO t VALUES (2) [] savepoint", "commit"}},
		{"error", `TRY TRANSACTION SELECT FAIL FROM t SET ?x END CATCH ?e EMIT ?e.code END`, "sql_error",
			[]string{"begin main", "tx main: SELECT FAIL FROM t []", "rollback"}},
		{"uncaught error", `TRANSACTION SELECT FAIL FROM t SET ?x END`, "|sql_error: no such thing",
			[]string{"begin main", "tx main: SELECT FAIL FROM t []", "rollback"}},
		{"internal error", `TRANSACTION SELECT BREAK FROM t SET ?x END`, "|internal: something went wrong inside the service|log: disk on fire",
			[]string{"begin main", "tx main: SELECT BREAK FROM t []", "rollback"}},
		{"limit", `TRANSACTION SELECT 1 SET ?x WHILE TRUE DO SET ?x AS 1 END END`, "|limit_exceeded: the script did more than 100 000 steps of work, its limit [fuel]",
			[]string{"begin main", "tx main: SELECT 1 []", "rollback"}},
		{"stop", `TRANSACTION SELECT 1 SET ?x STOP END`, "",
			[]string{"begin main", "tx main: SELECT 1 []", "commit"}},
		{"another database", `TRANSACTION SELECT 1 SET ?x CALL other() END DEFINE other() USE DATABASE "b" SELECT 2 SET ?x END`,
			`|in_transaction: USE DATABASE cannot run inside a TRANSACTION, which belongs to one database`,
			[]string{"begin main", "tx main: SELECT 1 []", "rollback"}},
		{"a file inside", `TRANSACTION SELECT 1 SET ?x CALL f() END DEFINE f() REMOVE "/a" END`,
			`|in_transaction: REMOVE cannot run inside a TRANSACTION, where only SQL and computation run`,
			[]string{"begin main", "tx main: SELECT 1 []", "rollback"}},
	}
	for _, tt := range tests {
		w := newWorld(t)
		w.limits.Fuel = 100_000
		if got := w.result(w.start(tt.script)); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
		if diff := cmp.Diff(tt.log, w.database.log); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDeadlineInsideAnEffect(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(10*time.Millisecond))
	defer cancel()
	w.ctx = ctx
	if got, want := w.result(w.start(`TRANSACTION SELECT HANG FROM t SET ?x END`)), `|limit_exceeded: the script ran longer than it may [time]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := w.database.log[len(w.database.log)-1]; got != "rollback" {
		t.Errorf("the last word to the database was %q, want rollback", got)
	}
}

func TestDeadlineInsideATemplate(t *testing.T) {
	w := newWorld(t)
	w.files["/p.html"] = `{{range 1000000000000}}{{end}}`
	w.limits.Fuel = 1 << 60
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(10*time.Millisecond))
	defer cancel()
	w.ctx = ctx
	if got, want := w.result(w.start(`RENDER "/p.html"`)), `|limit_exceeded: the script ran longer than it may [time]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestWorkIsForTheWholeRun: a loop cannot repeat what one effect may not do.
func TestWorkIsForTheWholeRun(t *testing.T) {
	w := newWorld(t)
	w.limits.Fuel = 2*passwordFuel + 1000
	got := w.result(w.start(`FOR ?i FROM 1 TO 10 DO SET ?h AS PASSWORD_HASH("x") EMIT ?i END`))
	if want := `12|limit_exceeded: the script did more than 6 001 000 steps of work, its limit [fuel]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestHashesCostWhatTheyAskFor: a hash that a script hands over is charged for its own
// parameters, before anything is computed.
func TestHashesCostWhatTheyAskFor(t *testing.T) {
	const rest = `$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4`
	for _, test := range []struct {
		fuel   int64
		params string
		want   string
	}{
		{13 * passwordFuel, `m=65536,t=8,p=4`, `|limit_exceeded: the script did more than 39 000 000 steps of work, its limit [fuel]`},
		{passwordFuel - 1, `m=19456,t=2,p=1`, `|limit_exceeded: the script did more than 2 999 999 steps of work, its limit [fuel]`},
		{passwordFuel + 1000, `m=19456,t=2,p=1`, `false`},
		{2000, `m=8,t=1,p=1`, `false`},
	} {
		w := newWorld(t)
		w.limits.Fuel = test.fuel
		if got := w.result(w.start(`EMIT PASSWORD_MATCHES("x", '$argon2id$v=19$` + test.params + rest + `')`)); got != test.want {
			t.Errorf("%s with %d: got %s, want %s", test.params, test.fuel, got, test.want)
		}
	}
}

func TestFilesUnderTheMachinesLimits(t *testing.T) {
	for script, want := range map[string]string{
		`READ "/big.json" SET ?x`:                                       `|limit_exceeded: the script holds more than 1 MiB of memory, its limit [memory]`,
		`READ "/big.log" SET ?x`:                                        `|limit_exceeded: the script holds more than 1 MiB of memory, its limit [memory]`,
		`READ "/huge.txt" SET ?x`:                                       `|limit_exceeded: /huge.txt is too large`,
		`WRITE {a: REPEAT("x", 400000)} TO "/a"`:                        ``,
		`SET ?t AS REPEAT("x", 400000) WRITE [?t, ?t, ?t] TO "/a.json"`: `|limit_exceeded: one text or bytes value is longer than 1 000 000 bytes, the limit [value_size]`,
	} {
		w := newWorld(t)
		w.limits.Memory = 1 << 20
		w.limits.Text = 1_000_000
		w.files["/big.json"] = "[" + strings.TrimSuffix(strings.Repeat(`"a",`, 100_000), ",") + "]"
		w.files["/big.log"] = strings.Repeat("a\n", 100_000)
		w.files["/huge.txt"] = strings.Repeat("a", 1_000_001)
		if got := w.result(w.start(script)); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
}

// TestListUnderTheMemoryLimit: a folder is paid for while it is read, so that one
// without an end ends the script, and not the process.
func TestListUnderTheMemoryLimit(t *testing.T) {
	w := newWorld(t)
	w.limits.Memory = 1 << 20
	read := 0
	w.o.Files = endlessFiles{w.files, &read}
	const want = `|limit_exceeded: the script holds more than 1 MiB of memory, its limit [memory]`
	if got := w.result(w.start(`LIST "/" SET ?x`)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if read == 0 || read > 10_000 {
		t.Errorf("%d entries were read", read)
	}
}

func TestConfirm(t *testing.T) {
	const script = `CONFIRM "Delete?" WITHIN 2 HOURS SET ?ok EMIT ?ok`
	for approved, want := range map[bool]string{true: "true", false: "false"} {
		w := newWorld(t)
		r := w.start(script)
		out, err := r.Continue(w.ctx)
		if err != nil || out.Status != Paused {
			t.Fatalf("got %v, %v", out, err)
		}
		wantPrompt := &Prompt{ID: "2a2a2a2a-2a2a-4a2a-aa2a-2a2a2a2a2a2a", Kind: KindConfirm, Message: "Delete?", Expires: start.Add(2 * time.Hour), Line: 1}
		if diff := cmp.Diff(wantPrompt, out.Prompt); diff != "" {
			t.Errorf("prompt (-want +got):\n%s", diff)
		}
		if again, _ := r.Continue(w.ctx); again.Prompt.ID != out.Prompt.ID {
			t.Error("asking again asks another question")
		}
		steps, _ := r.Machine().Trace()
		if steps[0].Status != "Paused" {
			t.Errorf("the trace says %s, want Paused", steps[0].Status)
		}
		if _, err := r.Answer(w.ctx, value.Null); !errors.Is(err, ErrWrongReply) {
			t.Errorf("fields for a CONFIRM: got %v, want ErrWrongReply", err)
		}
		if _, err := r.Approve(approved); err != nil {
			t.Fatal(err)
		}
		if got := w.result(r); got != want {
			t.Errorf("approved %v: got %s, want %s", approved, got, want)
		}
		if _, err := r.Approve(true); !errors.Is(err, ErrNotPaused) {
			t.Errorf("a second reply: got %v, want ErrNotPaused", err)
		}
	}
}

func TestDeclined(t *testing.T) {
	w := newWorld(t)
	r := w.start(`EMIT "a" CONFIRM "Go on?" EMIT "b"`)
	w.result(r)
	if _, err := r.Approve(false); err != nil {
		t.Fatal(err)
	}
	if got, want := w.result(r), "a|declined"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestExpire(t *testing.T) {
	w := newWorld(t)
	r := w.start(`TRY CONFIRM "?" WITHIN 1 HOUR SET ?ok CATCH ?e EMIT ?e.code END GATHER "a" SET ?f`)
	w.result(r)
	if _, err := r.Expire(); err != nil {
		t.Fatal(err)
	}
	if got, want := w.result(r), "expired|paused: gather "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := r.Expire(); err != nil {
		t.Fatal(err)
	}
	if got, want := w.result(r), "expired|expired: nobody answered in time"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPausesAreBounded(t *testing.T) {
	w := newWorld(t)
	w.o.MaxPause, w.o.MaxWait = 48*time.Hour, 90*time.Second
	for script, want := range map[string]string{
		`CONFIRM "?" WITHIN 3 DAYS SET ?x`:   `|limit_exceeded: WITHIN is longer than the 2 days that a question may stay open [pause]`,
		`WAIT 91 SECONDS`:                    `|limit_exceeded: WAIT is longer than the 90 seconds that a script may wait [wait]`,
		`WAIT UNTIL "2026-12-01T00:00:00Z"`:  `|limit_exceeded: WAIT is longer than the 90 seconds that a script may wait [wait]`,
		`WAIT UNTIL "2026-11-15T08:31:00Z"`:  `|waiting: 2026-11-15T08:31:00Z`,
		`CONFIRM "?" WITHIN 48 HOURS SET ?x`: `|paused: confirm ?`,
	} {
		if got := w.result(w.start(script)); got != want {
			t.Errorf("%s\n got %s\nwant %s", script, got, want)
		}
	}
	out, err := w.start(`CONFIRM "?"`).Continue(w.ctx)
	if err != nil || !out.Prompt.Expires.Equal(start.Add(48*time.Hour)) {
		t.Errorf("without WITHIN: expires at %v, %v, want after two days", out.Prompt.Expires, err)
	}
}

func TestGather(t *testing.T) {
	w := newWorld(t)
	r := w.start(`GATHER "Ship" FIELDS qty INTEGER MIN 1 MAX 10 REQUIRED, photo FILE SET ?f EMIT ?f`)
	out, err := r.Continue(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if out.Prompt.Form == nil || out.Prompt.Form.Fields[0].Name != "qty" {
		t.Fatalf("got the form %+v", out.Prompt.Form)
	}
	if _, err := r.Approve(true); !errors.Is(err, ErrWrongReply) {
		t.Errorf("an approval for a GATHER: got %v, want ErrWrongReply", err)
	}
	answer := func(text string) error {
		v, bad := value.ParseJSON(nil, text)
		if bad != nil {
			t.Fatal(bad)
		}
		_, err := r.Answer(w.ctx, v)
		return err
	}
	var wrong form.FieldErrors
	if err := answer(`{"qty":"11"}`); !errors.As(err, &wrong) || wrong.Error() != "qty must be a whole number from 1 to 10" {
		t.Errorf("a bad answer: got %v", err)
	}
	if got, want := w.result(r), "|paused: gather Ship"; got != want {
		t.Errorf("after a bad answer: got %s, want %s", got, want)
	}
	if err := answer(`{"qty":"3","photo":{"name":"../cat.png","type":"image/png","base64":"bWVvdw=="}}`); err != nil {
		t.Fatal(err)
	}
	if got, want := w.result(r), `{"qty":3,"photo":{"name":"cat.png","type":"image/png","size":4,"path":"/uploads/2a2a2a2a2a2a2a2a-cat.png"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if w.files["/uploads/2a2a2a2a2a2a2a2a-cat.png"] != "meow" {
		t.Errorf("the files are %v", w.files)
	}
}

func TestWait(t *testing.T) {
	w := newWorld(t)
	r := w.start(`WAIT 1 HOUR EMIT "on"`)
	w.result(r)
	if _, err := r.Approve(true); r.Prompt() != nil || !errors.Is(err, ErrNotPaused) {
		t.Error("a WAIT asks nobody")
	}
	w.now = start.Add(59 * time.Minute)
	if got, want := w.result(r), "|waiting: 2026-11-15T09:30:00Z"; got != want {
		t.Errorf("too early: got %s, want %s", got, want)
	}
	w.now = start.Add(time.Hour)
	if got, want := w.result(r), "on"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCancel(t *testing.T) {
	for _, script := range []string{`CONFIRM "?"`, `WAIT 1 HOUR`} {
		w := newWorld(t)
		r := w.start(script)
		w.result(r)
		r.Cancel(context.Canceled)
		if got, want := w.result(r), "|cancelled: the run was cancelled [time]"; got != want {
			t.Errorf("%s: got %s, want %s", script, got, want)
		}
	}
}

// TestSessionAroundPauses: the session is let go at a pause and taken again at
// its next use.
func TestSessionAroundPauses(t *testing.T) {
	w := newWorld(t)
	r := w.start(`START SESSION SET "a" AS 1 OF !SESSION CONFIRM "?" EMIT !SESSION('a') EMIT !SESSION('a')`)
	w.result(r)
	if diff := cmp.Diff([]string{"start", "release"}, w.sessions.log); diff != "" {
		t.Errorf("at the pause (-want +got):\n%s", diff)
	}
	w.sessions.data.SetText("a", value.Int(2))
	if _, err := r.Approve(true); err != nil {
		t.Fatal(err)
	}
	if got := w.result(r); got != "22" {
		t.Errorf("got %s, want what another run has set meanwhile", got)
	}
	if diff := cmp.Diff([]string{"start", "release", "start", "release"}, w.sessions.log); diff != "" {
		t.Errorf("at the end (-want +got):\n%s", diff)
	}
}

// TestStoredRun: a run stored at a question or a WAIT goes on elsewhere with
// the same question, the same times and its session.
func TestStoredRun(t *testing.T) {
	const script = `START SESSION SET "n" AS 7 OF !SESSION CONFIRM "Go?" WITHIN 1 HOUR SET ?ok WAIT 1 HOUR EMIT ?ok, !SESSION('n')`
	w := newWorld(t)
	p, err := lang.Compile(script, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	store := func(r *Run) *Run {
		t.Helper()
		snapshot, err := r.Machine().Snapshot(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := vm.Restore(context.Background(), nil, p, snapshot, r.Machine().Output())
		if err != nil {
			t.Fatal(err)
		}
		return New(m, w.o, r.State())
	}
	r := New(vm.New(p, w.limits, vm.Input{}), w.o, State{})
	first, err := r.Continue(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	w.now = start.Add(10 * time.Minute)
	w.o.Rand = io.MultiReader() // empty: nothing of it may be made anew
	r = store(r)
	if q := r.Prompt(); q == nil || q.ID != first.Prompt.ID || !q.Expires.Equal(first.Prompt.Expires) {
		t.Errorf("the question is now %+v, want %+v", q, first.Prompt)
	}
	if _, err := r.Approve(true); err != nil {
		t.Fatal(err)
	}
	if got, want := w.result(r), "|waiting: 2026-11-15T09:40:00Z"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	w.now = start.Add(20 * time.Minute)
	r = store(r)
	if got, want := w.result(r), "|waiting: 2026-11-15T09:40:00Z"; got != want {
		t.Errorf("stored again: got %s, want %s", got, want)
	}
	w.now = start.Add(2 * time.Hour)
	if got, want := w.result(r), "true7"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRandomIsFair(t *testing.T) {
	w := newWorld(t)
	w.o.Rand = nil
	got := w.result(w.start(`SET ?seen AS {} FOR ?i FROM 1 TO 2000 DO SET ?seen["{=RANDOM(1, 6)}"] AS 1 END EMIT JOIN(SORT(KEYS(?seen)), "")`))
	if got != "123456" {
		t.Errorf("2000 dice showed %s", got)
	}
	id := w.result(w.start(`EMIT UUID()`))
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
		t.Errorf("%s is no UUID of version 4", id)
	}
}
