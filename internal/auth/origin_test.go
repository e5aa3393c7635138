package auth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/fault"
	"ql/internal/hostname"
	"ql/internal/principal"
)

func pattern(t *testing.T, entry string) names.Pattern {
	t.Helper()
	p, err := names.ParsePattern(entry, true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDecide(t *testing.T) {
	const account1 = account.ID(1)
	list := []account.Domain{
		{Account: account1, Pattern: pattern(t, "shop.example.com")},
		{Account: account1, Pattern: pattern(t, "*.pages.example.com"), PublishedOnly: true},
	}
	dashboard, err := hostname.ParseOrigin("https://ql.example.net")
	if err != nil {
		t.Fatal(err)
	}
	var (
		none     = Origin{}
		listed   = ReadOrigin([]string{"https://shop.example.com"})
		below    = ReadOrigin([]string{"https://a.pages.example.com"})
		unlisted = ReadOrigin([]string{"https://evil.example"})
		plain    = ReadOrigin([]string{"http://shop.example.com"})
		null     = ReadOrigin([]string{"null"})
		empty    = ReadOrigin([]string{""})
		path     = ReadOrigin([]string{"https://shop.example.com/"})
		twice    = ReadOrigin([]string{"https://shop.example.com", "https://shop.example.com"})
		own      = ReadOrigin([]string{"https://ql.example.net"})
	)
	type proved struct {
		by      principal.Credential
		ambient bool
		reads   bool
	}
	var (
		noAuth      = proved{by: principal.ByOrigin}
		accountAuth = proved{by: principal.ByPassword}
		ambientAuth = proved{by: principal.ByPassword, ambient: true}
		jobAuth     = proved{by: principal.ByNobody}
		tokenAuth   = proved{by: principal.ByToken}
		readAuth    = proved{by: principal.ByToken, reads: true}
	)
	tests := []struct {
		why    string
		auth   proved
		origin Origin
		site   string
		list   []account.Domain
		want   Outcome
		listed bool
	}{
		// With auth: the list, where there is one.
		{"server to server", accountAuth, none, "", list, Allowed, false},
		{"server to server, no list", accountAuth, none, "", nil, Allowed, false},
		{"listed", accountAuth, listed, "cross-site", list, Allowed, true},
		{"listed by a wildcard", accountAuth, below, "", list, Allowed, true},
		{"unlisted", accountAuth, unlisted, "", list, Forbidden, false},
		{"another scheme", accountAuth, plain, "", list, Forbidden, false},
		{"null", accountAuth, null, "", list, Forbidden, false},
		{"empty", accountAuth, empty, "", list, Forbidden, false},
		{"a path", accountAuth, path, "", list, Forbidden, false},
		{"two headers", accountAuth, twice, "", list, Forbidden, false},
		{"the dashboard without a token", accountAuth, own, "", list, Forbidden, false},
		{"unlisted, no list", accountAuth, unlisted, "", nil, Allowed, false},
		{"null, no list", accountAuth, null, "", nil, Allowed, false},
		// Without auth: the Origin names the account.
		{"no auth, no Origin", noAuth, none, "", nil, Unauthorized, false},
		{"no auth, listed", noAuth, listed, "", list, Allowed, true},
		{"no auth, listed, cross-site", noAuth, listed, "cross-site", list, Allowed, true},
		{"no auth, listed, same-site", noAuth, listed, "same-site", list, Allowed, true},
		{"no auth, listed, same-origin", noAuth, listed, "same-origin", list, Allowed, true},
		{"no auth, listed, but no page", noAuth, listed, "none", list, Forbidden, false},
		{"no auth, listed by a wildcard", noAuth, below, "", list, Allowed, true},
		{"no auth, on no list", noAuth, unlisted, "", nil, Forbidden, false},
		{"no auth, another scheme", noAuth, plain, "", list, Forbidden, false},
		{"no auth, null", noAuth, null, "", list, Forbidden, false},
		{"no auth, empty", noAuth, empty, "", list, Forbidden, false},
		{"no auth, a path", noAuth, path, "", list, Forbidden, false},
		{"no auth, two headers", noAuth, twice, "", list, Forbidden, false},
		{"no auth, the dashboard", noAuth, own, "", nil, Forbidden, false},
		// Jobs by their id.
		{"job, no Origin", jobAuth, none, "", list, Allowed, false},
		{"job, listed", jobAuth, listed, "", list, Allowed, true},
		{"job, unlisted", jobAuth, unlisted, "", list, Forbidden, false},
		{"job, null", jobAuth, null, "", list, Forbidden, false},
		{"job, unlisted, no list", jobAuth, unlisted, "", nil, Allowed, false},
		// Credentials that a browser may add on its own change things for listed
		// pages alone; programs send no Origin.
		{"ambient, a program", ambientAuth, none, "", list, Allowed, false},
		{"ambient, a program, no list", ambientAuth, none, "", nil, Allowed, false},
		{"ambient, typed into the address", ambientAuth, none, "none", nil, Allowed, false},
		{"ambient, no Origin, cross-site", ambientAuth, none, "cross-site", nil, Forbidden, false},
		{"ambient, no Origin, same-site", ambientAuth, none, "same-site", list, Forbidden, false},
		{"ambient, listed", ambientAuth, listed, "cross-site", list, Allowed, true},
		{"ambient, listed by a wildcard", ambientAuth, below, "same-site", list, Allowed, true},
		{"ambient, unlisted", ambientAuth, unlisted, "", list, Forbidden, false},
		{"ambient, unlisted, no list", ambientAuth, unlisted, "", nil, Forbidden, false},
		{"ambient, null, no list", ambientAuth, null, "", nil, Forbidden, false},
		{"ambient, empty, no list", ambientAuth, empty, "", nil, Forbidden, false},
		{"ambient, two headers, no list", ambientAuth, twice, "", nil, Forbidden, false},
		{"ambient, own, no list", ambientAuth, own, "same-origin", nil, Forbidden, false},
		// Tokens of the live editor.
		{"token, the dashboard", tokenAuth, own, "same-origin", list, Allowed, true},
		{"token, the dashboard, no list", tokenAuth, own, "", nil, Allowed, true},
		{"token, no Origin", tokenAuth, none, "", list, Unauthorized, false},
		{"token, no Origin, same-origin", tokenAuth, none, "same-origin", list, Unauthorized, false},
		{"token, no Origin, same-origin, which reads", readAuth, none, "same-origin", list, Allowed, false},
		{"token, no Origin, which reads", readAuth, none, "", list, Unauthorized, false},
		{"token, no Origin, no page, which reads", readAuth, none, "none", list, Unauthorized, false},
		{"token, no Origin, cross-site, which reads", readAuth, none, "cross-site", list, Unauthorized, false},
		{"token, listed", tokenAuth, listed, "", list, Forbidden, false},
		{"token, unlisted", tokenAuth, unlisted, "", nil, Forbidden, false},
		{"token, null", tokenAuth, null, "", list, Forbidden, false},
		{"what is none of these", proved{by: "other"}, listed, "", list, Unauthorized, false},
	}
	for _, test := range tests {
		got := Decide(Question{By: test.auth.by, Ambient: test.auth.ambient, Reads: test.auth.reads, Origin: test.origin, FetchSite: test.site, List: test.list, Dashboard: dashboard})
		if got.Outcome != test.want || got.Listed != test.listed {
			t.Errorf("%s: got %+v, want outcome %d, listed %v", test.why, got, test.want, test.listed)
		}
		if got.Listed && test.auth != tokenAuth && got.Domain.Account != account1 || !got.Listed && got.Domain.Account != 0 {
			t.Errorf("%s: the entry is %+v", test.why, got.Domain)
		}
	}
}

func TestPages(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, nil)
	eve, _ := f.add(t, account.Account{Username: "eve"})
	off, _ := f.add(t, account.Account{Username: "off"})
	for entry, d := range map[string]account.Domain{
		"shop.example.com":      {Account: f.ada.ID},
		"*.pages.example.com":   {Account: f.ada.ID, PublishedOnly: true},
		"eve.example.com":       {Account: eve.ID},
		"off.example.com":       {Account: off.ID},
		"http://localhost:3000": {Account: eve.ID},
	} {
		d.Pattern = pattern(t, entry)
		if err := f.store.AddDomain(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.store.SetFlag(ctx, off.ID, account.FlagDisabled, true); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		origin string
		want   fault.Code
		id     account.ID
	}{
		{"https://shop.example.com", "", f.ada.ID},
		{"https://x.pages.example.com", "", f.ada.ID},
		{"https://eve.example.com", "", eve.ID},
		{"http://localhost:3000", "", eve.ID},
		{"http://localhost:3001", fault.OriginNotAllowed, 0},
		{"https://pages.example.com", fault.OriginNotAllowed, 0},
		{"https://evil.example", fault.OriginNotAllowed, 0},
		{"https://off.example.com", fault.OriginNotAllowed, 0},
		{"null", fault.OriginNotAllowed, 0},
		{"", fault.OriginNotAllowed, 0},
	} {
		c, err := f.Page(ctx, Source{Encrypted: true, Origin: ReadOrigin([]string{test.origin})})
		wantCode(t, test.origin, err, test.want)
		if c.Account.ID != test.id || err == nil && (c.By != principal.ByOrigin || c.IsOwner() || c.Domain.Account != test.id) {
			t.Errorf("%s: got %+v", test.origin, c)
		}
	}
	_, err := f.Page(ctx, Source{})
	wantCode(t, "no Origin", err, fault.BadCredentials)

	for origin, want := range map[string]fault.Code{
		"https://shop.example.com": "", "https://evil.example": fault.OriginNotAllowed, "null": fault.OriginNotAllowed,
		"https://off.example.com": fault.OriginNotAllowed,
	} {
		wantCode(t, "preflight of "+origin, f.Preflight(ctx, ReadOrigin([]string{origin})), want)
	}
	wantCode(t, "preflight without Origin", f.Preflight(ctx, Origin{}), fault.OriginNotAllowed)

	for _, test := range []struct {
		id     account.ID
		origin Origin
		listed bool
		want   fault.Code
	}{
		{f.ada.ID, Origin{}, false, ""},
		{f.ada.ID, ReadOrigin([]string{"https://shop.example.com"}), true, ""},
		{f.ada.ID, ReadOrigin([]string{"https://eve.example.com"}), false, fault.OriginNotAllowed},
		{eve.ID, ReadOrigin([]string{"https://shop.example.com"}), false, fault.OriginNotAllowed},
	} {
		for _, by := range []principal.Credential{principal.ByKey, principal.ByPassword, principal.ByNobody} {
			listed, err := f.Admit(ctx, test.id, by, false, Source{Origin: test.origin})
			what := fmt.Sprintf("account %d, %+v", test.id, test.origin)
			wantCode(t, what, err, test.want)
			if listed != test.listed {
				t.Errorf("%s: listed is %v", what, listed)
			}
		}
	}
	listed, err := f.Admit(ctx, off.ID, principal.ByNobody, false, Source{Origin: ReadOrigin([]string{"https://off.example.com"})})
	wantCode(t, "a page of a disabled account", err, fault.OriginNotAllowed)
	if listed {
		t.Error("a page of a disabled account may read of its jobs")
	}
}

// publish publishes a script by its hash.
func (f *fixture) publish(t *testing.T, name string, hash account.ScriptHash, callers account.Callers) {
	t.Helper()
	p := account.Published{Account: f.ada.ID, Name: name, Hash: hash, Switches: account.Switches{Callers: callers}, Added: f.clock()}
	if _, _, err := f.store.Publish(t.Context(), p, p.Added, account.PublishedLimits{}); err != nil {
		t.Fatal(err)
	}
}

func TestMaySend(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, nil)
	const script = `EMIT "hello"`
	f.publish(t, "hello", account.HashScript(script), account.CallersDomains)
	f.publish(t, "inside", account.HashScript("EMIT 1"), account.CallersKeys)
	published := account.Domain{Account: f.ada.ID, Pattern: pattern(t, "shop.example.com"), PublishedOnly: true}
	open := published
	open.PublishedOnly = false
	for _, test := range []struct {
		caller principal.Principal
		script string
		want   fault.Code
	}{
		{principal.Page(f.ada, published), script, ""},
		{principal.Page(f.ada, published), script + " ", fault.ScriptNotPublished},
		{principal.Page(f.ada, published), "EMIT 1", fault.ScriptNotPublished},
		{principal.Page(account.Account{ID: 99}, published), script, fault.ScriptNotPublished},
		{principal.Page(f.ada, open), "anything", ""},
		{principal.Owner(f.ada, principal.ByPassword), "anything", ""},
		{principal.Owner(f.ada, principal.ByKey), "anything", ""},
	} {
		wantCode(t, fmt.Sprintf("%+v", test), f.MaySend(ctx, test.caller, test.script), test.want)
	}
}

// TestLineEndsOfPublishedScripts: a script is the same whatever ends its lines, and
// however many line breaks end it; one that an earlier version published, by the
// hash of its very text, is too.
func TestLineEndsOfPublishedScripts(t *testing.T) {
	ctx := context.Background()
	lines := []string{`SET ?x AS "a`, `b"`, `EMIT ?x`}
	var forms []string
	for _, end := range []string{"\n", "\r\n", "\r"} {
		text := strings.Join(lines, end)
		forms = append(forms, text, text+end, "\ufeff"+text+end)
	}
	earlier := func(text string) account.ScriptHash { return sha256.Sum256([]byte(text)) }
	domain := account.Domain{Pattern: pattern(t, "shop.example.com"), PublishedOnly: true}
	publish := func(hash account.ScriptHash) func(script string) error {
		f := newFixture(t, nil)
		f.publish(t, "x", hash, account.CallersDomains)
		return func(script string) error { return f.MaySend(ctx, principal.Page(f.ada, domain), script) }
	}
	for _, published := range forms {
		now, before := publish(account.HashScript(published)), publish(earlier(published))
		for _, sent := range forms {
			if err := now(sent); err != nil {
				t.Errorf("%q is published, %q is sent: %v", published, sent, err)
			}
		}
		if err := before(published); err != nil {
			t.Errorf("%q was published by an earlier version: %v", published, err)
		}
		for _, other := range []string{published + " ", strings.Replace(published, "a", "A", 1), strings.ReplaceAll(published, "b", "\n\nb")} {
			wantCode(t, other, now(other), fault.ScriptNotPublished)
			wantCode(t, other, before(other), fault.ScriptNotPublished)
		}
	}
	for _, plain := range []string{forms[0], forms[1]} {
		for _, sent := range forms {
			if err := publish(earlier(plain))(sent); err != nil {
				t.Errorf("%q was published by an earlier version, %q is sent: %v", plain, sent, err)
			}
		}
	}
}

// TestVisitor: who calls an account by its name is a page of its list, or anybody.
func TestVisitor(t *testing.T) {
	f := newFixture(t, nil)
	bob, _ := f.add(t, account.Account{Username: "bob"})
	for _, d := range []account.Domain{{Account: f.ada.ID, Pattern: pattern(t, "shop.example.com")}, {Account: bob.ID, Pattern: pattern(t, "bob.example.com")}} {
		if err := f.store.AddDomain(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		origin, site string
		encrypted    bool
		want         principal.Credential
	}{
		{"", "", true, principal.ByNobody},
		{"https://shop.example.com", "cross-site", true, principal.ByOrigin},
		{"https://shop.example.com", "none", true, principal.ByNobody},
		{"https://shop.example.com", "cross-site", false, principal.ByNobody}, // anybody between could be the page
		{"http://shop.example.com", "cross-site", true, principal.ByNobody},
		{"https://bob.example.com", "cross-site", true, principal.ByNobody},
		{"https://evil.example", "cross-site", true, principal.ByNobody},
		{"null", "cross-site", true, principal.ByNobody},
	} {
		from := Source{Addr: netip.MustParseAddr("192.0.2.1"), Encrypted: test.encrypted, FetchSite: test.site}
		if test.origin != "" {
			from.Origin = ReadOrigin([]string{test.origin})
		}
		got, err := f.Visitor(t.Context(), f.ada, from)
		if err != nil || got.By != test.want || got.Account.ID != f.ada.ID || got.IsOwner() {
			t.Errorf("%+v calls as %+v, %v", test, got, err)
		}
	}
}

// TestPagesCallEncrypted: a page proves who it is by its origin alone, so nobody
// may come between, but for pages that are not encrypted themselves.
func TestPagesCallEncrypted(t *testing.T) {
	remote, here := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("127.0.0.1")
	for _, plain := range []bool{false, true} {
		f := newFixture(t, func(o *Options) { o.Plain = plain })
		for _, entry := range []string{"shop.example.com", "http://old.example.com"} {
			if err := f.store.AddDomain(t.Context(), account.Domain{Account: f.ada.ID, Pattern: pattern(t, entry)}); err != nil {
				t.Fatal(err)
			}
		}
		refused := fault.OriginNotAllowed
		if plain {
			refused = ""
		}
		for name, test := range map[string]struct {
			from Source
			page string
			want fault.Code
		}{
			"by https":                 {Source{Addr: remote, Encrypted: true}, "https://shop.example.com", ""},
			"by http":                  {Source{Addr: remote}, "https://shop.example.com", refused},
			"from nowhere":             {Source{}, "https://shop.example.com", refused},
			"on this machine":          {Source{Addr: here}, "https://shop.example.com", ""},
			"a page of http":           {Source{Addr: remote}, "http://old.example.com", ""},
			"an unlisted page of http": {Source{Addr: remote}, "http://shop.example.com", fault.OriginNotAllowed},
		} {
			test.from.Origin = ReadOrigin([]string{test.page})
			_, err := f.Page(t.Context(), test.from)
			wantCode(t, name, err, test.want)
			if name == "by http" && !plain && !strings.Contains(err.Error(), "https") {
				t.Errorf("the answer does not name https: %v", err)
			}
		}
	}
}
