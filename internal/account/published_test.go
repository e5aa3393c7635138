package account_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
)

func publication(name, text string) account.Publication {
	return account.Publication{Name: name, Text: text, Switches: account.Switches{Callers: account.CallersDomains}, Keep: account.DefaultKeep}
}

func (f *fixture) publish(t *testing.T, p account.Publication) account.Published {
	t.Helper()
	published, _, err := f.Publish(context.Background(), "ada", p)
	if err != nil {
		t.Fatal(err)
	}
	return published
}

func TestPublished(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{})
	a, _ := f.create(t, "ada")
	b, _ := f.create(t, "eve")
	has := func(id account.ID, text string) bool {
		t.Helper()
		ok, err := f.store.HasPublished(ctx, id, account.HashScript(text), f.now)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	for i, text := range []string{`EMIT "v1"`, `EMIT "v2"`} {
		if p := f.publish(t, publication("cart", text)); p.Version != int64(i+1) || p.Text != text+"\n" {
			t.Errorf("published as %+v", p)
		}
	}
	if !has(a.ID, `EMIT "v1"`) || !has(a.ID, `EMIT "v2"`) || has(a.ID, `EMIT "v2" `) || has(b.ID, `EMIT "v2"`) {
		t.Error("not just the texts under the name are published, for its account alone")
	}
	called := func(name string) int64 {
		t.Helper()
		p, err := f.CalledScript(ctx, a.ID, name)
		if err != nil && !errors.Is(err, account.ErrNotFound) {
			t.Fatal(err)
		}
		return p.Version
	}
	if called("cart") != 2 || called("cart@1") != 1 || called("cart@2") != 2 || called("cart@3") != 0 || called("car") != 0 {
		t.Error("another version is called than the one that is named")
	}
	f.now = f.now.Add(account.DefaultKeep)
	if has(a.ID, `EMIT "v1"`) || called("cart@1") != 0 || called("cart") != 2 {
		t.Error("an earlier version is answered when its time is over")
	}
	if list, err := f.PublishedScripts(ctx, "ada"); err != nil || len(list) != 1 || list[0].Name != "cart" {
		t.Errorf("got %v, %v", list, err)
	}
	if err := f.Unpublish(ctx, "ada", "cart"); err != nil || has(a.ID, `EMIT "v2"`) || called("cart") != 0 {
		t.Errorf("still published, %v", err)
	}
	if err := f.Unpublish(ctx, "ada", "cart"); !fault.Is(err, fault.ScriptNotFound) {
		t.Errorf("a second removal: %v", err)
	}
}

// TestSameScript: what ends the lines of a script, and whether a line break ends it,
// makes no other version.
func TestSameScript(t *testing.T) {
	f := newFixture(t, account.Options{})
	f.create(t, "ada")
	for i, text := range []string{"SET ?x AS 1\nEMIT ?x", "SET ?x AS 1\nEMIT ?x\n", "SET ?x AS 1\r\nEMIT ?x\r\n", "SET ?x AS 1\rEMIT ?x", "\ufeffSET ?x AS 1\nEMIT ?x\n\n"} {
		p := publication("x", text)
		p.Secrets = i%2 == 0
		if got := f.publish(t, p); got.Version != 1 || got.Secrets != p.Secrets || got.Text != "SET ?x AS 1\nEMIT ?x\n" {
			t.Errorf("%q is published as %+v", text, got)
		}
	}
	for i, text := range []string{"SET ?x AS 1\n\nEMIT ?x", "SET ?x AS 1\nEMIT ?x "} {
		if got := f.publish(t, publication("x", text)); got.Version != int64(i+2) {
			t.Errorf("%q is version %d", text, got.Version)
		}
	}
}

func TestPublishRefuses(t *testing.T) {
	ctx := context.Background()
	f := newFixture(t, account.Options{Limits: func(p account.Plan) account.Limits {
		l := p.Limits()
		l.ScriptBytes, l.Published, l.PublishedBytes = 5000, 3, 8<<10
		return l
	}})
	f.create(t, "ada")
	for field, change := range map[string]func(*account.Publication){
		"name":             func(p *account.Publication) { p.Name = "no/name" },
		"callers":          func(p *account.Publication) { p.Callers = "all" },
		"keep":             func(p *account.Publication) { p.Keep = -time.Second },
		"methods":          func(p *account.Publication) { p.Methods = []string{"GET", "OPTIONS"} },
		"concurrency.key":  func(p *account.Publication) { p.Concurrency = account.Concurrency{Key: "a\nb", Most: 1} },
		"concurrency.most": func(p *account.Publication) { p.Concurrency = account.Concurrency{Key: "a", Most: 10_001} },
	} {
		p := publication("x", "EMIT 1")
		change(&p)
		_, _, err := f.Publish(ctx, "ada", p)
		wantField(t, err, field)
	}
	twice := publication("x", "EMIT 1")
	twice.Methods = []string{"GET", "GET"}
	_, _, err := f.Publish(ctx, "ada", twice)
	wantField(t, err, "methods")
	long := publication("x", "EMIT 1")
	long.Keep = account.LongestKeep + time.Second
	_, _, err = f.Publish(ctx, "ada", long)
	wantField(t, err, "keep")

	limit := func(p account.Publication, code fault.Code, name string) {
		t.Helper()
		var e *fault.Error
		if _, _, err := f.Publish(ctx, "ada", p); !errors.As(err, &e) || e.Code != code || e.Limit != name || e.Value == 0 {
			t.Errorf("%s: %v, want %s by %s", p.Name, err, code, name)
		}
	}
	large := strings.Repeat("x", 4000)
	limit(publication("x", large+large), fault.TooLarge, "script_bytes")
	f.publish(t, publication("x", large))
	limit(publication("x", large+"y"), fault.LimitExceeded, "published_bytes")
	now := publication("x", large+"y")
	now.Keep = 0
	f.publish(t, now)
	f.publish(t, publication("y", "1"))
	f.publish(t, publication("z", "1"))
	limit(publication("w", "1"), fault.LimitExceeded, "published")
	_, _, err = f.Publish(ctx, "eve", publication("x", "EMIT 1"))
	wantNotFound(t, err)
}

func TestScriptNames(t *testing.T) {
	for text, want := range map[string]int64{
		"cart": 0, "cart@1": 1, "a.b-c_d@12": 12, "cart@9223372036854775807": 9223372036854775807,
		"": -1, "@1": -1, "cart@": -1, "cart@0": -1, "cart@-1": -1, "cart@01": -1, "cart@+1": -1, "cart@1@2": -1, "cart@1 ": -1, "cart@9223372036854775808": -1, "a b": -1, "cart@v1": -1,
	} {
		name, version, ok := account.ParseScriptName(text)
		if ok != (want >= 0) || ok && (version != want || name != strings.Split(text, "@")[0]) {
			t.Errorf("%q is version %d of %q, %t", text, version, name, ok)
		}
	}
}

func FuzzScriptNames(f *testing.F) {
	for _, seed := range []string{"cart", "cart@3", "cart@", "@", "a@b@c", "cart@00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, version, ok := account.ParseScriptName(text)
		if !ok {
			return
		}
		if version < 0 || name == "" || !strings.HasPrefix(text, name) || (version == 0) != (text == name) {
			t.Errorf("%q is version %d of %q", text, version, name)
		}
	})
}
