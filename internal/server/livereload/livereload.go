// Package livereload has the pages of a site that somebody develops load themselves again when a
// file that they were made of changes. It knows of each page which files were looked at while it and
// what it shows were made, compares what they are with what they were, and tells the page. Which
// files those are it is told by who opens them, by way of the request's context.
package livereload

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"
	"sync"
	"time"

	"ql/internal/guard"
)

// Folder is where the files are. A stamp of something is another text when it has changed.
type Folder interface {
	Stamp(path string) string
	StampNames(folder, beginning string) string
}

// What is held is bounded: pages that were shown lately, files of each, and pages that listen.
const (
	mostPages     = 256
	mostLooked    = 500
	mostAddresses = 500
	mostListeners = 128
)

// interval is how often files are compared with what they were, while a page listens.
const interval = 100 * time.Millisecond

// Live are the pages that are open.
type Live struct {
	Options
	closed chan struct{}
	close  sync.Once

	mu       sync.Mutex
	pages    map[string]*page
	order    []*page        // those of pages, the oldest first
	making   map[*page]bool // whose requests are under way
	changing map[string]int // paths that scripts change right now
	listens  int            // how many pages listen
	ended    chan struct{}  // closed when nothing is compared any more; nil where that is so
}

// Options are what a Live is made of.
type Options struct {
	Folder Folder
	Knows  func(host string) bool // whether a request is for a host of the site
	Guard  *guard.Guard
}

// New returns one that knows no pages yet.
func New(o Options) *Live {
	return &Live{Options: o, closed: make(chan struct{}), pages: map[string]*page{}, making: map[*page]bool{}, changing: map[string]int{}}
}

// page is a page, or a request that may become one.
type page struct {
	id        string
	addresses map[string]bool // its own, and those of what it shows
	looked    map[look]string // the stamps of what it was made of
	listener  chan struct{}   // told of a change; nil where it does not listen
	stale     bool
}

// look is what was looked at: what stands at a path, or which names of a folder begin so.
type look struct {
	path      string
	names     bool
	beginning string
}

func (l *Live) stamp(k look) string {
	if k.names {
		return l.Folder.StampNames(k.path, k.beginning)
	}
	return l.Folder.Stamp(k.path)
}

type contextKey struct{}

// Looked notes that what is made under a context depends on what stands at a path.
func (l *Live) Looked(ctx context.Context, path string) { l.note(ctx, look{path: path}) }

// Listed notes that it depends on which names of a folder begin so.
func (l *Live) Listed(ctx context.Context, folder, beginning string) {
	l.note(ctx, look{path: folder, names: true, beginning: beginning})
}

func (l *Live) note(ctx context.Context, k look) {
	made, ok := ctx.Value(contextKey{}).(*page)
	if !ok {
		return
	}
	stamp := l.stamp(k) // before it is read: what changes from now on is another
	l.mu.Lock()
	defer l.mu.Unlock()
	made.add(k, stamp)
}

func (p *page) add(k look, stamp string) {
	if _, known := p.looked[k]; !known && len(p.looked) < mostLooked {
		p.looked[k] = stamp
	}
}

// Changing notes that a script changes what stands at some paths, until done is called. Pages are
// not told: two that count their visitors would have each other count for ever.
func (l *Live) Changing(paths ...string) (done func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range paths {
		l.changing[p]++
	}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for made := range l.making {
			l.renew(made, paths)
		}
		for _, made := range l.pages {
			l.renew(made, paths)
		}
		for _, p := range paths {
			if l.changing[p]--; l.changing[p] == 0 {
				delete(l.changing, p)
			}
		}
	}
}

// renew takes what a script has changed as what it was. l.mu is held.
func (l *Live) renew(made *page, paths []string) {
	for k := range made.looked {
		for _, p := range paths {
			if k.concerns(p) {
				made.looked[k] = l.stamp(k)
				break
			}
		}
	}
}

// concerns tells whether a change of a path, or of folders that are made for it, is seen by a look.
func (k look) concerns(path string) bool {
	if !k.names {
		return k.path == path || strings.HasPrefix(path, k.path+"/")
	}
	return k.path == "/" || strings.HasPrefix(path, k.path+"/")
}

// begin returns what a request is noted in.
func (l *Live) begin() *page {
	made := &page{id: rand.Text(), addresses: map[string]bool{}, looked: map[look]string{}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.making[made] = true
	return made
}

// end ends a request: what was looked at for it belongs to the pages of which one asked for it.
func (l *Live) end(made *page, address, from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.making, made)
	if l.pages[made.id] != nil || from == "" {
		return
	}
	for _, p := range l.pages {
		if !p.addresses[from] {
			continue
		}
		if len(p.addresses) < mostAddresses {
			p.addresses[address] = true
		}
		for k, stamp := range made.looked {
			p.add(k, stamp)
		}
	}
}

// show keeps a request as a page that somebody looks at. Where there are too many, the oldest goes
// that does not listen.
func (l *Live) show(made *page, address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	made.addresses[address] = true
	l.pages[made.id] = made
	l.order = append(l.order, made)
	if len(l.order) <= mostPages {
		return
	}
	for i, p := range l.order {
		if p.listener == nil {
			delete(l.pages, p.id)
			l.order = append(l.order[:i], l.order[i+1:]...)
			return
		}
	}
}

// listen has a page told of a change. A page that is not known was made by another process, or long
// ago, and is told at once. It returns nil where too many listen.
func (l *Live) listen(id string) (told <-chan struct{}, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listens >= mostListeners {
		return nil, nil
	}
	listener := make(chan struct{})
	p := l.pages[id]
	if p == nil {
		close(listener)
		return listener, func() {}
	}
	p.listener = listener
	if l.listens++; l.ended == nil {
		ended := make(chan struct{})
		l.ended = ended
		l.Guard.Go("live reload", func() { l.compare(ended) })
	}
	if p.stale {
		close(listener)
	}
	return listener, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.listens--
		if p.listener == listener { // else the page has come again
			p.listener = nil
		}
	}
}

// compare compares files with what they were, until no page listens.
func (l *Live) compare(ended chan struct{}) {
	defer close(ended)
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for l.compareOnce() {
		<-ticks.C
	}
}

// compareOnce tells pages of what has changed. It reports whether any listens.
func (l *Live) compareOnce() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listens == 0 {
		l.ended = nil
		return false
	}
	stamps := map[look]string{} // pages have much in common
	for _, p := range l.order {
		if p.listener == nil || p.stale || !l.hasChanged(p, stamps) {
			continue
		}
		p.stale = true
		close(p.listener)
	}
	return true
}

func (l *Live) hasChanged(p *page, stamps map[look]string) bool {
	for k, was := range p.looked {
		is, ok := stamps[k]
		if !ok {
			is = l.stamp(k)
			stamps[k] = is
		}
		if is != was && !l.isChanging(k) {
			return true
		}
	}
	return false
}

func (l *Live) isChanging(k look) bool {
	for p := range l.changing {
		if k.concerns(p) {
			return true
		}
	}
	return false
}

// Close ends what listens, and waits for what compares.
func (l *Live) Close() {
	l.close.Do(func() { close(l.closed) })
	l.mu.Lock()
	ended := l.ended
	l.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// addressOf is the address that a Referer names, as requests have it; "" where there is none.
func addressOf(referer string) string {
	u, err := url.Parse(referer)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.RequestURI()
}
