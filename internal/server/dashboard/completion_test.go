//go:build !race

package dashboard_test

import (
	"fmt"
	"net/http"
	"strings"
)

// EditorCompletesEachKind: what is proposed while somebody types, of each kind that there is.
var _ = inBrowser("EditorCompletesEachKind", func(v *visitor) {
	v.run("DROP TABLE IF EXISTS cities; CREATE TABLE cities (id INTEGER PRIMARY KEY, population INTEGER);")
	v.call(http.MethodPut, "/v1/files/towns.csv", "name\nUlm\n", nil)
	v.call(http.MethodPut, "/v1/scripts/town-hall", map[string]string{"text": "EMIT 1"}, nil)
	defer v.call(http.MethodDelete, "/v1/scripts/town-hall", nil, nil)
	v.edit("")
	for _, c := range []struct{ kind, typed, want string }{
		{"keyword", "EMI", "EMIT"},
		{"clause", "GATHER 'Name?' FIELDS name TEXT REQ", "REQUIRED"},
		{"function", "EMIT uppe", "UPPER"},
		{"variable", "SET ?longing AS 1 EMIT ?lon", "?longing"},
		{"global", "EMIT !COO", "!COOKIE"},
		{"field", "SET ?a AS {first: 1, second: 2} EMIT ?a.sec", "second"},
		{"table", "SELECT * FROM citi", "cities"},
		{"column", "SELECT popu", "population"},
		{"column of a table", "SELECT * FROM cities WHERE popu", "population"},
		{"database", "USE DATABASE 'mai", "main"},
		{"published script", "START SCRIPT 'town", "town-hall"},
		{"method", "FETCH 'https://example.com' METHOD 'PO", "POST"},
		{"file", "READ '/tow", "/towns.csv"},
	} {
		// As keys are: brackets and quotes are not closed by themselves here.
		v.read(fmt.Sprintf(`(() => { const e = document.querySelector(".cm-content"); e.focus(); const view = e.cmTile?.view ?? e.cmView?.view; view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: %q }, selection: { anchor: %d } }) })()`, c.typed[:len(c.typed)-1], len(c.typed)-1))
		v.until(`!document.querySelector(".cm-tooltip-autocomplete")`)
		v.press(c.typed[len(c.typed)-1:])
		want := fmt.Sprintf(`[...document.querySelectorAll(".cm-tooltip-autocomplete li")].some((l) => l.querySelector(".cm-completionLabel").innerText.includes(%q))`, c.want)
		// What is proposed may grow while it is shown.
		v.read(`delete window.__since`)
		v.until(want + ` || document.querySelector(".cm-tooltip-autocomplete li") && (window.__since ??= performance.now()) + 10000 < performance.now()`)
		if v.read(want) != "true" {
			v.Errorf("%s: %q proposes %s", c.kind, c.typed, strings.ReplaceAll(v.read(`document.querySelector(".cm-tooltip-autocomplete").innerText`), "\n", " "))
		}
		v.press("\x1b")
	}
})
