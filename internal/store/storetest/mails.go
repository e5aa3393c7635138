package storetest

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/mail"
	"ql/internal/resource/files"
)

// letter returns the mail with a number, not stored yet: one each minute, at noon the first.
func letter(a account.ID, n int) mail.CreateParams {
	return mail.CreateParams{
		ID: numbered("mail", n), Account: a, Made: noon.Add(time.Duration(n-1) * time.Minute), Recipients: 1,
		Head: []byte(numbered("head", n)), Body: []byte(numbered("body", n)), BodySize: 100,
		Bounds: mail.Bounds{Size: 1 << 20, Waiting: 1 << 20},
	}
}

// stored returns a mail as it stands when it was made.
func stored(n mail.CreateParams) mail.Mail {
	return mail.Mail{ID: n.ID, Account: n.Account, State: mail.Pending, Due: n.Made, Made: n.Made, Size: n.BodySize, Head: n.Head, Outcomes: []mail.Outcome{}}
}

// mailed returns a mail as it stands, which must be as expected apart from its number in the store.
func mailed(t *testing.T, s Stores, want mail.Mail) mail.Mail {
	t.Helper()
	got, err := s.Mails.ByID(t.Context(), want.Account, want.ID)
	must(t, err)
	want.Seq = got.Seq
	same(t, want.ID, got, want)
	return got
}

func testMails(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	must(t, s.Mails.Create(ctx, letter(ada.ID, 1)))
	again := letter(ada.ID, 1)
	again.Head = []byte("another")
	must(t, s.Mails.Create(ctx, again)) // stored once
	must(t, s.Mails.Create(ctx, letter(ada.ID, 2)))
	must(t, s.Mails.Create(ctx, letter(bob.ID, 1))) // of another account
	wantError(t, "no account", s.Mails.Create(ctx, letter(bob.ID+9, 1)), account.ErrNotFound)
	first, second := mailed(t, s, stored(letter(ada.ID, 1))), mailed(t, s, stored(letter(ada.ID, 2)))
	_, err := s.Mails.ByID(ctx, bob.ID, second.ID)
	wantError(t, "another's mail", err, mail.ErrNotFound)

	due := func(now time.Time, a account.ID, limit int, want ...mail.Mail) {
		t.Helper()
		got, err := s.Mails.DueOf(ctx, a, now, limit)
		must(t, err)
		same(t, "what is due", got, want)
	}
	due(noon.Add(-time.Second), ada.ID, 9)
	due(noon, ada.ID, 9, first)
	due(noon.Add(time.Hour), ada.ID, 9, first, second)
	due(noon.Add(time.Hour), ada.ID, 1, first)
	for _, test := range []struct {
		after account.ID
		limit int
		want  []account.ID
	}{{0, 9, []account.ID{ada.ID, bob.ID}}, {ada.ID, 9, []account.ID{bob.ID, ada.ID}}, {ada.ID, 1, []account.ID{bob.ID}}, {0, 0, nil}} {
		got, err := s.Mails.DueAccounts(ctx, noon, test.after, test.limit)
		must(t, err)
		same(t, "accounts", got, test.want)
	}
	got, err := s.Mails.DueAccounts(ctx, noon.Add(-1), 0, 9)
	must(t, err)
	same(t, "accounts too early", got, []account.ID(nil))
	next, err := s.Mails.Next(ctx, noon)
	must(t, err)
	same(t, "the next", next, second.Due)
	counts, err := s.Mails.Count(ctx, noon, 2)
	must(t, err)
	same(t, "counts", counts, mail.Counts{Pending: 2, OldestDue: noon})

	claimed, err := s.Mails.Claim(ctx, first, 1, noon.Add(time.Hour))
	must(t, err)
	want := first
	want.Due = noon.Add(time.Hour)
	same(t, "what is claimed", claimed, want)
	_, err = s.Mails.Claim(ctx, first, 1, noon.Add(time.Hour))
	wantError(t, "a second claim", err, mail.ErrClaimLost)
	body, contents, err := s.Mails.Body(ctx, claimed)
	must(t, err)
	same(t, "the body", string(body), "body-001")
	same(t, "attachments", len(contents), 0)
	wantError(t, "release of another", s.Mails.Release(ctx, first, "x", noon), mail.ErrClaimLost)
	must(t, s.Mails.Release(ctx, claimed, "unreached", noon.Add(2*time.Hour)))
	want.Due, want.Error = noon.Add(2*time.Hour), "unreached"
	released := mailed(t, s, want)

	claimed, err = s.Mails.Claim(ctx, released, 1, noon.Add(3*time.Hour))
	must(t, err)
	outcomes := []mail.Outcome{{State: mail.Pending, Error: "450 later"}}
	wantError(t, "settling another", s.Mails.Settle(ctx, released, outcomes, "x", mail.Sent, noon), mail.ErrClaimLost)
	must(t, s.Mails.Settle(ctx, claimed, outcomes, "450 later", mail.Pending, noon.Add(4*time.Hour)))
	want.Due, want.Error, want.Attempts, want.Outcomes = noon.Add(4*time.Hour), "450 later", 1, outcomes
	claimed, err = s.Mails.Claim(ctx, mailed(t, s, want), 1, noon.Add(5*time.Hour))
	must(t, err)
	sent := []mail.Outcome{{State: mail.Sent}}
	must(t, s.Mails.Settle(ctx, claimed, sent, "", mail.Sent, noon.Add(6*time.Hour)))
	want.State, want.Due, want.Settled, want.Attempts, want.Outcomes, want.Error = mail.Sent, time.Time{}, noon.Add(6*time.Hour), 2, sent, ""
	first = mailed(t, s, want)
	_, _, err = s.Mails.Body(ctx, first)
	wantError(t, "the body of what is settled", err, mail.ErrNotFound)
	wantError(t, "settling twice", s.Mails.Settle(ctx, claimed, sent, "", mail.Sent, noon), mail.ErrClaimLost)

	for _, test := range []struct {
		q    mail.Query
		want []mail.Mail
	}{
		{mail.Query{Limit: 9}, []mail.Mail{second, first}}, {mail.Query{Limit: 1}, []mail.Mail{second}}, {mail.Query{}, nil},
		{mail.Query{Limit: 9, Before: second.ID}, []mail.Mail{first}}, {mail.Query{Limit: 9, Before: "none"}, nil},
		{mail.Query{Limit: 9, State: mail.Sent}, []mail.Mail{first}}, {mail.Query{Limit: 9, State: mail.Failed}, nil},
		{mail.Query{Limit: 9, State: mail.Pending, Before: second.ID}, nil},
	} {
		got, err := s.Mails.List(ctx, ada.ID, test.q)
		must(t, err)
		same(t, "a list", got, test.want)
	}
	for _, test := range []struct {
		before time.Time
		limit  int
		want   int
	}{{noon.Add(6 * time.Hour), 9, 0}, {noon.Add(7 * time.Hour), 0, 0}, {noon.Add(7 * time.Hour), 9, 1}, {noon.Add(7 * time.Hour), 9, 0}} {
		n, err := s.Mails.Forget(ctx, test.before, test.limit)
		must(t, err)
		same(t, "forgotten", n, test.want)
	}
}

func testMailBounds(t *testing.T, s Stores) {
	ctx := t.Context()
	all, _, _, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	f := all.For(ada.ID, files.Quota{})
	must(t, f.Write(ctx, "/a", []byte("an attachment")))
	must(t, f.Write(ctx, "/folder/b", []byte(strings.Repeat("b", 200_000))))
	var bound *mail.BoundError
	refused := func(what, bounded string, n mail.CreateParams) {
		t.Helper()
		if err := s.Mails.Create(ctx, n); !errors.As(err, &bound) || bound.What != bounded {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := s.Mails.ByID(ctx, ada.ID, n.ID); !errors.Is(err, mail.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	n := letter(ada.ID, 1)
	n.Recipients, n.Bounds.Minute, n.Bounds.Day = 3, 5, 8
	must(t, s.Mails.Create(ctx, n))
	n.ID, n.Made = "b", n.Made.Add(30*time.Second)
	refused("too many in a minute", "minute", n)
	n.Made = n.Made.Add(time.Minute)
	must(t, s.Mails.Create(ctx, n))
	n.ID, n.Made = "c", n.Made.Add(time.Hour)
	refused("too many in a day", "day", n)
	n.Made = n.Made.Add(23 * time.Hour)
	must(t, s.Mails.Create(ctx, n))

	n = letter(ada.ID, 2)
	n.Bounds.Size = 99
	refused("too large", "size", n)
	n.Bounds.Size, n.Bounds.Waiting = 1<<20, 30
	refused("too much that waits", "waiting", n)
	n.Bounds.Waiting = 32
	must(t, s.Mails.Create(ctx, n))

	n = letter(ada.ID, 3)
	var file *mail.FileError
	for _, path := range []string{"/none", "/folder"} {
		n.Attachments = []string{"/a", path}
		if err := s.Mails.Create(ctx, n); !errors.As(err, &file) || file.Path != path || file.Folder != (path == "/folder") {
			t.Errorf("%s: %v", path, err)
		}
	}
	n.Attachments = []string{"/a", "/folder/b"}
	n.Bounds.Size = 250_000
	refused("large attachments", "size", n)
	n.Bounds.Size, n.Bounds.Contents = 1<<20, 100_000
	refused("contents", "contents", n)
	n.Bounds.Contents = 1 << 20
	must(t, s.Mails.Create(ctx, n))
	must(t, f.Remove(ctx, "/folder/b"))
	must(t, f.Write(ctx, "/a", []byte("changed")))
	_, err := s.Shares.Prune(ctx, noon.Add(100*24*time.Hour), noon, 100)
	must(t, err)
	m, err := s.Mails.ByID(ctx, ada.ID, n.ID)
	must(t, err)
	_, contents, err := s.Mails.Body(ctx, m)
	must(t, err)
	if len(contents) != 2 || string(contents[0].Tail) != "an attachment" || contents[1].Size != 200_000 || len(contents[1].Chunks) == 0 {
		t.Errorf("the contents are %+v", contents)
	}
	m, err = s.Mails.Claim(ctx, m, 1, noon.Add(time.Hour))
	must(t, err)
	must(t, s.Mails.Settle(ctx, m, nil, "", mail.Failed, noon))
	pruned, err := s.Shares.Prune(ctx, noon, noon, 100)
	must(t, err)
	same(t, "contents that nobody needs", pruned, 2)
}

// testMailCheckpoint: a mail and the journal entry of its step are stored together or not at all.
func testMailCheckpoint(t *testing.T, s Stores) {
	ctx := t.Context()
	ada := create(t, s.Accounts, person("ada"))
	task := job.Task{Summary: record(ada.ID, 1).Summary, Spec: []byte("x")}
	task.State, task.Mode, task.Finished = job.Running, job.Async, time.Time{}
	lease, _, err := s.Queue.Accept(ctx, &task, node(t, s), noon)
	must(t, err)
	c := &job.Checkpoint{Lease: lease, Entry: job.JournalEntry{Step: 1, Entries: []byte("entry")}}
	bad := letter(ada.ID, 1)
	bad.Attachments = []string{"/none"}
	if err := s.Mails.Create(job.WithCheckpoint(ctx, c), bad); err == nil || c.Committed {
		t.Errorf("a mail without its file: %v", err)
	}
	must(t, s.Mails.Create(job.WithCheckpoint(ctx, c), letter(ada.ID, 1)))
	if !c.Committed {
		t.Error("the entry is not committed")
	}
	m, err := s.Mails.ByID(ctx, ada.ID, letter(ada.ID, 1).ID)
	must(t, err)
	same(t, "the job", m.Job, lease.ID)
	lost := &job.Checkpoint{Lease: lease, Entry: job.JournalEntry{Step: 2, Entries: []byte("entry")}}
	lost.Lease.Attempt += 3
	if err := s.Mails.Create(job.WithCheckpoint(ctx, lost), letter(ada.ID, 2)); err == nil || lost.Committed {
		t.Errorf("a mail of a lost lease: %v", err)
	}
	_, err = s.Mails.ByID(ctx, ada.ID, letter(ada.ID, 2).ID)
	wantError(t, "its mail", err, mail.ErrNotFound)
}

// testMailRace: one of many claims a mail, and one of many mails of an id is stored.
func testMailRace(t *testing.T, s Stores) {
	ctx := t.Context()
	ada := create(t, s.Accounts, person("ada"))
	var claims atomic.Int32
	var wg sync.WaitGroup
	n := letter(ada.ID, 1)
	n.Bounds.Minute = 1
	for range 8 {
		wg.Go(func() {
			if err := s.Mails.Create(ctx, n); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	list, err := s.Mails.List(ctx, ada.ID, mail.Query{Limit: 9})
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("%d are stored", len(list))
	}
	for range 8 {
		wg.Go(func() {
			if _, err := s.Mails.Claim(ctx, list[0], 1, noon.Add(time.Hour)); err == nil {
				claims.Add(1)
			} else if !errors.Is(err, mail.ErrClaimLost) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	same(t, "claims", claims.Load(), int32(1))
}

// testMailDead: what a process had claimed that is no more is due at once, and nothing else is.
func testMailDead(t *testing.T, s Stores) {
	ctx, at := t.Context(), noon.Add(time.Minute)
	ada := create(t, s.Accounts, person("ada"))
	made := make([]mail.Mail, 5)
	for i := range made {
		n := letter(ada.ID, i+1)
		n.Made = noon
		must(t, s.Mails.Create(ctx, n))
		made[i] = mailed(t, s, stored(n))
	}
	claim := func(i int, by int64) mail.Mail {
		t.Helper()
		m, err := s.Mails.Claim(ctx, made[i], by, noon.Add(time.Hour))
		must(t, err)
		return m
	}
	first := restart(t, s)
	cut, sent, released := claim(0, first.Incarnation), claim(1, first.Incarnation), claim(2, first.Incarnation)
	nobodys := claim(3, 0)
	must(t, s.Mails.Settle(ctx, sent, []mail.Outcome{{State: mail.Sent}}, "", mail.Sent, at))
	must(t, s.Mails.Release(ctx, released, "", noon.Add(2*time.Hour)))
	dead := func(what string, want int, due ...string) {
		t.Helper()
		n, err := s.Mails.ReleaseDead(ctx, at)
		must(t, err)
		same(t, what, n, want)
		list, err := s.Mails.DueOf(ctx, ada.ID, at, 9)
		must(t, err)
		ids := []string{}
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		same(t, what, ids, due)
	}
	dead("while it lives", 0, made[4].ID)
	second := restart(t, s)
	claim(4, second.Incarnation)
	dead("after the next has begun", 1, cut.ID)
	dead("again", 0, cut.ID)
	wantError(t, "what the dead one still notes", s.Mails.Settle(ctx, cut, []mail.Outcome{{State: mail.Sent}}, "", mail.Sent, at), mail.ErrClaimLost)
	must(t, s.Mails.Release(ctx, nobodys, "", at))
}

func testMailPurge(t *testing.T, s Stores) {
	ctx := t.Context()
	all, _, _, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	must(t, all.For(ada.ID, files.Quota{}).Write(ctx, "/a", []byte("x")))
	for n := range 3 {
		l := letter(ada.ID, n+1)
		l.Attachments = []string{"/a"}
		must(t, s.Mails.Create(ctx, l))
	}
	for range 20 {
		_, err := s.Accounts.Purge(ctx, ada.ID, 2)
		must(t, err)
	}
	list, err := s.Mails.List(ctx, ada.ID, mail.Query{Limit: 9})
	must(t, err)
	same(t, "what is left", len(list), 0)
}
