package cli

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	accounts "ql/internal/account"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/remote"
	"ql/lang/source"
)

// What the commands do with --server, each beside what it does on the data folder: they show the
// same, made of the service's answer.

// ask makes a call about an account and decodes its answer.
func (c *console) ask(s *remoteSettings, account string, call remote.Call, into any) error {
	client, err := s.dial(c, account)
	if err != nil {
		return err
	}
	return client.Do(c.ctx, call, into)
}

// named is how what is said calls an account.
func named(account string) string {
	if account == ownAccount {
		return "the account"
	}
	return account
}

func (k *keyCreate) remote(c *console, s *remoteSettings, lasts time.Duration) error {
	body := map[string]any{"name": k.Name, "scopes": k.Scopes}
	if lasts > 0 {
		body["expires_in"] = int64(lasts / time.Second)
	}
	var created createdKeyJSON
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Post, Path: []string{"keys"}, JSON: body}, &created); err != nil {
		return err
	}
	c.showCreatedKey(created)
	return nil
}

func (k *keyList) remote(c *console, s *remoteSettings) error {
	answer := struct{ Keys []keyJSON }{[]keyJSON{}}
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Get, Path: []string{"keys"}}, &answer); err != nil {
		return err
	}
	c.showKeys(answer.Keys)
	return nil
}

func (k *keyRevoke) remote(c *console, s *remoteSettings) error {
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Delete, Path: []string{"keys", k.Name}}, nil); err != nil {
		return err
	}
	c.saidRevoked(k.Name, named(k.Account))
	return nil
}

// publishRemotely publishes a script, which the service compiles.
func (c *console) publishRemotely(s *remoteSettings, account, file string, p accounts.Publication) error {
	client, err := s.dial(c, account)
	if err != nil {
		return err
	}
	// The service knows how long a script may be for this account.
	const longest = 64 << 20
	text, err := c.readScript(file, longest)
	if err != nil {
		return err
	}
	body := map[string]any{"text": text, "callers": p.Callers, "secrets": p.Secrets, "keep": int64(p.Keep / time.Second)}
	if len(p.Methods) > 0 {
		body["methods"] = p.Methods
	}
	if limit := newConcurrencyJSON(p.Concurrency); limit != nil {
		body["concurrency"] = limit
	}
	var published scriptJSON
	err = client.Do(c.ctx, remote.Call{Method: remote.Put, Path: []string{"scripts", p.Name}, JSON: body}, &published)
	var detailed *remote.DetailedError
	if errors.As(err, &detailed) {
		return c.notPublished(file, sourceErrors(text, detailed.Details))
	}
	if err != nil {
		return err
	}
	c.showPublished(published)
	return nil
}

// sourceErrors are the errors that a service found in a script, with the lines of it that they are in.
func sourceErrors(text string, details []remote.Detail) source.Errors {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	var errs source.Errors
	for _, d := range details {
		e := &source.Error{File: printable(d.File), Line: d.Line, Column: d.Column, Width: 1, Message: printable(d.Message)}
		if d.File == "" && d.Line >= 1 && d.Line <= len(lines) && d.Column >= 1 && d.Column <= utf8.RuneCountInString(lines[d.Line-1])+1 {
			e.Source = lines[d.Line-1]
		}
		errs = append(errs, e)
	}
	return errs
}

// scriptsOf lists all published scripts of an account.
func (c *console) scriptsOf(s *remoteSettings, account string) ([]scriptJSON, error) {
	client, err := s.dial(c, account)
	if err != nil {
		return nil, err
	}
	return remote.List[scriptJSON](c.ctx, client, remote.Call{Method: remote.Get, Path: []string{"scripts"}}, "scripts", "after", mostListed)
}

func (k *scriptList) remote(c *console, s *remoteSettings) error {
	list, err := c.scriptsOf(s, k.Account)
	if err != nil {
		return err
	}
	c.showScripts(list)
	return nil
}

func (k *scriptShow) remote(c *console, s *remoteSettings) error {
	var shown shownScript
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Get, Path: []string{"scripts", k.Name}}, &shown); err != nil {
		return err
	}
	c.showScript(&shown)
	return nil
}

func (c *console) unpublishRemotely(s *remoteSettings, account, name string) error {
	if err := c.ask(s, account, remote.Call{Method: remote.Delete, Path: []string{"scripts", name}}, nil); err != nil {
		return err
	}
	c.saidUnpublished(name)
	return nil
}

func (k *accountPublished) remote(c *console, s *remoteSettings) error {
	scripts, err := c.scriptsOf(s, k.Account)
	if err != nil {
		return err
	}
	list := []publishedJSON{}
	for _, p := range scripts {
		list = append(list, publishedJSON{p.Name, p.Hash, p.Published})
	}
	c.showPublishedList(list)
	return nil
}

// listNewest lists what an account has, the newest first: so many, by parameters that are pairs of a name
// and a text, of which those without a text are left out.
func listNewest[T any](c *console, s *remoteSettings, account, what string, most int, parameters ...string) ([]T, error) {
	client, err := s.dial(c, account)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	for i := 0; i+1 < len(parameters); i += 2 {
		if parameters[i+1] != "" {
			query.Set(parameters[i], parameters[i+1])
		}
	}
	return remote.List[T](c.ctx, client, remote.Call{Method: remote.Get, Path: []string{what}, Query: query}, what, "before", most)
}

func (k *jobList) remote(c *console, s *remoteSettings) error {
	list, err := listNewest[jobJSON](c, s, k.Account, "jobs", k.Limit, "before", k.Before, "status", k.Status)
	if err != nil {
		return err
	}
	c.showJobs(list)
	return nil
}

func (k *jobShow) remote(c *console, s *remoteSettings) error {
	var shown shownJob
	if err := k.call(c, s, remote.Call{Method: remote.Get, Path: []string{"jobs", k.ID}}, &shown); err != nil {
		return err
	}
	c.showWholeJob(&shown)
	return nil
}

// call makes a call about the job.
func (k *theJob) call(c *console, s *remoteSettings, call remote.Call, into any) error {
	err := c.ask(s, k.Account, call, into)
	switch {
	case errors.Is(err, errNoAccount):
		return usage("a password is an account's: say whose by --account, or bring a named key")
	case !fault.Is(err, fault.JobNotFound) && !fault.Is(err, fault.NotFound):
		return err
	case k.Account != "" && k.Account != ownAccount:
		return fault.New(fault.JobNotFound, "%s has no job %q, or none that this opens", k.Account, k.ID)
	}
	return fault.New(fault.JobNotFound, "there is no job %q, or none of this key", k.ID)
}

func (k *jobCancel) remote(c *console, s *remoteSettings) error {
	var cancelled struct{ Status string }
	id := k.ID
	if _, isNumber := k.number(); isNumber {
		var found jobJSON
		if err := k.call(c, s, remote.Call{Method: remote.Get, Path: []string{"jobs", id}}, &found); err != nil {
			return err
		}
		id = found.JobID
	}
	if err := k.call(c, s, remote.Call{Method: remote.Delete, Path: []string{"job", id}}, &cancelled); err != nil {
		return err
	}
	c.showCancelled(printable(id), job.State(printable(cancelled.Status)))
	return nil
}

// filesPath are the parts of the address of a file.
func filesPath(path string) []string {
	return append([]string{"files"}, strings.Split(strings.TrimPrefix(path, "/"), "/")...)
}

// checkPath keeps a path out that the address would mean another one by.
func checkPath(path string) error {
	if !strings.HasPrefix(path, "/") {
		return fault.New(fault.InvalidPath, "the path %q cannot be used: it must start with /", path)
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." {
			return fault.New(fault.InvalidPath, "the path %q cannot be used: %q is no name; every path starts at the top", path, part)
		}
	}
	return nil
}

func (k *filesList) remote(c *console, s *remoteSettings) error {
	if err := checkPath(k.Path); err != nil {
		return err
	}
	client, err := s.dial(c, k.Account)
	if err != nil {
		return err
	}
	list, err := remote.List[fileJSON](c.ctx, client, remote.Call{Method: remote.Get, Path: filesPath(k.Path)}, "files", "after", mostListed)
	if errors.Is(err, remote.ErrIsContent) {
		return fault.New(fault.NotAFolder, "%q is a file, not a folder", k.Path)
	}
	if err != nil {
		return err
	}
	c.showFiles(list)
	return nil
}

func (k *filesGet) remote(c *console, s *remoteSettings) (err error) {
	if err := checkPath(k.Path); err != nil {
		return err
	}
	client, err := s.dial(c, k.Account)
	if err != nil {
		return err
	}
	content, size, err := client.Download(c.ctx, remote.Call{Method: remote.Get, Path: filesPath(k.Path)})
	if errors.Is(err, remote.ErrIsNoContent) {
		return fault.New(fault.IsFolder, "%q is a folder, not a file", k.Path)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	counted := &countedReader{Reader: content}
	return k.save(c, wholeReader{counted, size}, size)
}

// wholeReader reads a file of a size, and knows when the line was cut.
type wholeReader struct {
	*countedReader
	size int64
}

// Read implements io.Reader.
func (r wholeReader) Read(p []byte) (int, error) {
	n, err := r.countedReader.Read(p)
	if errors.Is(err, io.EOF) && r.size >= 0 && r.read != r.size {
		return n, fmt.Errorf("the answer broke off after %d of %d bytes", r.read, r.size)
	}
	return n, err
}

func (k *filesPut) remote(c *console, s *remoteSettings, from io.Reader, size int64) error {
	if err := checkPath(k.Path); err != nil {
		return err
	}
	var stored storedJSON
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Put, Path: filesPath(k.Path), Body: from, Size: size}, &stored); err != nil {
		return err
	}
	c.showStored(stored)
	return nil
}

func (k *filesRemove) remote(c *console, s *remoteSettings) error {
	if err := checkPath(k.Path); err != nil {
		return err
	}
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Delete, Path: filesPath(k.Path)}, nil); err != nil {
		return err
	}
	c.saidRemoved(k.Path)
	return nil
}

// mostListed bounds a list that is shown whole.
const mostListed = 1_000_000

func (k *shareList) remote(c *console, s *remoteSettings) error {
	list, err := listNewest[shareJSON](c, s, k.Account, "shares", k.Limit, "before", k.Before)
	if err != nil {
		return err
	}
	c.showShares(list)
	return nil
}

func (k *shareRevoke) remote(c *console, s *remoteSettings) error {
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Delete, Path: []string{"shares", k.ID}}, nil); err != nil {
		return err
	}
	c.saidTakenBack(k.ID)
	return nil
}

func (k *accountShowKey) remote(c *console, s *remoteSettings) error {
	var shown apiKeyJSON
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Get, Path: []string{"account", "key"}}, &shown); err != nil {
		return err
	}
	c.showAPIKey(shown)
	return nil
}

func (k *accountQuota) remote(c *console, s *remoteSettings) error {
	var answer struct {
		Plan   string
		Limits map[string]struct {
			Value *int64
			Used  int64
		}
	}
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Get, Path: []string{"limits"}}, &answer); err != nil {
		return err
	}
	of := func(name string) quotaJSON {
		l := answer.Limits[name]
		return quotaJSON{l.Used, l.Value}
	}
	c.showQuota(allQuotas{
		answer.Plan, c.clock().UTC().Format("2006-01"),
		of("storage"), of("records"), of("calls"), of("running_time"), of("egress"),
	})
	return nil
}

func (k *dbList) remote(c *console, s *remoteSettings) error {
	client, err := s.dial(c, k.Account)
	if err != nil {
		return err
	}
	list, err := remote.List[databaseJSON](c.ctx, client, remote.Call{Method: remote.Get, Path: []string{"databases"}}, "databases", "after", mostListed)
	if err != nil {
		return err
	}
	c.showDatabases(list)
	return nil
}

// path are the parts of the address of the database.
func (k *theDatabase) path(parts ...string) []string {
	return append([]string{"databases", k.Name}, parts...)
}

func (k *dbSize) remote(c *console, s *remoteSettings) error {
	client, err := s.dial(c, k.Account)
	if err != nil {
		return err
	}
	list, err := remote.List[databaseJSON](c.ctx, client, remote.Call{Method: remote.Get, Path: []string{"databases"}}, "databases", "after", mostListed)
	if err != nil {
		return err
	}
	for _, d := range list {
		if strings.EqualFold(d.Name, k.Name) {
			c.showSize(databaseJSON{k.Name, d.Bytes})
			return nil
		}
	}
	// The service says best what is wrong with the name.
	if err := client.Do(c.ctx, remote.Call{Method: remote.Get, Path: k.path()}, nil); err != nil {
		return err
	}
	return fault.New(fault.NotFound, "there is no database %q", k.Name)
}

func (k *dbCreate) remote(c *console, s *remoteSettings) error {
	client, err := s.dial(c, k.Account)
	if err != nil {
		return err
	}
	if client.Do(c.ctx, remote.Call{Method: remote.Get, Path: k.path(), Query: url.Values{"limit": {"1"}}}, nil) == nil {
		return fault.New(fault.InvalidRequest, "there is a database %q already", k.Name)
	}
	body := map[string]any{"sql": "SELECT 1", "write": true} // by which a database is made that is missing
	if err := client.Do(c.ctx, remote.Call{Method: remote.Post, Path: k.path("query"), JSON: body}, nil); err != nil {
		return err
	}
	c.saidCreated(named(k.Account), k.Name)
	return nil
}

func (k *dbDrop) remote(c *console, s *remoteSettings) error {
	var dropped struct{ Result string }
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Delete, Path: k.path()}, &dropped); err != nil {
		return err
	}
	c.showDropped(named(k.Account), k.Name, dropped.Result == "removed")
	return nil
}

// formatOf are the parameters of an export or import: CSV where a table is named.
func formatOf(table string) url.Values {
	if table == "" {
		return url.Values{"format": {"sql"}}
	}
	return url.Values{"format": {"csv"}, "table": {table}}
}

func (k *dbExport) remote(c *console, s *remoteSettings) (err error) {
	client, err := s.dial(c, k.Account)
	if err != nil {
		return err
	}
	content, _, err := client.Download(c.ctx, remote.Call{Method: remote.Get, Path: k.path("export"), Query: formatOf(k.Table)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, content.Close()) }()
	return k.save(c, func(to io.Writer) error {
		if _, err := io.Copy(to, content); err != nil { // a chunk is missing where the service cut it
			return fmt.Errorf("the answer broke off: %w", err)
		}
		return nil
	})
}

func (k *dbImport) remote(c *console, s *remoteSettings, from io.Reader) error {
	var imported struct{ Statements, Rows int64 }
	call := remote.Call{Method: remote.Post, Path: k.path("import"), Query: formatOf(k.Table), Body: stoppable{c.ctx, from}, Size: -1}
	if err := c.ask(s, k.Account, call, &imported); err != nil {
		return err
	}
	c.showImported(k.Table != "", imported.Statements+imported.Rows)
	return nil
}

// remoteAccount is an account as its owner sees it: what is the operator's is not shown.
type remoteAccount struct {
	Username          string `json:"username"`
	Email             string `json:"email,omitempty"`
	Phone             string `json:"phone,omitempty"`
	Plan              string `json:"plan"`
	RequireAuthOnJobs bool   `json:"require_auth_on_jobs"`
	ShowEffects       bool   `json:"show_effects"`
	lookJSON
	Created time.Time `json:"created_at"`
}

func (k *accountShow) remote(c *console, s *remoteSettings) error {
	var shown remoteAccount
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Get, Path: []string{"account"}}, &shown); err != nil {
		return err
	}
	if c.json {
		c.print(shown)
		return nil
	}
	c.table(func(row func(...any)) {
		row("username", printable(shown.Username))
		row("e-mail", orDash(printable(shown.Email)))
		row("phone", orDash(printable(shown.Phone)))
		row("plan", printable(shown.Plan))
		row("require_auth_on_jobs", shown.RequireAuthOnJobs)
		row("show_effects", shown.ShowEffects)
		shown.rows(row)
		row("created", moment(shown.Created))
	})
	return nil
}

func (k *accountDelete) remote(c *console, s *remoteSettings) error {
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Delete, Path: []string{"account"}}, nil); err != nil {
		return err
	}
	c.saidDeleted(named(k.Account))
	return nil
}

func (k *accountRotateKey) remote(c *console, s *remoteSettings) error {
	var shown apiKeyJSON
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Post, Path: []string{"account", "key"}}, &shown); err != nil {
		return err
	}
	c.showAPIKey(shown)
	return nil
}

func (k *accountSetPassword) remote(c *console, s *remoteSettings, password string) error {
	body := map[string]string{"password": password}
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Post, Path: []string{"account", "password"}, JSON: body}, nil); err != nil {
		return err
	}
	c.saidNewPassword(named(k.Account))
	return nil
}

func (k *accountSetContact) remote(c *console, s *remoteSettings) error {
	body := map[string]string{}
	if k.Email != nil {
		body["email"] = *k.Email
	}
	if k.Phone != nil {
		body["phone"] = *k.Phone
	}
	var shown remoteAccount
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Patch, Path: []string{"account"}, JSON: body}, &shown); err != nil {
		return err
	}
	c.saidContact(printable(shown.Username), printable(shown.Email), printable(shown.Phone))
	return nil
}

func (k *accountSetLook) remote(c *console, s *remoteSettings) error {
	body := map[string]string{}
	for name, text := range map[string]*string{"display_name": k.DisplayName, "logo": k.Logo, "accent": k.Accent} {
		if text != nil {
			body[name] = *text
		}
	}
	var shown remoteAccount
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Patch, Path: []string{"account"}, JSON: body}, &shown); err != nil {
		return err
	}
	c.saidLook(printable(shown.Username), shown.lookJSON)
	return nil
}

func (k *accountSet) remote(c *console, s *remoteSettings, changes []flagChange) error {
	body := map[string]bool{}
	for _, change := range changes {
		if change.name == "admin" || change.name == "disabled" {
			return usage("--server: %s is the operator's to set, on the data folder", change.name)
		}
		body[change.name] = change.on
	}
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Patch, Path: []string{"account"}, JSON: body}, nil); err != nil {
		return err
	}
	k.said(c)
	return nil
}

func (k *accountWebhookSecret) remote(c *console, s *remoteSettings) error {
	method := remote.Get
	if k.Rotate {
		method = remote.Post
	}
	var shown webhookSecretJSON
	if err := c.ask(s, k.Account, remote.Call{Method: method, Path: []string{"account", "webhook-secret"}}, &shown); err != nil {
		return err
	}
	c.showWebhookSecret(shown)
	return nil
}

func (k *secretSet) remote(c *console, s *remoteSettings, value string) error {
	body := map[string]string{"value": value}
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Put, Path: []string{"secrets", k.Name}, JSON: body}, nil); err != nil {
		return err
	}
	c.saidSecretSet(named(k.Account), k.Name)
	return nil
}

func (k *secretList) remote(c *console, s *remoteSettings) error {
	answer := struct{ Secrets []secretJSON }{[]secretJSON{}}
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Get, Path: []string{"secrets"}}, &answer); err != nil {
		return err
	}
	c.showSecrets(answer.Secrets)
	return nil
}

func (k *secretRemove) remote(c *console, s *remoteSettings) error {
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Delete, Path: []string{"secrets", k.Name}}, nil); err != nil {
		return err
	}
	c.saidSecretRemoved(named(k.Account), k.Name)
	return nil
}

func (k *auditList) remote(c *console, s *remoteSettings) error {
	if k.Account == "" {
		return usage("--server: the operator's own log is on the data folder; name an account")
	}
	client, err := s.dial(c, k.Account)
	if err != nil {
		return err
	}
	query := url.Values{}
	if k.Before > 0 {
		query.Set("before", strconv.FormatInt(k.Before, 10))
	}
	list, err := remote.List[auditJSON](c.ctx, client, remote.Call{Method: remote.Get, Path: []string{"account", "log"}, Query: query}, "entries", "before", k.Limit)
	if err != nil {
		return err
	}
	c.showLog(list)
	return nil
}

// remoteDomain is a domain as its owner sees it, which may be one that is not proved yet.
type remoteDomain struct {
	domainJSON
	ID     string
	Proven bool
}

// remote claims a domain, and has it proved where that is needed: what is missing for the proof the
// service says, and the same command again goes on from there.
func (k *domainsAdd) remote(c *console, s *remoteSettings) error {
	client, err := s.dial(c, k.Account)
	if err != nil {
		return err
	}
	var d remoteDomain
	body := map[string]any{"domain": k.Domain, "published_only": k.PublishedOnly}
	if err := client.Do(c.ctx, remote.Call{Method: remote.Post, Path: []string{"domains"}, JSON: body}, &d); err != nil {
		return err
	}
	if !d.Proven {
		if err := client.Do(c.ctx, remote.Call{Method: remote.Post, Path: []string{"domains", d.ID, "prove"}}, &d); err != nil {
			return err
		}
	}
	c.showDomain(named(k.Account), d.domainJSON)
	return nil
}

func (k *domainsRemove) remote(c *console, s *remoteSettings) error {
	client, err := s.dial(c, k.Account)
	if err != nil {
		return err
	}
	var answer struct{ Domains []remoteDomain }
	if err := client.Do(c.ctx, remote.Call{Method: remote.Get, Path: []string{"domains"}}, &answer); err != nil {
		return err
	}
	entry := k.Domain
	if !strings.Contains(entry, "://") {
		entry = "https://" + entry
	}
	for _, d := range answer.Domains {
		if entry != d.Domain {
			continue
		}
		if err := client.Do(c.ctx, remote.Call{Method: remote.Delete, Path: []string{"domains", d.ID}}, nil); err != nil {
			return err
		}
		c.saidDomainRemoved(k.Domain)
		return nil
	}
	return fault.New(fault.NotFound, "the account's list has no %s", entry)
}

// remote lists the domains whose pages may call, as on the data folder, and names the others.
func (k *domainsList) remote(c *console, s *remoteSettings) error {
	var answer struct{ Domains []remoteDomain }
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Get, Path: []string{"domains"}}, &answer); err != nil {
		return err
	}
	list := []domainJSON{}
	for _, d := range answer.Domains {
		if d.Proven {
			list = append(list, d.domainJSON)
		}
	}
	c.showDomains(list)
	for _, d := range answer.Domains {
		if !d.Proven && !c.json {
			fmt.Fprintf(c.err, "note: %s is not proved yet; ql account domains add says what is missing\n", printable(d.Domain))
		}
	}
	return nil
}

func (k *webhookList) remote(c *console, s *remoteSettings) error {
	list, err := listNewest[deliveryJSON](c, s, k.Account, "webhooks", k.Limit, "before", k.Before, "state", k.Status)
	if err != nil {
		return err
	}
	c.showDeliveries(list)
	return nil
}

// remoteDelivery is a delivery as the service shows one.
type remoteDelivery struct {
	Webhook deliveryJSON
	Log     []attemptJSON
}

func (k *webhookShow) remote(c *console, s *remoteSettings) error {
	shown := remoteDelivery{Log: []attemptJSON{}}
	if err := c.ask(s, "", remote.Call{Method: remote.Get, Path: []string{"webhooks", k.ID}}, &shown); err != nil {
		return err
	}
	c.showDelivery(shown.Webhook, shown.Log)
	return nil
}

func (k *webhookRepeat) remote(c *console, s *remoteSettings) error {
	var shown remoteDelivery
	if err := c.ask(s, "", remote.Call{Method: remote.Post, Path: []string{"webhooks", k.ID, "repeat"}}, &shown); err != nil {
		return err
	}
	c.showRepeated(shown.Webhook)
	return nil
}
