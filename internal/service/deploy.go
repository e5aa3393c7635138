package service

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/engine"
	"ql/internal/execution"
	"ql/internal/fault"
	"ql/internal/wire"
)

// DeployedSite is the site of an account, as its owner deploys it. Errors about files are those of
// engine.Files.
type DeployedSite interface {
	// Plan compares the site with files, which are contents by paths.
	Plan(ctx context.Context, files map[string]wire.Digest) (*wire.SitePlan, error)
	// StoreContent takes content for a deploy from a stream of so many bytes, negative where that is not
	// known, and reports whether it was not there. What is there is not read.
	StoreContent(ctx context.Context, d wire.Digest, from io.Reader, size int64) (made bool, err error)
	// StoreZip stores the contents of a zip file likewise, once all of it is found sound, in the turns of pace,
	// and returns contents by paths. No file may be larger than mostFile, 0 for no bound.
	StoreZip(ctx context.Context, from io.Reader, mostFile int64, pace engine.Pace) (files map[string]wire.Digest, err error)
	// Preview returns the account's files as they would be read after a deploy, and the paths of the
	// scripts among them.
	Preview(ctx context.Context, files map[string]wire.Digest) (_ engine.Files, scripts []string, err error)
	// Deploy makes the site what files say, if may lets it, by the release that is the current one, and
	// Restore what an earlier release was. They return the release that has that, and whether it was made.
	Deploy(ctx context.Context, files map[string]wire.Digest, by, key string, may func(current wire.SiteRelease) error) (wire.SiteRelease, bool, error)
	Restore(ctx context.Context, number int64, by, key string, may func(current wire.SiteRelease) error) (wire.SiteRelease, bool, error)
	// Release returns the current release, a zero one for none.
	Release(ctx context.Context) (wire.SiteRelease, error)
	// Releases returns up to limit releases, the newest first: those before a number, 0 for the newest.
	Releases(ctx context.Context, before int64, limit int) ([]wire.SiteRelease, error)
}

// The access to a site. Who deploys has scripts run with what they reach, so a named key must be one
// that may run them anyway.
var (
	showSite   = access{"the site", passwordOrName, scope.Manage}
	deploySite = access{"the site", passwordOrName, scope.Run | scope.Manage}
)

// openSite is the site of an account, opened for a caller.
type openSite struct {
	DeployedSite
	caller
	limits account.Limits
	leave  func()
}

// openSite lets a caller to the site of an account. Leave is to be called where there is no error.
func (s *Service) openSite(ctx context.Context, c Caller, p *Credentials, a access, count func(caller, account.Limits) Meta) (openSite, Meta, error) {
	o := openSite{}
	owner, err := s.authenticateOwner(ctx, c, p, a)
	if err != nil {
		return o, Meta{Origin: owner.origin}, err
	}
	o.caller, o.limits = owner, owner.Account.Limits(s.o.Limits)
	meta := count(owner, o.limits)
	if err := meta.Rate.Err(); err != nil {
		return o, meta, err
	}
	// As files: a deploy is as much work for the store.
	leave, err := s.o.Transfers.Acquire(ctx, int64(owner.Account.ID), o.limits.Concurrent)
	if err != nil {
		return o, meta, err
	}
	tree, release, err := s.o.Files(ctx, owner.Account, o.limits)
	if err != nil {
		leave()
		return o, meta, err
	}
	o.DeployedSite, o.leave = tree.Deployed(), func() {
		leave()
		release()
	}
	return o, meta, nil
}

// countSite counts a call about a site as any other.
func (s *Service) countSite(c Caller) func(caller, account.Limits) Meta {
	return func(owner caller, l account.Limits) Meta {
		verdict := s.countCall(owner, c, l)
		return Meta{Origin: owner.origin, Rate: &verdict}
	}
}

// SiteAnswer is a site with the release that is, or has become, the current one.
type SiteAnswer struct {
	Meta
	Release wire.SiteRelease // zero for none
	Created bool             // it was made by this call
}

// Site shows the site of an account.
func (s *Service) Site(ctx context.Context, c Caller, p *Credentials) (SiteAnswer, error) {
	site, meta, err := s.openSite(ctx, c, p, showSite, s.countSite(c))
	a := SiteAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	defer site.leave()
	a.Release, err = site.DeployedSite.Release(ctx)
	return a, err
}

// ReleaseListing is a page of the releases of a site, the newest first.
type ReleaseListing struct {
	Meta
	Releases []wire.SiteRelease
	Next     string // "" for the last page
}

// SiteReleases lists the releases of a site before one, "" for the newest.
func (s *Service) SiteReleases(ctx context.Context, c Caller, p *Credentials, before string, limit int) (ReleaseListing, error) {
	site, meta, err := s.openSite(ctx, c, p, showSite, s.countSite(c))
	l := ReleaseListing{Meta: meta}
	if err != nil {
		return l, err
	}
	defer site.leave()
	from, err := beforeNumber(before, "a release")
	if err != nil {
		return l, err
	}
	l.Releases, err = site.Releases(ctx, from, limit+1)
	l.Releases, l.Next = cutPage(l.Releases, limit, func(r *wire.SiteRelease) string { return strconv.FormatInt(r.Number, 10) })
	return l, err
}

// SitePlanAnswer is how a site differs from a manifest.
type SitePlanAnswer struct {
	Meta
	Plan *wire.SitePlan
}

// manifestFile is about what a file of a manifest takes while it is compared and deployed, besides the
// body that names it; removed ones are as many again.
const manifestFile = 1 << 10

// reserveManifest reserves what a deploy takes in memory.
func reserveManifest(ctx context.Context, c Caller, m *wire.SiteManifest) error {
	return c.Memory.Grow(ctx, manifestFile*int64(len(m.Files))+UnreservedBytes)
}

// PlanSite compares the site with a manifest, and tells what of its content is to be sent.
func (s *Service) PlanSite(ctx context.Context, c Caller, p *Credentials, m *wire.SiteManifest) (SitePlanAnswer, error) {
	site, meta, err := s.openSite(ctx, c, p, deploySite, s.countSite(c))
	a := SitePlanAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	defer site.leave()
	if err := reserveManifest(ctx, c, m); err != nil {
		return a, err
	}
	a.Plan, err = site.Plan(ctx, m.Files)
	return a, fileFault(err)
}

// StoredContent is content that was taken for a deploy.
type StoredContent struct {
	Meta
	Created bool // it was not there
}

// SiteContent is content that a caller sends for a deploy.
type SiteContent struct {
	Digest wire.Digest
	Size   int64 // negative where it is not known
	Body   func() (io.Reader, error)
}

// StoreSiteContent takes content for a deploy.
func (s *Service) StoreSiteContent(ctx context.Context, c Caller, p *Credentials, sent SiteContent) (StoredContent, error) {
	// A deploy sends many, which are not to keep the account's scripts from running.
	site, meta, err := s.openSite(ctx, c, p, deploySite, func(owner caller, _ account.Limits) Meta {
		verdict := s.countOften(rateContents, c, owner.Account)
		return Meta{Origin: owner.origin, Rate: &verdict}
	})
	a := StoredContent{Meta: meta}
	if err != nil {
		return a, err
	}
	defer site.leave()
	most := site.limits.FileBytes
	if most > 0 && sent.Size > most {
		return a, fileTooLarge(most)
	}
	body := &limitedBody{open: sent.Body, most: most}
	a.Created, err = site.StoreContent(ctx, sent.Digest, body, sent.Size)
	return a, fileFault(err)
}

// DeploySite makes the site what a manifest says, once every script of it compiles, if may lets it by
// the release that is the current one.
func (s *Service) DeploySite(ctx context.Context, c Caller, p *Credentials, m *wire.SiteManifest, may Condition) (SiteAnswer, error) {
	return s.deploySite(ctx, c, p, may, func(*openSite) (*wire.SiteManifest, error) { return m, reserveManifest(ctx, c, m) })
}

// zipMemory is what a deploy of a zip file takes in memory at most: its directory as it is read, and a
// manifest.
const zipMemory = 12<<20 + manifestFile*wire.MaxManifest

// SiteZip is a zip file of a site that a caller sends.
type SiteZip struct {
	Size int64 // negative where it is not known
	Body func() (io.Reader, error)
}

// DeployZip makes the site what a zip file has, likewise.
func (s *Service) DeployZip(ctx context.Context, c Caller, p *Credentials, sent SiteZip, may Condition) (SiteAnswer, error) {
	return s.deploySite(ctx, c, p, may, func(site *openSite) (*wire.SiteManifest, error) {
		most := site.limits.FileBytes
		if most > 0 && sent.Size > most {
			return nil, fileTooLarge(most)
		}
		if err := c.Memory.Grow(ctx, zipMemory); err != nil {
			return nil, err
		}
		ticket := s.o.Gate.Auxiliary(int64(site.Account.ID))
		defer ticket.Release()
		files, err := site.StoreZip(ctx, &limitedBody{open: sent.Body, most: most}, most, ticket)
		return &wire.SiteManifest{Files: files}, err
	})
}

// deploySite makes the site what the manifest says that take gives.
func (s *Service) deploySite(ctx context.Context, c Caller, p *Credentials, may Condition, take func(*openSite) (*wire.SiteManifest, error)) (SiteAnswer, error) {
	site, meta, err := s.openSite(ctx, c, p, deploySite, s.countDeploy)
	a := SiteAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	defer site.leave()
	// Before all the work, and once more with the change.
	current, err := site.DeployedSite.Release(ctx)
	if err == nil {
		err = mayDeploy(may)(current)
	}
	if err != nil {
		return a, err
	}
	m, err := take(&site)
	if err == nil {
		err = s.compileSite(ctx, c, &site, m)
	}
	if err != nil {
		return a, fileFault(err)
	}
	a.Release, a.Created, err = site.Deploy(s.acting(ctx, c, &site.Principal), m.Files, string(site.By), site.Key.Name, mayDeploy(may))
	return a, fileFault(err)
}

// RestoreSite makes the site what an earlier release was, likewise. Its scripts are not compiled: they
// were, and who brings an earlier release back has no time for what is wrong with the language since.
func (s *Service) RestoreSite(ctx context.Context, c Caller, p *Credentials, release string, may Condition) (SiteAnswer, error) {
	site, meta, err := s.openSite(ctx, c, p, deploySite, s.countDeploy)
	a := SiteAnswer{Meta: meta}
	if err != nil {
		return a, err
	}
	defer site.leave()
	number, err := strconv.ParseInt(release, 10, 64)
	if err != nil || number < 1 || strconv.FormatInt(number, 10) != release {
		return a, fault.New(fault.NotFound, "%.40q is no number of a release: GET /v1/sites/main/releases lists those that there are", release)
	}
	if err := c.Memory.Grow(ctx, manifestFile*wire.MaxManifest); err != nil {
		return a, err
	}
	a.Release, a.Created, err = site.Restore(s.acting(ctx, c, &site.Principal), number, string(site.By), site.Key.Name, mayDeploy(may))
	return a, fileFault(err)
}

// SiteTag is the ETag of a site at a release; "" where there is none.
func SiteTag(r *wire.SiteRelease) string {
	if r.Number == 0 {
		return ""
	}
	return strconv.FormatInt(r.Number, 10)
}

func mayDeploy(may Condition) func(wire.SiteRelease) error {
	return func(current wire.SiteRelease) error {
		if may(SiteTag(&current), current.MadeAt) {
			return nil
		}
		if current.Number == 0 {
			return fault.New(fault.PreconditionFailed, "the site is not as the request's condition says: it has no release")
		}
		return fault.New(fault.PreconditionFailed, "the site is not as the request's condition says: release %d is the current one, made at %s", current.Number, current.MadeAt.UTC().Format(time.RFC3339))
	}
}

// compileSite compiles all scripts of a site that is to be deployed, in the turns of its account and within the time of
// a call. What is wrong with all of them is one error.
func (s *Service) compileSite(ctx context.Context, c Caller, site *openSite, m *wire.SiteManifest) error {
	files, scripts, err := site.Preview(ctx, m.Files)
	if err != nil {
		return err
	}
	if err := c.Memory.Grow(ctx, int64(site.limits.ScriptBytes)); err != nil { // one text after the other
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, site.limits.SyncTime)
	defer cancel()
	ticket := s.o.Gate.Auxiliary(int64(site.Account.ID))
	defer ticket.Release()
	spec := execution.Spec{Client: c.Addr, Started: s.o.Clock(), Limits: site.limits.SyncMachine(), Files: files}
	var wrong *wire.Error
	for _, path := range scripts {
		failure, err := s.compileFile(ctx, site, path, spec, ticket)
		if err != nil {
			return err
		}
		if failure != nil {
			wrong = joinFailures(wrong, failure, path)
		}
	}
	if wrong != nil {
		return &scriptFailure{wrong}
	}
	return nil
}

// compileFile compiles one script of a site.
func (s *Service) compileFile(ctx context.Context, site *openSite, path string, spec execution.Spec, pace engine.Pace) (*wire.Error, error) {
	pace.Yield()
	text, err := spec.Files.Read(ctx, path, site.limits.ScriptBytes)
	if ctx.Err() != nil {
		most := site.limits.SyncTime
		return nil, &scriptFailure{&wire.Error{
			Code: string(fault.LimitExceeded), Limit: "sync_time", Max: most.Milliseconds(),
			Message: fmt.Sprintf("to compile the scripts of the site took longer than the %g seconds that a call may take", most.Seconds()),
		}}
	}
	if err != nil {
		return nil, err
	}
	x, err := s.o.Host.Open(ctx, s.o.NewID(), site.Account, site.limits, spec, pace)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	_, failure, err := x.Compile(ctx, string(text))
	if err == nil && failure != nil && x.Fault() != nil {
		err = x.Fault()
	}
	if err == nil && failure != nil && failure.Code != string(fault.SyntaxError) {
		err = &scriptFailure{failure} // a limit: the others would meet it too
	}
	return failure, err
}

// mostSiteMistakes is how many errors of a site's scripts are told.
const mostSiteMistakes = 200

// joinFailures adds the errors of a script to those of others. The place of each is a file of the site.
func joinFailures(all, failure *wire.Error, path string) *wire.Error {
	for i := range failure.Details {
		if d := &failure.Details[i]; d.File == "" {
			d.File = path
		}
	}
	if failure.File == "" {
		failure.File = path
	}
	if all == nil {
		return failure
	}
	for _, d := range failure.Details {
		// A file that several include is wrong once.
		if len(all.Details) < mostSiteMistakes && !hasDetail(all.Details, d) {
			all.Details = append(all.Details, d)
		}
	}
	return all
}

func hasDetail(list []wire.Detail, d wire.Detail) bool {
	for i := range list {
		if list[i] == d {
			return true
		}
	}
	return false
}
