package vm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ql/lang/bytecode"
	"ql/lang/langtest"
	"ql/lang/value"
	"ql/lang/vm"
)

// standing returns the machine of a script at its first question.
func standing(t testing.TB, text string) *vm.Machine {
	t.Helper()
	get := value.NewMap(nil, 0)
	get.SetText("host", value.Text("c.example"))
	m := vm.New(compile(t, text), langtest.Limits(), vm.Input{Get: get.Value()})
	for m.Run(context.Background()) == vm.Pending {
		switch m.Effect().Kind {
		case bytecode.EffectConfirm, bytecode.EffectGather:
			return m
		}
		m.Resume(value.Null)
	}
	t.Fatalf("the script asks nothing: %v", m.Err())
	return nil
}

// TestProspect: what may follow a question is told by kind and name, and what is behind it is not.
func TestProspect(t *testing.T) {
	many := strings.Builder{}
	for i := range 12 {
		fmt.Fprintf(&many, "WRITE 'x' TO '/f%d'\nINSERT INTO t VALUES (1);\nUSE DATABASE 'd%02d'\n", i, i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"an INSERT and a FETCH": {`CONFIRM "Pay?" INSERT INTO t (a) VALUES (1); FETCH "https://api.example.com/pay?key=hush" SET ?r`,
			`{"databases":[{"by":["INSERT"]}],"hosts":{"known":["https://api.example.com"]}}`},
		"nothing":             {`INSERT INTO t (a) VALUES (1); WRITE "x" TO "/x" CONFIRM "Sure?" EMIT "done"`, `{}`},
		"reads alone":         {`CONFIRM "Sure?" SELECT * FROM t SET ?r; READ "/x" OPTIONAL SET ?x LIST "/" SET ?l`, `{}`},
		"a database by name":  {`USE DATABASE "shop" CONFIRM "Sure?" DELETE FROM t;`, `{"databases":[{"name":"shop","by":["DELETE"]}]}`},
		"one that is changed": {`USE DATABASE "shop" CONFIRM "Sure?" USE DATABASE "main" UPDATE t SET a = 1;`, `{"databases":[{"name":"main","by":["UPDATE"]}]}`},
		"one of two":          {`CONFIRM "Sure?" SET ?ok IF ?ok THEN USE DATABASE "a" END INSERT INTO t VALUES (1);`, `{"databases":[{"by":["INSERT"]},{"name":"a","by":["INSERT"]}]}`},
		"one that is computed": {`CONFIRM "Sure?" USE DATABASE "x{=!GET('host')}" DELETE FROM t;`,
			`{"databases":[{"any":true,"by":["DELETE"]}]}`},
		"a function gives back": {`DEFINE f() USE DATABASE "inner" INSERT INTO t VALUES (1); END CONFIRM "Sure?" CALL f() DELETE FROM t;`,
			`{"databases":[{"by":["DELETE"]},{"name":"inner","by":["INSERT"]}]}`},
		"asked in a function": {`DEFINE f() USE DATABASE "inner" CONFIRM "Sure?" INSERT INTO t VALUES (1); END USE DATABASE "outer" WRITE "x" TO "/before" CALL f() DELETE FROM t; WRITE "x" TO "/after"`,
			`{"databases":[{"name":"inner","by":["INSERT"]},{"name":"outer","by":["DELETE"]}],"writes":{"known":["/after"]}}`},
		"asked in a loop": {`FOR ?i FROM 1 TO 3 DO WRITE "x" TO "/before-{?i}" WRITE "x" TO "/in" CONFIRM "Sure?" END`,
			`{"writes":{"known":["/in"],"any":true},"asks":true}`},
		"files":    {`CONFIRM "Sure?" COPY "/a" TO "/b" MOVE "/c" TO "/d" REMOVE "/e" APPEND "x" TO FILE "/f"`, `{"writes":{"known":["/b","/d","/f"]},"removes":{"known":["/c","/e"]}}`},
		"rows":     {`CONFIRM "Sure?" SELECT 1 AS a SET FILE "/rows.csv"; IMPORT FILE "/rows.csv" INTO t SET ?n`, `{"databases":[{"by":["IMPORT"]}],"writes":{"known":["/rows.csv"]}}`},
		"machines": {`CONFIRM "Sure?" RUN ["ls"] ON "web1" SET ?r COPY "/a" ON "web2" TO "/b" COPY "/c" TO "/d" ON "web3"`, `{"writes":{"known":["/b"]},"machines":{"known":["web1","web2","web3"]}}`},
		"others":   {`CONFIRM "Sure?" SHARE "/x" SET ?u GATHER "Who?" FIELDS a TEXT SET ?f`, `{"shares":true,"asks":true}`},
		"sessions": {`START SESSION CONFIRM "Sure?" SET "a" AS 1 OF !SESSION`, `{"sessions":true}`},
		"a variable": {`SET ?url AS "http://A.Example:8080" SET ?u AS ?url CONFIRM "Sure?" FOR ?i FROM 1 TO 2 DO FETCH ?u SET ?r END`,
			`{"hosts":{"known":["http://a.example:8080"]}}`},
		"one that is set twice": {`SET ?url AS "http://a.example/" IF !GET("x") IS NOT NULL THEN SET ?url AS "http://b.example/" END CONFIRM "Sure?" FETCH ?url SET ?r`, `{"hosts":{"any":true}}`},
		"a path that is computed": {`CONFIRM "Sure?" SET ?id AS 5 FETCH "https://a.example/u/{?id}" SET ?r FETCH "https://b.example/" + ?id SET ?s`,
			`{"hosts":{"known":["https://a.example","https://b.example"]}}`},
		"a host that is computed": {`CONFIRM "Sure?" SET ?h AS !GET("host") FETCH "https://{?h}/x" SET ?r FETCH "https://a.exa{?h}" SET ?r`, `{"hosts":{"any":true}}`},
		"a choice":                {`CONFIRM "Sure?" SET ?ok FETCH CASE WHEN ?ok THEN "https://a.example/" ELSE "https://b.example/" END SET ?r`, `{"hosts":{"any":true}}`},
		"a password":              {`CONFIRM "Sure?" FETCH "https://ada:hush@a.example/" SET ?r`, `{"hosts":{"known":["https://a.example"]}}`},
		"after a choice": {`CONFIRM "Sure?" SET ?ok FETCH "https://a.example/" BODY CASE WHEN ?ok THEN 1 ELSE 2 END SET ?r`,
			`{"hosts":{"known":["https://a.example"]}}`},
		"caught":   {`TRY CONFIRM "Sure?" FAIL "x" CATCH ?e WRITE "x" TO "/caught" FINALLY REMOVE "/last" END`, `{"writes":{"known":["/caught"]},"removes":{"known":["/last"]}}`},
		"stopped":  {`CONFIRM "Sure?" STOP WRITE "x" TO "/never"`, `{}`},
		"a lambda": {`CONFIRM "Sure?" DEFINE w(?x) WRITE ?x TO "/w" RETURN ?x END SET ?l AS MAP([1, 2], ?x -> w(?x))`, `{"writes":{"known":["/w"]}}`},
		"many": {`CONFIRM "Sure?" ` + many.String(),
			`{"databases":[{"by":["INSERT"]},{"name":"d00","by":["INSERT"]},{"name":"d01","by":["INSERT"]},{"name":"d02","by":["INSERT"]},{"name":"d03","by":["INSERT"]},{"name":"d04","by":["INSERT"]},{"name":"d05","by":["INSERT"]},{"name":"d06","by":["INSERT"]},{"any":true,"by":["INSERT"]}],"writes":{"known":["/f0","/f1","/f2","/f3","/f4","/f5","/f6","/f7"],"any":true}}`},
		"long and hidden": {`CONFIRM "Sure?" WRITE "x" TO "/` + strings.Repeat("x", 100) + "\" WRITE \"x\" TO \"/a\u202eb\"", `{"writes":{"any":true}}`},
		"too much":        {`CONFIRM "Sure?" ` + strings.Repeat("SET ?a AS 1\n", 1<<15), `{"partial":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(standing(t, c.text).Prospect())
			if err != nil || string(got) != c.want {
				t.Errorf("%s, want %s (%v)", got, c.want, err)
			}
		})
	}
}

// TestProspectHasAllThatFollows: whatever a program does after an effect was told there.
func TestProspectHasAllThatFollows(t *testing.T) {
	covered := map[bytecode.Effect]int{}
	for seed := range count(60, 400) {
		s := newSubject(t, seed)
		var told []bytecode.Prospect
		_, _ = s.drive(s.start(), func(m *vm.Machine) *vm.Machine {
			for i := range told {
				if missed := missing(&told[i], m.Effect()); missed != "" {
					t.Fatalf("seed %d: %s after %d effects is not in %+v, told at effect %d of\n%s", seed, missed, m.Effect().Seq, told[i], i+1, s.text)
				}
			}
			covered[m.Effect().Kind]++
			if len(told) < 20 {
				told = append(told, m.Prospect())
			}
			return m
		}, s.asked)
	}
	for _, e := range []bytecode.Effect{bytecode.EffectSQL, bytecode.EffectFetch, bytecode.EffectFileWrite, bytecode.EffectConfirm} {
		if covered[e] == 0 {
			t.Errorf("no program has %s", e)
		}
	}
}

// missing returns what of an effect was not told.
func missing(told *bytecode.Prospect, e *vm.Effect) string {
	names := func(n bytecode.Names, name string) string {
		if n.Any || slices.Contains(n.Known, name) {
			return ""
		}
		return e.Kind.String() + " " + name
	}
	text := func(i int) string { return string(value.AppendText(nil, e.Args[i])) }
	switch e.Kind {
	case bytecode.EffectSQL, bytecode.EffectSQLFile:
		if e.Statement.Head == "SELECT" || slices.ContainsFunc(told.Databases, func(d bytecode.ChangedDatabase) bool {
			return (d.Any || d.Name == e.Database) && slices.Contains(d.By, e.Statement.Head)
		}) {
			return ""
		}
		return e.Statement.Head + " in " + e.Database
	case bytecode.EffectFileWrite, bytecode.EffectFileAppend:
		return names(told.Writes, text(0))
	case bytecode.EffectFileCopy:
		return names(told.Writes, text(1))
	case bytecode.EffectFileMove:
		return names(told.Removes, text(0)) + names(told.Writes, text(1))
	case bytecode.EffectFileRemove:
		return names(told.Removes, text(0))
	case bytecode.EffectFetch:
		if told.Hosts.Any || slices.ContainsFunc(told.Hosts.Known, func(h string) bool { return strings.HasPrefix(text(0), h) }) {
			return ""
		}
		return "FETCH " + text(0)
	case bytecode.EffectRun:
		return names(told.Machines, text(1))
	case bytecode.EffectConfirm, bytecode.EffectGather:
		if !told.Asks {
			return e.Kind.String()
		}
	case bytecode.EffectShare, bytecode.EffectUnshare:
		if !told.Shares {
			return e.Kind.String()
		}
	case bytecode.EffectSessionSet, bytecode.EffectSessionUnset, bytecode.EffectSessionStart, bytecode.EffectSessionEnd:
		if !told.Sessions {
			return e.Kind.String()
		}
	}
	return ""
}

// TestProspectIsBounded: no program has whoever asks look for long, and what is told of it is short.
func TestProspectIsBounded(t *testing.T) {
	hostile := map[string]string{}
	var b strings.Builder
	b.WriteString("CONFIRM \"Sure?\" SET ?ok\nWHILE ?ok DO\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "IF ?ok THEN USE DATABASE 'd%d' END INSERT INTO t VALUES (1); FETCH 'https://h%d.example/' + ?ok SET ?r TRY WRITE ?ok TO '/f%d' CATCH ?e REMOVE ?ok END\n", i, i, i)
	}
	hostile["databases"] = b.String() + "END"
	hostile["nested"] = "CONFIRM \"Sure?\"\n" + strings.Repeat("TRY\n", 60) + strings.Repeat("WRITE 'x' TO '/x'\n", 5000) + strings.Repeat("CATCH ?e REMOVE '/y' END\n", 60)
	b.Reset()
	for i := range 1000 {
		fmt.Fprintf(&b, "DEFINE f%d()\nUSE DATABASE 'x%d'\nCALL f%d()\nDELETE FROM t;\nEND\n", i, i%70, (i*7+1)%1000)
	}
	hostile["functions"] = b.String() + "CONFIRM \"Sure?\" CALL f0()"
	for name, text := range hostile {
		m := standing(t, text)
		began := time.Now()
		told, err := json.Marshal(m.Prospect())
		if took := time.Since(began); took > 5*time.Second { // some milliseconds, on a machine that does nothing else
			t.Errorf("%s: it took %v", name, took)
		} else {
			t.Logf("%s: %v, %d bytes", name, took, len(told))
		}
		if err != nil || len(told) > 4<<10 || strings.Contains(name, "databases") && !strings.Contains(string(told), `"any":true`) {
			t.Errorf("%s: %d bytes %s, %v", name, len(told), told, err)
		}
	}
}
