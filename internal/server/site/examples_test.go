// The library that drives the browser has races of its own, which the detector finds.

//go:build !race

package site_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"ql/internal/server/browsertest"
)

// examples are the sites of examples/sites as their visitors meet them: in a browser that runs no
// scripts, or by bare requests.
type examples struct {
	*world
	tab context.Context
}

// TestExamples visits the example sites, which are one site of one account.
func TestExamples(t *testing.T) {
	e := &examples{world: boot(t)}
	e.deployExamples()
	e.browse()
	// The last one uses up what a network may try.
	for _, test := range []struct {
		name  string
		visit func(*testing.T, *examples)
	}{{"guestbook", testGuestbook}, {"blog", testBlog}, {"contact", testContact}, {"shop", testShop}, {"log-in", testLogIn}} {
		t.Run(test.name, func(t *testing.T) {
			w := *e.world
			w.t = t
			test.visit(t, &examples{world: &w, tab: e.tab})
		})
	}
}

// browse starts the browser.
func (e *examples) browse() {
	e.t.Helper()
	e.tab = browsertest.Open(e.t, "host-resolver-rules", "MAP *."+domain+" 127.0.0.1")
	_, err := chromedp.Call(e.tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	e.must(err)
}

func (e *examples) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// read returns the text that an expression gives in the page.
func (e *examples) read(expression string) string {
	e.t.Helper()
	return browsertest.Read(e.t, e.tab, expression)
}

// until waits until an expression is true.
func (e *examples) until(expression string) {
	e.t.Helper()
	browsertest.Until(e.t, e.tab, expression)
}

// visit opens a page.
func (e *examples) visit(url string) {
	e.t.Helper()
	e.must(chromedp.Do(e.tab, chromedp.Navigate(url)))
	e.until(`document.readyState === "complete" && document.querySelector("main")`)
}

// accessible checks that everybody can use the page that is shown.
func (e *examples) accessible(page string) {
	e.t.Helper()
	scripts := func(disabled bool) {
		_, err := chromedp.Call(e.tab, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: disabled})
		e.must(err)
	}
	scripts(false) // what looks at the page is one
	browsertest.Accessible(e.t, e.tab, page)
	scripts(true)
}

// fill fills in fields, given as pairs of name and value.
func (e *examples) fill(pairs ...string) {
	e.t.Helper()
	for i := 0; i+1 < len(pairs); i += 2 {
		name, err := json.Marshal(pairs[i])
		e.must(err)
		value, err := json.Marshal(pairs[i+1])
		e.must(err)
		e.read(fmt.Sprintf(`document.getElementsByName(%s)[0].value = %s`, name, value))
	}
}

// press clicks what is called so, and waits for the page that follows.
func (e *examples) press(label string) {
	e.t.Helper()
	e.read(fmt.Sprintf(`document.querySelector("main").old = true, [...document.querySelectorAll("a, button")].find((b) => b.innerText === %q).click()`, label))
	e.until(`document.readyState === "complete" && document.querySelector("main") && !document.querySelector("main").old`)
}

// shows checks that the page has texts, and others not: those behind a minus.
func (e *examples) shows(texts ...string) {
	e.t.Helper()
	page := e.read("document.body.innerText")
	for _, wanted := range texts {
		text, absent := strings.CutPrefix(wanted, "-")
		if strings.Contains(page, text) == absent {
			e.t.Errorf("wanted %q in the page:\n%s", wanted, page)
		}
	}
}

func testGuestbook(t *testing.T, e *examples) {
	e.visit(e.SiteURL("ada") + "/")
	e.accessible("the first page")
	e.press("A guestbook")
	e.accessible("an empty guestbook")
	e.shows("Nobody yet", "-Thank you")
	if got := e.read(`getComputedStyle(document.body).maxWidth`); got != "672px" {
		t.Errorf("the page has no style: %s", got)
	}
	e.fill("name", "Ada <b>", "text", "First\nline <script>alert(1)</script>")
	e.press("Sign")
	e.shows("Thank you, Ada <b>.", "line <script>alert(1)</script>", "-Nobody yet")
	e.visit(e.SiteURL("ada") + "/guestbook/")
	e.shows("-Thank you", "Ada <b>")

	e.fill("name", "Bob")
	e.read(`document.forms[0].noValidate = true`)
	e.press("Sign")
	e.shows("The text must be answered.", "-Thank you")
	e.accessible("a guestbook with a mistake")
	if got := e.read(`document.getElementsByName("name")[0].value`); got != "Bob" {
		t.Errorf("what was filled in is lost: %q", got)
	}

	form := []string{"Content-Type", "application/x-www-form-urlencoded"}
	for i := range 10 {
		if a := e.call("POST", e.SiteURL("ada")+"/guestbook/", fmt.Sprintf("name=N%d&text=t", i), form...); a.status != 303 || a.header.Get("Location") != "/guestbook/" {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	e.visit(e.SiteURL("ada") + "/guestbook/")
	e.shows("N9", "N0", "-Ada <b>")
	e.accessible("a guestbook")
	e.press("Older entries")
	e.shows("Ada <b>", "-N0")
	if a := e.get("/guestbook/?before=x"); a.status != 200 || len(a.header.Values("Set-Cookie")) != 0 {
		t.Errorf("a visitor without a notice has a session: %d %v", a.status, a.header)
	}
	if a := e.get("/nothing"); a.status != 404 || !strings.Contains(a.body, "the first page") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func testBlog(t *testing.T, e *examples) {
	e.visit(e.SiteURL("ada") + "/")
	e.press("A blog")
	e.shows("A page is a file", "2 November 2026")
	e.accessible("the blog")
	feedURL := e.read(`document.head.querySelector("link[rel=alternate]").href`)
	e.press("Names that stand for many")
	e.shows("digits & hyphens", "-A page is a file")
	e.accessible("a post")
	e.press("Blog")
	e.shows("A page is a file")

	var feed struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string   `xml:"id"`
		Updated string   `xml:"updated"`
		Entries []struct {
			Title   string `xml:"title"`
			ID      string `xml:"id"`
			Content string `xml:"content"`
			Link    struct {
				Href string `xml:"href,attr"`
			} `xml:"link"`
		} `xml:"entry"`
	}
	a := e.call("GET", feedURL, "")
	if kind := a.header.Get("Content-Type"); a.status != 200 || kind != "application/atom+xml; charset=utf-8" {
		t.Fatalf("%d %s %s", a.status, kind, a.body)
	}
	e.must(xml.Unmarshal([]byte(a.body), &feed))
	if feed.ID != "tag:ada.sites.example,2026:/blog/" || feed.Updated != "2026-11-02T00:00:00Z" || len(feed.Entries) != 2 {
		t.Fatalf("%+v", feed)
	}
	first := feed.Entries[0]
	if first.Title != "Names that stand for many" || !strings.HasSuffix(first.Content, "digits & hyphens.") || first.ID != feed.ID+"2026-11-02-names-that-stand-for-many" {
		t.Errorf("%+v", first)
	}
	if post := e.get(first.Link.Href); post.status != 200 {
		t.Errorf("the feed leads to nothing: %d", post.status)
	}
	if again := e.call("GET", feedURL, "", "If-None-Match", a.header.Get("Etag")); again.status != 304 {
		t.Errorf("a reader gets the same again: %d", again.status)
	}
	for _, path := range []string{"/blog/2026-10-04-nothing", "/blog/_posts", "/blog/_posts/2026-10-04-a-page-is-a-file.txt", "/blog/2026-10-04-..%20", "/blog/x"} {
		if a := e.get(path); a.status != 404 || !strings.Contains(a.body, "the first page") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// question is one that a site's owner is asked.
func (e *examples) question(to string) (title, form string) {
	e.t.Helper()
	var list struct {
		Questions []struct {
			Title   string
			FormURL string `json:"form_url"`
		}
	}
	a := e.call("GET", e.URL()+"/v1/questions?to="+to, "", "Authorization", "Basic "+basic("ada"))
	e.must(json.Unmarshal([]byte(a.body), &list))
	if len(list.Questions) != 1 {
		e.t.Fatalf("%d %s", a.status, a.body)
	}
	return list.Questions[0].Title, list.Questions[0].FormURL
}

// cookies are those that an answer sets, as a browser sends them.
func cookies(a answer) string {
	var pairs []string
	for _, set := range a.header.Values("Set-Cookie") {
		pair, _, _ := strings.Cut(set, ";")
		pairs = append(pairs, pair)
	}
	return strings.Join(pairs, "; ")
}

// eventually waits until a page has a text: a job goes on when its question is answered.
func (e *examples) eventually(path, text string, headers ...string) {
	e.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(time.Minute); ; <-tick.C {
		a := e.get(path, headers...)
		if strings.Contains(a.body, text) {
			return
		}
		if time.Now().After(end) {
			e.t.Fatalf("%s never has %q: %d %s", path, text, a.status, a.body)
		}
	}
}

func testContact(t *testing.T, e *examples) {
	address := e.SiteURL("ada") + "/contact/"
	e.visit(e.SiteURL("ada") + "/")
	e.press("Contact")
	e.accessible("contact")
	e.fill("name", "Ada", "email", "ada@example.com", "text", "When do you <b>open</b>?")
	e.press("Ask")
	e.shows("waits for somebody", "-Ada")
	e.accessible("a page that waits")
	e.visit(address + "mine")
	e.shows("Your question waits", "When do you <b>open</b>?")
	e.accessible("a question that waits")
	e.press("Contact")
	e.shows("Nothing yet.")

	title, form := e.question("team")
	if title != "Ada (ada@example.com) asks: When do you <b>open</b>?" {
		t.Errorf("the team reads %q", title)
	}
	e.visit(form)
	e.fill("note", "At nine.")
	e.press("Approve")
	e.shows("you approved")
	e.eventually("/contact/", "At nine.")
	e.visit(address)
	e.shows("When do you <b>open</b>?", "At nine.", "-ada@example.com")
	e.press("My question")
	e.shows("Your question was answered.", "At nine.")

	send := func(body string) answer {
		return e.call("POST", address, body, "Content-Type", "application/x-www-form-urlencoded")
	}
	if a := send("name=Bob&email=nobody&text=x"); a.status != 422 || !strings.Contains(a.body, "The address must be an e-mail address") {
		t.Errorf("%d %s", a.status, a.body)
	}
	other := send("name=Bob&email=bob@example.com&text=Spam")
	if other.status != 303 || !strings.HasPrefix(other.header.Get("Location"), "/_ql/run/") {
		t.Fatalf("%d %s", other.status, other.body)
	}
	_, form = e.question("team")
	e.visit(form)
	e.press("Decline")
	e.eventually("/contact/mine", "is not shown", "Cookie", cookies(other))
	if a := e.get(other.header.Get("Location"), "Cookie", cookies(other)); a.status != 303 || a.header.Get("Location") != "/contact/mine" {
		t.Errorf("a page that waited does not go on: %d %s", a.status, a.body)
	}
	if a := e.get("/contact/"); strings.Contains(a.body, "Spam") {
		t.Error("what was declined is shown")
	}

	// Strangers cannot have more questions stand than the site takes.
	for i := range 21 {
		if a := send("name=Bob&email=bob@example.com&text=Spam"); a.status != 303 && (i < 20 || a.status != 503 || !strings.Contains(a.body, "was not kept")) {
			t.Fatalf("question %d: %d %s", i, a.status, a.body)
		}
	}
	if a := send("name=Bob&email=bob@example.com&text=Spam"); a.status != 503 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func testShop(t *testing.T, e *examples) {
	address := e.SiteURL("ada") + "/shop/"
	e.visit(e.SiteURL("ada") + "/")
	e.press("A shop")
	e.shows("Fountain pen", "24.90 €", "3 left")
	e.accessible("the shop")
	e.read(`document.querySelector("button[aria-label^='Add Ink']").setAttribute("id", "ink"), document.getElementById("ink").innerText = "Add ink"`)
	e.press("Add ink")
	e.shows("Ink, blue is in your cart.", "Together 7.50 €", "Log in and order")
	e.accessible("the cart")
	e.fill("count", "4")
	e.press("Change")
	e.shows("Your cart was changed.", "Together 30.00 €")
	e.press("Log in and order")
	e.shows("Please log in first.")
	e.fill("email", "Cy@example.com", "password", "a long enough one")
	e.press("Log in")
	e.shows("Wrong e-mail address or password.")
	e.accessible("log-in")
	e.fill("password", "a long enough one")
	e.press("Register")
	e.shows("Hello, cy@example.com.", "Together 30.00 €")
	e.press("Order")
	e.shows("There are not so many left: Ink, blue.", "Together 30.00 €")
	e.fill("count", "2")
	e.press("Change")
	e.press("Order")
	e.shows("Thank you.", "You are cy@example.com.", "Order 1", "15.00")
	e.accessible("orders")
	e.visit(address)
	e.shows("1 left")
	e.press("Cart")
	e.shows("Your cart is empty.")
	e.press("My orders")
	e.press("Log out")
	e.shows("You are logged out.")
	e.press("My orders")
	e.shows("Log in", "-Order 1")
}

// testLogIn: what strangers may try.
func testLogIn(t *testing.T, e *examples) {
	send := func(page, body, cookie string) answer {
		t.Helper()
		return e.call("POST", e.SiteURL("ada")+"/shop/"+page, body, "Content-Type", "application/x-www-form-urlencoded", "Cookie", cookie)
	}
	const password = "&password=a+long+enough+one"
	if a := send("login", "do=register&email=dora@example.com"+password, ""); a.status != 303 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := send("login", "do=register&email=Dora@example.com"+password, ""); a.status != 422 || !strings.Contains(a.body, "has a user already") {
		t.Errorf("%d %s", a.status, a.body)
	}

	// Whoever had the visitor take a session of theirs is not let in with them.
	before := send("cart", "add=3", "")
	planted := cookies(before)
	in := send("login", "do=login&email=dora@example.com"+password, planted)
	if in.status != 303 || in.header.Get("Location") != "/shop/cart" {
		t.Fatalf("%d %s", in.status, in.body)
	}
	session := func(a answer) string {
		for _, pair := range strings.Split(cookies(a), "; ") {
			if strings.Contains(pair, "QLSESSID=") {
				return pair
			}
		}
		t.Fatalf("no session: %v", a.header)
		return ""
	}
	if session(in) == session(before) {
		t.Error("the session has the id that it had before the log-in")
	}
	if a := e.get("/shop/orders", "Cookie", session(before)); a.status != 303 || a.header.Get("Location") != "/shop/login" {
		t.Errorf("the old session is logged in: %d %s", a.status, a.body)
	}
	if a := e.get("/shop/cart", "Cookie", session(in)); !strings.Contains(a.body, "Paper, 100 sheets") {
		t.Errorf("the cart is lost: %d %s", a.status, a.body)
	}
	if a := e.get("/shop/orders", "Cookie", session(in)); a.status != 200 || !strings.Contains(a.body, "dora@example.com") {
		t.Errorf("%d %s", a.status, a.body)
	}

	// Guesses have to wait, longer each time, whether there is such a user or not.
	for _, email := range []string{"dora@example.com", "nobody@example.com"} {
		tries := 0
		for ; tries < 20; tries++ {
			if a := send("login", "do=login&email="+email+"&password=wrong+wrong+wrong", ""); a.status != 422 {
				t.Fatalf("%d %s", a.status, a.body)
			} else if strings.Contains(a.body, "Too many tries") {
				break
			}
		}
		if tries < 4 || tries == 20 {
			t.Errorf("%s: %d guesses", email, tries)
		}
	}
	if a := send("cart", "product=99&count=1", ""); a.status != 404 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := send("cart", "product=1&count=-1", ""); a.status != 422 {
		t.Errorf("%d %s", a.status, a.body)
	}
}
