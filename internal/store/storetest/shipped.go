package storetest

import (
	"bytes"
	"errors"
	"testing"

	"ql/internal/account"
	"ql/internal/member"
	"ql/internal/resource/databases/ship"
	"ql/internal/resource/files"
)

func join(t *testing.T, s Stores, node int64) member.Member {
	t.Helper()
	m, _, err := s.Members.Join(t.Context(), member.Node{ID: node})
	must(t, err)
	return m
}

// testHomes: one member has the databases of an account, until it leaves them or is no member.
func testHomes(t *testing.T, s Stores) {
	ctx := t.Context()
	ada := create(t, s.Accounts, person("ada"))
	one, two := join(t, s, 1), join(t, s, 2)
	h, err := s.Shipped.Claim(ctx, ada.ID, one)
	must(t, err)
	same(t, "the first home", h, ship.Home{Account: ada.ID, Member: one, Epoch: 1})
	again, err := s.Shipped.Claim(ctx, ada.ID, one)
	must(t, err)
	same(t, "the same again", again, h)
	_, err = s.Shipped.Claim(ctx, ada.ID, two)
	var elsewhere *ship.ElsewhereError
	if !errors.As(err, &elsewhere) || elsewhere.Member.Member != one {
		t.Errorf("of another that lives: %v", err)
	}
	_, err = s.Shipped.Claim(ctx, 4711, one)
	wantError(t, "of nobody", err, account.ErrNotFound)
	_, err = s.Shipped.Claim(ctx, ada.ID, member.Member{ID: 3, Incarnation: 4711})
	wantError(t, "by no member", err, ship.ErrNotHome)
	_, err = s.Shipped.Claim(ctx, ada.ID, member.Member{})
	wantError(t, "as who fills a store, which nobody does", err, ship.ErrNotHome)
	homes, err := s.Shipped.Homes(ctx)
	must(t, err)
	if len(homes) != 1 || homes[one.Incarnation] != (ship.Held{Accounts: 1}) {
		t.Errorf("the homes are %v", homes)
	}
	must(t, s.Shipped.Append(ctx, h, "logged", ship.Part{First: 1, Last: 1, Size: 4096, Content: []byte("seven b")}))
	must(t, s.Shipped.Append(ctx, h, "logged", ship.Part{First: 2, Last: 2, Size: 4096, Content: []byte("five ")}))
	homes, err = s.Shipped.Homes(ctx)
	must(t, err)
	same(t, "with changes in the log", homes[one.Incarnation], ship.Held{Accounts: 1, Unmerged: 12})

	must(t, s.Shipped.Leave(ctx, h))
	wantError(t, "after it was left", s.Shipped.Append(ctx, h, "main", ship.Part{First: 1, Last: 1, Size: 1, Content: []byte("a")}), ship.ErrNotHome)
	second, err := s.Shipped.Claim(ctx, ada.ID, two)
	must(t, err)
	same(t, "of the other", second, ship.Home{Account: ada.ID, Member: two, Epoch: 2})
	must(t, s.Shipped.Leave(ctx, h)) // it is none any more

	// Its next process replaces it, and it can change nothing from then on.
	later := join(t, s, 2)
	wantError(t, "by one that was replaced", s.Shipped.Append(ctx, second, "main", ship.Part{First: 1, Last: 1, Size: 1, Content: []byte("a")}), ship.ErrNotHome)
	third, err := s.Shipped.Claim(ctx, ada.ID, one)
	must(t, err)
	same(t, "taken over", third, ship.Home{Account: ada.ID, Member: one, Epoch: 3})
	_, err = s.Shipped.Claim(ctx, ada.ID, later)
	if !errors.As(err, &elsewhere) {
		t.Errorf("of one that came back: %v", err)
	}
}

// testShippedParts: changes are added one after the other, and merged.
func testShippedParts(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	m := join(t, s, 1)
	h, err := s.Shipped.Claim(ctx, ada.ID, m)
	must(t, err)
	other, err := s.Shipped.Claim(ctx, bob.ID, m)
	must(t, err)
	part := func(first, last, size int64) ship.Part {
		return ship.Part{First: first, Last: last, Size: size, Content: bytes.Repeat([]byte{byte(last)}, 10)}
	}
	chunk := func(b byte) files.Chunk { return files.Chunk{Hash: files.Hash{b}, Size: int64(b)} }
	for last := range int64(4) {
		must(t, s.Shipped.Append(ctx, h, "main", part(last+1, last+1, 2*last+2)))
	}
	must(t, s.Shipped.Append(ctx, other, "main", part(1, 1, 7)))
	wantError(t, "the same again", s.Shipped.Append(ctx, h, "main", part(4, 4, 9)), ship.ErrNotNext)
	wantError(t, "after the next", s.Shipped.Append(ctx, h, "main", part(6, 6, 9)), ship.ErrNotNext)
	large := ship.Part{First: 5, Last: 5, Size: 100, Chunks: []files.Chunk{chunk(9), chunk(3), chunk(200)}}
	must(t, s.Shipped.Append(ctx, h, "main", large))
	must(t, s.Shipped.Append(ctx, h, "a", part(1, 1, 3)))

	d, err := s.Shipped.Database(ctx, ada.ID, "main")
	must(t, err)
	same(t, "one", d, ship.Database{Name: "main", Last: 5, Size: 100})
	d, err = s.Shipped.Database(ctx, ada.ID, "none")
	must(t, err)
	same(t, "none", d, ship.Database{Name: "none"})
	list, err := s.Shipped.Databases(ctx, ada.ID)
	must(t, err)
	same(t, "all", list, []ship.Database{{Name: "a", Last: 1, Size: 3}, {Name: "main", Last: 5, Size: 100}})
	parts := func(after int64, limit int) []ship.Part {
		t.Helper()
		list, err := s.Shipped.Parts(ctx, ada.ID, "main", after, limit)
		must(t, err)
		return list
	}
	same(t, "the first", parts(0, 2), []ship.Part{part(1, 1, 2), part(2, 2, 4)})
	same(t, "the last", parts(3, 10), []ship.Part{part(4, 4, 8), large})

	merged := ship.Part{First: 2, Last: 4, Size: 8, Chunks: []files.Chunk{chunk(20), chunk(3)}}
	must(t, s.Shipped.Merge(ctx, h, "main", merged))
	same(t, "merged", parts(0, 10), []ship.Part{part(1, 1, 2), merged, large})
	for _, wrong := range []ship.Part{{First: 2, Last: 3}, {First: 3, Last: 4}, {First: 1, Last: 3}, {First: 5, Last: 6}, {First: 7, Last: 7}} {
		wantError(t, "merged wrongly", s.Shipped.Merge(ctx, h, "main", wrong), ship.ErrNotNext)
	}
	all := ship.Part{First: 1, Last: 5, Size: 100, Chunks: []files.Chunk{chunk(9), chunk(20)}}
	must(t, s.Shipped.Merge(ctx, h, "main", all))
	same(t, "all merged", parts(0, 10), []ship.Part{all})

	// Blobs that nothing refers to are dead, and count for no account.
	dead, err := s.Files.Dead(ctx, files.DeadQuery{}, 10)
	must(t, err)
	same(t, "the dead", dead, []files.DeadBlob{{Chunk: chunk(3)}, {Chunk: chunk(200)}})
	must(t, s.Shipped.Drop(ctx, h, "main"))
	same(t, "dropped", parts(0, 10), []ship.Part(nil))
	list, err = s.Shipped.Databases(ctx, ada.ID)
	must(t, err)
	same(t, "what is left", list, []ship.Database{{Name: "a", Last: 1, Size: 3}})
	must(t, s.Shipped.Append(ctx, h, "main", part(1, 1, 1)))
	list, err = s.Shipped.Databases(ctx, bob.ID)
	must(t, err)
	same(t, "of another account", list, []ship.Database{{Name: "main", Last: 1, Size: 7}})
}
