package service

import (
	"context"
	"errors"
	"io"
	"path"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/internal/principal"
	"ql/internal/site"
	"ql/internal/wire"
	"ql/lang/value"
)

// Site is the site of an account, opened for one request of a visitor, to whom it shows what is in
// the account's folder /site. It is closed when the request is answered.
type Site struct {
	Meta
	Settings *site.Settings

	service *Service
	caller  Caller
	account account.Account
	limits  account.Limits
	tree    FileTree     // with the site as of one release, as all that answers the request reads it; nil before opened
	files   engine.Files // the same, for scripts
	held    *heldFolder  // what is remembered of the site; nil where nothing can be
	path    string       // that was found
	at      *heldPath    // what is remembered of it; nil for nothing
	close   func()
}

// Page is a script of a site that a query runs.
type Page struct {
	Site    *Site
	Target  site.Target
	Visitor Visitor // who answers what it asks
}

// SiteAddress says whose site is meant: that of an account by its username, or the one that is served at
// a domain of its owner's.
type SiteAddress struct{ Username, Domain string }

// siteOwner returns the account whose site is at an address. The error is ErrNoPage or ErrNoSite where
// there is none.
func (s *Service) siteOwner(ctx context.Context, at SiteAddress) (account.Account, error) {
	if at.Domain == "" {
		owner, err := s.programOwner(ctx, Program{Owner: at.Username})
		if fault.Is(err, fault.ScriptNotFound) {
			err = ErrNoPage()
		}
		return owner, err
	}
	owner, _, err := s.o.Accounts.BySiteDomain(ctx, at.Domain)
	if errors.Is(err, account.ErrNotFound) || err == nil && owner.Disabled {
		err = ErrNoSite()
	}
	return owner, err
}

// OpenSite opens the site of an account for a visitor. Whether there is no such account, or it has
// no site, makes no difference to those who try names.
func (s *Service) OpenSite(ctx context.Context, c Caller, at SiteAddress) (*Site, error) {
	v := &Site{service: s, caller: c, close: func() {}}
	owner, err := s.siteOwner(ctx, at)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.MisdirectedRequest) {
		return v, s.countSiteMiss(v, err)
	}
	if err != nil {
		return v, err
	}
	v.account, v.limits = owner, owner.Limits(s.o.Limits)
	verdict := s.countVisit(c, owner.ID, v.limits)
	v.Rate = &verdict
	if err := verdict.Err(); err != nil {
		return v, err
	}
	version, ok := s.o.SiteVersion(owner) // before it is read
	if ok {
		if v.held = s.sites.find(owner.ID, version); v.held != nil {
			v.Settings = v.held.settings
			return v, nil
		}
	}
	tree, release, err := s.o.Files(ctx, owner, v.limits)
	if err != nil {
		return v, err
	}
	v.close = release
	var of int64
	if v.tree, v.files, of, err = tree.AsOfRelease(ctx, -1); err == nil {
		err = v.readRoot(ctx)
	}
	if err != nil {
		v.Close()
		return v, err
	}
	if ok {
		v.held = &heldFolder{account: owner.ID, version: version, release: of, settings: v.Settings}
		s.sites.add(v.held)
	}
	return v, nil
}

// opened returns the tree of the site, which is opened when something of it is needed that is not
// remembered.
func (v *Site) opened(ctx context.Context) (FileTree, error) {
	if v.tree != nil {
		return v.tree, nil
	}
	tree, release, err := v.service.o.Files(ctx, v.account, v.limits)
	if err != nil {
		return nil, err
	}
	before := v.close
	v.close = func() {
		before()
		release()
	}
	v.tree, v.files, _, err = tree.AsOfRelease(ctx, v.held.release)
	return v.tree, err
}

// readRoot reads what the site says of itself. Without its folder there is no site.
func (v *Site) readRoot(ctx context.Context) error {
	found, err := v.tree.Stat(ctx, []string{site.Root, site.SettingsPath})
	switch {
	case err != nil:
		return replacedMeanwhile(err)
	case !found[0].Folder:
		return v.service.countSiteMiss(v, ErrNoPage())
	}
	v.Settings, err = v.readSettings(ctx, found[1])
	return err
}

// SeveralSites tells whether more than one account has a site.
func (s *Service) SeveralSites(ctx context.Context) (bool, error) {
	owners, err := s.o.SiteOwners(ctx, 2)
	return len(owners) > 1, err
}

func (s *Service) countSiteMiss(v *Site, refusal error) error {
	_, missed, err := s.countMiss(v.caller, refusal)
	v.Meta = missed.Meta
	return err
}

// ErrNoPage is the answer to whoever asks for a page that is not there.
func ErrNoPage() error { return fault.New(fault.NotFound, "there is no page at this address") }

// ErrNoSite is the answer to a request for a host that no site has.
func ErrNoSite() error {
	return fault.New(fault.MisdirectedRequest, "there is no site of this name here")
}

// IsAt tells whether the site is also at an address.
func (v *Site) IsAt(ctx context.Context, at SiteAddress) bool {
	owner, err := v.service.siteOwner(ctx, at)
	return err == nil && owner.ID == v.account.ID
}

// Close closes the site. It may be called more than once.
func (v *Site) Close() {
	v.close()
	v.close = func() {}
}

// Kinds implements site.Tree.
func (v *Site) Kinds(ctx context.Context, paths []string) ([]site.Kind, error) {
	tree, err := v.opened(ctx)
	if err != nil {
		return nil, err
	}
	found, err := tree.Stat(ctx, paths)
	if err != nil {
		return nil, replacedMeanwhile(err)
	}
	kinds := make([]site.Kind, len(paths))
	for i := range found {
		switch {
		case found[i].Folder:
			kinds[i] = site.Folder
		case found[i].Path != "":
			kinds[i] = site.File
		}
	}
	return kinds, nil
}

// Patterns implements site.Tree.
func (v *Site) Patterns(ctx context.Context, folder string, most int) ([]string, error) {
	tree, err := v.opened(ctx)
	if err != nil {
		return nil, err
	}
	names, err := tree.NamesWith(ctx, folder, "[", most)
	return names, replacedMeanwhile(err)
}

// How many files of sites are on their way at once to one network, and of one account. A browser
// asks for what a page needs by 6 connections, or by one with 100 streams.
const (
	filesPerVisitor = 128
	filesPerSite    = 256
)

// File opens a file of the site, to be sent. It is closed before the site.
func (v *Site) File(ctx context.Context, at string) (FoundFile, error) {
	s := v.service
	found := FoundFile{Meta: v.Meta, Name: path.Base(at), OnBroken: s.logBrokenDownload}
	visitor, own, err := v.handOut(ctx)
	if err != nil {
		return found, err
	}
	release := func() {
		own.Release()
		visitor.Release()
	}
	content, err := v.open(ctx, at)
	if err != nil {
		release()
		return found, missingPage(err)
	}
	found.Content = content
	found.Close = func() {
		_ = content.Close() // it was only read
		release()
	}
	found.CountSent = func(bytes int64) { v.CountSent(ctx, bytes) }
	return found, nil
}

// withoutLimit is a refusal by a bound that is none of the account's plan.
func withoutLimit(err error) error {
	var refused *admit.Refused
	if errors.As(err, &refused) {
		refused.Limit = 0
	}
	return err
}

// replacedMeanwhile is the answer where a site was deployed so often since the request came that what
// it was then is kept no more.
func replacedMeanwhile(err error) error {
	var known *value.Error
	if errors.As(err, &known) && known.Code == "file_changed" {
		return fault.Retryable(fault.Overloaded, time.Second, "the site was replaced while this page was made")
	}
	return err
}

// missingPage is the answer where a file went away since it was found.
func missingPage(err error) error {
	err = replacedMeanwhile(err)
	var known *value.Error
	if errors.As(err, &known) {
		return ErrNoPage()
	}
	return err
}

// mostOwn is how long a file of a site may be that the service puts into its own answers.
const mostOwn = 256 << 10

// Own returns a text of the site that stands for one of the service's own, below its root; nil where
// it has none, or one that is too long.
func (v *Site) Own(ctx context.Context, name string) ([]byte, error) {
	tree, err := v.opened(ctx)
	if err != nil {
		return nil, err
	}
	content, err := tree.Open(ctx, site.Root+"/"+name)
	var known *value.Error
	if errors.As(err, &known) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }() // it was only read
	size := content.Size()
	if size > mostOwn {
		return nil, nil
	}
	if size > UnreservedBytes {
		if err := v.caller.Memory.Grow(ctx, size); err != nil {
			return nil, err
		}
	}
	text := make([]byte, size)
	_, err = io.ReadFull(content, text)
	return text, err
}

// openPage reads the script of a page. That one is too long is the owner's affair.
func (s *Service) openPage(ctx context.Context, c Caller, q *Query, l account.Limits) error {
	v := q.Page.Site
	tree, err := v.opened(ctx) // the script may read other files of it
	if err != nil {
		return err
	}
	known := v.known(q.Page.Target.Path)
	if known != nil {
		if text := known.script.Load(); text != nil && len(*text) <= l.ScriptBytes {
			q.Script = *text
			return nil
		}
	}
	content, err := tree.Open(ctx, q.Page.Target.Path)
	if err != nil {
		return missingPage(err)
	}
	defer func() { _ = content.Close() }() // it was only read
	size := content.Size()
	if size > int64(l.ScriptBytes) {
		return s.recordSiteFault(ctx, v.account.ID, wire.Error{
			Code: string(fault.LimitExceeded), Message: "the script of the page is too long", Limit: "script_bytes", Max: int64(l.ScriptBytes), File: q.Page.Target.Path,
		})
	}
	if size > UnreservedBytes {
		if err := c.Memory.Grow(ctx, 2*size); err != nil {
			return err
		}
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(content, text); err != nil {
		return err
	}
	q.Script = string(text)
	if known != nil && size <= mostHeld {
		script := q.Script
		s.sites.addContent(v.held, v.path, known, len(script), func() bool { return known.script.CompareAndSwap(nil, &script) })
	}
	return nil
}

// visitor is who a page is run for: whoever comes, whatever page led there.
func (v *Site) visitor() caller {
	who := principal.Anyone(v.account)
	who.Session = v.caller.Session
	return caller{Principal: who}
}

// slowView is how long a page takes at least that is kept as a job for its slowness.
const slowView = time.Second

// keeps tells whether the record of a run is kept. Pages are looked at so often that those which
// came to their end are not, but for slow ones, where the site does not say otherwise; a developer
// has all.
func (s *Service) keeps(q *Query, r *job.Record) bool {
	if q.Page == nil || s.o.Unlimited {
		return true
	}
	switch q.Page.Site.Settings.Records {
	case site.RecordAll:
		return true
	case site.RecordNone:
		return false
	}
	return r.State == job.Failed || r.Ran > slowView
}

// countServed returns what counts a view whose answer was sent. A job's call is counted with its
// record.
func (s *Service) countServed(ctx context.Context, r *job.Record, kept bool) func(bytes int64) {
	used := usage.Used{}
	if !kept {
		used.Calls, used.Running = 1, r.Ran
	}
	a := r.Account
	return func(bytes int64) {
		used.Egress = bytes
		s.countUsed(ctx, a, used)
	}
}

// countUsed counts what a visitor of a site was served.
func (s *Service) countUsed(ctx context.Context, a account.ID, used usage.Used) {
	if err := s.o.Usage.Served(ctx, a, used); err != nil && !errors.Is(err, account.ErrNotFound) {
		s.o.Log.Error("what was served of a site was not counted", "account", a, "error", err)
	}
}
