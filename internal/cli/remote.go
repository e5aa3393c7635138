package cli

import (
	"io"
	"os"
	"strconv"
	"strings"

	"ql/internal/operator"
	"ql/internal/redacted"
	"ql/internal/remote"
)

// remoteSettings are the flags of a command that works on the data folder, or by --server on a
// service elsewhere, of which it uses the public API alone.
type remoteSettings struct {
	settings

	Server string `group:"A service elsewhere" placeholder:"URL" help:"Call this service instead of working on the data folder, such as https://ql.example.com."`
	remoteCredentials
}

// remoteCredentials are the flags by which a command opens a service elsewhere.
type remoteCredentials struct {
	Key          string `group:"A service elsewhere" placeholder:"KEY" help:"A named key of the account. Others on this machine may see it here: QL_KEY in the environment, or --key-file, shows it to nobody."`
	KeyFile      string `group:"A service elsewhere" placeholder:"FILE" help:"Read the key from a file, or - for standard input."`
	PasswordFile string `group:"A service elsewhere" placeholder:"FILE" help:"Read the account's password from a file, or - for standard input: what no key does takes it. QL_PASSWORD does too."`
	AllowHTTP    bool   `name:"allow-http" group:"A service elsewhere" help:"Let the key go to another machine by http, where everybody on the way may read it."`
}

func newRemoteSettings(names ...string) remoteSettings {
	return remoteSettings{settings: newSettings(names...)}
}

// with opens the data folder for one command, which there is no call for.
func (s *remoteSettings) with(c *console, create bool, do func(*operator.Operator) error) error {
	if s.Server != "" {
		return usage("--server: this command works on the data folder alone, since the service has no call for it")
	}
	for _, flag := range []struct {
		name  string
		given bool
	}{{"--key", s.Key != ""}, {"--key-file", s.KeyFile != ""}, {"--password-file", s.PasswordFile != ""}, {"--allow-http", s.AllowHTTP}} {
		if flag.given {
			return usage("%s: goes with --server, which is not there", flag.name)
		}
	}
	return s.settings.with(c, create, do)
}

// errNoAccount says that a password came where no account is named.
var errNoAccount = usage("a password is an account's, which this command does not name: a named key fits")

// ownAccount stands for the account whose key it is.
const ownAccount = "-"

// dial returns the client for a command about an account; "" where its arguments name none.
func (s *remoteSettings) dial(c *console, account string) (*remote.Client, error) {
	for i, name := range s.names {
		if !s.values.Field(i).IsNil() {
			return nil, usage("--%s: is about the data folder, and --server about a service elsewhere: one of the two fits", name)
		}
	}
	return s.connect(c, "--server", s.Server, account)
}

// connect returns the client for a service that an argument names.
func (s *remoteCredentials) connect(c *console, argument, server, account string) (*remote.Client, error) {
	key, password, err := s.credentials(c)
	if err != nil {
		return nil, err
	}
	switch {
	case key == "" && password == "":
		return nil, usage("%s takes a named key, by QL_KEY in the environment or by --key-file, or the account's password by --password-file", argument)
	case key == "" && (account == ownAccount || account == ""):
		return nil, errNoAccount
	}
	if account == ownAccount {
		account = ""
	}
	version, _ := buildVersion()
	client, err := remote.New(remote.Options{URL: server, PlainHTTP: s.AllowHTTP, Agent: "ql/" + version, Key: key, Password: password, Account: account})
	if err != nil {
		return nil, usage("%s: %s %s", argument, strconv.Quote(server), err)
	}
	return client, nil
}

// credentials returns a key or a password: of the flags, then of the environment.
func (s *remoteCredentials) credentials(c *console) (key, password redacted.Text, err error) {
	given := 0
	for _, flag := range []string{s.Key, s.KeyFile, s.PasswordFile} {
		if flag != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return "", "", usage("--key, --key-file and --password-file exclude each other")
	case s.Key != "":
		return checkCredential("--key", s.Key, "")
	case s.KeyFile != "":
		text, err := c.readCredential(s.KeyFile)
		if err != nil {
			return "", "", err
		}
		return checkCredential("--key-file", text, "")
	case s.PasswordFile != "":
		text, err := c.readCredential(s.PasswordFile)
		if err != nil {
			return "", "", err
		}
		return checkCredential("--password-file", "", text)
	case os.Getenv("QL_KEY") != "":
		return checkCredential("QL_KEY", os.Getenv("QL_KEY"), "")
	}
	return "", redacted.Text(os.Getenv("QL_PASSWORD")), nil
}

func checkCredential(from, key, password string) (redacted.Text, redacted.Text, error) {
	if key+password == "" {
		return "", "", usage("%s: there is nothing in it", from)
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", "", usage("%s: what is there is no key, which is one word", from)
	}
	return redacted.Text(key), redacted.Text(password), nil
}

// readCredential reads a key or a password; a line end at its end is not part of it.
func (c *console) readCredential(file string) (string, error) {
	if file == stdinName {
		return c.readSecret("key or password: ")
	}
	f, err := os.Open(file)
	if err != nil {
		return "", usage("%s", plainError(err))
	}
	defer func() { _ = f.Close() }() // only read
	const longest = 4 << 10
	text, err := io.ReadAll(io.LimitReader(f, longest+1))
	switch {
	case err != nil:
		return "", usage("%s", plainError(err))
	case len(text) > longest:
		return "", usage("%s: is too long for a key or a password", file)
	}
	return strings.TrimRight(string(text), "\r\n"), nil
}
