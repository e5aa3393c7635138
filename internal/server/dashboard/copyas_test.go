//go:build !race

package dashboard_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"ql/internal/account"
	"ql/internal/apptest"
)

// EditorCopies: each program that the editor copies runs as it is, and puts out what the script does: in development,
// and with the password of an account.
var _ = inBrowser("EditorCopies", func(v *visitor) {
	v.service.Account("copier", account.Free)
	const script = "EMIT \"it's \\\"{!GET('name')}\\\" \\\\ $HOME `id` %s é </script> ${1}\""
	const want = "it's \"Ada's \\\" $&\" \\ $HOME `id` %s é </script> ${1}"
	programs := map[string]string{}
	copyAll := func(prefix string) {
		v.read(`navigator.clipboard.writeText = async (t) => { window.__copied = t }`)
		v.click("Request")
		v.fill("Values for !GET, as JSON", `{"name": "Ada's \\\" $&"}`)
		for _, kind := range []string{"curl", "Python", "JavaScript", "Go", "PHP"} {
			v.read(`window.__copied = ""`)
			v.click("Copy as a program")
			v.click("Copy as " + kind)
			v.until(`window.__copied !== ""`)
			programs[prefix+kind] = v.read(`window.__copied`)
		}
	}
	v.edit(script)
	copyAll("dev ")
	v.read(`fetch("/v1/session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ username: "copier", password: ` + "`" + apptest.Password + "`" + ` }) }).then((r) => window.__signed = r.status), ""`)
	v.until(`window.__signed === 200`)
	v.edit(script)
	copyAll("")
	commands := map[string][]string{
		"curl": {"sh", "x.sh"}, "Python": {"python3", "x.py"}, "JavaScript": {"node", "x.mjs"}, "Go": {"go", "run", "x.go"}, "PHP": {"php", "x.php"},
	}
	var all sync.WaitGroup
	for name, program := range programs {
		kind := strings.TrimPrefix(name, "dev ")
		folder, command := v.TempDir(), commands[kind]
		v.must(nil, os.WriteFile(filepath.Join(folder, command[len(command)-1]), []byte(program), 0o600))
		if strings.Contains(program, apptest.Password) {
			v.Errorf("%s has the password: %s", name, program)
		}
		all.Go(func() {
			run := exec.CommandContext(context.WithoutCancel(v.Context()), command[0], command[1:]...)
			run.Dir = folder
			run.Env = append(os.Environ(), "QL_PASSWORD="+apptest.Password, "GO111MODULE=off")
			out, err := run.Output()
			got := strings.TrimSpace(string(out))
			if kind == "curl" || kind == "Go" { // which show the answer as it is
				var answer struct{ Result string }
				if json.Unmarshal([]byte(got), &answer) == nil {
					got = answer.Result
				}
			}
			if err != nil || got != want {
				v.Errorf("%s: %v\n%s\nputs out\n%s\nand not\n%s", name, err, program, out, want)
			}
		})
	}
	all.Wait()
})
