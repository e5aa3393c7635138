// Package e2e runs the command ql as people do: each file in testdata/script is
// a session at the shell with the files it starts from. "go test ./e2e -update"
// rewrites what the sessions expect to see.
//
// Besides the commands of testscript a session has three:
//
//	service start [flags]   ql serve on a free port, its address in $URL
//	service stop            interrupts it and waits; what it said is in service.out,
//	                        what it logged in service.log
//	keep NAME PATTERN       what the pattern's group matches in the last output, in $NAME
//	exec http METHOD ADDRESS [Name:value…] [name=value…]
//
// http sends a request: the named headers, and the rest of its arguments as a
// form, or with one argument @FILE that file. It prints the status, the headers
// that are asked for by "Name:" alone, and the body.
package e2e

import (
	"flag"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ql/internal/cli"
)

var update = flag.Bool("update", false, "rewrite the expected output in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"ql":   func() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"http": callHTTP,
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"service": service, "keep": keep},
	})
}
