//go:build !race

package dashboard_test

import (
	"bytes"
	"image/png"

	"github.com/chromedp/chromedp"
)

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

// Dialogs: what is behind one is dimmed up to the edge of the window, where a scrollbar has its place; and a field
// says what is wrong with it without its name in the API.
var _ = inBrowser("Dialogs", func(v *visitor) {
	for _, height := range []int64{800, 300} { // without and with a scrollbar
		for _, scheme := range []string{"light", "dark"} {
			v.colours(scheme)
			v.size(1280, height)
			v.open("settings/secrets")
			v.press("k", chromedp.ModifierCtrl)
			v.until(`document.querySelector("dialog[open]")`)
			v.picture("dialog-" + scheme)
			data, err := chromedp.Run(v.tab, chromedp.CaptureScreenshot())
			v.must(nil, err)
			shown, err := png.Decode(bytes.NewReader(data))
			v.must(nil, err)
			at := shown.Bounds().Max
			behind, edge := shown.At(at.X-20, at.Y-2), shown.At(at.X-2, at.Y-2)
			r, g, b, _ := behind.RGBA()
			s, h, c, _ := edge.RGBA()
			if far := func(a, b uint32) bool { return max(a, b)-min(a, b) > 0x200 }; far(r, s) || far(g, h) || far(b, c) {
				v.Errorf("in %s of %d the page is %v, and its edge %v", scheme, height, behind, edge)
			}
		}
	}
	v.size(1280, 800)
	v.colours("light")

	v.open("settings/secrets")
	v.fill("Name", "no name")
	v.fill("Value", "x")
	v.click("Set the secret")
	v.until(find("Name") + `.ariaInvalid === "true"`)
	if said := v.read(`document.querySelector(".field .error").innerText`); said == "" || said[0] < 'A' || said[0] > 'Z' {
		v.Errorf("beside the field stands %q", said)
	}
	if boxes := v.read(`document.querySelectorAll(".box[role=alert]").length`); boxes != "0" {
		v.Error("it is said twice")
	}
})
