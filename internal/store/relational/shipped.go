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
func (s Shipped) Homes(ctx context.Context) (homes map[int64]int, err error) {
	err = s.store.read(ctx, func(t tx) error {
		homes = map[int64]int{}
		return t.each("SELECT incarnation, count(*) FROM homes WHERE incarnation <> 0 GROUP BY incarnation", func(r row) { homes[r.int(0)] = int(r.int(1)) })
	})
	return homes, err
}

// requireHome checks that a home is one still: a member that was buried has none, also where nobody
// has taken it over yet. No member is the home of all in a store that is being filled, and has none.
func (t tx) requireHome(h ship.Home) error {
	if h.Member == (member.Member{}) {
		filled, err := t.has("SELECT 1 FROM moves WHERE state = '" + MoveFilling + "' AND NOT EXISTS (SELECT 1 FROM members)")
		if err != nil || filled {
			return err
		}
		return ship.ErrNotHome
	}
	there, err := t.has("SELECT 1 FROM homes WHERE account = ? AND member = ? AND incarnation = ? AND epoch = ? AND "+isMember,
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
		if done, err := t.extend(h, name, &p); err != nil || done {
			return err
		}
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

// extend adds the next part of a database that has some, by its home: in one look, since each change of a database waits for it. Where
// it adds none, why is found by looking at one thing after the other.
func (t tx) extend(h ship.Home, name string, p *ship.Part) (done bool, err error) {
	if p.Last < p.First {
		return false, nil
	}
	n, err := t.exec(`UPDATE shipped_databases SET last = ?, size = ? WHERE account = ? AND name = ? AND last = ? AND
		EXISTS (SELECT 1 FROM homes WHERE homes.account = shipped_databases.account AND member = ? AND incarnation = ? AND epoch = ?) AND `+isMember,
		p.Last, p.Size, int64(h.Account), name, p.First-1, h.Member.ID, h.Member.Incarnation, h.Epoch, h.Member.ID, h.Member.Incarnation)
	if err != nil || n == 0 {
		return false, err
	}
	return true, t.addPart(h.Account, name, *p)
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

// Parts implements ship.Log.
func (s Shipped) Parts(ctx context.Context, id account.ID, name string, after int64, limit int) (list []ship.Part, err error) {
	err = s.store.read(ctx, func(t tx) error {
		return t.snapshot(func() error {
			list = nil
			var seqs []int64
			if err := t.each("SELECT first, last, size, content, seq FROM shipped_parts WHERE account = ? AND name = ? AND last > ? ORDER BY last LIMIT ?", func(r row) {
				list = append(list, ship.Part{First: r.int(0), Last: r.int(1), Size: r.int(2), Content: r.bytes(3)})
				seqs = append(seqs, r.int(4))
			}, int64(id), name, after, limit); err != nil {
				return err
			}
			for i, seq := range seqs {
				if list[i].Content != nil {
					continue
				}
				if err := t.each("SELECT hash, size FROM shipped_chunks WHERE account = ? AND part = ? ORDER BY number", func(r row) {
					c := files.Chunk{Size: r.int(1)}
					copy(c.Hash[:], r.s.Blob(0))
					list[i].Chunks = append(list[i].Chunks, c)
				}, int64(id), seq); err != nil {
					return err
				}
			}
			return nil
		})
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
	var gone []int64
	if err := t.each("DELETE FROM shipped_parts WHERE account = ? AND name = ? AND first >= ? AND last <= ? RETURNING seq", func(r row) {
		gone = append(gone, r.int(0))
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
