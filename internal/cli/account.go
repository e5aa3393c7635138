package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	accounts "ql/internal/account"
	"ql/internal/fault"
	"ql/internal/operator"
	"ql/internal/redacted"
)

// accountCommand is ql account. Its commands work on the data folder, while a
// server runs or not.
type accountCommand struct {
	remoteSettings

	Create      accountCreate      `cmd:"" help:"Make an account and print its API key."`
	Invite      accountInvite      `cmd:"" help:"Print a link by which somebody makes an account."`
	Invitations accountInvitations `cmd:"" help:"List the invitations that nobody has used yet."`

	RevokeInvitation accountRevokeInvitation `cmd:"" help:"Take an invitation back."`

	List          accountList          `cmd:"" help:"List the accounts."`
	Show          accountShow          `cmd:"" help:"Show an account."`
	Quota         accountQuota         `cmd:"" help:"Show what an account has used, and may use."`
	Delete        accountDelete        `cmd:"" help:"Delete an account with its files and databases."`
	ShowKey       accountShowKey       `cmd:"" help:"Print an account's API key again, where a copy is kept (--show-keys)."`
	RotateKey     accountRotateKey     `cmd:"" help:"Give an account a new API key; the old one is dead at once."`
	SetPassword   accountSetPassword   `cmd:"" help:"Give an account the password on standard input."`
	ResetPassword accountResetPassword `cmd:"" help:"Print a link by which an owner sets a new password."`
	SetContact    accountSetContact    `cmd:"" help:"Give an account another e-mail address or phone number."`
	SetLook       accountSetLook       `cmd:"" help:"Say how the pages of an account's questions look."`
	SetPlan       accountSetPlan       `cmd:"" help:"Put an account on another plan."`
	SetLimit      accountSetLimit      `cmd:"" help:"Give an account a limit of its own, or its plan's again."`
	Set           accountSet           `cmd:"" help:"Switch something of an account on or off."`
	Domains       domainsCommand       `cmd:"" help:"The domains whose pages may call as an account."`
	Secret        secretCommand        `cmd:"" help:"The secrets that an account's scripts read."`
	WebhookSecret accountWebhookSecret `cmd:"" help:"Print the secret that signs an account's webhooks."`
	Publish       accountPublish       `cmd:"" help:"Publish a script for pages of the account's domains: ql script publish --callers domains."`
	Published     accountPublished     `cmd:"" help:"List the published scripts."`
	Unpublish     accountUnpublish     `cmd:"" help:"Take a published script back."`
}

func newAccountCommand() accountCommand {
	return accountCommand{remoteSettings: newRemoteSettings("data", "database", "database-direct", "blobs", "master-key-file", "show-keys", "dev", "listen", "base-url")}
}

// with opens the data folder for one command.
func (s *settings) with(c *console, create bool, do func(*operator.Operator) error) (err error) {
	loaded, err := s.load()
	if err != nil {
		return err
	}
	operator, err := operator.Open(c.ctx, loaded, create)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, operator.Close()) }()
	return do(operator)
}

// who is the account that a command is about.
type who struct {
	Account string `arg:"" help:"Username, e-mail address or phone number."`
}

// accountJSON is an account as commands show it: nothing that opens it.
type accountJSON struct {
	Username          string    `json:"username"`
	Email             string    `json:"email,omitempty"`
	Phone             string    `json:"phone,omitempty"`
	Plan              string    `json:"plan"`
	Limits            ownLimits `json:"limits,omitempty"`
	Admin             bool      `json:"admin"`
	Disabled          bool      `json:"disabled"`
	RequireAuthOnJobs bool      `json:"require_auth_on_jobs"`
	ShowEffects       bool      `json:"show_effects"`
	lookJSON
	Created time.Time `json:"created_at"`
}

// lookJSON is how the pages of an account look.
type lookJSON struct {
	DisplayName string `json:"display_name,omitempty"`
	Logo        string `json:"logo,omitempty"`
	Accent      string `json:"accent,omitempty"`
}

// rows shows in a table what is not as usual.
func (l lookJSON) rows(row func(...any)) {
	for _, one := range [][2]string{{"display_name", l.DisplayName}, {"logo", l.Logo}, {"accent", l.Accent}} {
		if one[1] != "" {
			row(one[0], printable(one[1]))
		}
	}
}

// ownLimits are the limits that an account has for itself, as set-limit takes them.
type ownLimits map[string]string

func newOwnLimits(own []accounts.Override) ownLimits {
	limits := ownLimits{}
	for _, o := range own {
		if slices.Contains(accounts.LimitNames(), o.Name) { // of another version
			limits[o.Name] = accounts.FormatLimit(o.Name, o.Value)
		}
	}
	return limits
}

func newAccountJSON(a accounts.Account) accountJSON {
	return accountJSON{
		Username: a.Username, Email: a.Email, Phone: a.Phone, Plan: string(a.Plan), Limits: newOwnLimits(a.Overrides), Admin: a.Admin,
		Disabled: a.Disabled, RequireAuthOnJobs: a.RequireAuthOnJobs, ShowEffects: a.ShowEffects, lookJSON: lookJSON(a.Look), Created: a.Created,
	}
}

// showKey prints an API key.
func (c *console) showKey(username string, key accounts.Key) {
	c.showAPIKey(apiKeyJSON{username, key.Reveal()})
}

type apiKeyJSON struct {
	Username string `json:"username"`
	APIKey   string `json:"api_key"`
}

func (c *console) showAPIKey(k apiKeyJSON) {
	if c.json {
		c.print(k)
		return
	}
	c.table(func(row func(...any)) {
		row("username", k.Username)
		row("api key", k.APIKey)
	})
}

// said ends a command that has nothing to show.
func (c *console) said(format string, args ...any) {
	if c.json {
		c.print(struct {
			Status string `json:"status"`
		}{"ok"})
		return
	}
	fmt.Fprintf(c.out, format+"\n", args...)
}

// table prints rows in columns.
func (c *console) table(rows func(row func(...any))) {
	w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	rows(func(cells ...any) {
		for i, cell := range cells {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, cell)
		}
		fmt.Fprintln(w)
	})
	_ = w.Flush() // as for all that is printed
}

func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// longestInput bounds what is read of a secret on standard input.
const longestInput = 1 << 20

// readPassword reads a new password. Who types it types it twice, unseen.
func (c *console) readPassword() (string, error) {
	password, err := c.readSecret("password: ")
	if err != nil || !c.in.terminal() {
		return password, err
	}
	again, err := c.readSecret("the same again: ")
	if err == nil && again != password {
		err = usage("the two passwords are not the same: nothing is changed")
	}
	return password, err
}

// readSecret reads standard input to its end. A line end at the end is not part
// of what is said. At a terminal it asks for one line, which is not shown.
func (c *console) readSecret(question string) (string, error) {
	if c.in.terminal() {
		line, err := c.in.secret(c.ctx, c.err, question)
		switch {
		case errors.Is(err, io.EOF):
			return "", usage("nothing was typed")
		case err != nil:
			return "", &failure{exitFailed, "interrupted: nothing is changed"}
		}
		return line, nil
	}
	text, err := io.ReadAll(io.LimitReader(c.in, longestInput+1))
	if err != nil {
		return "", err
	}
	if len(text) > longestInput {
		return "", usage("standard input is longer than %d KiB", longestInput>>10)
	}
	said, ended := strings.CutSuffix(string(text), "\n")
	if ended {
		said = strings.TrimSuffix(said, "\r")
	}
	return said, nil
}

type accountCreate struct {
	Username      string `required:"" placeholder:"NAME" help:"The account's name, which never changes: a-z, 0-9, _ and -."`
	Email         string `placeholder:"ADDRESS" help:"Its e-mail address, which also leads to it."`
	Phone         string `placeholder:"NUMBER" help:"Its phone number, as +12025550143, which also leads to it."`
	PasswordStdin bool   `help:"Read the password from standard input; a terminal asks for it twice and does not show it."`
	Plan          string `default:"standard" placeholder:"PLAN" help:"free, standard, unlimited, or one of the settings file (${default})."`
	Admin         bool   `help:"Let it manage the service."`
}

// Run implements the command.
func (k *accountCreate) Run(c *console, line *commands) error {
	if !k.PasswordStdin {
		return usage("an account needs a password: --password-stdin reads it from standard input")
	}
	password, err := c.readPassword()
	if err != nil {
		return err
	}
	return line.Account.with(c, true, func(o *operator.Operator) error {
		a, key, err := o.Accounts.Create(c.ctx, accounts.New{
			Username: k.Username, Email: k.Email, Phone: k.Phone, Password: redacted.Text(password),
			Plan: accounts.Plan(k.Plan), Admin: k.Admin, Verified: true,
		})
		if err != nil {
			return err
		}
		c.showKey(a.Username, key)
		return nil
	})
}

type accountList struct{}

// listPage is how many accounts are read at once.
const listPage = 500

// Run implements the command.
func (k *accountList) Run(c *console, line *commands) error {
	return line.Account.with(c, false, func(o *operator.Operator) error {
		all := []accountJSON{}
		for after := ""; ; {
			page, err := o.Accounts.List(c.ctx, after, listPage)
			if err != nil {
				return err
			}
			for _, a := range page {
				all = append(all, newAccountJSON(a))
				after = a.Username
			}
			if len(page) < listPage {
				break
			}
		}
		if c.json {
			c.print(struct {
				Accounts []accountJSON `json:"accounts"`
			}{all})
			return nil
		}
		c.table(func(row func(...any)) {
			row("USERNAME", "PLAN", "STATE", "E-MAIL", "PHONE", "CREATED")
			for _, a := range all {
				row(a.Username, a.Plan, orDash(marks(a)), orDash(a.Email), orDash(a.Phone), moment(a.Created))
			}
		})
		return nil
	})
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// marks says what is not as with most accounts.
func marks(a accountJSON) string {
	var marks []string
	if a.Admin {
		marks = append(marks, "admin")
	}
	if a.Disabled {
		marks = append(marks, "disabled")
	}
	return strings.Join(marks, ", ")
}

type accountShow struct{ who }

// Run implements the command.
func (k *accountShow) Run(c *console, line *commands) error {
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.Find(c.ctx, k.Account)
		if err != nil {
			return err
		}
		shown := newAccountJSON(a)
		if c.json {
			c.print(shown)
			return nil
		}
		c.table(func(row func(...any)) {
			row("username", shown.Username)
			row("e-mail", orDash(shown.Email))
			row("phone", orDash(shown.Phone))
			row("plan", shown.Plan)
			for _, name := range slices.Sorted(maps.Keys(shown.Limits)) {
				row(name, shown.Limits[name]+" instead of its plan's")
			}
			row("admin", shown.Admin)
			row("disabled", shown.Disabled)
			row("require_auth_on_jobs", shown.RequireAuthOnJobs)
			row("show_effects", shown.ShowEffects)
			shown.rows(row)
			row("created", moment(shown.Created))
		})
		return nil
	})
}

type accountDelete struct{ who }

// Run implements the command.
func (k *accountDelete) Run(c *console, line *commands) error {
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		if err := o.DeleteAccount(c.ctx, k.Account); err != nil {
			return err
		}
		c.saidDeleted(k.Account)
		return nil
	})
}

func (c *console) saidDeleted(account string) { c.said("%s is deleted", account) }

type accountShowKey struct{ who }

// Run implements the command.
func (k *accountShowKey) Run(c *console, line *commands) error {
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.Find(c.ctx, k.Account)
		if err != nil {
			return err
		}
		key, err := o.Accounts.ShowKey(c.ctx, a.ID)
		if err != nil {
			return err
		}
		if err := o.LogKeyShown(c.ctx, a.Username); err != nil {
			return err
		}
		c.showKey(a.Username, key)
		return nil
	})
}

type accountRotateKey struct{ who }

// Run implements the command.
func (k *accountRotateKey) Run(c *console, line *commands) error {
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		a, key, err := o.Accounts.RotateKey(c.ctx, k.Account)
		if err != nil {
			return err
		}
		c.showKey(a.Username, key)
		return nil
	})
}

type accountSetPassword struct {
	who
	PasswordStdin bool `help:"Read the password from standard input, which is the only way."`
}

// Run implements the command.
func (k *accountSetPassword) Run(c *console, line *commands) error {
	password, err := c.readPassword()
	if err != nil {
		return err
	}
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings, password)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		if err := o.Accounts.SetPassword(c.ctx, k.Account, password); err != nil {
			return err
		}
		c.saidNewPassword(k.Account)
		return nil
	})
}

func (c *console) saidNewPassword(account string) { c.said("%s has a new password", account) }

type accountSetContact struct {
	who
	Email *string `placeholder:"ADDRESS" help:"Its e-mail address, which also leads to it; empty for none."`
	Phone *string `placeholder:"NUMBER" help:"Its phone number, as +12025550143, which also leads to it; empty for none."`
}

// Run implements the command.
func (k *accountSetContact) Run(c *console, line *commands) error {
	if k.Email == nil && k.Phone == nil {
		return usage("nothing to set: --email or --phone fits")
	}
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.SetContact(c.ctx, k.Account, accounts.ContactChange{Email: k.Email, Phone: k.Phone, Verified: true})
		if err != nil {
			return err
		}
		c.saidContact(a.Username, a.Email, a.Phone)
		return nil
	})
}

func (c *console) saidContact(account, email, phone string) {
	c.said("%s has the e-mail address %s and the phone number %s", account, orDash(email), orDash(phone))
}

type accountSetLook struct {
	who
	DisplayName *string `placeholder:"NAME" help:"A name beside its username; empty for none."`
	Logo        *string `placeholder:"PATH" help:"A picture among its files, as /logo.png; empty for none."`
	Accent      *string `placeholder:"COLOUR" help:"The colour of buttons, as #1a56db; empty for the usual one."`
}

// Run implements the command.
func (k *accountSetLook) Run(c *console, line *commands) error {
	if k.DisplayName == nil && k.Logo == nil && k.Accent == nil {
		return usage("nothing to set: --display-name, --logo or --accent fits")
	}
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.SetLook(c.ctx, k.Account, accounts.LookChange{DisplayName: k.DisplayName, Logo: k.Logo, Accent: k.Accent})
		if err != nil {
			return err
		}
		c.saidLook(a.Username, lookJSON(a.Look))
		return nil
	})
}

func (c *console) saidLook(account string, l lookJSON) {
	c.said("%s has the display name %s, the logo %s and the accent %s", account, orDash(printable(l.DisplayName)), orDash(printable(l.Logo)), orDash(printable(l.Accent)))
}

type accountSetPlan struct {
	who
	Plan string `arg:"" help:"free, standard, unlimited, or one of the settings file."`
}

// Run implements the command.
func (k *accountSetPlan) Run(c *console, line *commands) error {
	return line.Account.with(c, false, func(o *operator.Operator) error {
		if err := o.Accounts.SetPlan(c.ctx, k.Account, k.Plan); err != nil {
			return err
		}
		c.said("%s has the plan %s", k.Account, k.Plan)
		return nil
	})
}

type accountSetLimit struct {
	who
	Limit string `arg:"" help:"Such as storage_bytes; the limits are those of the settings' plans."`
	Value string `arg:"" optional:"" help:"Such as 100, \"20 GiB\", 30s or true."`
	Unset bool   `help:"Let the limit of the account's plan hold again."`
}

// Run implements the command.
func (k *accountSetLimit) Run(c *console, line *commands) error {
	if k.Unset == (k.Value != "") {
		return usage("a limit takes a value, or --unset")
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		if k.Unset {
			if err := o.Accounts.UnsetLimit(c.ctx, k.Account, k.Limit); err != nil {
				return err
			}
			c.said("%s has the %s of its plan", k.Account, k.Limit)
			return nil
		}
		if err := o.Accounts.SetLimit(c.ctx, k.Account, k.Limit, k.Value); err != nil {
			return err
		}
		c.said("%s has %s = %s", k.Account, k.Limit, k.Value)
		return nil
	})
}

type accountSet struct {
	who
	Settings []string `arg:"" name:"setting" placeholder:"NAME=BOOL" help:"Such as require_auth_on_jobs=true, show_effects=true, disabled=true or admin=false."`
}

// Run implements the command.
func (k *accountSet) Run(c *console, line *commands) error {
	var changes []flagChange
	for _, text := range k.Settings {
		name, value, ok := strings.Cut(text, "=")
		if !ok || value != "true" && value != "false" {
			return usage("%q is no setting such as require_auth_on_jobs=true", text)
		}
		changes = append(changes, flagChange{name, value == "true"})
	}
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings, changes)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		for _, change := range changes {
			if err := o.Accounts.SetFlag(c.ctx, k.Account, change.name, change.on); err != nil {
				return err
			}
		}
		k.said(c)
		return nil
	})
}

// flagChange is a switch of an account that is set.
type flagChange struct {
	name string
	on   bool
}

func (k *accountSet) said(c *console) {
	c.said("%s has %s", k.Account, strings.Join(k.Settings, ", "))
}

type accountWebhookSecret struct {
	who
	Rotate bool `help:"Make a new one; the one before goes on signing beside it for 24 hours."`
}

// Run implements the command.
func (k *accountWebhookSecret) Run(c *console, line *commands) error {
	if line.Account.Server != "" {
		return k.remote(c, &line.Account.remoteSettings)
	}
	return line.Account.with(c, false, func(o *operator.Operator) error {
		secret, err := o.Accounts.WebhookSecret(c.ctx, k.Account, k.Rotate)
		if err != nil {
			return err
		}
		if err := o.LogWebhookSecretShown(c.ctx, k.Account); err != nil {
			return err
		}
		c.showWebhookSecret(webhookSecretJSON{secret.Reveal()})
		return nil
	})
}

type webhookSecretJSON struct {
	Secret string `json:"webhook_secret"`
}

func (c *console) showWebhookSecret(s webhookSecretJSON) {
	if c.json {
		c.print(s)
		return
	}
	fmt.Fprintln(c.out, s.Secret)
}

// exitOf is the exit code of an error with a code: a wrong value is a matter of
// the command line.
func exitOf(e *fault.Error) int {
	if e.Code == fault.InvalidRequest {
		return exitUsage
	}
	return exitFailed
}
