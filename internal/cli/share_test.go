package cli

import (
	"strings"
	"testing"
	"time"

	"ql/internal/resource/files"
	"ql/internal/resource/shares"
)

func TestShareCommands(t *testing.T) {
	b, data, store, id := withAccount(t)
	node := files.Node{Path: "/a.txt", Size: 5, Modified: b.now, Tail: []byte("hello")}
	_, err := store.Files().Apply(t.Context(), id, files.Usage{}, files.Usage{Bytes: 5, Nodes: 1}, []files.Change{files.Put{Node: node}})
	must(t, err)
	for i := range byte(2) {
		must(t, store.Shares().Create(t.Context(), shares.CreateParams{
			Token: shares.Hash{i + 1}, Account: id, Path: "/a.txt", Name: "a.txt", Times: int(i), Made: b.now, Expires: b.now.Add(time.Hour),
		}))
	}
	d, err := store.Shares().Claim(t.Context(), shares.Hash{2}, shares.Visit{At: b.now, Address: "192.0.2.1", Agent: "curl/8"})
	must(t, err)
	must(t, store.Shares().RecordProgress(t.Context(), d.Share.Account, d.Share.Seq, 1, 5, b.now.Add(time.Second)))
	must(t, store.Close())

	run := func(want int, args ...string) string {
		t.Helper()
		return b.operate(t, data, want, append([]string{"share"}, args...)...)
	}
	const head = "LINK STATUS USED CREATED EXPIRES SIZE PATH"
	wantLines(t, run(exitOK, "list", "ada"), head,
		"0200000000000000 used 1 of 1 2026-11-15T08:30:00Z 2026-11-15T09:30:00Z 5 /a.txt",
		"192.0.2.1 2026-11-15T08:30:00Z 2026-11-15T08:30:01Z 5 curl/8",
		"0100000000000000 open 0 of any 2026-11-15T08:30:00Z 2026-11-15T09:30:00Z 5 /a.txt")
	wantLines(t, run(exitOK, "list", "ada", "--before", "0100000000000000"), head)
	wantLines(t, run(exitOK, "revoke", "ada", "0100000000000000"), "0100000000000000 leads nowhere any more")
	wantLines(t, run(exitOK, "list", "ada", "--before", "0200000000000000", "--limit", "1"), head,
		"0100000000000000 revoked 0 of any 2026-11-15T08:30:00Z 2026-11-15T09:30:00Z 5 /a.txt")
	if got := run(exitOK, "list", "ada", "--json"); !strings.Contains(got, `"times":1,"used":1,"created_at":"2026-11-15T08:30:00Z","expires_at":"2026-11-15T09:30:00Z","revoked_at":null,`+
		`"receipts":[{"at":"2026-11-15T08:30:00Z","address":"192.0.2.1","agent":"curl/8","restarts":0,"sent":5,"finished_at":"2026-11-15T08:30:01Z"}]}`) {
		t.Errorf("got %s", got)
	}
	wantLines(t, run(exitFailed, "revoke", "ada", "x"), `ql: the account has no link with the id "x"`)
	wantLines(t, run(exitUsage, "list", "ada", "--limit", "0"), `ql: --limit: 0 is no number from 1 on`)
}
