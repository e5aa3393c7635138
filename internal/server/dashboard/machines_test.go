//go:build !race

package dashboard_test

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"

	"github.com/chromedp/chromedp"

	"ql/internal/resource/machines/wasmtest"
)

// askAgain makes the passwords that were entered so old that acts which are guarded ask for them.
func (v *visitor) askAgain() {
	v.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(v.service.Settings.Data, "ql.db")+"?_pragma=busy_timeout(20000)")
	v.must(nil, err)
	_, err = db.ExecContext(v.Context(), "UPDATE sign_ins SET confirmed = 1")
	v.must(nil, db.Close())
	v.must(nil, err)
}

// enterPassword enters the password that an act asks for again.
func (v *visitor) enterPassword() {
	v.Helper()
	v.untilText("Your password, please")
	v.fill("Password", "dev")
	v.press("\r")
	v.until(`!document.body.innerText.includes("Your password, please")`)
}

var _ = inBrowser("Machines", func(v *visitor) {
	v.open("machines")
	v.untilText("There is no machine yet")
	v.look("machines-none")
	// A host: its key is shown, and it is reached once the key is on it.
	v.click("New machine")
	v.untilText("Host by SSH")
	v.until(`document.activeElement.closest("dialog") && document.activeElement.tagName === "INPUT"`)
	v.press("box")
	v.fill("Address", "nobody")
	v.look("machines-new-host")
	v.askAgain()
	v.click("Save the machine")
	v.enterPassword()
	v.untilText("is no address such as user@example.com")
	v.fill("Address", v.host.Address())
	v.fill("Allowed commands", "echo *\nsh *\n")
	v.click("Save the machine")
	v.until(`document.querySelector("dialog[open] .made code")`)
	v.look("machines-key")
	key := v.read(`document.querySelector("dialog[open] .made code").innerText`)
	if !strings.HasPrefix(key, "ssh-ed25519 ") {
		v.Fatalf("the public key is %q", key)
	}
	v.until(find("Copy the public key"))
	v.click("Done")
	v.untilText("not reached yet")
	v.click("Test")
	v.untilText("refuses the machine's key")
	v.forgetJumps() // the dialog has grown by an answer to a click, which no script makes an input of
	v.look("machines-refused")
	v.host.Authorize(key)
	v.click("Test")
	v.untilText("box can be used")
	v.until(`/SHA256:[\w+\/]{43}/.test(document.querySelector("dialog[open] dl").innerText)`)
	v.look("machines-host")
	before := v.read(`document.querySelector("dialog[open] dl").innerText.match(/SHA256:\S+/)[0]`)
	// The host is set up anew: its key is accepted by who knows.
	v.host.Stop()
	v.host.NewHostKey()
	v.host.Run()
	v.click("Test")
	v.untilText("host_key_changed")
	v.forgetJumps() // the dialog has grown by what it was asked for
	v.click("Accept the new key of box…")
	v.untilText("compare its fingerprint on the host itself")
	v.look("machines-changed")
	v.click("Accept the new key of box")
	v.untilText("box can be used")
	v.until(`!document.querySelector("dialog[open] dl").innerText.includes("` + before + `") && document.querySelector("dialog[open] dl").innerText.includes("SHA256:")`)
	v.press("\x1b")
	v.until(`!document.querySelector("dialog[open]") && !location.search.includes("name")`)
	// What a command puts out is seen while it runs.
	v.edit("RUN [\"sh\", \"-c\", \"echo begun; echo oops >&2; until [ -e " + v.host.Folder + "/go ]; do sleep 0.05; done; echo ended\"] ON \"box\" SET ?out\nEMIT ?out.code")
	v.read(`document.querySelector(".cm-content").focus()`)
	v.press("\r", chromedp.ModifierCtrl)
	v.until(`document.querySelector("[aria-label='Output of box, line 1']")?.innerText.includes("begun")`)
	v.until(`document.querySelector("[aria-label='Output of box, line 1'] .stderr")?.innerText.includes("oops")`)
	v.untilText("running")
	v.look("editor-machine")
	v.run(`RUN ["sh", "-c", "touch ` + v.host.Folder + `/go"] ON "box"`)
	v.until(`document.querySelector("[aria-label='Output of box, line 1']")?.innerText.includes("ended")`)
	v.untilText("complete")
	// It is removed, by its name.
	v.open("machines")
	v.click("Remove the machine box")
	v.untilText("its key is gone")
	v.read(`[...document.querySelectorAll("dialog[open] button")].at(-1).click()`)
	v.untilText("There is no machine yet")
})

var _ = inBrowser("MachineModules", func(v *visitor) {
	v.call(http.MethodPut, "/v1/files/tools/hello.wasm", wasmtest.Hello, nil)
	v.call(http.MethodPut, "/v1/files/tools/data/in.txt", "x", nil)
	v.open("machines")
	v.click("New machine")
	v.click("WebAssembly")
	v.fill("Name", "hello")
	v.click("Choose")
	v.click("tools")
	v.click("hello.wasm")
	v.until(find("Module") + `.value === "/tools/hello.wasm"`)
	v.read(`[...document.querySelectorAll("dialog[open] button")].filter((b) => b.innerText.trim() === "Choose")[1].click()`)
	v.click("tools")
	v.click("data")
	v.untilText("No folder is in it.")
	v.forgetJumps() // what a script clicks counts as a jump
	v.look("machines-new-module")
	v.click("Take this folder")
	v.until(find("Folder") + `.value === "/tools/data"`)
	v.click("It may change what is in the folder")
	v.askAgain()
	v.click("Save the machine")
	v.enterPassword()
	v.untilText("which it may change")
	v.click("Test")
	v.untilText("hello can be used")
	v.look("machines-module")
	v.click("Try it in the editor")
	v.until(`document.querySelector(".cm-content")`)
	v.read(`document.querySelector(".cm-content").focus()`)
	v.press("\r", chromedp.ModifierCtrl)
	v.untilText("complete")
	v.until(`[...document.querySelectorAll(".text pre")].some((p) => p.innerText.includes("hello"))`)
	v.call(http.MethodDelete, "/v1/machines/hello", nil, nil)
})
