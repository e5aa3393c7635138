package relational

import (
	"context"

	"ql/internal/account"
	"ql/internal/member"
	"ql/internal/resource/databases/ship"
	"ql/internal/resource/files"
)

// Shipped has the databases of accounts that are shipped.
type Shipped struct{ store *Store }

var _ ship.Log = Shipped{}

// Shipped returns the store's databases.
func (s *Store) Shipped() Shipped { return Shipped{s} }

// Claim implements ship.Log.
func (s Shipped) Claim(ctx context.Context, id account.ID, m member.Member) (h ship.Home, err error) {
	if m != (member.Member{}) { // who only asks, as each does who submits a job elsewhere, keeps nobody waiting who writes
		lives, err := s.elsewhere(ctx, id, m)
		switch {
		case err != nil:
			return ship.Home{}, err
		case lives != nil:
			return ship.Home{}, lives
		}
	}
	err = s.store.write(ctx, func(t tx) error {
		if m == (member.Member{}) {
			h = ship.Home{Account: id}
			if err := t.requireHome(h); err != nil {
				return err
			}
			return t.requireAccount(id)
		}
		if there, err := t.has("SELECT 1 WHERE "+isMember, m.ID, m.Incarnation); err != nil || !there {
			return notHome(err)
		}
		h = ship.Home{Account: id, Member: m}
		var has member.Member
		found, err := t.one("SELECT member, incarnation, epoch FROM homes WHERE account = ?", func(r row) {
			has, h.Epoch = member.Member{ID: r.int(0), Incarnation: r.int(1)}, r.int(2)
		}, int64(id))
		if err != nil || found && has == m {
			return err
		}
		if found {
			lives := ship.ElsewhereError{Account: id}
			there, err := t.one("SELECT "+memberColumns+" FROM members WHERE id = ? AND incarnation = ?", func(r row) {
				lives.Member = readMember(r)
			}, has.ID, has.Incarnation)
			if err != nil {
				return err
			}
			if there {
				return &lives
			}
		}
		if err := t.requireAccount(id); err != nil {
			return err
		}
		h.Epoch++
		_, err = t.exec(`INSERT INTO homes (account, member, incarnation, epoch) VALUES (?, ?, ?, ?) ON CONFLICT (account) DO UPDATE
			SET member = excluded.member, incarnation = excluded.incarnation, epoch = excluded.epoch`, int64(id), m.ID, m.Incarnation, h.Epoch)
		return err
	})
	if err != nil {
		return ship.Home{}, err
	}
	return h, nil
}

// elsewhere tells a member which other one has the databases of an account, and lives; nil for none.
func (s Shipped) elsewhere(ctx context.Context, id account.ID, m member.Member) (found *ship.ElsewhereError, err error) {
	err = s.store.read(ctx, func(t tx) error {
		found = nil
		return t.each("SELECT "+memberColumns+" FROM members WHERE (id, incarnation) = (SELECT member, incarnation FROM homes WHERE account = ?) AND incarnation <> ? AND "+isMember, func(r row) {
			found = &ship.ElsewhereError{Account: id, Member: readMember(r)}
		}, int64(id), m.Incarnation, m.ID, m.Incarnation)
	})
	return found, err
}

func notHome(err error) error {
	if err != nil {
		return err
	}
	return ship.ErrNotHome
}

// Leave implements ship.Log. The row stays, for its epoch.
func (s Shipped) Leave(ctx context.Context, h ship.Home) error {
	return s.store.write(ctx, func(t tx) error {
		_, err := t.exec("UPDATE homes SET member = 0, incarnation = 0 WHERE account = ? AND member = ? AND incarnation = ? AND epoch = ?",
			int64(h.Account), h.Member.ID, h.Member.Incarnation, h.Epoch)
		return err
	})
}

// Homes implements ship.Log.
func (s Shipped) Homes(ctx context.Context) (homes map[int64]ship.Held, err error) {
	err = s.store.read(ctx, func(t tx) error {
		homes = map[int64]ship.Held{}
		return t.each(`SELECT incarnation, count(*), CAST(coalesce(sum(logs.bytes), 0) AS BIGINT) FROM homes
			LEFT JOIN (SELECT account, sum(length(content)) AS bytes FROM shipped_parts WHERE content IS NOT NULL GROUP BY account) AS logs ON logs.account = homes.account
			WHERE incarnation <> 0 GROUP BY incarnation`,
			func(r row) { homes[r.int(0)] = ship.Held{Accounts: int(r.int(1)), Unmerged: r.int(2)} })
	})
	return homes, err
}

// requireHome checks that a home is one still: a member that was buried has none, also where nobody
// has taken it over yet. Who takes it over waits for the change that checks. No member is the home of all
// in a store that is being filled, and has none.
func (t tx) requireHome(h ship.Home) error {
	if h.Member == (member.Member{}) {
		filled, err := t.has("SELECT 1 FROM moves WHERE state = '" + MoveFilling + "' AND NOT EXISTS (SELECT 1 FROM members)")
		if err != nil || filled {
			return err
		}
		return ship.ErrNotHome
	}
	there, err := t.has("SELECT 1 FROM homes WHERE account = ? AND member = ? AND incarnation = ? AND epoch = ? AND "+isMember+lockShare,
		int64(h.Account), h.Member.ID, h.Member.Incarnation, h.Epoch, h.Member.ID, h.Member.Incarnation)
	if err != nil || there {
		return err
	}
	return ship.ErrNotHome
}

// Databases implements ship.Log.
func (s Shipped) Databases(ctx context.Context, id account.ID) (list []ship.Database, err error) {
	err = s.store.read(ctx, func(t tx) error {
		list = nil
		return t.each("SELECT name, last, size FROM shipped_databases WHERE account = ? ORDER BY name", func(r row) {
			list = append(list, ship.Database{Name: r.text(0), Last: r.int(1), Size: r.int(2)})
		}, int64(id))
	})
	return list, err
}

// Database implements ship.Log.
func (s Shipped) Database(ctx context.Context, id account.ID, name string) (d ship.Database, err error) {
	err = s.store.read(ctx, func(t tx) error {
		d, err = t.shipped(id, name)
		return err
	})
	return d, err
}

func (t tx) shipped(id account.ID, name string) (ship.Database, error) {
	d := ship.Database{Name: name}
	_, err := t.one("SELECT last, size FROM shipped_databases WHERE account = ? AND name = ?", func(r row) { d.Last, d.Size = r.int(0), r.int(1) }, int64(id), name)
	return d, err
}

// Append implements ship.Log.
func (s Shipped) Append(ctx context.Context, h ship.Home, name string, p ship.Part) error {
	return s.store.write(ctx, func(t tx) error {
		if err := t.requireHome(h); err != nil {
			return err
		}
		d, err := t.shipped(h.Account, name)
		if err != nil {
			return err
		}
		if p.First != d.Last+1 || p.Last < p.First {
			return ship.ErrNotNext
		}
		if _, err := t.exec(`INSERT INTO shipped_databases (account, name, last, size) VALUES (?, ?, ?, ?) ON CONFLICT (account, name) DO UPDATE
			SET last = excluded.last, size = excluded.size`, int64(h.Account), name, p.Last, p.Size); err != nil {
			return err
		}
		return t.addPart(h.Account, name, p)
	})
}

func (t tx) addPart(id account.ID, name string, p ship.Part) error {
	var content any
	if p.Content != nil {
		content = p.Content
	}
	seq, err := t.insert("seq", "INSERT INTO shipped_parts (account, name, first, last, size, content) VALUES (?, ?, ?, ?, ?, ?)",
		int64(id), name, p.First, p.Last, p.Size, content)
	if err != nil {
		return err
	}
	for i := range p.Chunks {
		if err := t.addChunk(&shippedChunks, int64(id), seq, int64(i), p.Chunks[i]); err != nil {
			return err
		}
	}
	return nil
}

// Parts implements ship.Log. Few parts of many have chunks, which come with them: each statement is a way to the server and back.
func (s Shipped) Parts(ctx context.Context, id account.ID, name string, after int64, limit int) (list []ship.Part, err error) {
	err = s.store.read(ctx, func(t tx) error {
		list = nil
		return t.each(`SELECT parts.first, parts.last, parts.size, parts.content, hash, shipped_chunks.size
			FROM (SELECT * FROM shipped_parts WHERE account = ?1 AND name = ?2 AND last > ?3 ORDER BY last LIMIT ?4) AS parts
			LEFT JOIN shipped_chunks ON shipped_chunks.account = ?1 AND part = seq AND content IS NULL ORDER BY parts.last, number`, func(r row) {
			if n := len(list); n == 0 || list[n-1].Last != r.int(1) {
				list = append(list, ship.Part{First: r.int(0), Last: r.int(1), Size: r.int(2), Content: r.bytes(3)})
			}
			if !r.null(4) {
				c := files.Chunk{Size: r.int(5)}
				copy(c.Hash[:], r.s.Blob(4))
				p := &list[len(list)-1]
				p.Chunks = append(p.Chunks, c)
			}
		}, int64(id), name, after, limit)
	})
	return list, err
}

// Merge implements ship.Log.
func (s Shipped) Merge(ctx context.Context, h ship.Home, name string, p ship.Part) error {
	return s.store.write(ctx, func(t tx) error {
		if err := t.requireHome(h); err != nil {
			return err
		}
		first, last := int64(0), int64(0)
		if _, err := t.one("SELECT min(first), max(last) FROM shipped_parts WHERE account = ? AND name = ? AND first >= ? AND last <= ?", func(r row) {
			first, last = r.int(0), r.int(1)
		}, int64(h.Account), name, p.First, p.Last); err != nil {
			return err
		}
		if first != p.First || last != p.Last {
			return ship.ErrNotNext
		}
		if err := t.dropParts(h.Account, name, p.First, p.Last); err != nil {
			return err
		}
		return t.addPart(h.Account, name, p)
	})
}

// dropParts removes the parts of a database from one change to another.
func (t tx) dropParts(id account.ID, name string, first, last int64) error {
	var gone []int64 // that have chunks
	if err := t.each("DELETE FROM shipped_parts WHERE account = ? AND name = ? AND first >= ? AND last <= ? RETURNING CASE WHEN content IS NULL THEN seq END", func(r row) {
		if !r.null(0) {
			gone = append(gone, r.int(0))
		}
	}, int64(id), name, first, last); err != nil {
		return err
	}
	for _, seq := range gone {
		if err := t.dropChunks(&shippedChunks, int64(id), seq, ""); err != nil {
			return err
		}
	}
	return nil
}

// Drop implements ship.Log.
func (s Shipped) Drop(ctx context.Context, h ship.Home, name string) error {
	return s.store.write(ctx, func(t tx) error {
		if err := t.requireHome(h); err != nil {
			return err
		}
		d, err := t.shipped(h.Account, name)
		if err != nil {
			return err
		}
		if err := t.dropParts(h.Account, name, 0, d.Last); err != nil {
			return err
		}
		_, err = t.exec("DELETE FROM shipped_databases WHERE account = ? AND name = ?", int64(h.Account), name)
		return err
	})
}
