package ship

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Pages are written one after the other, by number: the distance to the number before, and the
// content. All that is compressed.

const (
	pageSize = 4096
	// maxPages is how many pages are written together at most.
	maxPages = 256
	maxPlain = maxPages * (pageSize + binary.MaxVarintLen32)
)

// coders compress and decompress. They hold some memory each while they work, so that there are few, and
// none where nothing is shipped.
var coders = sync.OnceValues(func() (c struct {
	*zstd.Encoder
	*zstd.Decoder
}, err error) {
	if c.Encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(1<<20)); err != nil {
		return c, err
	}
	c.Decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxPlain), zstd.WithDecoderLowmem(true))
	return c, err
})

// page is one of a database.
type page struct {
	number  uint32 // from 1 on
	content []byte
}

// writer gathers pages.
type writer struct {
	plain []byte
	last  uint32
	count int
}

// full says that it takes no more pages.
func (w *writer) full() bool { return w.count == maxPages }

// add adds a page behind all others.
func (w *writer) add(p page) error {
	switch {
	case len(p.content) != pageSize:
		return fmt.Errorf("a page of a database has %d bytes", len(p.content))
	case p.number <= w.last:
		return fmt.Errorf("page %d comes behind page %d", p.number, w.last)
	case w.full():
		return errors.New("too many pages")
	}
	w.plain = binary.AppendUvarint(w.plain, uint64(p.number-w.last))
	w.plain = append(w.plain, p.content...)
	w.last = p.number
	w.count++
	return nil
}

// take returns what was gathered, and begins anew.
func (w *writer) take() ([]byte, error) {
	c, err := coders()
	if err != nil {
		return nil, err
	}
	encoded := c.EncodeAll(w.plain, nil)
	w.plain, w.last, w.count = w.plain[:0], 0, 0
	return encoded, nil
}

var errDamaged = errors.New("the pages of a database cannot be read")

// readPages returns the pages that were gathered. Their contents share memory.
func readPages(encoded []byte) ([]page, error) {
	c, err := coders()
	if err != nil {
		return nil, err
	}
	plain, err := c.DecodeAll(encoded, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	var pages []page
	last := uint64(0)
	for len(plain) > 0 {
		distance, n := binary.Uvarint(plain)
		if n <= 0 || distance == 0 || distance > math.MaxUint32-last || len(plain) < n+pageSize {
			return nil, errDamaged
		}
		last += distance
		pages = append(pages, page{uint32(last), plain[n : n+pageSize]})
		plain = plain[n+pageSize:]
	}
	return pages, nil
}
