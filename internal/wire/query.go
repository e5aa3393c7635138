package wire

import (
	"net/url"
	"slices"
	"strings"

	"ql/internal/hostname"
	"ql/internal/redacted"
)

// Query is a request of POST /v1/query.
type Query struct {
	Auth    *Auth // nil where it was left out
	Script  string
	Program string // the name of a published script, "" where Script was sent
	Input   string // an object as it was sent, checked; "" where it was left out
	Async   bool
	Request Request
	Trace   TraceMode
	Webhook string // "" where none was sent
	// WebhookTrace says that the trace is sent there too.
	WebhookTrace bool
	// WebhookEvents are what is told there; none where they were left out.
	WebhookEvents []string
	Concurrency   Concurrency
	History       bool // what the script gets is kept with its job
	Shape         Shape
}

// Auth holds a caller's credentials: a password, or the live editor's token, or
// both.
type Auth struct {
	Username        string
	Password, Token *redacted.Text // nil where they were left out
}

// Within checks a query against limits narrower than those it was decoded
// under, which is how those of an account count once the account is known.
func (q *Query) Within(l Limits) error {
	l = l.withDefaults()
	if r := q.Shape.within(bodyField, &l); r != nil {
		return r
	}
	if r := scriptWithin("query", q.Script, &l); r != nil {
		return r
	}
	if r := q.Request.within("request.", &l); r != nil {
		return r
	}
	return nil
}

var (
	queryFields  = []string{"auth", "query", "script", "input", "mode", "request", "trace", "history", "options"}
	authFields   = []string{"username", "password", "token"}
	optionFields = []string{"webhook", "webhook_trace", "webhook_events", "concurrency"}
)

// DecodeQuery reads the body of POST /v1/query. The error is a *Refusal.
func DecodeQuery(body []byte, l Limits) (*Query, error) {
	l = l.withDefaults()
	q := new(Query)
	top, r := document(body, &l, &q.Shape)
	if r == nil {
		r = q.decode(top)
	}
	if r == nil {
		r = scriptWithin("query", q.Script, &l)
	}
	if r == nil {
		r = q.Request.within("request.", &l)
	}
	if r != nil {
		return nil, r.withoutPlanLimit()
	}
	return q, nil
}

// document checks a body that is a JSON object, and returns it.
func document(body []byte, l *Limits, s *Shape) (node, *Refusal) {
	text := string(body)
	shape, r := check(bodyField, text, l)
	if r != nil {
		return "", r
	}
	*s = shape
	top := root(text)
	return top, want(bodyField, top, '{')
}

// want checks what a value is by its first character.
func want(field string, n node, first byte) *Refusal {
	if n[0] == first {
		return nil
	}
	fits := "an object"
	switch first {
	case '"':
		fits = "a text"
	case '[':
		fits = "a list"
	}
	return invalid(field, "is "+n.kind()+": "+fits+" fits")
}

// wantOptional is want for a field that need not be sent, which is how to say
// what its null means.
func wantOptional(field string, n node, first byte) *Refusal {
	r := want(field, n, first)
	if r != nil && n[0] == 'n' {
		r.Message += ", or leave the field out"
	}
	return r
}

func (q *Query) decode(top node) *Refusal {
	var hasScript, hasProgram bool
	var options options
	members := top.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		var r *Refusal
		switch name {
		case "auth":
			q.Auth, r = decodeAuth(value)
		case "query":
			hasScript = true
			q.Script, r = text("query", value)
		case "script":
			hasProgram = true
			q.Program, r = optionalText("script", value)
		case "input":
			q.Input, r = decodeInput(value)
		case "mode":
			q.Async, r = decodeMode(value)
		case "request":
			r = q.Request.decode(value)
		case "trace":
			q.Trace, r = decodeTrace(value)
		case "history":
			var yes *bool
			if yes, r = boolean("history", value); r == nil {
				q.History = *yes
			}
		case "options":
			options, r = decodeOptions(value)
		default:
			r = unknown(bodyField, name, queryFields)
		}
		if r != nil {
			return r
		}
	}
	switch {
	case hasScript && hasProgram:
		return invalid("script", "stands beside query: one of the two fits, the name of a published script or the script itself")
	case hasProgram && !isScriptName(q.Program):
		return invalid("script", "is "+quote(q.Program)+", which names no published script: one such as cart fits, or cart@3 for its third version")
	case !hasScript && !hasProgram:
		return invalid("query", `is missing: the script to run, a text, fits, or "script" with the name of a published one`)
	}
	q.Webhook, q.WebhookTrace, q.WebhookEvents = options.webhook, options.webhookTrace, options.webhookEvents
	q.Concurrency = options.concurrency
	return options.fit(q)
}

// decodeInput reads what a script is given: an object, or the empty list that PHP writes
// for an array without entries.
func decodeInput(n node) (string, *Refusal) {
	if n == "[]" {
		return "{}", nil
	}
	if r := wantOptional("input", n, '{'); r != nil {
		return "", r
	}
	return string(n), nil
}

// longestScriptName is how long the name of a published script is at most, with its
// version.
const longestScriptName = 128

// isScriptName keeps out what cannot be a name. Whether there is one is not known here.
func isScriptName(s string) bool {
	return s != "" && len(s) <= longestScriptName && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func text(field string, n node) (string, *Refusal) {
	if r := want(field, n, '"'); r != nil {
		return "", r
	}
	return n.text(), nil
}

func optionalText(field string, n node) (string, *Refusal) {
	if r := wantOptional(field, n, '"'); r != nil {
		return "", r
	}
	return n.text(), nil
}

func secret(field string, n node) (*redacted.Text, *Refusal) {
	t, r := text(field, n)
	s := redacted.Text(t)
	return &s, r
}

func decodeAuth(n node) (*Auth, *Refusal) {
	if r := wantOptional("auth", n, '{'); r != nil {
		return nil, r
	}
	a := new(Auth)
	hasUsername := false
	members := n.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		var r *Refusal
		switch name {
		case "username":
			hasUsername = true
			a.Username, r = text("auth.username", value)
		case "password":
			a.Password, r = secret("auth.password", value)
		case "token":
			a.Token, r = secret("auth.token", value)
		default:
			r = unknown("auth", name, authFields)
		}
		if r != nil {
			return nil, r
		}
	}
	switch {
	case !hasUsername:
		return nil, invalid("auth.username", "is missing: a username, e-mail address or phone number fits")
	case a.Password == nil && a.Token == nil:
		return nil, invalid("auth.password", "is missing: the account's password fits")
	}
	return a, nil
}

func decodeMode(n node) (async bool, r *Refusal) {
	mode, r := optionalText("mode", n)
	if r != nil {
		return false, r
	}
	switch mode {
	case "sync":
		return false, nil
	case "async":
		return true, nil
	}
	return false, invalid("mode", "is "+quote(mode)+`: "sync" or "async" fits`)
}

func decodeTrace(n node) (TraceMode, *Refusal) {
	switch {
	case n[0] == 'f':
		return TraceNone, nil
	case n[0] == '"' && n.text() == "errors":
		return TraceErrors, nil
	case n[0] == '"' && n.text() == "full":
		return TraceFull, nil
	}
	is := n.kind()
	switch n[0] {
	case '"':
		is = quote(n.text())
	case 't':
		is = "true"
	}
	return "", invalid("trace", "is "+is+`: false, "errors" or "full" fits, or leave the field out`)
}

// ipEntry is the one entry of !REQUEST that no caller says.
const (
	ipEntry   = "ip"
	ipMessage = "is not the caller's to say: leave it out, and !REQUEST('ip') is the address that the call comes from"
)

// headerPrefix begins the name of an entry that is a header.
const headerPrefix = "header:"

func (q *Request) decode(n node) *Refusal {
	if r := wantOptional("request", n, '{'); r != nil {
		return r
	}
	var headers map[string]bool // those sent, in lower case
	members := n.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		var r *Refusal
		switch name {
		case "get":
			q.Get, r = fields("request.get", value, false)
		case "post":
			q.Post, r = fields("request.post", value, false)
		case "cookie":
			q.Cookie, r = pairs("request.cookie", value)
			q.Cookie = withoutOwn(q.Cookie)
		case bodyEntry:
			switch value[0] {
			case '"':
				q.Entries = append(q.Entries, Pair{name, value.text()})
			case 'n': // which is as none at all
			default:
				q.Body = Body{Kind: JSONBody, Text: string(value)}
			}
		case ipEntry:
			return invalid("request.ip", ipMessage)
		default:
			p := Pair{Name: name}
			if value[0] != '"' {
				return wantOptional(below("request", name), value, '"')
			}
			p.Value = value.text()
			if lower := strings.ToLower(name); strings.HasPrefix(lower, headerPrefix) {
				if headers[lower] {
					return invalid(below("request", name), "occurs twice: once fits, and the names of headers are the same in whatever case")
				}
				if headers == nil {
					headers = map[string]bool{}
				}
				headers[lower] = true
			}
			q.Entries = append(q.Entries, p)
		}
		if r != nil {
			return r
		}
	}
	return nil
}

// pairs reads an object of texts.
func pairs(field string, n node) ([]Pair, *Refusal) {
	if n == "[]" {
		return []Pair{}, nil // what PHP writes for an array without entries
	}
	if r := wantOptional(field, n, '{'); r != nil {
		return nil, r
	}
	list := []Pair{}
	members := n.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		if value[0] != '"' {
			return nil, wantOptional(below(field, name), value, '"')
		}
		list = append(list, Pair{name, value.text()})
	}
	return list, nil
}

// fields reads an object of values, or of texts alone. What is no text stays JSON as it
// was sent, which is checked.
func fields(field string, n node, texts bool) ([]Field, *Refusal) {
	if n == "[]" {
		return []Field{}, nil // what PHP writes for an array without entries
	}
	if r := wantOptional(field, n, '{'); r != nil {
		return nil, r
	}
	list := []Field{}
	members := n.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		switch {
		case value[0] == '"':
			list = append(list, Field{Name: name, Value: value.text()})
		case texts:
			return nil, wantOptional(below(field, name), value, '"')
		default:
			list = append(list, Field{Name: name, Value: string(value), JSON: true})
		}
	}
	return list, nil
}

// longestURL is the longest webhook address that is accepted.
const longestURL = 2048

// options are those of a query.
type options struct {
	webhook      string
	hasWebhook   bool
	webhookTrace bool
	// webhookEvents are those that were sent, one at least; nil where they were left out.
	webhookEvents []string
	concurrency   Concurrency
}

func decodeOptions(n node) (o options, r *Refusal) {
	if r := wantOptional("options", n, '{'); r != nil {
		return o, r
	}
	members := n.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		switch name {
		case "webhook":
			o.hasWebhook = true
			o.webhook, r = optionalText("options.webhook", value)
			if r == nil && (len(o.webhook) > longestURL || !isWebURL(o.webhook)) {
				r = invalid("options.webhook", "is no absolute web address without credentials: one such as https://example.com/done fits")
			}
		case "webhook_trace":
			var yes *bool
			if yes, r = boolean("options.webhook_trace", value); r == nil {
				o.webhookTrace = *yes
			}
		case "webhook_events":
			o.webhookEvents, r = decodeEvents(value)
		case "concurrency":
			o.concurrency, r = decodeConcurrency("options.concurrency", value)
		default:
			r = unknown("options", name, optionFields)
		}
		if r != nil {
			return o, r
		}
	}
	return o, nil
}

// events are those that a webhook can be told.
var events = []string{"finished", "paused"}

// decodeEvents reads what a webhook is told: each event once, one at least.
func decodeEvents(n node) (list []string, r *Refusal) {
	const field = "options.webhook_events"
	if r := want(field, n, '['); r != nil {
		return nil, r
	}
	elements := n.inside()
	for value, ok := elements.item(); ok; value, ok = elements.item() {
		name, r := text(field, value)
		if r != nil {
			return nil, r
		}
		if !slices.Contains(events, name) || slices.Contains(list, name) {
			return nil, invalid(field, "is a list of finished and paused, each once at most")
		}
		list = append(list, name)
	}
	if list == nil {
		return nil, invalid(field, "is empty: finished or paused fits, or both; or leave it out")
	}
	return list, nil
}

// fit checks options against the rest of a query.
func (o *options) fit(q *Query) *Refusal {
	switch {
	case o.webhookEvents != nil && !o.hasWebhook:
		return invalid("options.webhook_events", "goes only with options.webhook, the address that is told of them")
	case o.hasWebhook && !q.Async && o.webhookEvents == nil:
		return invalid("options.webhook", `goes only with "mode": "async": a synchronous call has its answer at once. With "webhook_events" one that pauses tells of that, and of its end`)
	case o.concurrency.Key != "" && !q.Async:
		return invalid("options.concurrency", `goes only with "mode": "async": a job may wait for others with its key, and nobody for that`)
	case o.webhookTrace && !o.hasWebhook:
		return invalid("options.webhook_trace", "goes only with options.webhook, the address to which the trace is sent")
	case o.webhookTrace && q.Trace == TraceNone:
		return invalid("options.webhook_trace", `does not go with "trace": false: there is no trace to send`)
	}
	return nil
}

func isWebURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return false
	}
	_, _, err = hostname.ParseHostPort(u.Host)
	return err == nil
}
