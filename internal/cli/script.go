package cli

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	accounts "ql/internal/account"
	"ql/internal/operator"
	"ql/internal/resource/files"
	"ql/lang"
	"ql/lang/form"
	"ql/lang/source"
)

// scriptCommand is ql script. Its commands work on the data folder, while a server runs or
// not.
type scriptCommand struct {
	remoteSettings

	Publish scriptPublish `cmd:"" help:"Publish a script of an account, to be called by its name."`
	List    scriptList    `cmd:"" help:"List an account's published scripts."`
	Show    scriptShow    `cmd:"" help:"Show a published script with its text and its versions."`
	Remove  scriptRemove  `cmd:"" help:"Take a published script back with all of its versions."`
}

func newScriptCommand() scriptCommand {
	return scriptCommand{remoteSettings: newRemoteSettings("data", "database", "database-direct", "blobs", "master-key-file", "dev")}
}

type scriptPublish struct {
	who
	Name    string   `arg:"" help:"What the script is called."`
	File    string   `arg:"" help:"The script, or - for standard input."`
	Callers string   `default:"keys" placeholder:"WHO" help:"Who may call it besides the owner: keys that may run it, also pages of listed domains, or anyone (${default})."`
	Methods []string `name:"method" sep:"none" placeholder:"METHOD" help:"The methods by which it is called at an address of its own: GET, POST, PUT, PATCH or DELETE. May be given several times; all where left out."`
	Keep    string   `default:"24h" placeholder:"TIME" help:"How long earlier versions are still answered, such as 24h, 7d or 0 (${default})."`
	Secrets bool     `help:"Let it read the account's secrets for others than the owner and its keys."`

	Concurrency string `placeholder:"KEY[=N]" help:"Let no more than N jobs with this key be under way at once (1). It is then called with mode async alone."`
}

// Run implements the command.
func (k *scriptPublish) Run(c *console, line *commands) error {
	keep, err := parseKeep(k.Keep)
	if err != nil {
		return err
	}
	p := accounts.Publication{
		Name: k.Name, Keep: keep,
		Switches: accounts.Switches{Callers: accounts.Callers(k.Callers), Methods: k.Methods, Secrets: k.Secrets},
	}
	if k.Concurrency != "" {
		if p.Concurrency, err = parseConcurrency(k.Concurrency); err != nil {
			return err
		}
	}
	if line.Script.Server != "" {
		return c.publishRemotely(&line.Script.remoteSettings, k.Account, k.File, p)
	}
	return line.Script.with(c, false, func(o *operator.Operator) error { return c.publish(o, k.Account, k.File, p) })
}

// parseKeep takes how long earlier versions are answered.
func parseKeep(text string) (time.Duration, error) {
	if text == "0" {
		return 0, nil
	}
	keep, ok := parseDays(text)
	if !ok || keep < 0 || keep > accounts.LongestKeep || keep%time.Second != 0 {
		return 0, usage("--keep: %q is no time such as 24h, 7d or 0, and %d days at most", text, accounts.LongestKeep/(24*time.Hour))
	}
	return keep, nil
}

// publish publishes the script in a file, which must compile as it would for its account.
func (c *console) publish(o *operator.Operator, account, file string, p accounts.Publication) error {
	limits, err := o.Limits(c.ctx, account)
	if err != nil {
		return err
	}
	if p.Text, err = c.readScript(file, max(limits.ScriptBytes, maxScript)); err != nil {
		return err
	}
	if p.Schema, err = c.checkFor(o, account, file, p.Text, limits); err != nil {
		return err
	}
	published, _, err := o.Accounts.Publish(c.ctx, account, p)
	if err != nil {
		return devHint(o, account, err)
	}
	c.showPublished(newScriptJSON(&published))
	return nil
}

func (c *console) showPublished(s scriptJSON) {
	if c.json {
		c.print(s)
		return
	}
	fmt.Fprintf(c.out, "%s is published as version %d, for %s (SHA-256 %s)\n", s.Name, s.Version, s.Callers, s.Hash)
}

// checkFor finds the errors of a script as it would run for an account, whose files it may
// INCLUDE, and returns the schema of its input, "" for none.
func (c *console) checkFor(o *operator.Operator, account, name, text string, limits accounts.Limits) (schema string, err error) {
	var errs source.Errors
	err = o.Files(c.ctx, account, func(tree *files.Tree) error {
		program, err := lang.Compile(text, lang.Options{MaxBytes: limits.SourceBytes, Include: func(path string) (string, error) {
			included, err := tree.Read(c.ctx, path, limits.ScriptBytes)
			return string(included), err
		}})
		if errors.As(err, &errs) {
			return nil
		}
		if err == nil {
			schema, err = form.SchemaText(program.Input)
		}
		return err
	})
	if err != nil || len(errs) == 0 {
		return schema, err
	}
	return "", c.notPublished(name, errs)
}

// notPublished shows why a script is not published.
func (c *console) notPublished(name string, errs source.Errors) error {
	found := c.problems(name, errs)
	if c.json {
		c.printProblems(found, nil)
		return &failure{code: exitUsage}
	}
	return usage("nothing is published: the script has errors")
}

// scriptJSON is a published script in a listing, as GET /v1/scripts shows it.
type scriptJSON struct {
	Name    string   `json:"name"`
	Version int64    `json:"version"`
	Callers string   `json:"callers"`
	Methods []string `json:"methods"`
	Secrets bool     `json:"secrets"`

	Concurrency *concurrencyJSON `json:"concurrency"`
	Hash        string           `json:"sha256"`
	Published   time.Time        `json:"published_at"`
}

func newScriptJSON(p *accounts.Published) scriptJSON {
	return scriptJSON{p.Name, p.Version, string(p.Callers), p.AllMethods(), p.Secrets, newConcurrencyJSON(p.Concurrency), hex.EncodeToString(p.Hash[:]), p.Added}
}

type scriptList struct{ who }

// Run implements the command.
func (k *scriptList) Run(c *console, line *commands) error {
	if line.Script.Server != "" {
		return k.remote(c, &line.Script.remoteSettings)
	}
	return line.Script.with(c, false, func(o *operator.Operator) error {
		scripts, err := o.Accounts.PublishedScripts(c.ctx, k.Account)
		if err != nil {
			return err
		}
		list := []scriptJSON{}
		for i := range scripts {
			list = append(list, newScriptJSON(&scripts[i]))
		}
		c.showScripts(list)
		return nil
	})
}

func (c *console) showScripts(list []scriptJSON) {
	if c.json {
		c.print(struct {
			Scripts []scriptJSON `json:"scripts"`
		}{list})
		return
	}
	c.table(func(row func(...any)) {
		row("NAME", "VERSION", "CALLERS", "METHODS", "SECRETS", "PUBLISHED")
		for _, s := range list {
			row(s.Name, s.Version, s.Callers, shownMethods(s.Methods), yesOrNo(s.Secrets), moment(s.Published))
		}
	})
}

func shownMethods(methods []string) string {
	var none accounts.Published
	if slices.Equal(methods, none.AllMethods()) {
		return "all"
	}
	return strings.Join(methods, " ")
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

type scriptShow struct {
	who
	Name string `arg:"" help:"What the script is called; NAME@3 is its third version."`
}

// Run implements the command.
func (k *scriptShow) Run(c *console, line *commands) error {
	if line.Script.Server != "" {
		return k.remote(c, &line.Script.remoteSettings)
	}
	return line.Script.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.Find(c.ctx, k.Account)
		if err != nil {
			return err
		}
		p, err := o.Accounts.CalledScript(c.ctx, a.ID, k.Name)
		if errors.Is(err, accounts.ErrNotFound) {
			err = accounts.NoScript(k.Name)
		}
		if err != nil {
			return err
		}
		versions, err := o.Accounts.ScriptVersions(c.ctx, a.ID, p.Name)
		if err != nil {
			return err
		}
		c.showScript(newShownScript(&p, versions))
		return nil
	})
}

// shownScript is a script, as GET /v1/scripts/{name} shows it.
type shownScript struct {
	scriptJSON
	Until    *time.Time      `json:"until"`
	Schema   json.RawMessage `json:"schema"`
	Versions []versionJSON   `json:"versions"`
	Text     *string         `json:"text"`
}

type versionJSON struct {
	Version   int64      `json:"version"`
	Published time.Time  `json:"published_at"`
	Until     *time.Time `json:"until"`
}

func newShownScript(p *accounts.Published, versions []accounts.Published) *shownScript {
	shown := &shownScript{scriptJSON: newScriptJSON(p), Until: optional(p.Until), Schema: json.RawMessage("null")}
	if p.Schema != "" {
		shown.Schema = json.RawMessage(p.Schema)
	}
	if p.Text != "" {
		shown.Text = &p.Text
	}
	for _, v := range versions {
		shown.Versions = append(shown.Versions, versionJSON{v.Version, v.Added, optional(v.Until)})
	}
	return shown
}

func (c *console) showScript(s *shownScript) {
	if c.json {
		c.print(s)
		return
	}
	c.table(func(row func(...any)) {
		row("name", s.Name)
		row("version", s.Version)
		row("callers", s.Callers)
		row("methods", shownMethods(s.Methods))
		row("secrets", yesOrNo(s.Secrets))
		if s.Concurrency != nil {
			row("concurrency", s.Concurrency.text())
		}
		row("published", moment(s.Published))
		for _, v := range s.Versions {
			switch {
			case v.Version == s.Version:
				if v.Until != nil {
					row("answered", "until "+moment(*v.Until))
				}
			case v.Until == nil:
				row("current", fmt.Sprintf("version %d", v.Version))
			default:
				row("earlier", fmt.Sprintf("version %d, answered until %s", v.Version, moment(*v.Until)))
			}
		}
	})
	if s.Text == nil {
		fmt.Fprintln(c.err, "note: only the hash of its text is stored: publish it again to call it by its name")
		return
	}
	fmt.Fprintf(c.out, "\n%s", *s.Text)
}

type scriptRemove struct {
	who
	Name string `arg:"" help:"What the script is called."`
}

// Run implements the command.
func (k *scriptRemove) Run(c *console, line *commands) error {
	if line.Script.Server != "" {
		return c.unpublishRemotely(&line.Script.remoteSettings, k.Account, k.Name)
	}
	return line.Script.with(c, false, func(o *operator.Operator) error { return c.unpublish(o, k.Account, k.Name) })
}

func (c *console) unpublish(o *operator.Operator, account, name string) error {
	if err := o.Accounts.Unpublish(c.ctx, account, name); err != nil {
		return err
	}
	c.saidUnpublished(name)
	return nil
}

func (c *console) saidUnpublished(name string) { c.said("%s is published no more", name) }
