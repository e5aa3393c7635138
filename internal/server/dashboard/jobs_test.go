//go:build !race

package dashboard_test

import (
	"net/http"
	"strings"
)

var _ = inBrowser("Jobs", func(v *visitor) {
	v.run("-- Import of numbers\nEMIT 1\nREAD \"/not-there.csv\" SET ?x")
	v.open("jobs?q=Import+of+numbers")
	v.untilText("file_not_found")
	v.look("jobs")
	// A new one appears by itself.
	v.run("-- Import of numbers, again\nEMIT 2")
	v.untilText("Import of numbers, again")
	v.click("Failed")
	v.until(`!document.body.innerText.includes("Import of numbers, again") && location.search.includes("state=failed")`)
	v.read(`history.back()`)
	v.untilText("Import of numbers, again")
	v.fill("Names that contain", "no such name")
	v.untilText("No job fits")
	v.look("jobs-none")
	// Two are run again at once.
	v.open("jobs?q=Import+of+numbers")
	v.until(`document.querySelectorAll("tbody input[type=checkbox]").length === 2`)
	v.read(`document.querySelectorAll("tbody input[type=checkbox]").forEach((e) => e.click())`)
	v.click("Run again")
	v.untilText("2 jobs started again")
	v.until(`document.querySelectorAll("tbody tr").length === 4`)
})

var _ = inBrowser("Job", func(v *visitor) {
	v.run("-- Reads what is not there\nEMIT \"before\"\nSET ?n AS 1\nREAD \"/not-there.csv\" SET ?x")
	v.open("jobs?q=Reads+what")
	v.click("Reads what is not there")
	v.untilText(`there is no file "/not-there.csv"`)
	v.until(`document.querySelector("li.failed").dataset.line === "4"`)
	v.look("job")
	// A step marks its line, and a line its steps.
	v.read(`[...document.querySelectorAll("[data-step]")].find((e) => e.innerText.includes("EMIT")).click()`)
	v.until(`document.querySelector("li.marked").dataset.line === "2" && location.search.includes("line=2")`)
	v.read(`document.querySelector("[aria-label='Line 3']").click()`)
	v.until(`document.querySelector("[data-step].marked").innerText.includes("SET")`)
	v.click("Cost")
	v.untilText("Fuel")
	v.click("Run again")
	v.untilText("repeats job")
})

// JobTree: a job's page leads to who has started it and to whom it has started, and says how they stand.
var _ = inBrowser("JobTree", func(v *visitor) {
	for name, text := range map[string]string{
		"tree-leaf":   "IF !INPUT('ask') IS NOT NULL THEN CONFIRM \"Is leaf {!INPUT('n')} green?\" TO \"tree\" END",
		"tree-branch": "FOR ?n FROM 1 TO 14 DO START SCRIPT \"tree-leaf\" USING {n: ?n} SET ?job END\nRUN SCRIPT \"tree-leaf\" USING {n: 15, ask: TRUE}",
	} {
		v.call(http.MethodPut, "/v1/scripts/"+name, map[string]any{"text": text}, nil)
		defer v.try(http.MethodDelete, "/v1/scripts/"+name, "")
	}
	v.run("-- The root of a tree\nRUN SCRIPT \"tree-branch\"")
	v.open("jobs?q=The+root+of+a+tree")
	v.click("The root of a tree")
	v.until(`document.querySelector("section[aria-labelledby=started] li a")?.innerText.includes("waiting")`)
	v.click(strings.TrimSpace(v.read(`document.querySelector("section[aria-labelledby=started] li a").innerText`)))
	v.until(`document.querySelector("h1").innerText === "tree-branch"`)
	v.untilText("started by The root of a tree")
	v.until(`document.querySelectorAll("section[aria-labelledby=started] li").length === 12 && document.querySelector("section[aria-labelledby=started] p").innerText.includes("14 complete")`)
	v.read(`document.querySelector("section[aria-labelledby=started]").scrollIntoView()`)
	v.forgetJumps()
	v.look("job-tree")
	v.closer("job-tree", "section[aria-labelledby=started]")
	v.click("Show all 15")
	v.until(`document.querySelectorAll("section[aria-labelledby=started] li").length === 15`)
	// What becomes of them is seen without loading the page again.
	var asked struct {
		Questions []struct {
			ConfirmURL string `json:"confirm_url"`
		}
	}
	v.call(http.MethodGet, "/v1/questions?to=tree", nil, &asked)
	v.call(http.MethodPost, strings.TrimPrefix(asked.Questions[0].ConfirmURL, v.service.URL()), map[string]any{"approved": true}, nil)
	v.until(`document.querySelector("section[aria-labelledby=started] p").innerText.trim() === "15 complete"`)
	v.click("The root of a tree")
	v.until(`document.querySelector("h1").innerText === "The root of a tree" && document.querySelector("section[aria-labelledby=started] li a").innerText.includes("complete")`)
	v.read(`history.back()`)
	v.until(`document.querySelector("h1").innerText === "tree-branch"`)
})

// JobVariables: the owner of a job that waits sees where it stands.
var _ = inBrowser("JobVariables", func(v *visitor) {
	v.call(http.MethodPut, "/v1/secrets/stack_key", map[string]any{"value": "hush-hush"}, nil)
	defer v.call(http.MethodDelete, "/v1/secrets/stack_key", nil, nil)
	v.run(`-- Stands in a function
DEFINE pay(?order, ?sum)
  SET ?note AS "<img src=x onerror=pwned=1>"
  CONFIRM "Pay {?sum} for {?order.name}?" TO "stack"
  SET ?paid AS TRUE
END
SET ?key AS "Bearer {!SECRET('stack_key')}"
SET ?orders AS [{name: "paper", sum: 12.5}, {name: "ink", sum: 99}]
FOR ?o IN ?orders DO
  SET ?done AS pay(?o, ?o.sum)
END`)
	v.open("jobs?q=Stands+in+a+function")
	v.click("Stands in a function")
	v.click("Variables")
	v.until(`document.querySelectorAll("[role=tabpanel] dl").length === 2`)
	shown := v.read(`[...document.querySelectorAll("[role=tabpanel] li")].map((l) => l.querySelector("h3").innerText + " " + l.querySelector("button").innerText + ": " + [...l.querySelectorAll("dt")].map((t) => t.innerText + " = " + t.nextElementSibling.innerText).join("; ")).join("\n")`)
	want := `pay() line 4: ?order = {"name": "paper", "sum": 12.5}; ?sum = 12.5; ?note = "<img src=x onerror=pwned=1>"; ?paid = null
The script itself line 10: ?key = "Bearer •••"; ?orders = [{"name": "paper", "sum": 12.5}, {"name": "ink", "sum": 99}]; ?o = {"name": "paper", "sum": 12.5}; ?done = null`
	if shown != want {
		v.Errorf("got  %s\nwant %s", shown, want)
	}
	if found := v.read(ran); found != "" {
		v.Error(found)
	}
	v.click("line 4")
	v.until(`document.querySelector("li.marked").dataset.line === "4" && location.search.includes("line=4")`)
	v.read(`document.querySelector("[role=tabpanel]").scrollIntoView({ block: "end" })`)
	v.forgetJumps()
	v.look("job-variables")
	v.closer("job-variables", "[role=tabpanel]")
	// It goes on to the next question, and the tab with it.
	v.click("Approve")
	v.until(`document.querySelector("[role=tabpanel] dd")?.innerText.includes("ink")`)
	v.click("Approve")
	v.until(`![...document.querySelectorAll("[role=tab]")].some((t) => t.innerText === "Variables") && document.body.innerText.includes("It wrote nothing.")`)
})

var _ = inBrowser("LongTrace", func(v *visitor) {
	v.run("-- Many steps\nFOR ?i FROM 1 TO 700 DO\nSET ?x AS ?i\nEND")
	v.open("jobs?q=Many+steps")
	v.click("Many steps")
	v.until(`document.querySelector("[data-step]")`)
	// Of a long trace the rows that can be seen are there.
	v.until(`document.querySelectorAll("[data-step]").length < 200 && document.querySelector(".steps").offsetHeight > 5000`)
	v.read(`window.scrollTo(0, document.querySelector(".steps").offsetTop + 8000)`)
	v.until(`[...document.querySelectorAll("[data-step]")].some((e) => Number(e.dataset.step) > 280)`)
})

var _ = inBrowser("Inbox", func(v *visitor) {
	v.run("-- The survey\nGATHER \"How was your stay?\" FIELDS name TEXT REQUIRED, stars INTEGER MIN 1 MAX 5 REQUIRED, kind CHOICE [\"short\", \"long\"], more LONG TEXT TO \"guests\" SET ?f\nEMIT ?f.name")
	v.run("-- The payment\nCONFIRM \"Pay 120 to the printer?\" TO \"guests\"")
	v.open("inbox?to=guests")
	v.until(`document.querySelectorAll("[aria-label=Questions] a").length === 2`)
	v.read(`[...document.querySelectorAll("[aria-label=Questions] a")].find((e) => e.innerText.includes("How was your stay?")).click()`)
	v.until(`document.querySelector("form.question input[name=name]")`)
	v.look("inbox")
	// What does not fit is said beside its field, which has the focus.
	v.fill("name", "Ada")
	v.fill("stars", "9")
	v.click("Send")
	v.until(`document.activeElement.name === "stars" && document.querySelector("form .field .error")`)
	v.fill("stars", "5")
	v.click("Send")
	v.untilText("“How was your stay?” is answered, receipt")
	// What somebody else answers goes by itself.
	v.until(`document.querySelector("form.question h2").innerText === "Pay 120 to the printer?"`)
	var jobs struct {
		Questions []struct {
			Title      string
			ConfirmURL string `json:"confirm_url"`
		}
	}
	v.call(http.MethodGet, "/v1/questions?to=guests", nil, &jobs)
	v.call(http.MethodPost, strings.TrimPrefix(jobs.Questions[0].ConfirmURL, v.service.URL()), map[string]any{"approved": true}, nil)
	v.untilText("Nothing is asked of guests")
	v.look("inbox-empty")
})
