package lang

import (
	"container/list"
	"crypto/sha256"
	"sync"
	"sync/atomic"

	"ql/lang/bytecode"
)

// Cache is an LRU cache of compiled programs, bounded in bytes. It is safe for
// concurrent use. Programs hold nothing of an account, and a program with includes is
// found only by whoever includes the same texts; so accounts may share one Cache.
type Cache struct {
	mu       sync.Mutex
	max      int
	bytes    int
	programs map[[sha256.Size]byte]*list.Element
	// includes remembers which files a text included when it was last
	// compiled, by the hash of the text.
	includes map[[sha256.Size]byte][]string
	order    *list.List // newest first

	hits, misses atomic.Uint64
}

// What the cache takes for a program, and for each path that it includes, besides
// what they weigh themselves.
const (
	cachedSize = 512
	pathSize   = 32
)

type cached struct {
	key  [sha256.Size]byte // identity of the program
	text [sha256.Size]byte // hash of the script's text
	prog *bytecode.Program
	size int
}

// NewCache returns a cache that holds at most max bytes of programs.
func NewCache(max int) *Cache {
	return &Cache{max: max, programs: map[[sha256.Size]byte]*list.Element{},
		includes: map[[sha256.Size]byte][]string{}, order: list.New()}
}

// Lookup returns the program of a script that includes nothing, where the cache has it,
// and nil otherwise.
func (c *Cache) Lookup(text string) *bytecode.Program {
	hash := sha256.Sum256([]byte(text))
	c.mu.Lock()
	paths, known := c.includes[hash]
	c.mu.Unlock()
	if !known || len(paths) > 0 {
		return nil
	}
	p := c.get(identity(text, nil))
	if p != nil {
		c.hits.Add(1)
	}
	return p
}

// Compile returns the program of a script, compiling it where it is not in the
// cache. Scripts with errors are not cached.
func (c *Cache) Compile(text string, o Options) (*bytecode.Program, error) {
	hash := sha256.Sum256([]byte(text))
	c.mu.Lock()
	paths, known := c.includes[hash]
	c.mu.Unlock()
	if known {
		if files, ok := readAll(paths, o); ok {
			if p := c.get(identity(text, files)); p != nil {
				c.hits.Add(1)
				return p, nil
			}
		}
	}
	c.misses.Add(1)
	p, files, err := compileScript(text, o)
	if err != nil {
		return nil, err
	}
	return c.put(hash, p, files), nil
}

// readAll reads the files that a text included before. Whether they are still
// the ones it includes is told by the identity they give.
func readAll(paths []string, o Options) ([]file, bool) {
	var files []file
	for _, path := range paths {
		if o.Include == nil {
			return nil, false
		}
		text, err := o.Include(path)
		if err != nil {
			return nil, false
		}
		files = append(files, file{path, sha256.Sum256([]byte(text))})
	}
	return files, true
}

func (c *Cache) get(key [sha256.Size]byte) *bytecode.Program {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.programs[key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).prog
}

// put caches a program, unless there is one of the same identity: then it
// returns that.
func (c *Cache) put(text [sha256.Size]byte, p *bytecode.Program, files []file) *bytecode.Program {
	size := p.Bytes + cachedSize
	var paths []string
	for _, f := range files {
		paths = append(paths, f.path)
		size += pathSize + len(f.path)
	}
	if size > c.max {
		return p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.includes[text] = paths
	if e, ok := c.programs[p.Hash]; ok {
		c.order.MoveToFront(e)
		return e.Value.(*cached).prog
	}
	c.programs[p.Hash] = c.order.PushFront(&cached{key: p.Hash, text: text, prog: p, size: size})
	c.bytes += size
	for c.bytes > c.max {
		last := c.order.Back()
		x := last.Value.(*cached)
		c.order.Remove(last)
		delete(c.programs, x.key)
		delete(c.includes, x.text)
		c.bytes -= x.size
	}
	return p
}

// Len returns how many programs the cache holds.
func (c *Cache) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.programs)
}

// CacheStats counts what a Cache did.
type CacheStats struct {
	Hits   uint64 // programs found
	Misses uint64 // scripts compiled, those with errors among them
}

// Stats returns the counts so far.
func (c *Cache) Stats() CacheStats { return CacheStats{c.hits.Load(), c.misses.Load()} }
