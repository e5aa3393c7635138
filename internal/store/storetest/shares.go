package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/job"
	"ql/internal/resource/files"
	"ql/internal/resource/shares"
)

// link returns the link with a number, to a file, not stored yet: for one use
// within a day.
func link(a account.ID, n int, path string) shares.CreateParams {
	return shares.CreateParams{
		Token: sha256.Sum256([]byte(numbered("token", n))), Account: a, Path: path, Name: numbered("name", n), Times: 1,
		Made: noon, Expires: noon.Add(24 * time.Hour),
	}
}

// visit returns somebody who asks at a moment; cookie is what they bring, and
// what they are given is called like their name.
func visit(name string, at time.Time, cookie string) shares.Visit {
	v := shares.Visit{At: at, Fresh: sha256.Sum256([]byte(name)), Address: "2001:db8::1", Agent: "agent of " + name}
	if cookie != "" {
		client := sha256.Sum256([]byte(cookie))
		v.Client = &client
	}
	return v
}

func testShares(t *testing.T, s Stores) {
	ctx := t.Context()
	all, _, _, _ := trees(t, s)
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	f := all.For(ada.ID, files.Quota{})
	large := strings.Repeat("large ", 20_000)
	must(t, f.Write(ctx, "/small", []byte("small")))
	must(t, f.Write(ctx, "/folder/large", []byte(large+"and a tail")))

	for path, want := range map[string]error{"/none": shares.ErrNoFile, "/SMALL": shares.ErrNoFile, "/folder": shares.ErrFolder} {
		wantError(t, path, s.Shares.Create(ctx, link(ada.ID, 1, path)), want)
	}
	wantError(t, "another's file", s.Shares.Create(ctx, link(bob.ID, 1, "/small")), shares.ErrNoFile)
	_, _, err := s.Shares.Find(ctx, link(ada.ID, 1, "").Token)
	wantError(t, "a link that was not made", err, shares.ErrNotFound)

	must(t, s.Shares.Create(ctx, link(ada.ID, 1, "/small")))
	must(t, s.Shares.Create(ctx, link(ada.ID, 2, "/folder/large")))
	first, content, err := s.Shares.Find(ctx, link(ada.ID, 1, "").Token)
	must(t, err)
	want := shares.Share{
		Seq: first.Seq, Token: link(ada.ID, 1, "").Token, Account: ada.ID, Path: "/small", Name: "name-001", Size: 5, Times: 1,
		Made: noon, Expires: noon.Add(24 * time.Hour),
	}
	same(t, "the link", first, want)
	same(t, "its content", content, shares.Content{Digest: content.Digest, Size: 5, Tail: []byte("small")})
	_, content, err = s.Shares.Find(ctx, link(ada.ID, 2, "").Token)
	must(t, err)
	if len(content.Chunks) == 0 || content.Size != int64(len(large)+10) {
		t.Errorf("the large content has %d bytes in %d chunks", content.Size, len(content.Chunks))
	}

	d, err := s.Shares.Claim(ctx, first.Token, visit("one", noon.Add(time.Hour), ""))
	must(t, err)
	want.Used, want.Latest = 1, noon.Add(time.Hour)
	same(t, "what is claimed", d.Share, want)
	if d.Receipt != 1 || d.Restart || string(d.Content.Tail) != "small" {
		t.Errorf("the delivery is %+v", d)
	}
	_, err = s.Shares.Claim(ctx, first.Token, visit("two", noon.Add(time.Hour), ""))
	wantError(t, "a second claim", err, shares.ErrEnded)
	_, err = s.Shares.Claim(ctx, link(ada.ID, 9, "").Token, visit("two", noon, ""))
	wantError(t, "a claim of nothing", err, shares.ErrNotFound)
	must(t, s.Shares.RecordProgress(ctx, d.Share.Account, d.Share.Seq, 1, 5, noon.Add(2*time.Hour)))
	must(t, s.Shares.RecordProgress(ctx, d.Share.Account, d.Share.Seq, 1, 3, time.Time{}))
	// A link's number says nothing without its account.
	must(t, s.Shares.RecordProgress(ctx, d.Share.Account+1, d.Share.Seq, 1, 50, time.Time{}))
	receipts, err := s.Shares.Receipts(ctx, d.Share.Account+1, d.Share.Seq)
	must(t, err)
	same(t, "the receipts of another", receipts, []shares.Receipt(nil))
	receipts, err = s.Shares.Receipts(ctx, d.Share.Account, d.Share.Seq)
	must(t, err)
	same(t, "the receipts", receipts, []shares.Receipt{{
		Number: 1, At: noon.Add(time.Hour), Address: "2001:db8::1", Agent: "agent of one", Sent: 5, Finished: noon.Add(2 * time.Hour),
	}})

	_, err = s.Shares.Claim(ctx, link(ada.ID, 2, "").Token, visit("late", noon.Add(24*time.Hour), ""))
	wantError(t, "a claim after the end", err, shares.ErrEnded)
	wantError(t, "another's link", s.Shares.Revoke(ctx, bob.ID, first.Token, noon), shares.ErrNotFound)
	second := link(ada.ID, 2, "").Token
	must(t, s.Shares.Revoke(ctx, ada.ID, second, noon.Add(time.Hour)))
	must(t, s.Shares.Revoke(ctx, ada.ID, second, noon.Add(3*time.Hour)))
	_, err = s.Shares.Claim(ctx, second, visit("one", noon, ""))
	wantError(t, "a claim of what was taken back", err, shares.ErrEnded)

	list, err := s.Shares.List(ctx, ada.ID, 0, 10)
	must(t, err)
	if len(list) != 2 || list[0].Token != second || !list[0].Revoked.Equal(noon.Add(time.Hour)) || list[1].Token != first.Token {
		t.Fatalf("the links are %+v", list)
	}
	older, err := s.Shares.List(ctx, ada.ID, list[0].Seq, 10)
	must(t, err)
	same(t, "those before", older, list[1:])
	newest, err := s.Shares.List(ctx, ada.ID, 0, 1)
	must(t, err)
	same(t, "the newest", newest, list[:1])
	byID, err := s.Shares.ByID(ctx, ada.ID, list[0].ID())
	must(t, err)
	same(t, "by id", byID, list[0])
	for _, id := range []string{"", "x", list[0].ID()[:14], strings.ToUpper(list[0].ID()) + "0", "0000000000000000"} {
		_, err = s.Shares.ByID(ctx, ada.ID, id)
		wantError(t, id, err, shares.ErrNotFound)
	}
	_, err = s.Shares.ByID(ctx, bob.ID, list[0].ID())
	wantError(t, "another's id", err, shares.ErrNotFound)

	must(t, s.Accounts.SetFlag(ctx, ada.ID, account.FlagDisabled, true))
	_, _, err = s.Shares.Find(ctx, first.Token)
	wantError(t, "a link of a disabled account", err, shares.ErrNotFound)
	must(t, s.Accounts.Delete(ctx, ada.ID))
	list, err = s.Shares.List(ctx, ada.ID, 0, 10)
	must(t, err)
	same(t, "the links of nobody", list, []shares.Share(nil))
}

// testShareRestart: a client may begin its broken download again a few times,
// and nobody else may.
func testShareRestart(t *testing.T, s Stores) {
	ctx := t.Context()
	all, _, _, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	must(t, all.For(ada.ID, files.Quota{}).Write(ctx, "/a", []byte("a")))
	claim := func(n int, v shares.Visit) (shares.Delivery, error) {
		return s.Shares.Claim(ctx, link(ada.ID, n, "").Token, v)
	}
	for n := 1; n <= 5; n++ {
		one := link(ada.ID, n, "/a")
		if n == 5 {
			one.Times = 2
		}
		must(t, s.Shares.Create(ctx, one))
		_, err := claim(n, visit("one", noon, ""))
		must(t, err)
	}

	// Three times, and within ten minutes.
	_, err := claim(1, visit("two", noon, "two"))
	wantError(t, "another client", err, shares.ErrEnded)
	for i := range shares.MaxRestarts {
		d, err := claim(1, visit("again", noon.Add(time.Duration(i)*time.Minute), "one"))
		must(t, err)
		if !d.Restart || d.Receipt != 1 || d.Share.Used != 1 {
			t.Errorf("restart %d: %+v", i, d)
		}
	}
	_, err = claim(1, visit("again", noon.Add(time.Minute), "one"))
	wantError(t, "a fourth restart", err, shares.ErrEnded)
	receipts, err := s.Shares.Receipts(ctx, ada.ID, 1)
	must(t, err)
	if len(receipts) != 1 || receipts[0].Restarts != shares.MaxRestarts || receipts[0].Agent != "agent of one" {
		t.Errorf("the receipts are %+v", receipts)
	}
	_, err = claim(2, visit("again", noon.Add(shares.RestartWithin), "one"))
	wantError(t, "after the time", err, shares.ErrEnded)
	_, err = claim(2, visit("again", noon.Add(shares.RestartWithin-time.Microsecond), "one"))
	must(t, err)

	// Not after all was sent, nor after it was taken back.
	d, err := claim(3, visit("again", noon, "one"))
	must(t, err)
	must(t, s.Shares.RecordProgress(ctx, d.Share.Account, d.Share.Seq, d.Receipt, 1, noon))
	_, err = claim(3, visit("again", noon, "one"))
	wantError(t, "after all was sent", err, shares.ErrEnded)
	must(t, s.Shares.Revoke(ctx, ada.ID, link(ada.ID, 4, "").Token, noon))
	_, err = claim(4, visit("again", noon, "one"))
	wantError(t, "after it was taken back", err, shares.ErrEnded)

	// A restart takes no other use; a finished client comes as anybody.
	d, err = claim(5, visit("again", noon, "one"))
	must(t, err)
	if !d.Restart || d.Share.Used != 1 {
		t.Errorf("a restart took a use: %+v", d)
	}
	must(t, s.Shares.RecordProgress(ctx, d.Share.Account, d.Share.Seq, d.Receipt, 1, noon))
	d, err = claim(5, visit("again", noon, "one"))
	must(t, err)
	if d.Restart || d.Share.Used != 2 || d.Receipt != 2 {
		t.Errorf("a second download: %+v", d)
	}
}

// testShareUnlimited: links of any number of uses end with their time alone, and
// keep the newest receipts.
func testShareUnlimited(t *testing.T, s Stores) {
	ctx := t.Context()
	all, _, _, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	must(t, all.For(ada.ID, files.Quota{}).Write(ctx, "/a", []byte("a")))
	one := link(ada.ID, 1, "/a")
	one.Times = 0
	must(t, s.Shares.Create(ctx, one))
	for i := range shares.MaxReceipts + 5 {
		d, err := s.Shares.Claim(ctx, one.Token, visit("one", noon, "one"))
		must(t, err)
		if d.Restart || d.Receipt != i+1 {
			t.Fatalf("download %d: %+v", i+1, d)
		}
	}
	receipts, err := s.Shares.Receipts(ctx, ada.ID, 1)
	must(t, err)
	if len(receipts) != shares.MaxReceipts || receipts[0].Number != shares.MaxReceipts+5 {
		t.Errorf("%d receipts, the newest %d", len(receipts), receipts[0].Number)
	}
	_, err = s.Shares.Claim(ctx, one.Token, visit("one", one.Expires, ""))
	wantError(t, "after the end", err, shares.ErrEnded)
}

func testShareBounds(t *testing.T, s Stores) {
	ctx := t.Context()
	all, _, _, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	f := all.For(ada.ID, files.Quota{})
	must(t, f.Write(ctx, "/ten", []byte("0123456789")))
	must(t, f.Write(ctx, "/six", []byte("012345")))
	bounded := func(n int, path string, b shares.Bounds) error {
		one := link(ada.ID, n, path)
		one.Bounds, one.Made, one.Expires = b, noon.Add(time.Duration(n)*time.Hour), noon.Add(time.Duration(n+1)*time.Hour)
		return s.Shares.Create(ctx, one)
	}
	var size *shares.SizeError
	if err := bounded(0, "/ten", shares.Bounds{File: 9}); !errors.As(err, &size) || *size != (shares.SizeError{Size: 10, Bound: 9}) {
		t.Errorf("a large file: %v", err)
	}
	b := shares.Bounds{File: 10, Bytes: 15, Links: 3}
	must(t, bounded(0, "/ten", b))
	must(t, bounded(100, "/ten", b)) // the same content counts once
	size = nil
	if err := bounded(0, "/six", b); !errors.As(err, &size) || *size != (shares.SizeError{Size: 16, Bound: 15, All: true}) {
		t.Errorf("too much content: %v", err)
	}
	must(t, s.Shares.Revoke(ctx, ada.ID, link(ada.ID, 100, "").Token, noon))
	must(t, bounded(3, "/six", b)) // the first has expired, and the other was taken back

	// Ended links make room for others.
	b.Bytes = 0
	for n := 20; n < 23; n++ {
		must(t, bounded(n*10, "/six", b))
	}
	b.Links = 1
	wantError(t, "another", bounded(220, "/six", b), shares.ErrLinks)
	list, err := s.Shares.List(ctx, ada.ID, 0, 10)
	must(t, err)
	if len(list) == 0 || len(list) > 3 || list[0].Token != link(ada.ID, 220, "").Token {
		t.Errorf("the links are %+v", list)
	}
}

// testShareBoundRace: links that are made at the same time come to no more than they
// may, in number and in bytes.
func testShareBoundRace(t *testing.T, s Stores) {
	ctx := t.Context()
	all, _, _, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	f := all.For(ada.ID, files.Quota{})
	for n := range 20 {
		must(t, f.Write(ctx, numbered("/file", n), []byte(numbered("content", n))))
	}
	size := int64(len(numbered("content", 0)))
	for i, b := range []shares.Bounds{{Links: 5}, {Bytes: 12 * size}} {
		errs := atOnce(20, func(n int) error {
			one := link(ada.ID, 100*i+n, numbered("/file", n))
			one.Bounds = b
			return s.Shares.Create(ctx, one)
		})
		won := winners(t, errs, func(err error) bool {
			var size *shares.SizeError
			return errors.Is(err, shares.ErrLinks) || errors.As(err, &size)
		})
		// The second lot finds the content of five there, and may refer to it again.
		if i == 0 && len(won) != 5 || i == 1 && (len(won) < 7 || len(won) > 12) {
			t.Errorf("%+v: %d were made", b, len(won))
		}
	}
}

// testShareContent: what a link leads to stays as long as it can be loaded, and
// no longer.
func testShareContent(t *testing.T, s Stores) {
	ctx := t.Context()
	all, blobs, folder, c := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	f := all.For(ada.ID, files.Quota{})
	large := strings.Repeat("large ", 20_000)
	sweep := func(want int) {
		t.Helper()
		for range 2 { // one sees it, the next removes it
			_, err := blobs.Sweep(ctx, s.Files, c.time(), time.Hour)
			must(t, err)
			c.set(c.time().Add(2 * time.Hour))
		}
		if n := blobCount(t, folder); n != want {
			t.Errorf("%d blobs are left, want %d", n, want)
		}
	}
	must(t, f.Write(ctx, "/a", []byte(large)))
	for n := 1; n <= 3; n++ {
		must(t, s.Shares.Create(ctx, link(ada.ID, n, "/a")))
	}
	must(t, f.Write(ctx, "/a", []byte("another")))
	sweep(1)
	_, content, err := s.Shares.Find(ctx, link(ada.ID, 1, "").Token)
	must(t, err)
	if content.Size != int64(len(large)) || len(content.Chunks) != 1 {
		t.Errorf("the content has %d bytes in %d chunks", content.Size, len(content.Chunks))
	}

	must(t, s.Shares.Revoke(ctx, ada.ID, link(ada.ID, 1, "").Token, noon))
	_, err = s.Shares.Claim(ctx, link(ada.ID, 2, "").Token, visit("one", noon, ""))
	must(t, err)
	prune := func(now time.Time, want int) {
		t.Helper()
		total := 0
		for n := 1; n > 0; total += n {
			n, err = s.Shares.Prune(ctx, now, noon.Add(48*time.Hour), 1)
			must(t, err)
		}
		if total != want {
			t.Errorf("%d rows were pruned, want %d", total, want)
		}
	}
	prune(noon.Add(shares.RestartWithin-time.Microsecond), 1) // the one that was taken back and has expired since
	sweep(1)
	prune(noon.Add(shares.RestartWithin), 2) // the used one lets go, and goes
	sweep(1)
	prune(noon.Add(24*time.Hour+shares.RestartWithin), 3) // the last one, its content, itself
	sweep(0)
}

// testShareEmpty: an account that is emptied keeps no links and no content, and
// others keep theirs.
func testShareEmpty(t *testing.T, s Stores) {
	ctx := t.Context()
	all, _, _, _ := trees(t, s)
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	large := []byte(strings.Repeat("large ", 20_000))
	for i, id := range []account.ID{ada.ID, bob.ID} {
		must(t, all.For(id, files.Quota{}).Write(ctx, "/a", append(large, byte(i))))
		for n := range 3 {
			must(t, s.Shares.Create(ctx, link(id, 10*i+n, "/a")))
		}
	}
	_, content, err := s.Shares.Find(ctx, link(ada.ID, 0, "").Token)
	must(t, err)
	for n := 1; n > 0; {
		n, err = s.Accounts.Purge(ctx, ada.ID, 1)
		must(t, err)
	}
	for id, want := range map[account.ID]int{ada.ID: 0, bob.ID: 3} {
		list, err := s.Shares.List(ctx, id, 0, 10)
		must(t, err)
		if len(list) != want {
			t.Errorf("account %d has %d links, want %d", id, len(list), want)
		}
	}
	if used, err := s.Files.HasBlob(ctx, files.Hash(content.Chunks[0].Hash)); used || err != nil {
		t.Errorf("what nobody has is in use: %t, %v", used, err)
	}
	_, content, err = s.Shares.Find(ctx, link(bob.ID, 10, "").Token)
	must(t, err)
	if content.Size != int64(len(large)+1) {
		t.Errorf("another's content has %d bytes", content.Size)
	}
}

// testShareRace: a use is taken by one alone.
func testShareRace(t *testing.T, s Stores) {
	ctx := t.Context()
	all, _, _, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	must(t, all.For(ada.ID, files.Quota{}).Write(ctx, "/a", []byte("a")))
	for n := range 5 {
		one := link(ada.ID, n, "/a")
		one.Times = n + 1
		must(t, s.Shares.Create(ctx, one))
		errs := atOnce(40, func(i int) error {
			_, err := s.Shares.Claim(ctx, one.Token, visit(numbered("client", i), noon, ""))
			return err
		})
		if won := winners(t, errs, func(err error) bool { return errors.Is(err, shares.ErrEnded) }); len(won) != n+1 {
			t.Errorf("%d got what %d may have", len(won), n+1)
		}
	}
}

// testShareCheckpoint: a link is one with the note that it was made.
func testShareCheckpoint(t *testing.T, s Stores) {
	all, _, _, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	must(t, all.For(ada.ID, files.Quota{}).Write(t.Context(), "/a", []byte("a")))
	task := job.Task{Summary: record(ada.ID, 1).Summary, Spec: []byte("x")}
	task.State, task.Mode, task.Finished = job.Running, job.Async, time.Time{}
	lease, _, err := s.Queue.Accept(t.Context(), &task, node(t, s), noon.Add(time.Hour))
	must(t, err)
	under := func(l job.Lease, step int64) (context.Context, *job.Checkpoint) {
		c := &job.Checkpoint{Lease: l, Entry: job.JournalEntry{Step: step, Entries: []byte("e")}}
		return job.WithCheckpoint(t.Context(), c), c
	}
	ctx, kept := under(lease, 1)
	must(t, s.Shares.Create(ctx, link(ada.ID, 1, "/a")))
	ctx, refused := under(lease, 2)
	wantError(t, "no file", s.Shares.Create(ctx, link(ada.ID, 2, "/b")), shares.ErrNoFile)
	ctx, revoked := under(lease, 3)
	must(t, s.Shares.Revoke(ctx, ada.ID, link(ada.ID, 1, "").Token, noon))
	if !kept.Committed || refused.Committed || !revoked.Committed {
		t.Errorf("kept: %t, %t, %t", kept.Committed, refused.Committed, revoked.Committed)
	}
	lost := lease
	lost.Attempt--
	ctx, _ = under(lost, 4)
	wantError(t, "an attempt that lost its job", s.Shares.Create(ctx, link(ada.ID, 4, "/a")), job.ErrLeaseLost)
	_, _, err = s.Shares.Find(t.Context(), link(ada.ID, 4, "").Token)
	wantError(t, "its link", err, shares.ErrNotFound)
}

// testHiddenLinks: links of a purpose are found by their tokens and in no list, make room before
// others, and are forgotten when they have ended.
func testHiddenLinks(t *testing.T, s Stores) {
	ctx := t.Context()
	all, _, _, _ := trees(t, s)
	ada := create(t, s.Accounts, person("ada"))
	must(t, all.For(ada.ID, files.Quota{}).Write(ctx, "/a", []byte("a")))
	for n, purpose := range []shares.Purpose{shares.OfOwner, shares.Download, shares.Preview, shares.OfOwner} {
		made := link(ada.ID, n, "/a")
		made.Purpose, made.Expires = purpose, noon.Add(time.Minute)
		must(t, s.Shares.Create(ctx, made))
		found, _, err := s.Shares.Find(ctx, made.Token)
		must(t, err)
		same(t, "its purpose", found.Purpose, purpose)
	}
	listed := func() (numbers []string) {
		list, err := s.Shares.List(ctx, ada.ID, 0, 10)
		must(t, err)
		for _, one := range list {
			numbers = append(numbers, one.Name)
		}
		return numbers
	}
	same(t, "the list", listed(), []string{"name-003", "name-000"})
	// All have ended; with a bound of four one makes room, which nobody sees.
	more := link(ada.ID, 4, "/a")
	more.Made, more.Expires = noon.Add(time.Hour), noon.Add(2*time.Hour)
	more.Bounds.Links = 4
	must(t, s.Shares.Create(ctx, more))
	same(t, "the list afterwards", listed(), []string{"name-004", "name-003", "name-000"})
	_, _, err := s.Shares.Find(ctx, link(ada.ID, 1, "").Token)
	wantError(t, "the one that made room", err, shares.ErrNotFound)
	for range 3 {
		_, err := s.Shares.Prune(ctx, noon.Add(time.Hour), noon.Add(-time.Hour), 100)
		must(t, err)
	}
	_, _, err = s.Shares.Find(ctx, link(ada.ID, 2, "").Token)
	wantError(t, "a preview that has ended", err, shares.ErrNotFound)
	same(t, "the list in the end", listed(), []string{"name-004", "name-003", "name-000"})
}
