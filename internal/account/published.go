package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ql/internal/account/names"
	"ql/internal/fault"
	"ql/lang/source"
)

// Callers says who may call a published script besides the account's owner.
type Callers string

// The callers, each with those before it.
const (
	CallersKeys    Callers = "keys"    // keys of the account that may run it
	CallersDomains Callers = "domains" // and pages of the account's listed domains
	CallersAnyone  Callers = "anyone"  // and everybody
)

var allCallers = []Callers{CallersKeys, CallersDomains, CallersAnyone}

// ParseCallers takes the name of callers.
func ParseCallers(text string) (Callers, error) {
	if c := Callers(text); slices.Contains(allCallers, c) {
		return c, nil
	}
	return "", fault.Invalid("callers", "is %q: keys, domains or anyone fits", text)
}

// Pages tells whether pages of listed domains are among them.
func (c Callers) Pages() bool { return c == CallersDomains || c == CallersAnyone }

// within returns whichever callers are fewer.
func (c Callers) within(other Callers) Callers {
	if slices.Index(allCallers, c) < slices.Index(allCallers, other) {
		return c
	}
	return other
}

// Switches say who may call a published script, and how.
type Switches struct {
	Callers Callers
	Methods []string // of HTTP, where it is called by an address of its own; nil for all
	// Secrets lets it read the account's secrets for whoever may call it, not for the
	// owner alone.
	Secrets bool
	// Concurrency is that of its jobs, unless who starts one names another; the zero one for none.
	// A script that has one is not called synchronously: nobody waits for a turn.
	Concurrency Concurrency
}

// Concurrency bounds how many jobs with the same key are under way.
type Concurrency struct {
	Key  string // "" for none
	Most int
}

// Bounds of a Concurrency.
const (
	longestConcurrencyKey = 200
	mostConcurrency       = 10_000
)

func (c *Concurrency) check() error {
	switch {
	case *c == Concurrency{}:
	case c.Key == "" || len(c.Key) > longestConcurrencyKey || strings.ContainsFunc(c.Key, unicode.IsControl):
		return fault.Invalid("concurrency.key", "is a text of 1 to %d bytes without control characters, such as import", longestConcurrencyKey)
	case c.Most < 1 || c.Most > mostConcurrency:
		return fault.Invalid("concurrency.most", "is %d: 1 to %d fits", c.Most, mostConcurrency)
	}
	return nil
}

// Within narrows the switches of an earlier version by those of the current one. A
// version never opens more than it was published with, and what the current one closes
// is closed for all of them. By which methods it is called, and its concurrency, are matters of its text.
func (s Switches) Within(current Switches) Switches {
	s.Callers = s.Callers.within(current.Callers)
	s.Secrets = s.Secrets && current.Secrets
	return s
}

// Takes tells whether the script is called by a method. HEAD is GET without the body.
func (s *Switches) Takes(method string) bool {
	list := s.Methods
	if len(list) == 0 {
		list = methods
	}
	return slices.Contains(list, method) || method == "HEAD" && slices.Contains(list, "GET")
}

// Published is one version of a published script.
type Published struct {
	Account ID
	Name    string
	Version int64      // 1 for the first
	Hash    ScriptHash // of its text
	// Text is as the language takes it, with one line break at the end; "" in listings,
	// and of a script that was published when hashes alone were stored.
	Text   string
	Schema string // of its input as JSON; "" for none, and in listings
	Switches
	Added time.Time
	Until time.Time // when an earlier version ends; zero for the current one
}

// ScriptHash is the SHA-256 of a script's text, by HashScript.
type ScriptHash [32]byte

// publishedOverhead is what a version counts for besides its text and schema.
const publishedOverhead = 1 * kib

// Weight is how many bytes the version counts for.
func (p *Published) Weight() int64 {
	return publishedOverhead + int64(len(p.Text)) + int64(len(p.Schema))
}

// HasEnded tells whether the version is answered no more at a moment.
func (p *Published) HasEnded(now time.Time) bool { return !p.Until.IsZero() && !p.Until.After(now) }

// PublishedLimits bound what an account publishes; 0 is no bound.
type PublishedLimits struct {
	Scripts int
	Bytes   int64 // of all versions, by Weight
}

// Check says which bound a change passes, that brought an account from before to after.
func (l PublishedLimits) Check(scriptsBefore, scripts int, bytesBefore, bytes int64) error {
	switch {
	case l.Scripts > 0 && scripts > l.Scripts && scripts > scriptsBefore:
		return ErrTooManyPublished
	case l.Bytes > 0 && bytes > l.Bytes && bytes > bytesBefore:
		return ErrPublishedBytes
	}
	return nil
}

// Publication is a script to be published.
type Publication struct {
	Name   string
	Text   string
	Schema string // of its input as JSON, "" for none
	Switches
	// Keep is how long versions before it are still answered, for pages that were
	// loaded before.
	Keep time.Duration
}

// How long earlier versions are answered, unless a publication says otherwise, and at
// most.
const (
	DefaultKeep = 24 * time.Hour
	LongestKeep = 30 * day
)

// PublishScript publishes a script of an account, which compiles, and tells whether it
// is new to the account.
func (s *Service) PublishScript(ctx context.Context, a Account, n Publication) (p Published, created bool, err error) {
	l := a.Limits(s.o.Limits)
	if err := n.check(l.ScriptBytes); err != nil {
		return Published{}, false, err
	}
	now := s.now()
	p = Published{Account: a.ID, Name: n.Name, Text: canonical(n.Text), Hash: HashScript(n.Text), Schema: n.Schema, Switches: n.Switches, Added: now}
	most := PublishedLimits{Scripts: l.Published, Bytes: l.PublishedBytes}
	p, created, err = s.store.Publish(ctx, p, now.Add(n.Keep), most)
	switch {
	case errors.Is(err, ErrTooManyPublished):
		f := fault.New(fault.LimitExceeded, "the account has published %d scripts, which is as many as its plan allows: remove one first", most.Scripts)
		f.Limit, f.Value = "published", int64(most.Scripts)
		return p, false, f
	case errors.Is(err, ErrPublishedBytes):
		f := fault.New(fault.LimitExceeded, "the account's published scripts would have more than the %d bytes that its plan allows, with their earlier versions: remove one, let earlier versions end, or publish this with a keep of 0", most.Bytes)
		f.Limit, f.Value = "published_bytes", most.Bytes
		return p, false, f
	}
	return p, created, s.refused(err, "")
}

// check says what is wrong with a publication.
func (n *Publication) check(scriptBytes int) error {
	if !names.IsName(n.Name) {
		return fault.Invalid("name", "%v", names.ErrName)
	}
	if len(n.Text) > scriptBytes {
		f := fault.New(fault.TooLarge, "the script has %d bytes: the account's plan allows %d", len(n.Text), scriptBytes)
		f.Limit, f.Value = "script_bytes", int64(scriptBytes)
		return f
	}
	if _, err := ParseCallers(string(n.Callers)); err != nil {
		return err
	}
	if n.Keep < 0 || n.Keep > LongestKeep {
		return fault.Invalid("keep", "is %d seconds: 0 to %d fits", int64(n.Keep.Seconds()), int64(LongestKeep.Seconds()))
	}
	if err := checkMethods(n.Methods); err != nil {
		return err
	}
	if err := n.Concurrency.check(); err != nil {
		return err
	}
	if strings.TrimSpace(n.Text) == "" {
		return fault.Invalid("text", "is empty: a script fits")
	}
	return nil
}

// methods are those that a published script may be called by.
var methods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

// AllMethods returns those by which the script is called.
func (s *Switches) AllMethods() []string {
	if len(s.Methods) == 0 {
		return slices.Clone(methods)
	}
	return s.Methods
}

func checkMethods(list []string) error {
	for i, m := range list {
		if !slices.Contains(methods, m) {
			return fault.Invalid("methods", "has %q: %s fit", m, strings.Join(methods, ", "))
		}
		if slices.Contains(list[:i], m) {
			return fault.Invalid("methods", "has %s twice: once fits", m)
		}
	}
	return nil
}

// Publish is PublishScript for the account that a name leads to.
func (s *Service) Publish(ctx context.Context, name string, n Publication) (p Published, created bool, err error) {
	err = s.with(ctx, name, func(a Account) (err error) {
		p, created, err = s.PublishScript(ctx, a, n)
		return err
	})
	return p, created, err
}

// HashScript is how a published script is known: by its text as the language takes
// it, with one line break at the end. Editors, browsers and version control change
// line ends, and mean the same script.
func HashScript(text string) ScriptHash { return sha256.Sum256([]byte(canonical(text))) }

// canonical is a text as the language takes it, with one line break at the end.
func canonical(text string) string { return ended(text) + "\n" }

// ended is a text as the language takes it, without line breaks at the end.
func ended(text string) string { return strings.TrimRight(source.Normalise(text), "\n") }

// ScriptHashes are all by which a script may have been published: earlier versions
// took the hash of the text as it was.
func ScriptHashes(text string) []ScriptHash {
	hashes := []ScriptHash{HashScript(text)}
	for _, earlier := range []string{text, ended(text)} {
		if h := ScriptHash(sha256.Sum256([]byte(earlier))); !slices.Contains(hashes, h) {
			hashes = append(hashes, h)
		}
	}
	return hashes
}

// ParseScriptName takes the name of a published script, such as cart, or that of a
// version of it, such as cart@3; ok is false for what names none. Version is 0 for the
// current one.
func ParseScriptName(text string) (name string, version int64, ok bool) {
	name, number, isVersion := strings.Cut(text, "@")
	if !names.IsName(name) {
		return "", 0, false
	}
	if !isVersion {
		return name, 0, true
	}
	version, err := strconv.ParseInt(number, 10, 64)
	return name, version, err == nil && version > 0 && strconv.FormatInt(version, 10) == number
}

// CalledScript returns the version of an account's published script that a text such as
// cart or cart@3 names; ErrNotFound where there is none that is answered.
func (s *Service) CalledScript(ctx context.Context, id ID, text string) (Published, error) {
	name, version, ok := ParseScriptName(text)
	if !ok {
		return Published{}, ErrNotFound
	}
	p, err := s.store.PublishedScript(ctx, id, name, version)
	if err == nil && p.HasEnded(s.o.Now()) {
		return Published{}, ErrNotFound
	}
	return p, err
}

// ScriptVersions returns the versions of an account's script that are answered, the
// current one first.
func (s *Service) ScriptVersions(ctx context.Context, id ID, script string) ([]Published, error) {
	return s.store.PublishedVersions(ctx, id, script, s.now(), mostVersions)
}

// mostVersions is how many versions of a script are shown.
const mostVersions = 100

// Scripts returns up to limit of an account's published scripts by name, those after one.
func (s *Service) Scripts(ctx context.Context, id ID, after string, limit int) ([]Published, error) {
	return s.store.PublishedScripts(ctx, id, after, limit)
}

// ScriptUsage returns how many scripts an account has published, and their bytes.
func (s *Service) ScriptUsage(ctx context.Context, id ID) (scripts int, bytes int64, err error) {
	return s.store.PublishedUsage(ctx, id)
}

// RemoveScript takes a script back with all of its versions.
func (s *Service) RemoveScript(ctx context.Context, id ID, script string) error {
	if name, _, isVersion := strings.Cut(script, "@"); isVersion {
		return fault.Invalid("name", "names a version, and versions are not removed one by one: publishing with a keep of 0 ends all earlier ones, and removing %q the script with all of them", shortName(name))
	}
	err := s.store.Unpublish(ctx, id, script)
	if errors.Is(err, ErrNotFound) {
		return NoScript(script)
	}
	return err
}

// NoScript is the error of a script that an account has not published.
func NoScript(script string) error {
	return fault.New(fault.ScriptNotFound, "the account has published no script %q", shortName(script))
}

// shortName is the name of a script as messages show it, which may be any text.
func shortName(script string) string {
	const longest = 100
	if len(script) > longest {
		script = strings.ToValidUTF8(script[:longest], "") + "…"
	}
	return script
}

// Unpublish is RemoveScript for the account that a name leads to.
func (s *Service) Unpublish(ctx context.Context, name, script string) error {
	return s.with(ctx, name, func(a Account) error { return s.RemoveScript(ctx, a.ID, script) })
}

// publishedPage is how many scripts are read at once.
const publishedPage = 500

// PublishedScripts returns what the account has published.
func (s *Service) PublishedScripts(ctx context.Context, name string) (all []Published, err error) {
	a, err := s.Find(ctx, name)
	if err != nil {
		return nil, err
	}
	for after := ""; ; {
		page, err := s.store.PublishedScripts(ctx, a.ID, after, publishedPage)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if len(page) < publishedPage {
			return all, nil
		}
		after = page[len(page)-1].Name
	}
}
