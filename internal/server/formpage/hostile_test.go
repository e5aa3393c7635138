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
)

// hostile are texts that run where they are not escaped as their place wants it.
var hostile = []string{
	`<script>window.pwned=1</script>`, `"><script>window.pwned=1</script>`, `'><script>window.pwned=1</script>`, `</title><script>window.pwned=1</script>`,
	`</textarea><script>window.pwned=1</script>`, `</option></select><script>window.pwned=1</script>`, `</style><script>window.pwned=1</script>`, `--><script>window.pwned=1</script>`,
	`]]><script>window.pwned=1</script>`, `<ScRiPt>window.pwned=1</sCrIpT>`, `<script/x>window.pwned=1</script>`, `<script src=data:,window.pwned=1></script>`, `<script src=//127.0.0.1:9/x.js></script>`,
	`<img src=x onerror=window.pwned=1>`, `"><img src=x onerror=window.pwned=1>`, `'><img src=x onerror='window.pwned=1'>`, `<img src=x onerror=window.pwned=1//`, `<img/src/onerror=window.pwned=1>`,
	`<svg onload=window.pwned=1>`, `<svg><script>window.pwned=1</script></svg>`, `<svg><animate onbegin=window.pwned=1 attributeName=x dur=1s>`, `<svg><set onbegin=window.pwned=1 attributeName=x>`,
	`<svg><a xlink:href="javascript:window.pwned=1"><text y=20>x</text></a>`, `<math><mtext></form><form><mglyph><style></math><img src onerror=window.pwned=1>`, `<math href="javascript:window.pwned=1">x</math>`,
	`<body onload=window.pwned=1>`, `<body onpageshow=window.pwned=1>`, `<html onmouseover=window.pwned=1>`, `<iframe src="javascript:parent.pwned=1"></iframe>`, `<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>`,
	`<object data="javascript:window.pwned=1"></object>`, `<embed src="javascript:window.pwned=1">`, `<base href="//127.0.0.1:9/">`, `<meta http-equiv=refresh content="0;url=javascript:window.pwned=1">`,
	`<meta http-equiv="Content-Security-Policy" content="script-src 'unsafe-inline'">`, `<link rel=stylesheet href=//127.0.0.1:9/x.css>`, `<link rel=import href=//127.0.0.1:9/x>`,
	`<style>@import url(//127.0.0.1:9/x.css);</style>`, `<style>body{--pwned:1}</style>`, `<div style="background:url(//127.0.0.1:9/x)">`, `<form action="//127.0.0.1:9/"><button>x</button></form>`,
	`</form><form action="//127.0.0.1:9/">`, `<button formaction="javascript:window.pwned=1">x</button>`, `<input onfocus=window.pwned=1 autofocus>`, `" onfocus="window.pwned=1" autofocus="`,
	`' onfocus='window.pwned=1' autofocus='`, `x onfocus=window.pwned=1 autofocus=`, `" autofocus onfocus=window.pwned=1 x="`, `<select onfocus=window.pwned=1 autofocus>`, `<textarea onfocus=window.pwned=1 autofocus>`,
	`<details open ontoggle=window.pwned=1>`, `<video><source onerror=window.pwned=1>`, `<audio src onerror=window.pwned=1>`, `<video poster="javascript:window.pwned=1">`, `<marquee onstart=window.pwned=1>`,
	`<a href="javascript:window.pwned=1" id=x>x</a>`, `javascript:window.pwned=1`, `data:text/html,<script>window.pwned=1</script>`, `{{constructor.constructor('window.pwned=1')()}}`, `${window.pwned=1}`,
	`<%= window.pwned=1 %>`, `<template><script>window.pwned=1</script></template>`, `<noscript><p title="</noscript><img src=x onerror=window.pwned=1>">`, `<xss id=x tabindex=1 onfocus=window.pwned=1></xss>`,
	`<p onclick="window.pwned=1">x</p>`, `&lt;script&gt;window.pwned=1&lt;/script&gt;`, `&#60;script&#62;window.pwned=1&#60;/script&#62;`, `\u003cscript\u003ewindow.pwned=1\u003c/script\u003e`, `\"-window.pwned=1-\"`,
	`'-window.pwned=1-'`, "`-window.pwned=1-`", `<a name=forms></a><img name=documentElement>`, `<form id=form><input name=elements>`, `\x3cscript>window.pwned=1</script>`, `<!--><img src=x onerror=window.pwned=1>-->`,
}

// TestPromiseHostileTexts: whatever a script puts on the page stands there as a text.
func TestPromiseHostileTexts(t *testing.T) {
	if len(hostile) < 60 {
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
