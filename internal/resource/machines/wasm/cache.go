package wasm

import (
	"bytes"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/resource/machines"
	"ql/lang/value"

	"github.com/tetratelabs/wazero"
)

// maxModule is how many bytes a module may have, maxCompiled how many it may take compiled, and
// maxWork how long compiling it may take, by the model of body.work.
const (
	maxModule   = 24 << 20
	maxCompiled = 128 << 20
	maxWork     = int64(15 * time.Second)
)

// maxRefs is how many references to content the cache remembers the hashes of.
const maxRefs = 10_000

type hash = [sha256.Size]byte

// module is a compiled module.
type module struct {
	plan     plan
	compiled wazero.CompiledModule
	key      hash
	owner    account.ID // for whom it was compiled
	users    int
	place    *list.Element
}

// cache keeps compiled modules by the hash of their content, those used last. It is safe for
// concurrent use. Accounts share it: a module holds nothing of an account.
type cache struct {
	mu      sync.Mutex
	max     int64
	bytes   int64
	modules map[hash]*module
	order   *list.List // newest first
	// refs are the hashes of contents, by their references.
	refs map[hash]hash
}

func newCache(max int64) *cache {
	return &cache{max: max, modules: map[hash]*module{}, order: list.New(), refs: map[hash]hash{}}
}

// CacheStats shows what the cache of modules holds.
type CacheStats struct {
	Modules int
	Bytes   int64
	Users   int // runs that use one
}

// CacheStats returns what is there now.
func (r *Runner) CacheStats() CacheStats {
	c := r.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	s := CacheStats{Modules: len(c.modules), Bytes: c.bytes}
	for _, m := range c.modules {
		s.Users += m.users
	}
	return s
}

// lookup finds a module by a reference to its content; nil where it is not there. It is to be
// released.
func (c *cache) lookup(ref hash) *module {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.use(c.refs[ref])
}

// find finds a module by the hash of its content, and notes the reference.
func (c *cache) find(ref, key hash) *module {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.refs) >= maxRefs {
		clear(c.refs) // they are found again by their content
	}
	c.refs[ref] = key
	return c.use(key)
}

func (c *cache) use(key hash) *module {
	m := c.modules[key]
	if m == nil {
		return nil
	}
	m.users++
	c.order.MoveToFront(m.place)
	return m
}

func (c *cache) release(m *module) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.users--
}

// makeRoom takes out modules that nobody uses, the oldest first, until there is room for so many
// bytes of an account: first its own, where it would have more than half. It reports false where
// what is in use leaves no room.
func (c *cache) makeRoom(ctx context.Context, owner account.ID, bytes int64) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var own int64
	for _, m := range c.modules {
		if m.owner == owner {
			own += m.plan.compiled
		}
	}
	var errs error
	for place := c.order.Back(); place != nil; {
		m := place.Value.(*module)
		place = place.Prev()
		crowded := own > 0 && own+bytes > c.max/2
		switch {
		case !crowded && c.bytes+bytes <= c.max:
			return true, errs
		case m.users > 0 || crowded && m.owner != owner:
			continue
		}
		if m.owner == owner {
			own -= m.plan.compiled
		}
		errs = errors.Join(errs, c.drop(ctx, m))
	}
	for place := c.order.Back(); place != nil && c.bytes+bytes > c.max; {
		m := place.Value.(*module)
		place = place.Prev()
		if m.users == 0 {
			errs = errors.Join(errs, c.drop(ctx, m))
		}
	}
	return c.bytes+bytes <= c.max, errs
}

func (c *cache) drop(ctx context.Context, m *module) error {
	delete(c.modules, m.key)
	c.order.Remove(m.place)
	c.bytes -= m.plan.compiled
	return m.compiled.Close(ctx)
}

// put adds a module, which is in use.
func (c *cache) put(m *module) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.users = 1
	m.place = c.order.PushFront(m)
	c.modules[m.key] = m
	c.bytes += m.plan.compiled
}

// load returns the module of a machine, compiled. It is to be released.
func (r *Runner) load(ctx context.Context, u machines.Use, held *admit.Reservation) (*module, error) {
	engine.Yield(ctx)
	content, err := u.Files.Hold(ctx, u.Machine.WASM.Module)
	if err != nil {
		return nil, err
	}
	defer content.Close() //nolint:errcheck // was read only
	named := sha256.New()
	named.Write(binary.BigEndian.AppendUint64(nil, uint64(u.Account.ID)))
	named.Write(content.Ref())
	ref := hash(named.Sum(nil))
	if m := r.cache.lookup(ref); m != nil {
		return m, nil
	}
	size, err := content.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if size > maxModule {
		return nil, value.Errorf(badModule, "the module cannot be run: it has %s, and may have %s", value.FormatByteCount(size), value.FormatByteCount(maxModule))
	}
	before := held.Bytes()
	defer func() { held.Shrink(held.Bytes() - before) }()
	if err := held.Grow(ctx, size); err != nil {
		return nil, refusedMemory(err)
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	source := make([]byte, size)
	if _, err := io.ReadFull(content, source); err != nil {
		return nil, err
	}
	if err := engine.Turn(ctx); err != nil {
		return nil, err
	}
	key := sha256.Sum256(source)
	if m := r.cache.find(ref, key); m != nil {
		return m, nil
	}
	// One after the other, and accounts in turns: compiling cannot be interrupted for a turn.
	engine.Yield(ctx)
	ticket, err := r.lane.Acquire(ctx, admit.Request{Account: int64(u.Account.ID)})
	var busy *admit.Refused
	switch {
	case errors.As(err, &busy):
		return nil, value.Errorf("machine_failed", "too many modules are waiting to be compiled: try again in a moment")
	case err != nil:
		return nil, err
	}
	defer ticket.Release()
	if m := r.cache.find(ref, key); m != nil {
		return m, nil // somebody else has compiled it meanwhile
	}
	return r.compile(ctx, u, held, source, key)
}

// compile compiles a module.
func (r *Runner) compile(ctx context.Context, u machines.Use, held *admit.Reservation, source []byte, key hash) (*module, error) {
	if err := held.Grow(ctx, 3*int64(len(source))); err != nil {
		return nil, refusedMemory(err)
	}
	rewritten, plan, err := rewrite(source, func() error { return engine.Turn(ctx) })
	if err != nil {
		return nil, err
	}
	if most := min(r.o.Cache/2, maxCompiled); plan.compiled > most {
		return nil, value.Errorf(badModule, "the module cannot be run: compiled it takes about %s, and on this node it may take %s", value.FormatByteCount(plan.compiled), value.FormatByteCount(most))
	}
	if plan.work > maxWork {
		return nil, value.Errorf(badModule, "the module cannot be run: compiling it would take too long, since it has functions with too many branches, or is too large")
	}
	engine.Yield(ctx)
	if err := held.Grow(ctx, plan.compile); err != nil {
		return nil, refusedMemory(err)
	}
	room, err := r.cache.makeRoom(ctx, u.Account.ID, plan.compiled)
	if err != nil {
		return nil, err
	}
	if !room {
		return nil, value.Errorf("machine_failed", "the modules that run now leave no room for another one: try again in a moment")
	}
	if err := engine.Turn(ctx); err != nil {
		return nil, err
	}
	compiled, err := r.compileModule(ctx, rewritten)
	if err != nil {
		return nil, err
	}
	m := &module{plan: plan, compiled: compiled, key: key, owner: u.Account.ID}
	r.cache.put(m)
	return m, nil
}

// compileModule has wazero compile a module: in this goroutine, where a panic can be recovered.
// Nothing interrupts it; how long it takes is bounded by what a module may be.
func (r *Runner) compileModule(ctx context.Context, rewritten []byte) (compiled wazero.CompiledModule, err error) {
	defer func() {
		// A bug of the compiler is the module's, not the service's.
		if p := recover(); p != nil {
			err = value.Errorf(badModule, "the module cannot be run: its code cannot be compiled")
		}
	}()
	if compiled, err = r.runtime.CompileModule(ctx, rewritten); err != nil {
		first, _, _ := bytes.Cut([]byte(err.Error()), []byte("\n"))
		return nil, value.Errorf(badModule, "the module cannot be run: %s", fmt.Sprintf("%.200s", first))
	}
	return compiled, nil
}
