//go:build !race

package formpage_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chromedp/chromedp"
)

// TestDrafts: what was filled in is there again in the same tab, but for secrets and files, until it
// was accepted.
func TestDrafts(t *testing.T) {
	p := newPerson(t)
	const script = `GATHER "Please" FIELDS name TEXT DEFAULT "Ada", pin SECRET, note LONG TEXT, size CHOICE ["s", "m"], extras CHOICES ["x", "y"] DEFAULT ["x"], photo FILE TO "me"
		SET ?f GATHER "More" FIELDS why TEXT TO "me" SET ?g EMIT ?f.name + ?g.why`
	q := p.ask(script, nil)
	p.visit(q.FormURL)
	p.fill("name", "Bob")
	p.fill("pin", "hunter2")
	p.fill("note", "a\nb")
	p.fill("size", "m")
	p.fill("extras", "y")
	p.choose("photo", "a face")
	p.visit(q.FormURL)
	const values = `[...new FormData(document.forms[0])].map(([k, v]) => k + "=" + (v.name ?? v)).join()`
	if got := p.read(values); got != "name=Bob,pin=,note=a\nb,size=m,extras=y,photo=" {
		t.Errorf("after a reload the form has %q", got)
	}
	if kept := p.read(`JSON.stringify({...sessionStorage})`); strings.Contains(kept, "hunter2") || strings.Contains(kept, "pin") || strings.Contains(kept, "photo") {
		t.Errorf("the draft is %s", kept)
	}

	// A draft that was refused stays with what the service says of it.
	p.fill("name", strings.Repeat("x", 10_001))
	p.send("button")
	if got := p.read(`document.forms[0].elements.name.value.length`); got != "10001" {
		t.Errorf("after a refusal the name has %s characters", got)
	}
	p.fill("name", "Cleo")
	p.send("button")
	p.until(`document.forms[0]?.elements.why`)
	if kept := p.read(`JSON.stringify(Object.keys(sessionStorage))`); kept != "[]" {
		t.Errorf("after it was accepted there is %s", kept)
	}
	p.fill("why", "!")
	p.send("button")
	if kept := p.read(`document.title + sessionStorage.length`); kept != "Thank you0" {
		t.Errorf("at the end there is %s", kept)
	}
	if got := p.result(q); got != "Cleo!" {
		t.Errorf("the script gets %q", got)
	}

	// What did not work for another reason than the answer can be tried again.
	decision := p.ask(`CONFIRM "Pay?" EMIT !JOB('answer').note`, nil)
	p.visit(decision.FormURL)
	p.fill("note", "gladly")
	p.do(`document.querySelector("button").removeAttribute("name")`)
	p.send("button")
	if title := p.read(`document.title`); title != "This did not work" {
		t.Errorf("the page is %q", title)
	}
	p.send("main a")
	if got := p.read(`document.forms[0].elements.note.value`); got != "gladly" {
		t.Errorf("the note is %q", got)
	}
	p.send("button")
	if got := p.result(decision); got != "gladly" {
		t.Errorf("the script gets %q", got)
	}
	for _, complaint := range p.complaints() {
		t.Error(complaint)
	}
}

// TestConveniences: characters are counted as the service counts them, a key sends a form and never
// decides, and the browser shows the first field that it finds wrong.
func TestConveniences(t *testing.T) {
	p := newPerson(t)
	q := p.ask(`GATHER "Please" FIELDS note LONG TEXT MAX 5, name TEXT REQUIRED, score INTEGER MIN 1 SET ?f EMIT ?f.note`, nil)
	p.visit(q.FormURL)
	for _, text := range []string{"", "abc", "ä😀é", "a👩‍👩‍👧", "123456"} {
		p.fill("note", text)
		wrong := "false"
		if utf8.RuneCountInString(text) > 5 {
			wrong = "true"
		}
		n := string(rune('0' + utf8.RuneCountInString(text)))
		if got := p.read(`(c0.textContent + " " + c0.classList.contains("wrong"))`); got != n+" of 5 characters "+wrong {
			t.Errorf("%q: %s", text, got)
		}
	}
	p.fill("note", "12345")
	p.do(`document.querySelector("button").click()`)
	p.until(`document.activeElement.name === "name"`)
	p.fill("name", "Ada")
	p.fill("score", "0")
	p.do(`document.querySelector("button").click()`)
	p.until(`document.activeElement.name === "score"`)
	p.fill("score", "3")
	p.do(`document.forms[0].elements.note.focus()`)
	p.must(chromedp.Do(p.tab, chromedp.KeyEvent("\r", chromedp.KeyModifiers(chromedp.ModifierCtrl))))
	p.until(`document.title === "Thank you"`)
	if got := p.result(q); got != "12345" {
		t.Errorf("the script gets %q", got)
	}

	decision := p.ask(`CONFIRM "Pay?"`, nil)
	p.visit(decision.FormURL)
	p.do(`document.forms[0].addEventListener("submit", (e) => { e.preventDefault(); window.decided = true; })`)
	p.do(`document.forms[0].elements.note.focus()`)
	p.must(chromedp.Do(p.tab, chromedp.KeyEvent("\r", chromedp.KeyModifiers(chromedp.ModifierCtrl))))
	if got := p.read(`window.decided`); got != "undefined" {
		t.Error("a key decides")
	}
	for _, complaint := range p.complaints() {
		t.Error(complaint)
	}
}

// TestLargeFile: a file that is too large is not sent.
func TestLargeFile(t *testing.T) {
	p := newPerson(t)
	q := p.ask(`GATHER "Please" FIELDS photo FILE MAX 6 SET ?f EMIT ?f.photo.size`, nil)
	p.visit(q.FormURL)
	if got := p.read(`document.querySelector(".field").innerText`); !strings.Contains(got, "At most 6 bytes") {
		t.Errorf("the field says %q", got)
	}
	p.choose("photo", "two faces")
	p.do(`document.querySelector("button").click()`)
	if got := p.read(`[document.activeElement.name, document.activeElement.validationMessage].join()`); got != "photo,This file is too large: 6 bytes fit." {
		t.Errorf("the browser says %q", got)
	}
	p.choose("photo", "a face")
	p.send("button")
	if got := p.result(q); got != "6" {
		t.Errorf("the script gets %q", got)
	}
}

// TestUpload: a form with files says how far it is, and when it does not arrive all is still there.
func TestUpload(t *testing.T) {
	p := newPerson(t)
	q := p.ask(`GATHER "Please" FIELDS name TEXT MAX 3, pin SECRET, photo FILE REQUIRED SET ?f READ ?f.photo.path AS TEXT SET ?text EMIT "{?f.name} {?f.pin} {?text}"`, nil)
	p.visit(q.FormURL)
	p.fill("name", "too long")
	p.fill("pin", "hunter2")
	p.choose("photo", "a face")
	p.do(`(window.said = [], new MutationObserver(() => said.push(document.querySelector(".progress")?.textContent)).observe(document.querySelector(".progress"), { childList: true, subtree: true, characterData: true }))`)

	// The line is cut.
	p.do(`(window.real = XMLHttpRequest.prototype.send, XMLHttpRequest.prototype.send = function () { this.onerror(); })`)
	p.do(`document.querySelector("button").click()`)
	p.until(`document.querySelector(".progress.wrong")?.textContent.includes("is still here")`)
	p.do(`XMLHttpRequest.prototype.send = window.real`)

	p.send("button")
	p.until(`document.activeElement.name === "name"`)
	if got := p.read(`said.join("|")`); !strings.Contains(got, "Sending…") {
		t.Errorf("the page said %q", got)
	}
	// No page can bring a file or a secret back, but the script keeps them in theirs.
	p.fill("name", "Ada")
	if got := p.read(`document.forms[0].elements.photo.files.length + document.forms[0].elements.pin.value + [...document.querySelectorAll(".field .wrong")].filter((e) => e.checkVisibility()).length`); got != "1hunter21" {
		t.Errorf("after a refusal there is %s", got)
	}
	p.send("button")
	if got := p.read(`document.title + document.activeElement.tagName`); got != "Thank youH1" {
		t.Errorf("at the end there is %s", got)
	}
	if got := p.result(q); got != "Ada hunter2 a face" {
		t.Errorf("the script gets %q", got)
	}
	for _, complaint := range p.complaints() {
		t.Error(complaint)
	}
}

// TestWorking: whoever answered is led on when the job has got on, by the page's script or without it.
func TestWorking(t *testing.T) {
	p := newPerson(t)
	for _, on := range []bool{true, false} {
		p.scripts(on)
		q := p.ask(`GATHER "First" FIELDS a TEXT SET ?a WAIT 2 SECONDS GATHER "Second" FIELDS b TEXT SET ?b EMIT ?a.a + ?b.b`, nil)
		p.visit(q.FormURL)
		p.fill("a", "1")
		p.send("button")
		p.until(`document.forms[0]?.elements.b`)
		p.fill("b", "2")
		p.send("button")
		p.until(`document.title === "Thank you"`)
		if got := p.result(q); got != "12" {
			t.Errorf("scripts %t: the script gets %q", on, got)
		}
	}
	for _, complaint := range p.complaints() {
		t.Error(complaint)
	}
}
