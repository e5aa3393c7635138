//go:build !race

package dashboard_test

import "github.com/chromedp/chromedp"

var _ = inBrowser("FirstMinutes", func(v *visitor) {
	v.open("")
	v.until(`document.querySelector("h1").innerText === "Overview" && document.title === "Overview · ql"`)
	v.click("Run it")
	v.untilText("Hello, user_test! 6 × 7 is 42.")
	// Its job is in the list, by itself.
	v.until(`[...document.querySelectorAll("table[aria-label='Latest jobs'] tr")].some((r) => r.innerText.includes("First steps") && r.innerText.includes("complete"))`)
	v.run("-- Ask somebody\nCONFIRM \"Shall we go on?\"")
	v.untilText("Shall we go on?")
	v.look("overview")
})

var _ = inBrowser("Keys", func(v *visitor) {
	v.open("")
	v.untilText("Latest jobs")
	v.press("?")
	v.until(`document.querySelector("dialog[open] dl")`)
	v.look("keys")
	v.press("\x1b")
	v.until(`!document.querySelector("dialog[open]")`)
	v.press("k", chromedp.ModifierCtrl)
	v.until(`document.activeElement.role === "combobox"`)
	v.look("palette")
	v.press("nowhere")
	v.untilText("Nothing is called “nowhere”.")
	v.press("\x1b")
	v.until(`!document.querySelector("dialog[open]")`)
	v.open("no/such/page")
	v.untilText("There is no such page")
	v.look("not-found")
	v.press("go")
	v.until(`location.pathname === "/app/" && document.querySelector("h1").innerText === "Overview"`)
})

// Whoever was signed out is led to the page for it, and back to where they were.
var _ = inBrowser("SignIn", func(v *visitor) {
	v.open("")
	v.untilText("Latest jobs")
	v.read(`fetch("/v1/session", { method: "DELETE" }).then((r) => window.__left = r.status), ""`)
	v.until(`window.__left === 204`)
	// The page is open still. Its next call finds the session gone, and a dialog over the page asks.
	v.click("Run it")
	v.untilText("Nothing on this page is lost")
	v.look("signed-out")
	v.fill("Username or e-mail address", "dev")
	v.fill("Password", "wrong")
	v.press("\r")
	v.until(`document.querySelector("[role=alert]")`)
	v.fill("Password", "dev")
	v.press("\r")
	v.untilText("Hello, user_test! 6 × 7 is 42.")
	v.until(`!document.querySelector("dialog[open]")`)
})
