//go:build !race

package dashboard_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	_ "modernc.org/sqlite" // the driver

	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/operator"
)

// signIn signs in on the page that is open, or on the page for it.
func (v *visitor) signIn(username string) {
	v.Helper()
	v.open("sign-in")
	v.fill("Username or e-mail address", username)
	v.fill("Password", apptest.Password)
	v.press("\r")
	v.untilText("Latest jobs")
}

// fetched calls an address as a program does, and returns the status.
func (v *visitor) fetched(method, address, body string, header ...string) (status int, text string) {
	v.Helper()
	r, err := http.NewRequestWithContext(v.Context(), method, address, strings.NewReader(body))
	v.must(nil, err)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	v.must(nil, err)
	answer, err := io.ReadAll(res.Body)
	v.must(nil, err)
	v.must(nil, res.Body.Close())
	return res.StatusCode, string(answer)
}

// Whoever is not signed in is led to the page for it and back, a wrong password opens nothing, and after signing out
// nothing is left to see.
var _ = inProduction("SignInAndOut", func(v *visitor) {
	v.open("jobs?state=failed")
	v.until(`location.pathname === "/app/sign-in" && document.title === "Sign in · ql"`)
	v.look("sign-in")
	v.fill("Username or e-mail address", "ada")
	v.fill("Password", "not the password")
	v.press("\r")
	v.until(`document.querySelector(".error, [role=alert]") && document.querySelector("h1").innerText === "Sign in"`)
	v.untilText("The name or the password is wrong")
	v.look("sign-in-wrong")
	v.fill("Password", apptest.Password)
	v.press("\r")
	v.until(`location.pathname + location.search === "/app/jobs?state=failed" && document.querySelector("h1").innerText === "Jobs"`)
	// The cookie is for the service alone, and no script reads it.
	if got := v.read(`document.cookie`); got != "" {
		v.Errorf("a script reads the cookies %q", got)
	}
	// Administration is for others, and its pages do not say that they are there.
	for _, path := range []string{"admin/accounts", "admin/plans", "admin/node"} {
		v.open(path)
		v.untilText("There is no such page")
	}
	if status, answer := v.fetched(http.MethodGet, v.url+"/v1/admin/accounts", "", "Authorization", basic("ada", apptest.Password)); status != http.StatusNotFound {
		v.Errorf("administration answers %d %s", status, answer)
	}
	v.open("settings")
	v.click("Account: ada")
	v.click("Sign out ada")
	v.until(`location.pathname === "/app/sign-in" && document.querySelector("input[type=password]")`)
	// The page may be gone before it has answered.
	if _, err := chromedp.Run(v.tab, chromedp.Evaluate[string](`String(history.back())`)); err != nil && !strings.Contains(err.Error(), "navigated") {
		v.Fatal(err)
	}
	v.until(`location.pathname === "/app/sign-in" && document.querySelector("input[type=password]")`)
})

// SignInLink: a service in development that others reach too signs one browser in by the link that it prints.
var _ = inBrowser("SignInLink", func(v *visitor) {
	public := apptest.Boot(v, func(s *config.Settings) { s.DevPublic = true })
	link := public.URL() + config.SignInPath + public.SignInToken()
	v.url = public.URL()
	v.open("")
	v.until(`location.pathname === "/app/sign-in" && document.querySelector("input[type=password]")`) // nobody is signed in unasked
	v.must(nil, chromedp.Do(v.tab, chromedp.Navigate("about:blank")))                                 // the address differs behind its # alone
	v.must(nil, chromedp.Do(v.tab, chromedp.Navigate(link)))
	v.until(`location.pathname === "/app/" && document.querySelector("h1")?.innerText === "Overview"`)
	if at := v.read(`location.href + JSON.stringify(history.state)`); strings.Contains(at, link[len(link)-20:]) {
		v.Errorf("the token stays in the address %s", at)
	}
	v.click("Account: user_test")
	v.click("Sign out user_test")
	v.until(`location.pathname === "/app/sign-in" && document.querySelector("input[type=password]")`)
	v.must(nil, chromedp.Do(v.tab, chromedp.Navigate("about:blank")))
	v.must(nil, chromedp.Do(v.tab, chromedp.Navigate(link)))
	v.untilText("The link does not count: it was used, or its time is over")
	v.forgetJumps()
	v.look("sign-in-link-used")
	v.fill("Username or e-mail address", "dev")
	v.fill("Password", "dev")
	v.press("\r")
	v.until(`location.pathname === "/app/"`)
})

func basic(username, password string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(username, password)
	return r.Header.Get("Authorization")
}

// SessionOver: a session ends in the middle of typing. The dialog stands over the page, and then all that was written is
// there, the place of the cursor too.
var _ = inProduction("SessionOver", func(v *visitor) {
	v.signIn("ada")
	v.open("editor")
	v.until(`document.activeElement.matches(".cm-content[aria-autocomplete]")`)
	v.press("a", chromedp.ModifierCtrl)
	v.press("EMIT \"one")
	v.until(written + `.includes('EMIT "one"')`)
	v.read(`fetch("/v1/session", { method: "DELETE" }).then((r) => window.__left = r.status), ""`)
	v.until(`window.__left === 204`)
	v.press(", two")
	v.until(`document.querySelector("dialog[open]")?.innerText.includes("Nothing on this page is lost")`)
	v.until(`document.activeElement.type === "password"`)
	v.look("session-over")
	v.until(written + `.includes('EMIT "one, two"')`)
	v.press(apptest.Password + "\r")
	// A person sees the dialog go, and types then.
	v.until(`((back) => {
		if (!back) window.__back = undefined;
		else return performance.now() - (window.__back ??= performance.now()) > 250;
	})(!document.querySelector("dialog[open]") && document.querySelector(".cm-focused") && document.activeElement.matches(".cm-content"))`)
	v.press(", three")
	v.until(written + `.includes('EMIT "one, two, three"')`)
	v.press("\r", chromedp.ModifierCtrl)
	v.untilText("one, two, three\n")
	v.untilText("complete")
})

// The key of the account is shown after the password. A new one is made, and the one before is refused.
var _ = inProduction("KeyRotated", func(v *visitor) {
	v.signIn("ada")
	works := func(key string, want int) {
		v.Helper()
		if status, answer := v.fetched(http.MethodPost, v.url+"/api", url.Values{"identity": {"ada"}, "password": {key}, "q": {"EMIT 42"}}.Encode(), "Content-Type", "application/x-www-form-urlencoded"); status != want {
			v.Errorf("the key is answered by %d, want %d: %s", status, want, answer)
		}
	}
	// The password of the sign-in counts for a quarter of an hour, which is over.
	v.askAgain()
	v.open("settings/keys")
	v.click("Show it")
	v.untilText("Your password, please")
	v.look("password-again")
	v.press("not this one\r")
	v.until(`document.querySelector("dialog[open] .error")`)
	v.fill("Password", v.password)
	v.press("\r")
	v.until(`document.querySelector("#api-key")?.innerText.length > 20`)
	before := v.read(`document.querySelector("#api-key").innerText`)
	works(before, http.StatusOK)
	// The password counts for a while.
	v.click("Rotate the API key…")
	v.untilText("is refused from the next call on")
	v.look("key-rotate")
	v.click("Rotate the API key")
	v.until(fmt.Sprintf(`!document.querySelector("dialog[open]") && document.querySelector("#api-key").innerText !== %q`, before))
	after := v.read(`document.querySelector("#api-key").innerText`)
	works(before, http.StatusUnauthorized)
	works(after, http.StatusOK)
	v.open("settings/log")
	v.untilText("API key rotated")
	v.open("settings/keys")
	v.untilText("The account's API key")
	if strings.Contains(v.read(`document.body.innerText`), after) {
		v.Error("the key is shown without being asked for")
	}
})

// A page on another origin calls without a password while its domain is listed, in development without a proof, and is refused once it is not.
var _ = inBrowser("AnotherOrigin", func(v *visitor) {
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!doctype html><html lang="en"><title>Shop</title><link rel="icon" href="data:,"><h1>Shop</h1>`)
	}))
	defer pages.Close()
	shop := strings.Replace(pages.URL, "127.0.0.1", "localhost", 1)
	v.open("settings/domains")
	v.fill("Domain", shop)
	v.click("For published scripts alone: its pages send no script of their own")
	v.click("Add the domain")
	v.until(fmt.Sprintf(`[...document.querySelectorAll("li strong")].some((e) => e.innerText === %q)`, shop))
	v.look("domains")
	page := v.another()
	page.must(nil, chromedp.Do(page.tab, chromedp.Navigate(shop)))
	asks := func() string {
		v.Helper()
		page.read(fmt.Sprintf(`window.__got = "", fetch(%q, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ query: "EMIT 6 * 7" }) }).then((r) => r.json()).then((a) => window.__got = a.result ?? a.error.code, () => window.__got = "refused by the browser"), ""`, v.url+"/v1/query"))
		page.until(`window.__got !== ""`)
		return page.read(`window.__got`)
	}
	if got := asks(); got != "42" {
		v.Errorf("a page of a listed domain is answered %q", got)
	}
	v.click("Remove the domain " + shop)
	v.untilText("Its pages can call no more.")
	v.read(`[...document.querySelectorAll("dialog[open] button")].find((b) => b.innerText.trim().startsWith("Remove")).click()`)
	v.untilText("No page may call yet")
	if got := asks(); got != "origin_not_allowed" && got != "refused by the browser" {
		v.Errorf("a page of no listed domain is answered %q", got)
	}
	page.mu.Lock()
	page.console = nil // which says that it may not read the answer
	page.mu.Unlock()
})

// Administration: somebody is invited, makes an account by the link, and is seen.
var _ = inProduction("Administration", func(v *visitor) {
	v.signIn("boss")
	v.username = "boss"
	v.open("admin/accounts")
	v.until(`document.querySelector("table[aria-label=Accounts]")?.innerText.includes("ada")`)
	v.look("admin-accounts")
	v.click("Invite somebody")
	v.fill("E-mail (optional)", "grace@example.com")
	v.look("admin-invite")
	v.read(`document.querySelector("dialog[open] form").requestSubmit()`)
	v.until(`document.querySelector("dialog[open] code")?.innerText.includes("/app/welcome/")`)
	link := v.read(`document.querySelector("dialog[open] code").innerText`)
	v.click("Done")
	// What is out is listed, and can be taken back.
	for range 2 {
		v.call(http.MethodPost, "/v1/admin/accounts", map[string]any{"admin": true}, nil)
	}
	var sent struct{ URL string }
	v.call(http.MethodPost, "/v1/admin/accounts", map[string]any{"email": "eve@example.com", "plan": "standard"}, &sent)
	v.open("admin/accounts")
	v.until(`document.querySelectorAll("table[aria-label=Invitations] tbody tr").length === 4`)
	v.look("admin-invitations")
	v.click("Revoke the invitation for eve@example.com")
	v.until(`document.querySelector("dialog[open] h2")?.innerText === "Revoke the invitation for eve@example.com?"`)
	v.look("admin-revoke")
	v.read(`[...document.querySelectorAll("dialog[open] button")].at(-1).click()`)
	v.until(`document.querySelectorAll("table[aria-label=Invitations] tbody tr").length === 3 && !document.querySelector("dialog[open]")`)
	for path, text := range map[string]string{"admin/plans": "unlimited", "admin/node": "Node"} {
		v.open(path)
		v.untilText(text)
		v.until(`!document.querySelector(".skeleton")`)
		v.look(strings.ReplaceAll(path, "/", "-"))
	}
	v.click("Account: boss")
	v.click("Sign out boss")
	v.until(`location.pathname === "/app/sign-in"`)
	v.must(nil, chromedp.Do(v.tab, chromedp.Navigate(sent.URL)))
	v.fill("Username", "eve")
	v.fill("Password", apptest.Password)
	v.fill("Once more", apptest.Password)
	v.click("Make the account")
	v.untilText("The invitation was revoked: ask whoever sent it for another")
	v.look("welcome-revoked")
	v.must(nil, chromedp.Do(v.tab, chromedp.Navigate(link)))
	v.fill("Username", "grace")
	v.fill("Password", apptest.Password)
	v.fill("Once more", apptest.Password)
	v.click("Make the account")
	v.untilText("grace")
	v.service.Operate(func(o *operator.Operator) error {
		_, err := o.Accounts.Find(v.Context(), "grace")
		return err
	})
})

// Two tabs answer a question at the same moment: one answer counts, and the other tab reads who was faster.
var _ = inBrowser("TwoTabs", func(v *visitor) {
	job := v.run("-- Two tabs\nCONFIRM \"Which tab is faster?\" TO \"tabs\"\nEMIT \"went on\"")
	tabs := []*visitor{v, v.another()}
	for _, tab := range tabs {
		tab.open("inbox?to=tabs")
		tab.until(find("Approve"))
	}
	// The same answer twice counts as one, so they differ.
	for i, button := range []string{"Approve", "Decline"} {
		tabs[i].read(find(button) + `.click()`)
	}
	won, lost := 0, 0
	for _, tab := range tabs {
		tab.until(`document.body.innerText.includes("“Which tab is faster?” is answered, receipt") || document.querySelector(".late")`)
		if tab.read(`!!document.querySelector(".late")`) == "true" {
			lost++
			if got := tab.read(`document.querySelector(".late").innerText`); !strings.Contains(got, "Which tab is faster?") || !strings.HasSuffix(got, "by the owner of the account.") || strings.Contains(got, "Z by") {
				v.Errorf("who was too late reads %q", got)
			}
			tab.look("inbox-late")
		} else {
			won++
		}
		tab.untilText("Nothing is asked of tabs")
	}
	if won != 1 || lost != 1 {
		v.Errorf("%d tabs answered and %d were too late", won, lost)
	}
	var answers struct{ Answers []any }
	v.call(http.MethodGet, "/v1/jobs/"+job.JobID+"/answers", nil, &answers)
	if len(answers.Answers) != 1 {
		v.Errorf("the job has %d answers", len(answers.Answers))
	}
})

// A folder is dropped on the page, and a file of it shared: the link counts once, and the page has the receipt.
var _ = inBrowser("FolderDropped", func(v *visitor) {
	folder := filepath.Join(v.TempDir(), "letters")
	v.must(nil, os.MkdirAll(filepath.Join(folder, "old"), 0o700))
	for i := range 12 {
		name := fmt.Sprintf("%d.txt", i)
		if i%2 == 1 {
			name = "old/" + name
		}
		v.must(nil, os.WriteFile(filepath.Join(folder, name), fmt.Appendf(nil, "letter %d", i), 0o600))
	}
	v.call(http.MethodPut, "/v1/files/desk/pen.txt", "a pen", nil)
	v.open("files/desk")
	v.untilText("pen.txt")
	for _, kind := range []input.DispatchDragEventType{"dragEnter", "dragOver", "drop"} {
		v.must(chromedp.Call(v.tab, input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: 600, Y: 300, Data: &input.DragData{Items: []*input.DragDataItem{}, Files: []string{folder}, DragOperationsMask: 1}}))
		if kind == "dragOver" {
			v.untilText("Drop to upload into /desk")
			v.picture("files-drop")
		}
	}
	v.untilText("12 uploaded")
	v.look("files-uploaded")
	v.open("files/desk/letters/old")
	v.untilText("11.txt")
	v.open("files/desk/letters?file=4.txt")
	v.untilText("letter 4")
	v.click("Share…")
	v.fill("Name of the download", "for you.txt")
	v.click("Make the link")
	v.until(`document.querySelector("dialog[open] code")`)
	link := v.read(`document.querySelector("dialog[open] code").innerText`)
	if status, text := v.fetched(http.MethodGet, link, ""); status != http.StatusOK || text != "letter 4" {
		v.Errorf("the link: %d %s", status, text)
	}
	if status, _ := v.fetched(http.MethodGet, link, ""); status != http.StatusGone {
		v.Errorf("the link a second time: %d", status)
	}
	v.click("Done")
	v.open("files/desk/letters?file=4.txt")
	v.untilText("used 1 of 1")
	v.untilText("127.0.0.1")
	v.untilText("all of it")
})
