package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"ql/internal/account"
)

// script is a script to be published at noon, for pages.
func script(id account.ID, name, text string) account.Published {
	return account.Published{
		Account: id, Name: name, Text: text, Hash: account.HashScript(text), Added: noon,
		Switches: account.Switches{Callers: account.CallersDomains},
	}
}

// publish publishes a script; versions before it end a day later.
func publish(t *testing.T, s Stores, p account.Published) account.Published {
	t.Helper()
	stored, _, err := s.Accounts.Publish(t.Context(), p, p.Added.Add(24*time.Hour), account.PublishedLimits{})
	must(t, err)
	return stored
}

func testPublished(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	find := func(id account.ID, name string, version int64, want account.Published) {
		t.Helper()
		for range 2 { // read, and found read
			got, err := s.Accounts.PublishedScript(t.Context(), id, name, version)
			must(t, err)
			same(t, name, got, want)
		}
	}
	missing := func(id account.ID, name string, version int64) {
		t.Helper()
		_, err := s.Accounts.PublishedScript(t.Context(), id, name, version)
		wantError(t, name, err, account.ErrNotFound)
	}
	first := script(ada.ID, "cart", "EMIT 1\n")
	first.Schema, first.Methods, first.Secrets = `{"type":"object"}`, []string{"GET", "POST"}, true
	first.Concurrency = account.Concurrency{Key: "imports", Most: 2}
	missing(ada.ID, "cart", 0)
	got, created, err := s.Accounts.Publish(t.Context(), first, noon, account.PublishedLimits{})
	must(t, err)
	first.Version = 1
	same(t, "the first", got, first)
	if !created {
		t.Error("the first is not created")
	}
	find(ada.ID, "cart", 0, first)
	find(ada.ID, "cart", 1, first)
	missing(ada.ID, "cart", 2)
	missing(ada.ID, "car", 0)
	missing(bob.ID, "cart", 0)

	// The same text again: the same version, with other switches.
	again := first
	again.Added = noon.Add(time.Hour)
	again.Methods, again.Callers, again.Concurrency = nil, account.CallersAnyone, account.Concurrency{Key: "carts", Most: 1}
	got, created, err = s.Accounts.Publish(t.Context(), again, again.Added, account.PublishedLimits{})
	must(t, err)
	again.Added = noon
	same(t, "the same again", got, again)
	if created {
		t.Error("the same again is created")
	}
	find(ada.ID, "cart", 0, again)

	second := script(ada.ID, "cart", "EMIT 2\n")
	second.Added, second.Callers, second.Secrets = noon.Add(2*time.Hour), account.CallersAnyone, true
	got = publish(t, s, second)
	second.Version = 2
	same(t, "the second", got, second)
	find(ada.ID, "cart", 0, second)
	ended := again
	ended.Until = second.Added.Add(24 * time.Hour)
	find(ada.ID, "cart", 1, ended)

	// The first text again is another version; what ends earlier than asked for stays so.
	third := first
	third.Added = noon.Add(3 * time.Hour)
	got, _, err = s.Accounts.Publish(t.Context(), third, noon.Add(100*time.Hour), account.PublishedLimits{})
	must(t, err)
	third.Version = 3
	same(t, "the third", got, third)
	narrowed := ended
	narrowed.Switches = ended.Within(third.Switches)
	find(ada.ID, "cart", 1, narrowed)

	// And earlier where it is published so, which removes what has ended.
	_, _, err = s.Accounts.Publish(t.Context(), third, third.Added, account.PublishedLimits{})
	must(t, err)
	missing(ada.ID, "cart", 1)
	missing(ada.ID, "cart", 2)
	find(ada.ID, "cart", 3, third)

	other := publish(t, s, script(bob.ID, "cart", "EMIT 1\n"))
	must(t, s.Accounts.Unpublish(t.Context(), ada.ID, "cart"))
	missing(ada.ID, "cart", 0)
	missing(ada.ID, "cart", 3)
	find(bob.ID, "cart", 0, other)
	wantError(t, "a second Unpublish", s.Accounts.Unpublish(t.Context(), ada.ID, "cart"), account.ErrNotFound)
	if p := publish(t, s, script(ada.ID, "cart", "EMIT 4\n")); p.Version != 1 {
		t.Errorf("after its removal the first has the number %d", p.Version)
	}
}

func testPublishedHashes(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	has := func(id account.ID, text string, now time.Time, want bool) {
		t.Helper()
		got, err := s.Accounts.HasPublished(t.Context(), id, account.HashScript(text), now)
		must(t, err)
		if got != want {
			t.Errorf("the script %q of account %d: %t", text, id, got)
		}
	}
	at := func(p account.Published, hours int) account.Published {
		p.Added = noon.Add(time.Duration(hours) * time.Hour)
		return p
	}
	for _, p := range []account.Published{script(ada.ID, "b", "1"), script(ada.ID, "a", "2"), script(ada.ID, "c", "2"), script(bob.ID, "a", "3")} {
		publish(t, s, p)
	}
	has(ada.ID, "1", noon, true)
	has(ada.ID, "3", noon, false)
	has(bob.ID, "1", noon, false)
	publish(t, s, at(script(ada.ID, "b", "4"), 1))
	has(ada.ID, "4", noon, true)
	has(ada.ID, "1", noon.Add(25*time.Hour-time.Microsecond), true) // a tab that is still open
	has(ada.ID, "1", noon.Add(25*time.Hour), false)

	// A version that pages may not call hides those before it, and was never theirs.
	hidden := at(script(ada.ID, "b", "5"), 2)
	hidden.Callers = account.CallersKeys
	publish(t, s, hidden)
	has(ada.ID, "5", noon, false)
	has(ada.ID, "4", noon, false)
	publish(t, s, at(script(ada.ID, "b", "6"), 3))
	has(ada.ID, "6", noon, true)
	has(ada.ID, "5", noon, false)
	has(ada.ID, "4", noon, true)

	must(t, s.Accounts.Unpublish(t.Context(), ada.ID, "a"))
	has(ada.ID, "2", noon, true) // under another name
	must(t, s.Accounts.Unpublish(t.Context(), ada.ID, "c"))
	has(ada.ID, "2", noon, false)
	has(bob.ID, "3", noon, true)
}

// testPublishedSwitches: an earlier version opens neither more than it was published with
// nor more than the current one.
func testPublishedSwitches(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	callers := []account.Callers{account.CallersKeys, account.CallersDomains, account.CallersAnyone}
	for i, before := range callers {
		for j, now := range callers {
			for k := range 4 {
				earlier, current := script(ada.ID, "x", "1"), script(ada.ID, "x", "2")
				earlier.Callers, earlier.Secrets, earlier.Methods = before, k&1 > 0, []string{"POST"}
				current.Callers, current.Secrets, current.Methods = now, k&2 > 0, []string{"GET"}
				earlier = publish(t, s, earlier)
				publish(t, s, current)
				got, err := s.Accounts.PublishedScript(t.Context(), ada.ID, "x", earlier.Version)
				must(t, err)
				want := account.Switches{Callers: callers[min(i, j)], Secrets: k == 3, Methods: []string{"POST"}}
				same(t, "the earlier version", got.Switches, want)
				must(t, s.Accounts.Unpublish(t.Context(), ada.ID, "x"))
			}
		}
	}
}

func testPublishedBounds(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	add := func(p account.Published, keep time.Duration, most account.PublishedLimits, want error) {
		t.Helper()
		_, _, err := s.Accounts.Publish(t.Context(), p, p.Added.Add(keep), most)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", p.Name, err, want)
		}
	}
	uses := func(scripts int, texts ...string) {
		t.Helper()
		bytes := int64(0)
		for _, text := range texts {
			bytes += (&account.Published{Text: text}).Weight()
		}
		n, used, err := s.Accounts.PublishedUsage(t.Context(), ada.ID)
		must(t, err)
		if n != scripts || used != bytes {
			t.Errorf("%d scripts of %d bytes, want %d of %d", n, used, scripts, bytes)
		}
	}
	two := account.PublishedLimits{Scripts: 2}
	uses(0)
	add(script(ada.ID, "a", "1"), 0, two, nil)
	add(script(ada.ID, "b", "22"), 0, two, nil)
	add(script(ada.ID, "c", "3"), 0, two, account.ErrTooManyPublished)
	uses(2, "1", "22")
	add(script(ada.ID, "a", "333"), time.Hour, two, nil) // no other script
	uses(2, "1", "22", "333")
	if _, err := s.Accounts.PublishedScript(t.Context(), ada.ID, "c", 0); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("what is refused is stored: %v", err)
	}

	_, used, err := s.Accounts.PublishedUsage(t.Context(), ada.ID)
	must(t, err)
	full := account.PublishedLimits{Bytes: used}
	add(script(ada.ID, "b", "4444"), time.Hour, full, account.ErrPublishedBytes)
	uses(2, "1", "22", "333")
	add(script(ada.ID, "b", "4"), 0, full, nil) // the one before it makes way
	uses(2, "1", "4", "333")
	add(script(ada.ID, "a", "333"), 0, account.PublishedLimits{Scripts: 1, Bytes: 1}, nil) // less than before
	uses(2, "4", "333")
}

func testPublishedList(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	var want []account.Published
	for _, name := range []string{"b", "a", "d", "c", "B"} {
		publish(t, s, script(ada.ID, name, "EMIT 0\n"))
		p := script(ada.ID, name, "EMIT 1\n")
		p.Added = noon.Add(time.Minute)
		p = publish(t, s, p)
		p.Text = ""
		want = append(want, p)
	}
	publish(t, s, script(bob.ID, "e", "EMIT 1\n"))
	slices.SortFunc(want, func(a, b account.Published) int { return int(a.Name[0]) - int(b.Name[0]) })
	list := func(after string, limit int) []account.Published {
		t.Helper()
		got, err := s.Accounts.PublishedScripts(t.Context(), ada.ID, after, limit)
		must(t, err)
		return got
	}
	same(t, "all", list("", 10), want)
	same(t, "two", list("", 2), want[:2])
	same(t, "the next", list(want[1].Name, 2), want[2:4])
	if got := list("d", 10); len(got) > 0 {
		t.Errorf("after the last: %v", got)
	}

	versions := func(now time.Time, limit int) (numbers []int64) {
		t.Helper()
		got, err := s.Accounts.PublishedVersions(t.Context(), ada.ID, "a", now, limit)
		must(t, err)
		for _, p := range got {
			if p.Text != "" || p.Account != ada.ID || p.Name != "a" {
				t.Errorf("a version is listed as %+v", p)
			}
			numbers = append(numbers, p.Version)
		}
		return numbers
	}
	same(t, "versions", versions(noon, 10), []int64{2, 1})
	same(t, "the newest", versions(noon, 1), []int64{2})
	same(t, "a day later", versions(noon.Add(24*time.Hour+time.Minute), 10), []int64{2})
}

func testPublishedSweep(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	for i := range 4 {
		p := script(ada.ID, "a", numbered("EMIT ", i))
		p.Added = noon.Add(time.Duration(i) * time.Hour)
		publish(t, s, p)
	}
	sweep := func(hours, limit, want int) {
		t.Helper()
		n, err := s.Accounts.SweepPublished(t.Context(), noon.Add(time.Duration(hours)*time.Hour), limit)
		must(t, err)
		if n != want {
			t.Errorf("%d were removed, want %d", n, want)
		}
	}
	sweep(24, 10, 0)
	sweep(25, 10, 1)
	sweep(100, 1, 1)
	sweep(100, 10, 1)
	sweep(100, 10, 0)
	if p, err := s.Accounts.PublishedScript(t.Context(), ada.ID, "a", 0); err != nil || p.Version != 4 {
		t.Errorf("the current one: %+v, %v", p, err)
	}
}

// testPublishedRace: those who publish at once get a version each, and as many scripts as
// fit are published.
func testPublishedRace(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	const many = 16
	versions := make([]int64, many)
	errs := atOnce(many, func(i int) error {
		p, _, err := s.Accounts.Publish(t.Context(), script(ada.ID, "a", numbered("EMIT ", i)), noon.Add(time.Hour), account.PublishedLimits{})
		versions[i] = p.Version
		return err
	})
	must(t, errors.Join(errs...))
	slices.Sort(versions)
	for i, v := range versions {
		if v != int64(i+1) {
			t.Fatalf("the versions are %v", versions)
		}
	}
	errs = atOnce(many, func(i int) error {
		_, _, err := s.Accounts.Publish(t.Context(), script(ada.ID, numbered("n", i), "EMIT 1"), noon, account.PublishedLimits{Scripts: 4})
		return err
	})
	if won := winners(t, errs, func(err error) bool { return errors.Is(err, account.ErrTooManyPublished) }); len(won) != 3 {
		t.Errorf("%d of %d were published beside the first, want 3", len(won), many)
	}
}

func testPublishedPurge(t *testing.T, s Stores) {
	ada := create(t, s.Accounts, person("ada"))
	bob := create(t, s.Accounts, person("bob"))
	for _, id := range []account.ID{ada.ID, bob.ID} {
		for _, name := range []string{"a", "b", "c"} {
			publish(t, s, script(id, name, "EMIT 1"))
		}
	}
	for _, want := range []int{2, 1, 0} {
		n, err := s.Accounts.Purge(t.Context(), ada.ID, 2)
		must(t, err)
		if n != want {
			t.Errorf("%d rows were removed, want %d", n, want)
		}
	}
	if n, bytes, err := s.Accounts.PublishedUsage(t.Context(), ada.ID); n != 0 || bytes != 0 || err != nil {
		t.Errorf("%d scripts of %d bytes are left, %v", n, bytes, err)
	}
	if n, _, err := s.Accounts.PublishedUsage(t.Context(), bob.ID); n != 3 || err != nil {
		t.Errorf("%d scripts of another are left, %v", n, err)
	}
}
