//go:build !race

package formpage_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"ql/internal/account"
	"ql/internal/operator"
	"ql/internal/server/pagetest"
)

// TestPromiseHostileTexts: whatever a script puts on the page stands there as a text.
func TestPromiseHostileTexts(t *testing.T) {
	hostile := pagetest.Hostile()
	if len(hostile) < 200 {
		t.Fatalf("there are %d hostile texts", len(hostile))
	}
	texts := hostile[:4]
	if n, _ := strconv.Atoi(os.Getenv("QL_PROMISES")); n > 0 {
		texts = hostile
	}
	p := newPerson(t)
	const script = `GATHER !GET("x") FIELDS
		a TEXT LABEL !GET("x") HELP !GET("x") DEFAULT !GET("x"), b LONG TEXT DEFAULT !GET("x") LABEL !GET("x"), c CHOICE [!GET("x"), "other"] DEFAULT !GET("x") LABEL !GET("x"),
		d CHOICE [!GET("x"), "1", "2", "3", "4", "5", "6"] LABEL !GET("x"), e CHOICES {x: !GET("x"), y: "y"} LABEL !GET("x"), f BOOLEAN LABEL !GET("x"), g INTEGER LABEL !GET("x"),
		h SECRET LABEL !GET("x"), i FILE LABEL !GET("x"), j BOOLEAN REQUIRED LABEL !GET("x"), k TEXT MAX 3
		SET ?f CONFIRM !GET("x") + "\n" + !GET("x")`
	harmless := func(where, text string) {
		t.Helper()
		p.do(`document.querySelectorAll("input, textarea, select, button").forEach((e) => e.focus())`)
		if got := p.read(`[typeof window.pwned, getComputedStyle(document.body).getPropertyValue("--pwned"), document.forms.length, new URL(document.forms[0].action).origin === location.origin,
			document.querySelectorAll("script, iframe, img, object, embed, base, style").length, document.querySelectorAll("main :is(link, meta, math, video, audio, details, template, noscript)").length].join()`); got != "undefined,,1,true,1,0" {
			t.Errorf("%s, %s: %s", where, text, got)
		}
		if shown := p.read(`document.querySelector("main").textContent`); !strings.Contains(shown, text) {
			t.Errorf("%s, %s: the text is not on the page", where, text)
		}
	}
	for i, text := range texts {
		q := p.ask(script, map[string]any{"x": text})
		p.visit(q.FormURL)
		harmless("form", text)
		if got := p.read(`[document.forms[0].elements.a.value, document.forms[0].elements.b.value, document.forms[0].querySelector("[name=c]:checked").value].join("\n")`); got != strings.Join([]string{text, text, text}, "\n") {
			t.Errorf("%s: the fields have %q", text, got)
		}
		p.fill("k", text)
		p.unchecked()
		p.send("button")
		harmless("refused", text)
		if utf8.RuneCountInString(text) <= 60 {
			p.service.Operate(func(o *operator.Operator) error {
				_, err := o.Accounts.SetLook(t.Context(), "user_test", account.LookChange{DisplayName: &text})
				return err
			})
		}
		decision := p.ask(`CONFIRM !GET("x") + "\n" + !GET("x")`, map[string]any{"x": text})
		p.visit(decision.FormURL)
		harmless("decision", text)
		if name := p.read(`document.querySelector(".name")?.textContent ?? ""`); name != text && utf8.RuneCountInString(text) <= 60 {
			t.Errorf("%s: the display name is %q", text, name)
		}
		p.fill("note", text)
		p.send("button")
		if title := p.read("document.title + typeof window.pwned"); title != "Thank youundefined" {
			t.Errorf("%d %s: %s", i, text, title)
		}
		for _, complaint := range p.complaints() {
			t.Errorf("%s: %s", text, complaint)
		}
	}

	// Names of fields are part of the script.
	for i, name := range []string{`"><img src=x onerror=window.pwned=1>`, `' onfocus='window.pwned=1`, `__proto__`, `elements`, `constructor`, `submit`, `action`, `querySelector`, `note`, `f0`, `hasOwnProperty`, `dataset`} {
		q := p.ask(fmt.Sprintf(`GATHER "x" FIELDS %q TEXT, other LONG TEXT MAX 9 SET ?f EMIT ?f`, name), nil)
		p.visit(q.FormURL)
		p.fill(name, "Ada")
		p.visit(q.FormURL) // by its draft
		p.fill("other", "x")
		p.do(`HTMLFormElement.prototype.requestSubmit.call(document.querySelector("form"))`)
		p.until(`document.title === "Thank you"`)
		if got := p.result(q); !strings.Contains(got, `"Ada"`) || p.read("typeof window.pwned") != "undefined" {
			t.Errorf("%d %s: %s", i, name, got)
		}
	}
	for _, complaint := range p.complaints() {
		t.Error(complaint)
	}
}
