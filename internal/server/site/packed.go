package site

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"sync"

	"ql/internal/server"
	"ql/internal/service"
)

// Files that are compressed on their way: shorter ones gain nothing, and longer ones would hold
// too much.
const (
	leastPacked = 1 << 10
	mostPacked  = 4 << 20
)

// packed are files that were compressed lately, by what names their content.
type packed struct {
	mu    sync.Mutex
	files map[string][]byte
	bytes int
}

// mostKept is how many bytes of compressed files are kept.
const mostKept = 16 << 20

func (p *packed) find(tag string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.files[tag]
}

// put keeps a file. Where there is no room, all others go: those that are asked for come back.
func (p *packed) put(tag string, content []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const each = 256 // about what one takes besides
	if len(content)+each > mostKept/8 || p.files[tag] != nil {
		return
	}
	if p.bytes += len(content) + each; p.files == nil || p.bytes > mostKept {
		p.files, p.bytes = map[string][]byte{}, len(content)+each
	}
	p.files[tag] = content
}

// pack returns a file, compressed. What that takes is reserved until the answer is written, and it
// is computed in turns with all else.
func (p *packed) pack(r *server.Request, found *service.FoundFile) ([]byte, error) {
	if known := p.find(found.Content.Tag()); known != nil {
		return known, nil
	}
	var out bytes.Buffer
	const besides = 1 << 20 // what compressing takes itself
	err := r.Compute(2*found.Content.Size()+besides, func(turn func() error) error {
		w := gzip.NewWriter(&out)
		buffer := make([]byte, 64<<10)
		for {
			n, err := found.Content.Read(buffer)
			if n > 0 {
				if _, err := w.Write(buffer[:n]); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) {
				return w.Close()
			}
			if err != nil {
				return err
			}
			if err := turn(); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return nil, err
	}
	p.put(found.Content.Tag(), out.Bytes())
	return out.Bytes(), nil
}
