package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ql/internal/account"
	"ql/internal/engine"
	"ql/internal/network"
	"ql/internal/resource/fetch"
	"ql/internal/wire"
	"ql/lang"
	"ql/lang/source"
	"ql/lang/value"
	"ql/lang/vm"
)

// runCommand is ql run.
type runCommand struct {
	Script string `arg:"" help:"The script, or - for standard input."`

	Data    string        `default:"." env:"QL_FOLDER" placeholder:"DIR" help:"The account's folder: what the script calls / (${default})."`
	Plan    string        `default:"standard" env:"QL_PLAN" enum:"free,standard,unlimited" placeholder:"PLAN" help:"Whose limits hold: free, standard or unlimited (${default})."`
	Timeout time.Duration `env:"QL_TIMEOUT" placeholder:"TIME" help:"How long the script may run, such as 90s, waits and questions aside (the plan's)."`
	Trace   bool          `help:"Show the steps afterwards."`
	Offline bool          `env:"QL_OFFLINE" help:"Let FETCH call nobody."`

	Input []string `sep:"none" placeholder:"FILE|NAME=VALUE" help:"What INPUT FIELDS takes: a JSON file of a map, - for standard input, or one field of it (repeatable; a field given again is a list)."`

	Get    []string `sep:"none" placeholder:"NAME=TEXT" group:"The request" help:"An entry of !GET (repeatable)."`
	Post   []string `sep:"none" placeholder:"NAME=TEXT" group:"The request" help:"An entry of !POST (repeatable)."`
	Cookie []string `sep:"none" placeholder:"NAME=TEXT" group:"The request" help:"An entry of !COOKIE (repeatable)."`
	Header []string `sep:"none" placeholder:"NAME=TEXT" group:"The request" help:"A header: !REQUEST('header:name') (repeatable)."`
	Method string   `placeholder:"METHOD" group:"The request" help:"!REQUEST('method') (of a request: GET, or POST with a --post or a body)."`
	Path   string   `placeholder:"PATH" group:"The request" help:"!REQUEST('path') (of a request: /)."`
	Body   *string  `placeholder:"TEXT" group:"The request" xor:"body" help:"!REQUEST('body'), and !BODY as a --header Content-Type says."`
	File   *string  `name:"body-file" placeholder:"FILE" group:"The request" xor:"body" help:"The same from a file."`

	Answers string `placeholder:"FILE" group:"People and secrets" help:"Answers to CONFIRM and GATHER: a JSON list of {\"approved\": true} and {\"fields\": {…}}. Without it they are asked here."`
	Secrets string `env:"QL_SECRETS" placeholder:"FILE" group:"People and secrets" help:"What !SECRET finds: a JSON map of names and texts."`
}

// Run implements the command.
func (k *runCommand) Run(c *console) (err error) {
	if k.Timeout < 0 {
		return usage("--timeout: %s is no time such as 30s, 5m or 1h30m", k.Timeout)
	}
	input, err := k.input()
	if err != nil {
		return err
	}
	if k.Script == stdinName && slices.Contains(k.Input, stdinName) {
		return usage("standard input cannot be both the script and the input")
	}
	if input.Input, err = c.readInput(k.Input); err != nil {
		return err
	}
	var who answers = person{c}
	if k.Answers != "" {
		if who, err = readAnswers(k.Answers); err != nil {
			return err
		}
	}
	secrets, err := readSecrets(k.Secrets)
	if err != nil {
		return err
	}
	text, err := c.readScript(k.Script, maxScript)
	if err != nil {
		return err
	}
	folder, err := openFolder(k.Data)
	if err != nil {
		return err
	}
	defer folder.close(&err)

	job, err := engine.NewUUID(rand.Reader)
	if err != nil {
		return err
	}
	s := &session{console: c, command: k, texts: map[string]string{"": text}, job: job, started: c.clock()}
	include := folder.include(c.ctx)
	program, err := lang.Compile(text, lang.Options{Include: func(path string) (string, error) {
		text, err := include(path)
		s.texts[path] = text
		return text, err
	}})
	var wrong source.Errors
	if errors.As(err, &wrong) {
		s.refused(wrong)
		return &failure{code: exitUsage}
	}
	if err != nil {
		return err
	}

	c.warn(k.Script, text)

	limits := account.Plan(k.Plan).Limits()
	if input.Input, err = vm.CheckInput(c.ctx, nil, program, limits.SyncMachine(), input.Input); err != nil {
		return s.inputRefused(err)
	}
	machine := vm.New(program, limits.SyncMachine(), input)
	defer machine.Release()
	options := engine.Options{
		Resources: engine.Resources{Files: folder.files, Databases: folder.databases, Secrets: secrets},
		Account:   fixed(entry{"username", "local"}, entry{"plan", k.Plan}),
		Job: func(ctx context.Context, _ int) (value.Value, error) {
			return fixed(entry{"id", s.job}, entry{"started", s.started.UTC().Format(time.RFC3339)})(ctx)
		},
		Clock: c.clock, Rand: rand.Reader,
	}
	if !k.Offline {
		client, limits := k.network()
		defer client.Close()
		options.Network = fetch.New(fetch.Options{Client: client, Limits: fetch.LimitsOf(limits)})
	}
	if program.UsesSession {
		if options.Sessions, err = folder.openSessions(c.ctx, c.clock); err != nil {
			return err
		}
	}
	s.run = engine.New(machine, options, engine.State{})
	s.left = limits.AsyncTime
	if k.Timeout > 0 {
		s.left = k.Timeout
	}
	out, err := s.drive(who)
	if e := folder.keepSession(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return s.finish(out)
}

// network is what FETCH reaches: this machine and private networks too, since
// whoever runs a script here could call them anyway.
func (k *runCommand) network() (*network.Client, account.Limits) {
	limits := account.Plan(k.Plan).Limits()
	if limits.Fetches == 0 {
		limits = account.Standard.Limits()
	}
	o := network.ForFetches()
	o.Bytes = int64(limits.FetchBytes)
	return network.NewClient(network.Policy{Private: true, AnyPort: true}, o), limits
}

// session is one run of a script at the command line.
type session struct {
	*console
	command *runCommand
	texts   map[string]string // the script's text by "", its includes' by path
	job     string
	started time.Time
	run     *engine.Run
	left    time.Duration // of the time that the script may run
	shown   int           // bytes of output already written
}

// drive runs the script to its end, answering and waiting on the way.
func (s *session) drive(who answers) (engine.Outcome, error) {
	for {
		out, err := s.proceed()
		s.flush()
		if err != nil {
			// Whoever runs a script here is also its operator.
			fmt.Fprintln(s.err, "ql:", err)
		}
		switch out.Status {
		case engine.Paused:
			if err := who.reply(s.ctx, s.run, out.Prompt); err != nil {
				return out, err
			}
		case engine.Waiting:
			fmt.Fprintf(s.err, "waiting until %s\n", out.Until.Local().Format("2006-01-02 15:04:05"))
			if err := s.wait(s.ctx, out.Until); err != nil {
				s.run.Cancel(err)
			}
		default:
			return out, nil
		}
	}
}

// proceed runs the script until it stops, within the time that is left.
func (s *session) proceed() (engine.Outcome, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.left)
	defer cancel()
	began := time.Now()
	out, err := s.run.Continue(ctx)
	s.left -= time.Since(began)
	return out, err
}

// flush writes what the script has emitted since the last time, unless it goes
// into the JSON at the end.
func (s *session) flush() {
	if s.json {
		return
	}
	out := s.run.Machine().Output()
	_, _ = s.out.Write(out[s.shown:])
	s.shown = len(out)
}

// finish shows how the run ended.
func (s *session) finish(out engine.Outcome) error {
	if s.json {
		s.printOutcome(out)
	} else {
		if o := s.run.Machine().Output(); len(o) > 0 && o[len(o)-1] != '\n' && isTerminal(s.out) {
			_, _ = io.WriteString(s.out, "\n")
		}
		if out.Status == engine.Failed {
			fmt.Fprint(s.err, s.explain(out.Err))
		}
		if s.command.Trace {
			s.printTrace()
		}
	}
	switch out.Status {
	case engine.Failed:
		return &failure{code: exitFailed}
	case engine.Declined:
		if s.json {
			return &failure{code: exitDeclined}
		}
		return &failure{code: exitDeclined, message: "declined"}
	}
	return nil
}

// input makes the request of the flags.
func (k *runCommand) input() (vm.Input, error) {
	var in vm.Input
	var err error
	if in.Get, err = entries("--get", "", k.Get); err != nil {
		return in, err
	}
	if in.Post, err = entries("--post", "", k.Post); err != nil {
		return in, err
	}
	if in.Cookie, err = entries("--cookie", "", k.Cookie); err != nil {
		return in, err
	}
	headers, err := entries("--header", "header:", k.Header)
	if err != nil {
		return in, err
	}
	request := value.NewMap(nil, 4)
	path, method := k.pathAndMethod()
	for _, given := range []struct{ flag, key, text string }{{"--path", "path", path}, {"--method", "method", method}} {
		if !utf8.ValidString(given.text) {
			return in, usage("%s: %q is not UTF-8", given.flag, given.text)
		}
		if given.text != "" {
			request.SetText(given.key, value.Text(given.text))
		}
	}
	for key, v := range headers.Map().All {
		request.Set(nil, key, v)
	}
	body, err := k.body()
	if err != nil {
		return in, err
	}
	if body != nil {
		contentType, _ := headers.Map().Get("header:content-type")
		if in.Body, err = bodyValue(contentType, body); err != nil {
			return in, err
		}
		if utf8.Valid(body) {
			request.SetText("body", value.Text(string(body)))
		} else {
			request.SetText("body", value.Bytes(body))
		}
	}
	request.SetText("ip", value.Text("127.0.0.1")) // it is called from here
	in.Request = request.Value()
	return in, nil
}

// body returns the body of the request, nil without one.
func (k *runCommand) body() ([]byte, error) {
	switch {
	case k.Body != nil:
		return append([]byte{}, *k.Body...), nil
	case k.File != nil:
		content, err := os.ReadFile(*k.File)
		if err != nil {
			return nil, usage("--body-file: %s", err)
		}
		return content, nil
	}
	return nil, nil
}

// maxBody is what the largest plan takes.
const maxBody = 16 << 20

// bodyValue is what !BODY holds of a body, by its type as in the service.
func bodyValue(contentType value.Value, body []byte) (value.Value, error) {
	kind := ""
	if contentType.IsText() {
		kind = contentType.Str()
	}
	read, _, err := wire.DecodeBody(kind, body, wire.Limits{Body: maxBody, Depth: 64, Nodes: 1_000_000, Keys: 10_000, FieldKeys: 1_000})
	if err != nil {
		return value.Null, usage("the body: %s", err)
	}
	switch read.Kind {
	case wire.JSONBody:
		v, bad := value.ParseJSON(nil, read.Text)
		if bad != nil {
			return value.Null, usage("the body: %s", bad.Message)
		}
		return v, nil
	case wire.TextBody:
		return value.Text(read.Text), nil
	case wire.BytesBody:
		return value.Bytes(read.Bytes), nil
	}
	return value.Null, nil
}

// pathAndMethod fills in what the flags leave out of a request. Without any of
// them there is no request: a script that is called without one finds its
// globals empty.
func (k *runCommand) pathAndMethod() (path, method string) {
	path, method = k.Path, strings.ToUpper(k.Method)
	if path == "" && method == "" && k.Body == nil && k.File == nil && len(k.Get)+len(k.Post)+len(k.Cookie)+len(k.Header) == 0 {
		return "", ""
	}
	if path == "" {
		path = "/"
	}
	if method == "" {
		method = "GET"
		if len(k.Post) > 0 || k.Body != nil || k.File != nil {
			method = "POST"
		}
	}
	return path, method
}

// entries makes a map of NAME=TEXT arguments.
func entries(flag, prefix string, args []string) (value.Value, error) {
	m := value.NewMap(nil, len(args))
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return value.Null, usage("%s takes NAME=TEXT, not %q", flag, arg)
		}
		if !utf8.ValidString(arg) {
			return value.Null, usage("%s: %q is not UTF-8", flag, arg)
		}
		if prefix != "" {
			name = prefix + strings.ToLower(name)
		}
		m.SetText(name, value.Text(text))
	}
	return m.Value(), nil
}

// entry is an entry of a global.
type entry struct{ key, text string }

// fixed returns a reader of a global that always holds the same.
func fixed(entries ...entry) func(context.Context) (value.Value, error) {
	return func(context.Context) (value.Value, error) {
		m := value.NewMap(nil, len(entries))
		for _, e := range entries {
			m.SetText(e.key, value.Text(e.text))
		}
		return m.Value(), nil
	}
}

// secretFile is the secrets of --secrets.
type secretFile map[string]string

// Secret implements engine.Secrets.
func (s secretFile) Secret(_ context.Context, name string) (string, bool, error) {
	secret, ok := s[name]
	return secret, ok, nil
}

func readSecrets(name string) (secretFile, error) {
	if name == "" {
		return nil, nil
	}
	v, err := readJSON(name)
	if err != nil {
		return nil, err
	}
	if !v.IsMap() {
		return nil, usage("%s: secrets are a JSON map of names and texts", name)
	}
	s := secretFile{}
	for k, v := range v.Map().All {
		if !v.IsText() {
			return nil, usage("%s: the secret %q must be a text", name, k.Str())
		}
		s[k.Str()] = v.Str()
	}
	return s, nil
}
