//go:build !race

package dashboard_test

import (
	"net/http"
	"strings"
)

var _ = inBrowser("Files", func(v *visitor) {
	v.call(http.MethodPut, "/v1/files/shelf/people.csv", "name,born\nAda,1815\nGrace,1906\n", nil)
	v.call(http.MethodPut, "/v1/files/shelf/letters/first.txt", "hello", nil)
	v.open("files/shelf")
	v.untilText("people.csv")
	v.look("files")
	v.read(`[...document.querySelectorAll("tbody a")].find((e) => e.innerText.includes("people.csv")).click()`)
	v.untilText("Grace")
	v.look("files-preview")
	// A link is made, used once, and its receipt shown.
	v.click("Share…")
	v.click("Make the link")
	v.until(`document.querySelector("dialog[open] code")`)
	v.look("files-share")
	link := v.read(`document.querySelector("dialog[open] code").innerText`)
	for _, want := range []int{http.StatusOK, http.StatusGone} {
		r, err := http.NewRequestWithContext(v.Context(), http.MethodGet, link, nil)
		v.must(nil, err)
		res, err := http.DefaultClient.Do(r)
		v.must(nil, err)
		v.must(nil, res.Body.Close())
		if res.StatusCode != want {
			v.Errorf("the link: %d, want %d", res.StatusCode, want)
		}
	}
	v.click("Done")
	v.open("links")
	v.untilText("/shelf/people.csv")
	v.look("links")
	v.read(`[...document.querySelectorAll("tbody a")].find((e) => e.innerText.includes("people.csv")).click()`)
	v.untilText("Receipts")
	v.untilText("127.0.0.1")
	// A file is dropped, which is there already; both are kept.
	v.open("files/shelf")
	v.untilText("people.csv")
	v.read(`(() => { const d = new DataTransfer(); d.items.add(new File(["x"], "people.csv")); window.dispatchEvent(new DragEvent("drop", { dataTransfer: d, bubbles: true, cancelable: true })) })()`)
	v.click("Keep both")
	v.untilText("people (2).csv")
	// A folder is made, and a file removed by its name.
	v.click("New folder")
	v.fill("Name", "drawer")
	v.click("Make it")
	v.untilText("The folder drawer is there.")
	v.click("More of people (2).csv")
	v.click("Remove…")
	v.click("Remove people (2).csv")
	v.untilText("/shelf/people (2).csv is removed.")
})

var _ = inBrowser("Databases", func(v *visitor) {
	v.run("DROP TABLE IF EXISTS people; CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born INTEGER);\nFOR ?i FROM 1 TO 120 DO\nINSERT INTO people (name, born) VALUES ('Person ' || ?i, 1900 + ?i);\nEND")
	v.open("databases")
	v.untilText("main")
	v.look("databases")
	v.open("databases/main")
	v.untilText("people")
	v.look("database")
	// On a phone its name stands in one piece, and numbers say what they count.
	v.size(360, 800)
	v.until(`document.querySelector("h1").getClientRects()[0].height < 40 && getComputedStyle(document.querySelector("h1")).lineHeight === "28px"`)
	v.until(`[...document.querySelectorAll("tbody tr:first-child td")].map((d) => getComputedStyle(d, "::before").content).join() === 'none,none,"Columns","Rows"'`)
	v.size(1280, 800)
	v.forgetJumps()
	v.click("people")
	v.untilText("Person 50")
	v.look("table")
	v.click("Next page")
	v.untilText("Person 51")
	v.read(`history.back()`)
	v.untilText("Person 1")
	v.fill("Rows that contain", "Person 117")
	v.until(`document.querySelectorAll(".rows tbody tr").length === 1`)
	v.click("Open row 117")
	v.untilText("Row 117 of people")
	v.look("row")
	// Somebody else changes it meanwhile: their change stays.
	v.run("UPDATE people SET born = 1 WHERE id = 117;")
	v.fill("born", "2")
	v.click("Save")
	v.untilText("Somebody has changed or removed this row")
	v.press("\x1b")
	v.open("databases/main/people?q=Person+117")
	v.click("Open row 117")
	v.fill("born", "2")
	v.click("Save")
	v.untilText("The row is changed.")
	v.click("Structure")
	v.untilText("primary 1")
	v.look("structure")
	v.click("SQL")
	v.fill("SQL for the database main", "SELECT name, born FROM people WHERE id = 117; SELECT count(*) FROM people")
	v.click("Run")
	v.untilText("2 results")
	v.until(`document.body.innerText.includes("Person 117") && document.body.innerText.includes("120")`)
	v.look("sql")
})

var _ = inBrowser("Usage", func(v *visitor) {
	v.run("EMIT 1")
	v.open("usage")
	v.untilText("Running time")
	v.look("usage")
	v.open("webhooks")
	v.untilText("No message was sent yet")
	v.look("webhooks")
	v.open("sites")
	v.untilText("Nothing was deployed yet")
	v.look("sites")
})

var _ = inBrowser("Settings", func(v *visitor) {
	v.open("settings")
	v.untilText("Change the password")
	v.look("settings-account")
	v.open("settings/keys")
	v.untilText("There is no key for a program yet")
	v.look("settings-keys")
	v.open("settings/domains")
	v.untilText("No page may call yet")
	v.look("settings-domains")
	v.open("settings/secrets")
	v.untilText("There is no secret yet")
	v.look("settings-secrets")
	v.open("settings/scripts")
	v.untilText("No script is published yet")
	v.look("settings-scripts")
	v.open("settings/look")
	v.untilText("Of buttons and links")
	v.look("settings-look")
	v.open("settings/log")
	v.untilText("Who did what")
	v.look("settings-log")
	// Of a row that is longer than a phone is wide, the part where one is is seen.
	v.size(360, 800)
	v.until(`((e) => e.getBoundingClientRect().right <= innerWidth && e.getBoundingClientRect().left >= 0)(document.querySelector("nav.parts [aria-current]"))`)
	v.open("settings/look")
	v.until(`((e) => e?.innerText === "Look" && e.getBoundingClientRect().right <= innerWidth)(document.querySelector("nav.parts [aria-current]"))`)
	v.size(1280, 800)
	v.forgetJumps()
})

// Another version of a script has all that the one before was published with, but for what its form changes.
var _ = inBrowser("Another version", func(v *visitor) {
	type published struct {
		Version     int            `json:"version"`
		Text        string         `json:"text"`
		Callers     string         `json:"callers"`
		Methods     []string       `json:"methods"`
		Secrets     bool           `json:"secrets"`
		Concurrency map[string]any `json:"concurrency"`
	}
	v.call(http.MethodPut, "/v1/scripts/kept", map[string]any{
		"text": "EMIT 1", "callers": "anyone", "methods": []string{"GET"}, "secrets": true, "concurrency": map[string]any{"key": "shop", "most": 2},
	}, nil)
	defer v.call(http.MethodDelete, "/v1/scripts/kept", nil, nil) // others look at what is published, too
	v.open("settings/scripts?name=kept")
	v.click("Publish another version")
	v.until(find("Concurrency key (optional)") + `?.value === "shop" && ` + find("At most at once") + `?.value === "2"`)
	v.forgetJumps()
	v.look("settings-scripts-version")
	v.fill("Text", "EMIT 2")
	v.click("Publish")
	v.until(`!document.querySelector("dialog[open]")`)
	var now published
	v.call(http.MethodGet, "/v1/scripts/kept", nil, &now)
	if now.Version != 2 || now.Text != "EMIT 2\n" || now.Callers != "anyone" || len(now.Methods) != 1 || !now.Secrets || now.Concurrency["key"] != "shop" || now.Concurrency["most"] != 2.0 {
		v.Errorf("the script is %+v", now)
	}
	// It is changed, refused beside its field, and taken away.
	v.click("kept")
	v.untilText("At most 2 of the jobs with the key shop are under way at once.")
	v.click("Publish another version")
	v.fill("Concurrency key (optional)", strings.Repeat("k", 300))
	v.click("Publish")
	v.until(`document.querySelector("dialog[open] .field .error")`)
	v.forgetJumps()
	v.look("settings-scripts-wrong")
	v.fill("Concurrency key (optional)", "<b>till</b>")
	v.fill("At most at once", "7")
	v.click("Publish")
	v.until(`!document.querySelector("dialog[open]")`)
	v.call(http.MethodGet, "/v1/scripts/kept", nil, &now)
	if now.Concurrency["key"] != "<b>till</b>" || now.Concurrency["most"] != 7.0 {
		v.Errorf("the script is %+v", now)
	}
	v.click("kept")
	v.untilText("the key <b>till</b> are under way")
	v.click("Publish another version")
	v.fill("Concurrency key (optional)", "")
	v.until(`!(` + find("At most at once") + `)`)
	v.click("Publish")
	v.until(`!document.querySelector("dialog[open]")`)
	now.Concurrency = nil
	v.call(http.MethodGet, "/v1/scripts/kept", nil, &now)
	if now.Concurrency != nil {
		v.Errorf("the script is %+v", now)
	}
})

// Anybody makes an account where that is open, as it is in development.
var _ = inBrowser("SignUp", func(v *visitor) {
	v.open("welcome")
	v.untilText("It is there at once.")
	v.look("sign-up")
	v.fill("Username", "newcomer")
	// How long a password is to be is said beforehand, and is what the service asks for.
	v.fill("Password", "too short")
	v.fill("Once more", "too short")
	v.click("Make the account")
	v.until(`((said, asked) => said && asked && said[1] === asked[1])(document.body.innerText.match(/At least (\d+) characters/), document.body.innerText.match(/it needs at least (\d+)/))`)
	v.fill("Password", "a long enough sentence")
	v.fill("Once more", "a long enough sentence")
	v.click("Make the account")
	v.untilText("newcomer can sign in now.")
	v.until(`/qlk_/.test(document.querySelector(".made code").innerText)`)
})

var _ = inBrowser("Links that count once", func(v *visitor) {
	v.open("welcome/not-a-token")
	v.untilText("This link makes one account.")
	v.look("welcome")
	v.fill("Username", "grace")
	v.fill("Password", "a long enough sentence")
	v.fill("Once more", "a long enough sentence")
	v.click("Make the account")
	v.until(`document.querySelector("[role=alert]")`)
	v.open("reset/not-a-token")
	v.untilText("within an hour")
	v.look("reset")
})
