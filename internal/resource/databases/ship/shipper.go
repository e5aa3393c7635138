package ship

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/member"
	"ql/internal/resource/files"
	"ql/internal/sqlite"
)

// Blobs are where parts are that are large.
type Blobs interface {
	// Store stores content, which lasts at least until it is released; for longer where a row of the log
	// refers to it by then.
	Store(content []byte) (c files.Chunk, release func(), err error)
	// Load returns what was stored.
	Load(c files.Chunk) ([]byte, error)
}

// Sealer seals what is in the log.
type Sealer interface {
	Seal(id account.ID, name string, plain []byte) ([]byte, error)
	Open(id account.ID, name string, sealed []byte) ([]byte, error)
}

// Options are what a Shipper is made of. All are needed, but to know what there is, which takes Changes alone.
type Options struct {
	Changes Log
	Blobs   Blobs
	Sealer  Sealer
	Log     *slog.Logger
}

const (
	nonceBytes = 16
	// maxInline is how large a part in the log may be. What is larger goes to the blobs first.
	maxInline = 256 << 10
	// maxFetches is how many copies are made at once: each holds some megabytes.
	maxFetches = 4
)

// Shipper ships the databases of all accounts.
type Shipper struct {
	o       Options
	member  func() (member.Member, error)
	fetches chan struct{}

	mu      sync.Mutex
	pending map[merge]bool
	wake    chan struct{}
}

// New returns a Shipper. What is gathered is merged once it is started.
func New(o Options) *Shipper {
	return &Shipper{o: o, member: noMember, fetches: make(chan struct{}, maxFetches), pending: map[merge]bool{}, wake: make(chan struct{}, 1)}
}

func noMember() (member.Member, error) {
	return member.Member{}, errors.New("this process is no member: it has no databases")
}

// SetMember says which member this process is at the moment, before any database is used.
func (s *Shipper) SetMember(m func() (member.Member, error)) { s.member = m }

// Of returns the databases of an account. It becomes their home when they are first used.
func (s *Shipper) Of(id account.ID) *Origin {
	return &Origin{s: s, account: id, at: map[string]int64{}, gathered: map[string]gathered{}}
}

// Origin is where the databases of an account last, see databases.Origin. Methods for different databases
// are safe for concurrent use.
type Origin struct {
	s       *Shipper
	account account.ID

	mu       sync.Mutex
	home     *Home
	claiming *claim           // nil for none
	at       map[string]int64 // the last change that a copy in use has, by database
	// gathered is what the log has of a database, about, since it was last merged.
	gathered map[string]gathered
}

// claim is one that is under way.
type claim struct {
	done chan struct{} // closed when it is over
	home Home
	err  error
}

// claimHome makes this process the home, unless it is that already. Those who come while that is asked for wait for the
// same answer: a store that does not give one keeps all of them waiting for as long as one, and not one after the other.
func (o *Origin) claimHome(ctx context.Context) (Home, error) {
	m, err := o.s.member()
	if err != nil {
		return Home{}, err
	}
	o.mu.Lock()
	if o.home != nil && o.home.Member == m {
		defer o.mu.Unlock()
		return *o.home, nil
	}
	c := o.claiming
	if c != nil {
		o.mu.Unlock()
		select {
		case <-c.done:
			return c.home, c.err
		case <-ctx.Done():
			return Home{}, ctx.Err()
		}
	}
	c = &claim{done: make(chan struct{}), err: errors.New("the claim of a home was broken off")}
	o.claiming = c
	o.mu.Unlock()
	defer o.endClaim(c)
	// It is for all who wait: none of them can call it off. But a store is less patient where there is a deadline.
	lasting := context.WithoutCancel(ctx)
	if until, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		lasting, cancel = context.WithDeadline(lasting, until)
		defer cancel()
	}
	h, err := o.s.o.Changes.Claim(lasting, o.account, m)
	if c.home, c.err = h, definite(err); err == nil {
		o.setHome(h)
	}
	return c.home, c.err
}

// endClaim tells those who wait what became of a claim.
func (o *Origin) endClaim(c *claim) {
	o.mu.Lock()
	o.claiming = nil
	o.mu.Unlock()
	close(c.done)
}

func (o *Origin) setHome(h Home) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.home != nil && o.home.Epoch != h.Epoch {
		clear(o.at) // others may have changed them meanwhile
	}
	o.home = &h
}

// Claim makes this process the home, unless it is that already.
func (o *Origin) Claim(ctx context.Context) error {
	_, err := o.claimHome(ctx)
	return err
}

// Leave ends that this process is the home.
func (o *Origin) Leave(ctx context.Context) error {
	o.mu.Lock()
	for o.claiming != nil { // what it gets is left too
		done := o.claiming.done
		o.mu.Unlock()
		select {
		case <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
		o.mu.Lock()
	}
	h := o.home
	o.home = nil
	clear(o.at)
	o.mu.Unlock()
	if h == nil {
		return nil
	}
	return o.s.o.Changes.Leave(ctx, *h)
}

// position returns the last change that the copy in use has.
func (o *Origin) position(name string) (at int64, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, known = o.at[name]
	return at, known
}

func (o *Origin) setPosition(name string, at int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at[name] = at
}

func (o *Origin) forgetPosition(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.at, name)
}

// Sizes implements databases.Origin.
func (o *Origin) Sizes(ctx context.Context) (map[string]int64, error) {
	list, err := o.s.o.Changes.Databases(ctx, o.account)
	if err != nil {
		return nil, err
	}
	sizes := make(map[string]int64, len(list))
	for _, d := range list {
		sizes[d.Name] = d.Bytes()
	}
	return sizes, nil
}

// Current implements databases.Origin.
func (o *Origin) Current(name string) bool {
	m, err := o.s.member()
	if err != nil {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	_, known := o.at[name]
	return known && o.home != nil && o.home.Member == m
}

// judge is definite of what was done as a home, which is claimed again where it is none.
func (o *Origin) judge(h Home, err error) error {
	if errors.Is(err, ErrNotHome) {
		o.mu.Lock()
		if o.home != nil && *o.home == h {
			o.home = nil
			clear(o.at)
		}
		o.mu.Unlock()
	}
	return definite(err)
}

// definite is the error of what was certainly not done, for scripts.
func definite(err error) error {
	var elsewhere *ElsewhereError
	switch {
	case errors.As(err, &elsewhere):
		return fault.Retryable(fault.StorageUnavailable, retryAfter, "the databases of this account are at another node at the moment: do this again in a while").WithCause(err)
	case errors.Is(err, ErrNotHome), errors.Is(err, ErrNotNext), errors.Is(err, errNoCopy):
		return fault.Retryable(fault.StorageUnavailable, retryAfter, "the databases of this account have just moved to another node: do this again").WithCause(err)
	}
	return err
}

// retryAfter is when a database that is elsewhere may be asked for again.
const retryAfter = time.Second

var errNoCopy = errors.New("the copy of a database does not have its last changes")

// Commit implements databases.Origin. Whether it is wanted any longer is of no interest: it is done, or not.
func (o *Origin) Commit(ctx context.Context, name string, ch *sqlite.Change) error {
	ctx = context.WithoutCancel(ctx)
	at, known := o.position(name)
	if !known {
		return definite(errNoCopy)
	}
	if ch.PageSize != pageSize {
		return fmt.Errorf("the pages of a database have %d bytes", ch.PageSize)
	}
	return o.append(ctx, name, at, int64(ch.Size), func(add func(page) error) error {
		return ch.Each(func(number uint32, content []byte) error { return add(page{number, content}) })
	})
}

// append adds pages as the change behind one. Where it fails the copy is in doubt.
func (o *Origin) append(ctx context.Context, name string, at, size int64, each func(add func(page) error) error) (err error) {
	defer func() {
		if err != nil {
			o.forgetPosition(name)
			return
		}
		o.setPosition(name, at+1)
	}()
	h, err := o.claimHome(ctx)
	if err != nil {
		return err
	}
	w := partWriter{o: o, name: name, part: Part{First: at + 1, Last: at + 1, Size: size}}
	defer w.release()
	if err := each(w.add); err != nil {
		return err
	}
	if err := w.finish(true); err != nil {
		return err
	}
	if err := o.s.o.Changes.Append(ctx, h, name, w.part); err != nil {
		return o.judge(h, err)
	}
	o.gather(name, &w.part)
	return nil
}

// Drop implements databases.Origin.
func (o *Origin) Drop(ctx context.Context, name string) error {
	h, err := o.claimHome(ctx)
	if err != nil {
		return err
	}
	o.forgetPosition(name)
	return o.judge(h, o.s.o.Changes.Drop(ctx, h, name))
}

// sealName binds what is sealed to its place: in another one it cannot be opened.
func sealName(name string, p *Part) string {
	return "database:" + name + ":" + strconv.FormatInt(p.First, 10) + ":" + strconv.FormatInt(p.Last, 10)
}

// partWriter makes a part of pages, which come by number.
type partWriter struct {
	o       *Origin
	name    string
	part    Part
	pages   writer
	holding []func()
}

func (w *partWriter) add(p page) error {
	if w.pages.full() {
		if err := w.store(); err != nil {
			return err
		}
	}
	return w.pages.add(p)
}

// store puts the pages that were gathered into the blobs.
func (w *partWriter) store() error {
	encoded, err := w.pages.take()
	if err != nil {
		return err
	}
	return w.storeEncoded(encoded)
}

// storeEncoded stores pages under a hash that nothing else has, that may be about to be removed.
func (w *partWriter) storeEncoded(encoded []byte) error {
	content := make([]byte, nonceBytes, nonceBytes+len(encoded))
	_, _ = rand.Read(content) // it never fails
	chunk, release, err := w.o.s.o.Blobs.Store(append(content, encoded...))
	if release != nil {
		w.holding = append(w.holding, release)
	}
	w.part.Chunks = append(w.part.Chunks, chunk)
	return err
}

// finish writes the last pages: into the part itself where that may be, and they are all, and few.
func (w *partWriter) finish(inline bool) error {
	encoded, err := w.pages.take()
	if err != nil {
		return err
	}
	if !inline || len(w.part.Chunks) > 0 || len(encoded) > maxInline {
		return w.storeEncoded(encoded)
	}
	w.part.Content, err = w.o.s.o.Sealer.Seal(w.o.account, sealName(w.name, &w.part), encoded)
	return err
}

// release lets go of the blobs, to which the log refers by now.
func (w *partWriter) release() {
	for _, release := range w.holding {
		release()
	}
}

// pieces calls f with the pages of a part, some at a time, by number.
func (o *Origin) pieces(name string, p *Part, f func([]page) error) error {
	next := o.reader(name, p)
	for {
		pages, err := next()
		if err != nil || pages == nil {
			return err
		}
		if err := f(pages); err != nil {
			return err
		}
	}
}

// reader returns what returns the next pages of a part, nil behind the last.
func (o *Origin) reader(name string, p *Part) func() ([]page, error) {
	content, chunks, done := p.Content, p.Chunks, false
	return func() ([]page, error) {
		var encoded []byte
		var err error
		switch {
		case content != nil && !done:
			done = true
			encoded, err = o.s.o.Sealer.Open(o.account, sealName(name, p), content)
		case len(chunks) > 0:
			encoded, err = o.s.o.Blobs.Load(chunks[0])
			chunks = chunks[1:]
			encoded = encoded[min(nonceBytes, len(encoded)):]
		default:
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		pages, err := readPages(encoded)
		if err == nil && pages == nil {
			pages = []page{}
		}
		return pages, err
	}
}

// If is the options where databases are shipped, and nil where they are not.
func (o Options) If(shipped bool) *Options {
	if !shipped {
		return nil
	}
	return &o
}
