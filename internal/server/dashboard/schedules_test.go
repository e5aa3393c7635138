//go:build !race

package dashboard_test

import (
	"net/http"
)

var _ = inBrowser("Schedules", func(v *visitor) {
	v.open("schedules")
	v.untilText("Nothing runs by the clock yet")
	v.look("schedules-none")
	v.call(http.MethodPut, "/v1/scripts/nightly-import", map[string]string{"text": "-- Nightly import\nINPUT FIELDS days NUMBER DEFAULT 1\nEMIT !INPUT.days"}, nil)
	// One is made: what is wrong stands at its field, and when it comes is told before it is saved.
	v.click("New schedule")
	v.until(`document.activeElement.closest("dialog") && document.activeElement.tagName === "INPUT"`)
	v.press("nightly")
	v.fill("Script", "nightly-import")
	v.until(`document.querySelector("dialog[open] datalist option")?.value === "nightly-import"`)
	v.fill("Timetable", "30 25 * * *")
	v.fill("Zone", "Europe/Berlin")
	v.fill("Input (optional)", "{")
	v.click("Save the schedule")
	v.untilText("This is no JSON")
	v.fill("Input (optional)", `{"days": 3}`)
	v.click("Save the schedule")
	v.until(`document.querySelector("dialog[open] input[aria-invalid]")?.value === "30 25 * * *"`)
	v.look("schedules-wrong")
	v.fill("Timetable", "30 2 * * *")
	v.until(`document.querySelectorAll("dialog[open] [role=status] time").length === 3`)
	v.read(`document.querySelector("dialog[open] details").open = true, window.__shift = 0`) // what a script opens counts as a jump
	v.fill("Spread", "later")
	v.fill("Pause after failures in a row", "2")
	v.fill("Concurrency key", "shop")
	v.fill("At most at once", "2")
	v.click("Save the schedule")
	v.untilText("an amount of time such as")
	v.read(`window.__shift = 0`)
	v.look("schedules-new")
	v.fill("Spread", "5m")
	v.click("Save the schedule")
	v.until(`document.querySelector("dialog[open] dl")`)
	for _, text := range []string{"30 2 * * * Europe/Berlin", "up to 5m later", "after 2 failures in a row; now 0", "at most 2 with the key shop", `"days": 3`, "Its time has not come yet"} {
		v.untilText(text)
	}
	v.look("schedules-one")
	// It runs out of turn, and its job tells of it.
	v.click("Run now")
	v.until(`location.pathname.startsWith("/app/jobs/")`)
	v.untilText("of the schedule nightly")
	v.untilText("complete")
	v.until(`document.querySelector("pre.text")?.innerText === "3"`)
	v.open("jobs?schedule=nightly")
	v.until(`document.querySelectorAll("tbody tr").length === 1`)
	v.until(find("Schedule nightly"))
	v.open("schedules?name=nightly")
	v.untilText("out of turn")
	v.until(`document.querySelector("dialog[open] li a[href^='/app/jobs/']")?.innerText.includes("complete")`)
	// It is paused and goes on, here and from the list.
	v.click("Pause")
	v.untilText("paused, since")
	v.press("\x1b")
	v.until(`!document.querySelector("dialog[open]") && [...document.querySelectorAll("tbody .state")].some((s) => s.innerText === "paused")`)
	v.read(`window.__shift = 0`) // the dialog and the row say something else by what a script clicked
	v.look("schedules")
	v.click("What to do with nightly")
	v.click("Resume")
	v.until(`!document.querySelector("tbody").innerText.includes("paused") && document.querySelectorAll("tbody time").length > 0`)
	// It is changed to an interval, keeps the rest, and what it could not start stands in its history by itself.
	v.click("What to do with nightly")
	v.click("Change…")
	v.until(find("Script") + `?.value === "nightly-import"`)
	v.until(find("Input (optional)") + `.value.includes('"days": 3')`)
	v.click("At intervals")
	v.fill("Every", "1s")
	v.read(`document.querySelector("dialog[open] details").open = true`)
	v.until(find("Spread") + `.value === "5m"`)
	v.fill("Spread", "")
	v.call(http.MethodDelete, "/v1/scripts/nightly-import", nil, nil)
	v.click("Save the schedule")
	v.until(`document.querySelector("dialog[open] [role=alert]")?.innerText.includes("script_not_found")`)
	v.call(http.MethodPut, "/v1/scripts/nightly-import", map[string]string{"text": "-- Nightly import\nINPUT FIELDS days NUMBER DEFAULT 1\nFAIL \"the shop is closed\""}, nil)
	v.click("Save the schedule")
	v.until(`document.querySelector("dialog[open] dl")?.innerText.includes("every 1s")`)
	v.untilText("paused after 2 failures, since")
	v.until(`document.querySelector("dialog[open] li a[href^='/app/jobs/']")?.innerText.includes("failed")`)
	v.read(`window.__shift = 0`) // rows have come above others
	v.look("schedules-failed")
	v.call(http.MethodDelete, "/v1/scripts/nightly-import", nil, nil)
	v.press("\x1b")
	v.click("What to do with nightly")
	v.click("Run now")
	v.until(`document.querySelector("main [role=alert]")?.innerText.includes("script_not_found")`)
	v.open("schedules?name=nightly")
	// It is removed, by its name.
	v.click("Remove the schedule nightly…")
	v.untilText("its history is gone")
	v.read(`window.__shift = 0`) // the dialog has grown by what has loaded
	v.look("schedules-remove")
	v.click("Remove the schedule nightly")
	v.untilText("Nothing runs by the clock yet")
	v.until(`!document.querySelector("dialog[open]") && location.search === ""`)
})

var _ = inBrowser("Mails", func(v *visitor) {
	v.open("mails")
	v.untilText("No mail was sent yet")
	v.look("mails-none")
	v.run("WRITE \"an invoice\" TO \"/invoice.txt\"\nMAIL TO [\"Zoë <zoe@example.org>\", \"nobody@example.org\"] SUBJECT \"Your invoice\" TEXT \"It is attached.\" ATTACH \"/invoice.txt\"")
	v.call(http.MethodPost, "/v1/query", map[string]any{
		"auth": map[string]string{"username": v.username, "password": v.password}, "mode": "async", "query": "MAIL TO \"later@example.org\" SUBJECT \"A reminder\" TEXT \"x\"",
	}, nil)
	v.run("MAIL TO \"ada@example.org\" SUBJECT \"Hello\" TEXT \"x\"")
	for tried := 0; tried < 3; {
		var mails struct{ Mails []struct{ Attempts int } }
		v.call(http.MethodGet, "/v1/mails", nil, &mails)
		tried = 0
		for _, m := range mails.Mails {
			tried += min(m.Attempts, 1)
		}
	}
	v.open("mails")
	v.untilText("Zoë <zoe@example.org> and 1 more")
	v.until(`["sent", "on its way", "failed"].every((w) => [...document.querySelectorAll("tbody .state")].some((s) => s.innerText === w))`)
	v.look("mails")
	v.click("Your invoice")
	v.until(`document.querySelector("dialog[open] ul")?.innerText.includes("no such user")`)
	v.untilText("invoice.txt")
	v.untilText("is not tried again")
	v.look("mails-failed")
	v.press("\x1b")
	v.until(`!document.querySelector("dialog[open]") && location.search === ""`)
	v.click("A reminder")
	v.until(`document.querySelector("dialog[open] dl")?.innerText.includes("come back later")`)
	v.until(`/the next one in \d/.test(document.querySelector("dialog[open] dl").innerText)`)
	v.until(`/^\/app\/jobs\/\d+$/.test(document.querySelector("dialog[open] a[href^='/app/jobs/']")?.pathname)`)
	v.look("mails-pending")
	v.open("mails?state=failed")
	v.until(`document.querySelectorAll("tbody tr").length === 1`)
	v.open("mails?state=pending")
	v.until(`document.querySelectorAll("tbody tr").length === 1 && document.querySelector("tbody").innerText.includes("A reminder")`)
})
