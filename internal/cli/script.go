package cli

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
	settings

	Publish scriptPublish `cmd:"" help:"Publish a script of an account, to be called by its name."`
	List    scriptList    `cmd:"" help:"List an account's published scripts."`
	Show    scriptShow    `cmd:"" help:"Show a published script with its text and its versions."`
	Remove  scriptRemove  `cmd:"" help:"Take a published script back with all of its versions."`
}

func newScriptCommand() scriptCommand {
	return scriptCommand{settings: newSettings("data", "master-key-file", "dev")}
}

type scriptPublish struct {
	who
	Name    string   `arg:"" help:"What the script is called."`
	File    string   `arg:"" help:"The script, or - for standard input."`
	Callers string   `default:"keys" placeholder:"WHO" help:"Who may call it besides the owner: keys that may run it, also pages of listed domains, or anyone (${default})."`
	Methods []string `name:"method" sep:"none" placeholder:"METHOD" help:"The methods by which it is called at an address of its own: GET, POST, PUT, PATCH or DELETE. May be given several times; all where left out."`
	Keep    string   `default:"24h" placeholder:"TIME" help:"How long earlier versions are still answered, such as 24h, 7d or 0 (${default})."`
	Secrets bool     `help:"Let it read the account's secrets for others than the owner and its keys."`
}

// Run implements the command.
func (k *scriptPublish) Run(c *console, line *commands) error {
	keep, err := parseKeep(k.Keep)
	if err != nil {
		return err
	}
	return line.Script.with(c, false, func(o *operator.Operator) error {
		return c.publish(o, k.Account, k.File, accounts.Publication{
			Name: k.Name, Keep: keep,
			Switches: accounts.Switches{Callers: accounts.Callers(k.Callers), Methods: k.Methods, Secrets: k.Secrets},
		})
	})
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
		return err
	}
	if c.json {
		c.print(newScriptJSON(&published))
		return nil
	}
	fmt.Fprintf(c.out, "%s is published as version %d, for %s (SHA-256 %s)\n", published.Name, published.Version, published.Callers, hex.EncodeToString(published.Hash[:]))
	return nil
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
	found := c.problems(name, errs)
	if c.json {
		c.printProblems(found)
		return "", &failure{code: exitUsage}
	}
	return "", usage("nothing is published: the script has errors")
}

// scriptJSON is a published script in a listing, as GET /v1/scripts shows it.
type scriptJSON struct {
	Name      string    `json:"name"`
	Version   int64     `json:"version"`
	Callers   string    `json:"callers"`
	Methods   []string  `json:"methods"`
	Secrets   bool      `json:"secrets"`
	Hash      string    `json:"sha256"`
	Published time.Time `json:"published_at"`
}

func newScriptJSON(p *accounts.Published) scriptJSON {
	return scriptJSON{p.Name, p.Version, string(p.Callers), p.AllMethods(), p.Secrets, hex.EncodeToString(p.Hash[:]), p.Added}
}

type scriptList struct{ who }

// Run implements the command.
func (k *scriptList) Run(c *console, line *commands) error {
	return line.Script.with(c, false, func(o *operator.Operator) error {
		scripts, err := o.Accounts.PublishedScripts(c.ctx, k.Account)
		if err != nil {
			return err
		}
		list := []scriptJSON{}
		for i := range scripts {
			list = append(list, newScriptJSON(&scripts[i]))
		}
		if c.json {
			c.print(struct {
				Scripts []scriptJSON `json:"scripts"`
			}{list})
			return nil
		}
		c.table(func(row func(...any)) {
			row("NAME", "VERSION", "CALLERS", "METHODS", "SECRETS", "PUBLISHED")
			for i, s := range list {
				row(s.Name, s.Version, s.Callers, shownMethods(&scripts[i]), yesOrNo(s.Secrets), moment(s.Published))
			}
		})
		return nil
	})
}

func shownMethods(p *accounts.Published) string {
	if len(p.Methods) == 0 {
		return "all"
	}
	return strings.Join(p.Methods, " ")
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
		c.showScript(&p, versions)
		return nil
	})
}

// showScript shows a script, as GET /v1/scripts/{name} does.
func (c *console) showScript(p *accounts.Published, versions []accounts.Published) {
	if c.json {
		type versionJSON struct {
			Version   int64      `json:"version"`
			Published time.Time  `json:"published_at"`
			Until     *time.Time `json:"until"`
		}
		shown := struct {
			scriptJSON
			Until    *time.Time      `json:"until"`
			Schema   json.RawMessage `json:"schema"`
			Versions []versionJSON   `json:"versions"`
			Text     *string         `json:"text"`
		}{scriptJSON: newScriptJSON(p), Until: optional(p.Until), Schema: json.RawMessage("null")}
		if p.Schema != "" {
			shown.Schema = json.RawMessage(p.Schema)
		}
		if p.Text != "" {
			shown.Text = &p.Text
		}
		for _, v := range versions {
			shown.Versions = append(shown.Versions, versionJSON{v.Version, v.Added, optional(v.Until)})
		}
		c.print(shown)
		return
	}
	c.table(func(row func(...any)) {
		row("name", p.Name)
		row("version", p.Version)
		row("callers", p.Callers)
		row("methods", shownMethods(p))
		row("secrets", yesOrNo(p.Secrets))
		row("published", moment(p.Added))
		for _, v := range versions {
			if !v.Until.IsZero() {
				row("earlier", fmt.Sprintf("version %d, answered until %s", v.Version, moment(v.Until)))
			}
		}
	})
	if p.Text == "" {
		fmt.Fprintln(c.err, "note: only the hash of its text is stored: publish it again to call it by its name")
		return
	}
	fmt.Fprintf(c.out, "\n%s", p.Text)
}

type scriptRemove struct {
	who
	Name string `arg:"" help:"What the script is called."`
}

// Run implements the command.
func (k *scriptRemove) Run(c *console, line *commands) error {
	return line.Script.with(c, false, func(o *operator.Operator) error { return c.unpublish(o, k.Account, k.Name) })
}

func (c *console) unpublish(o *operator.Operator, account, name string) error {
	if err := o.Accounts.Unpublish(c.ctx, account, name); err != nil {
		return err
	}
	c.said("%s is published no more", name)
	return nil
}
