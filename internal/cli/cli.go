// Package cli is the command ql: one file for each of its commands. It reads
// arguments, asks people at the terminal and shows what came out; scripts are
// compiled by package lang and run by package engine.
//
// Commands end with 0 when all went well, 1 when a script failed, 2 when the
// command line or a script's text is wrong, and 3 when a person declined.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"time"

	"ql/internal/fault"

	"github.com/alecthomas/kong"
)

// The exit codes.
const (
	exitOK       = 0
	exitFailed   = 1
	exitUsage    = 2
	exitDeclined = 3
)

// commands is the command line.
type commands struct {
	JSON bool `help:"Print what came out as JSON."`

	Run       runCommand       `cmd:"" help:"Run a script here, without a server."`
	Check     checkCommand     `cmd:"" help:"Find the errors in scripts without running them."`
	Fmt       fmtCommand       `cmd:"" help:"Write scripts in the one written form."`
	LSP       lspCommand       `cmd:"" name:"lsp" help:"Serve the language to editors, over standard input and output."`
	Serve     serveCommand     `cmd:"" help:"Serve scripts over HTTP."`
	Dev       devCommand       `cmd:"" help:"Serve a folder as a site while you write it."`
	Account   accountCommand   `cmd:"" help:"Make and manage accounts."`
	Script    scriptCommand    `cmd:"" help:"Publish scripts, to be called by their names."`
	Key       keyCommand       `cmd:"" help:"Make, list and revoke accounts' named keys."`
	Schedule  scheduleCommand  `cmd:"" help:"Start published scripts by the clock."`
	Machine   machineCommand   `cmd:"" help:"Add, test and remove the machines that scripts run commands on."`
	Audit     auditCommand     `cmd:"" help:"Look at the logs of who did what, and check that they are whole."`
	Job       jobCommand       `cmd:"" help:"Look at jobs."`
	Mail      mailCommand      `cmd:"" help:"Look at the mails of accounts' scripts."`
	Webhook   webhookCommand   `cmd:"" help:"Look at webhooks and repeat them."`
	Push      pushCommand      `cmd:"" help:"Deploy a folder as an account's site."`
	Site      siteCommand      `cmd:"" help:"Look at the releases of accounts' sites, and bring one back."`
	Files     filesCommand     `cmd:"" help:"Look at accounts' files, bring them out and in."`
	Share     shareCommand     `cmd:"" help:"Look at links to files and take them back."`
	DB        dbCommand        `cmd:"" name:"db" help:"Look at accounts' databases, bring them out and in."`
	Cluster   clusterCommand   `cmd:"" help:"Show the nodes that share a database."`
	MasterKey masterKeyCommand `cmd:"" name:"master-key" help:"Rotate the key that seals secrets in the data folder."`
	Backup    backupCommand    `cmd:"" help:"Copy the data folder, while a server runs or not."`
	Restore   restoreCommand   `cmd:"" help:"Make a data folder of a backup."`
	Move      moveCommand      `cmd:"" help:"Move all that is stored elsewhere, to a database or from one, while no server runs."`
	Version   versionCommand   `cmd:"" help:"Print the version."`
}

// newCommands returns the command line before it is read.
func newCommands() *commands {
	return &commands{Serve: newServeCommand(), Account: newAccountCommand(), Key: newKeyCommand(), Machine: newMachineCommand(), Schedule: newScheduleCommand(), Script: newScriptCommand(), Audit: newAuditCommand(), Job: newJobCommand(), Mail: newMailCommand(), Webhook: newWebhookCommand(), Files: newFilesCommand(), Site: newSiteCommand(), Share: newShareCommand(), DB: newDBCommand(), Cluster: newClusterCommand(), MasterKey: newMasterKeyCommand(), Backup: newBackupCommand(), Restore: newRestoreCommand()}
}

const description = `ql runs scripts of the query language: ordinary statements, SQL, files, forms and waiting, in one text.`

// Main runs the command with the arguments after its name, and returns its
// exit code. The first signal asks it to end, the second one ends it.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals...)
	defer stop()
	context.AfterFunc(ctx, stop)
	c := &console{ctx: ctx, in: newLineReader(stdin), out: stdout, err: stderr, clock: time.Now, wait: waitUntil}
	return c.main(args)
}

// console is what the commands share: where they read and write.
type console struct {
	ctx   context.Context
	in    *lineReader
	out   io.Writer
	err   io.Writer
	json  bool
	clock func() time.Time
	// wait returns when the moment has come or the context has ended.
	wait func(context.Context, time.Time) error
}

func waitUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failure ends a command with an exit code, after saying why.
type failure struct {
	code    int
	message string // "" where all has been said
}

func (f *failure) Error() string { return f.message }

// usage says what is wrong with the command line or the files it names.
func usage(format string, args ...any) error {
	return &failure{exitUsage, fmt.Sprintf(format, args...)}
}

// exited is how kong's wish to end the process comes back, after --help.
type exited int

func (c *console) main(args []string) (code int) {
	defer func() {
		if e, ok := recover().(exited); ok {
			code = int(e)
		}
	}()
	line := newCommands()
	k, err := kong.New(line,
		kong.Name("ql"),
		kong.Description(description),
		kong.Writers(c.out, c.err),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
	)
	if err != nil {
		fmt.Fprintln(c.err, "ql:", err)
		return exitFailed
	}
	c.json = slices.Contains(args, "--json")
	parsed, err := k.Parse(joinNegative(helpArgs(args)))
	if err != nil {
		return c.report(usage("%s (see ql --help)", plainUsage(err)))
	}
	c.json = line.JSON
	return c.report(parsed.Run(c, line))
}

// helpArgs makes --help of the word help before a command, or alone, as people type it.
func helpArgs(args []string) []string {
	if len(args) == 0 || args[0] != "help" {
		return args
	}
	return append(slices.Clone(args[1:]), "--help")
}

// joinNegative ties a value such as -1s to the flag before it, which would be
// taken for a flag itself: no flag begins with a digit.
func joinNegative(args []string) []string {
	var joined []string
	for i, arg := range args {
		if arg == "--" {
			return append(joined, args[i:]...)
		}
		last := len(joined) - 1
		if last >= 0 && strings.HasPrefix(joined[last], "--") && !strings.Contains(joined[last], "=") && isNegative(arg) {
			joined[last] += "=" + arg
			continue
		}
		joined = append(joined, arg)
	}
	return joined
}

func isNegative(arg string) bool {
	return len(arg) > 1 && arg[0] == '-' && arg[1] >= '0' && arg[1] <= '9'
}

// noValue is how the parser says that a flag is followed by another, or by
// nothing.
var noValue = regexp.MustCompile(`^(--[a-z-]+): expected .* value but got .*$`)

// plainUsage says in plain words what the parser says in those of programmers.
func plainUsage(err error) string {
	return noValue.ReplaceAllString(err.Error(), "$1: a value is missing behind it")
}

// report says why a command failed and returns its exit code.
func (c *console) report(err error) int {
	if err == nil {
		return exitOK
	}
	exit, shown := exitFailed, errorJSON{Code: string(fault.InvalidRequest), Message: err.Error()}
	var f *failure
	var coded *fault.Error
	switch {
	case errors.As(err, &f):
		exit, shown.Message = f.code, f.message
	case errors.As(err, &coded):
		exit, shown = exitOf(coded), errorJSON{Code: string(coded.Code), Message: coded.Message}
		if coded.Field != "" {
			shown.Message = coded.Field + ": " + coded.Message
		}
		if cause := errors.Unwrap(coded); cause != nil && coded.Code == fault.StorageUnavailable {
			// Callers of a service are told no more; its operator is to mend it.
			shown.Message += ": " + cause.Error()
		}
	}
	switch {
	case shown.Message == "":
	case c.json:
		c.print(struct {
			Status string    `json:"status"`
			Error  errorJSON `json:"error"`
		}{"error", shown})
	default:
		fmt.Fprintln(c.err, "ql:", printable(shown.Message)) // which may be another machine's
	}
	return exit
}

// print writes v as one line of JSON.
func (c *console) print(v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		fmt.Fprintln(c.err, "ql:", err)
		return
	}
	_, _ = c.out.Write(b.Bytes())
}
