package files

import "slices"

// hold is why a blob is not to be removed, or not to be relied on: some have
// pinned it, or one removes it.
type hold struct {
	pins int
	gone chan struct{} // closed at the end of a removal; nil without one
}

// pin keeps blobs from being removed: those between their making and their row,
// and those that somebody reads whose row may be gone. It is used by one goroutine
// at a time.
type pin struct {
	blobs  *Blobs
	hashes []Hash
	made   []Chunk // those of them that were not there before, and that no row refers to
}

// add pins a blob. One that is being removed is waited for: then it is gone.
func (p *pin) add(hash Hash) {
	b := p.blobs
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		h := b.held[hash]
		if h == nil {
			h = &hold{}
			b.held[hash] = h
		}
		if h.gone == nil {
			h.pins++
			p.hashes = append(p.hashes, hash)
			return
		}
		b.mu.Unlock()
		<-h.gone
		b.mu.Lock()
	}
}

// stored notes that changes were stored. Chunks that were made on the way to them
// may not be in them.
func (p *pin) stored(changes []Change) {
	if len(p.made) == 0 {
		return
	}
	referred := map[Hash]bool{}
	for _, change := range changes {
		var n Node
		switch c := change.(type) {
		case Put:
			n = c.Node
		case Extend:
			n = c.Node
		}
		for _, chunk := range n.Chunks {
			referred[chunk.Hash] = true
		}
	}
	p.made = slices.DeleteFunc(p.made, func(c Chunk) bool { return referred[c.Hash] })
}

// release lets go of all. It may be called more than once.
func (p *pin) release() {
	b := p.blobs
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, hash := range p.hashes {
		h := b.held[hash]
		if h.pins--; h.pins == 0 {
			delete(b.held, hash)
		}
	}
	p.hashes = nil
}

// startRemoval takes a blob to remove it, unless somebody holds it.
func (b *Blobs) startRemoval(hash Hash) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held[hash] != nil {
		return false
	}
	b.held[hash] = &hold{gone: make(chan struct{})}
	return true
}

// endRemoval is the other end of startRemoval.
func (b *Blobs) endRemoval(hash Hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.held[hash].gone)
	delete(b.held, hash)
}

func (b *Blobs) isHeld(hash Hash) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held[hash] != nil
}

// Store stores content for others than files. It lasts at least until it is released.
func (b *Blobs) Store(content []byte) (c Chunk, release func(), err error) {
	p := &pin{blobs: b}
	c, err = b.put(content, p)
	return c, p.release, err
}

// Load returns what was stored.
func (b *Blobs) Load(c Chunk) ([]byte, error) { return b.read(c, nil) }
