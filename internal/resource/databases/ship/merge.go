package ship

import (
	"context"
	"errors"
	"maps"
	"slices"
)

const (
	// mergeFrom is how many bytes, or changes, the log gathers before they are merged into the blobs.
	mergeFrom        = 4 << 20
	mergeFromChanges = 256
	// mergePages is how many pages are merged at a time: they are held meanwhile.
	mergePages = 2048
	// maxMerged is how many parts in blobs a database has at most: of each some pages are held while
	// they are merged into one.
	maxMerged = 8
)

// merge is a database that is to be merged.
type merge struct {
	origin *Origin
	name   string
}

// gather counts what the log has got, and has it merged where that is enough.
func (o *Origin) gather(name string, p *Part) {
	if p.Content == nil {
		return
	}
	o.mu.Lock()
	g := o.gathered[name]
	g.changes++
	g.bytes += int64(len(p.Content))
	enough := g.enough()
	if enough {
		delete(o.gathered, name)
	} else {
		o.gathered[name] = g
	}
	o.mu.Unlock()
	if enough {
		o.s.request(merge{o, name})
	}
}

// request has a database merged soon.
func (s *Shipper) request(m merge) {
	s.mu.Lock()
	s.pending[m] = true
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next returns a database that is to be merged.
func (s *Shipper) next() (m merge, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for m := range s.pending {
		delete(s.pending, m)
		return m, true
	}
	return m, false
}

// Run merges what the logs of databases gather, one after the other, until the context ends. It is the
// caller's to have it run again.
func (s *Shipper) Run(ctx context.Context) {
	for ctx.Err() == nil {
		m, ok := s.next()
		if !ok {
			select {
			case <-s.wake:
			case <-ctx.Done():
			}
			continue
		}
		// Where it fails, what comes next has it merged.
		if err := m.origin.Merge(ctx, m.name, false); err != nil && ctx.Err() == nil && !errors.Is(err, ErrNotHome) && !errors.Is(err, ErrNotNext) {
			s.o.Log.Error("changes of databases could not be merged and will be tried again", "error", err)
		}
	}
}

// Merge merges what the log has gathered of a database into the blobs, where it is enough, or all of it.
func (o *Origin) Merge(ctx context.Context, name string, all bool) error {
	h, err := o.claimHome(ctx)
	if err != nil {
		return err
	}
	for {
		merged, gathered, err := o.parts(ctx, name, all)
		if err != nil {
			return err
		}
		switch {
		case len(merged) > maxMerged || grown(merged):
			err = o.mergeMerged(ctx, h, name, merged)
		case gathered.changes > 0 && (all || gathered.enough()):
			err = o.mergeGathered(ctx, h, name, gathered.after)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// gathered are the changes of a database behind those that were merged.
type gathered struct {
	after          int64 // the last change before them
	changes, bytes int64
}

// enough says that they are to be merged.
func (g gathered) enough() bool { return g.bytes >= mergeFrom || g.changes >= mergeFromChanges }

// parts returns the parts of a database in the blobs, up to the first that is in the log, and what
// follows: as much of it as is enough to be merged, or where anything is, that it is there.
func (o *Origin) parts(ctx context.Context, name string, any bool) (merged []Part, g gathered, err error) {
	at := int64(0)
	for {
		parts, err := o.s.o.Changes.Parts(ctx, o.account, name, at, partsAtOnce)
		if err != nil || len(parts) == 0 {
			return merged, g, err
		}
		for _, p := range parts {
			at = p.Last
			if g.changes == 0 && p.Content == nil {
				merged = append(merged, p)
				g.after = p.Last
				continue
			}
			g.changes++
			g.bytes += int64(len(p.Content))
		}
		if any && g.changes > 0 || g.enough() {
			return merged, g, nil
		}
	}
}

// grown reports whether what came after the first of the merged parts is more than half of it.
func grown(merged []Part) bool {
	if len(merged) < 2 {
		return false
	}
	first, more := int64(0), int64(0)
	for i := range merged {
		for _, c := range merged[i].Chunks {
			if i == 0 {
				first += c.Size
			} else {
				more += c.Size
			}
		}
	}
	return more > first/2
}

// mergeGathered makes one part of those behind a change that fit into memory, at least one.
func (o *Origin) mergeGathered(ctx context.Context, h Home, name string, after int64) error {
	pages := map[uint32][]byte{}
	merged := Part{First: after + 1, Last: after}
reading:
	for {
		parts, err := o.s.o.Changes.Parts(ctx, o.account, name, merged.Last, partsAtOnce)
		if err != nil {
			return err
		}
		if len(parts) == 0 {
			break
		}
		for i := range parts {
			if parts[i].Content == nil {
				break reading // it is in the blobs, and is one of those that are merged next
			}
			err := o.pieces(name, &parts[i], func(list []page) error {
				for _, p := range list {
					pages[p.number] = p.content
				}
				return nil
			})
			if err != nil {
				return err
			}
			merged.Last, merged.Size = parts[i].Last, parts[i].Size
			if len(pages) >= mergePages {
				break reading
			}
		}
	}
	w := partWriter{o: o, name: name, part: merged}
	defer w.release()
	for _, number := range slices.Sorted(maps.Keys(pages)) {
		if int64(number) > merged.Size {
			break
		}
		if err := w.add(page{number, pages[number]}); err != nil {
			return err
		}
	}
	return o.finishMerge(ctx, h, &w)
}

func (o *Origin) finishMerge(ctx context.Context, h Home, w *partWriter) error {
	if err := w.finish(false); err != nil {
		return err
	}
	return o.s.o.Changes.Merge(ctx, h, w.name, w.part)
}

// mergeMerged makes one part of parts that follow each other: of a page the last one counts.
func (o *Origin) mergeMerged(ctx context.Context, h Home, name string, parts []Part) error {
	last := parts[len(parts)-1]
	w := partWriter{o: o, name: name, part: Part{First: parts[0].First, Last: last.Last, Size: last.Size}}
	defer w.release()
	sources := make([]*source, len(parts))
	for i := range parts {
		sources[i] = &source{next: o.reader(name, &parts[i])}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		var least *page
		for _, s := range sources {
			p, err := s.peek()
			if err != nil {
				return err
			}
			if p != nil && (least == nil || p.number <= least.number) {
				least = p
			}
		}
		if least == nil || int64(least.number) > last.Size {
			return o.finishMerge(ctx, h, &w)
		}
		if err := w.add(*least); err != nil {
			return err
		}
		number := least.number
		for _, s := range sources {
			s.skip(number)
		}
	}
}

// source reads the pages of a part one by one.
type source struct {
	next  func() ([]page, error)
	pages []page
	ended bool
}

// peek returns the next page, nil behind the last.
func (s *source) peek() (*page, error) {
	for len(s.pages) == 0 && !s.ended {
		pages, err := s.next()
		if err != nil {
			return nil, err
		}
		s.pages, s.ended = pages, pages == nil
	}
	if len(s.pages) == 0 {
		return nil, nil
	}
	return &s.pages[0], nil
}

// skip goes on behind a page, if that is the next one.
func (s *source) skip(number uint32) {
	if len(s.pages) > 0 && s.pages[0].number == number {
		s.pages = s.pages[1:]
	}
}
