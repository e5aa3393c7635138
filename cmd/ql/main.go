// Command ql runs, checks and formats scripts of the query language. What it can
// do is in internal/cli; this file only connects it to the process.
package main

import (
	"os"

	"ql/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
