package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/account/seal"
	"ql/internal/account/usage"
	"ql/internal/admit"
	"ql/internal/app/tree"
	"ql/internal/auth"
	"ql/internal/config"
	"ql/internal/domainproof"
	"ql/internal/forward"
	"ql/internal/guard"
	"ql/internal/hostname"
	"ql/internal/job"
	"ql/internal/network"
	"ql/internal/observe"
	"ql/internal/password"
	"ql/internal/platform"
	"ql/internal/record"
	"ql/internal/resource"
	"ql/internal/resource/databases/ship"
	"ql/internal/resource/files"
	machines "ql/internal/resource/machines/owned"
	"ql/internal/resource/sessions"
	"ql/internal/resource/shares"
	"ql/internal/resource/shares/owned"
	"ql/internal/schedule"
	"ql/internal/server"
	"ql/internal/server/asset"
	"ql/internal/server/dashboard"
	"ql/internal/server/download"
	"ql/internal/server/formapi"
	"ql/internal/server/formpage"
	"ql/internal/server/jsonapi"
	"ql/internal/server/livereload"
	"ql/internal/server/openapi"
	"ql/internal/server/runapi"
	"ql/internal/service"
	"ql/internal/signin"
	"ql/internal/store"
	"ql/internal/store/backend"
	"ql/internal/store/blob"
	"ql/internal/store/sqlite"
	"ql/internal/telemetry"
	"ql/internal/tlscert"
	"ql/internal/upkeep"
	"ql/internal/webhook"
	"ql/internal/wire"
	"ql/internal/worker"
	"ql/lang"
)

// parts are what a service is made of.
type parts struct {
	opened       backend.Opened
	store        store.Store
	accounts     *account.Service
	blobs        *files.Blobs
	resources    *resource.Pool
	upkeep       *upkeep.Upkeep
	shares       *shares.Shares
	tally        *usage.Tally
	inventory    resource.Inventory
	recorder     *record.Recorder
	worker       *worker.Worker
	caller       *network.Client
	webhooks     *webhook.Sender
	schedules    *schedule.Runner
	mailing      *resource.Mailing // nil where no mails are sent
	signIns      *signin.SignIns
	programs     *lang.Cache
	limiter      *admit.Limiter
	gate         *admit.Gate
	logins       *password.Gate // hashes of those who log in
	hashing      *password.Gate // hashes that scripts make
	ledger       *admit.Ledger
	metrics      *telemetry.Metrics
	guard        *guard.Guard
	tls          *tls.Config      // nil for plain HTTP
	certificates *tlscert.Monitor // nil for plain HTTP
	proofs       *domainproof.Checker
	traces       *telemetry.Traces
	observer     *observe.Observer
	handouts     *admit.TransferLimiter // files on their way to visitors of sites
	nodes        *forward.Nodes         // nil where there is one
	siteHandler  http.Handler           // nil where there are no sites
	mount        *files.Mount           // the real folder of a site; nil for none
	live         *livereload.Live       // likewise
}

// mostListeners is how many wait for changes of jobs on a node at once, each counted for its account and its network.
const mostListeners = 2 * 8192

// programBytes is how much memory compiled scripts may take.
const programBytes = 64 << 20

// openStore opens the data folder for this process alone.
func (a *App) openStore(ctx context.Context) error {
	was, stays, err := sqlite.MakeFolder(a.settings.Data)
	switch {
	case err != nil:
		return err
	case stays:
		a.o.Log.Warn("the data folder is accessible to other users of this machine and its permissions cannot be changed: they see the names in it", "data", a.settings.Data, "mode", fmt.Sprintf("%04o", was))
	case was != 0:
		a.o.Log.Warn("the data folder was accessible to other users of this machine: its permissions were restricted", "data", a.settings.Data, "mode", fmt.Sprintf("%04o", was))
	}
	opened, err := backend.Open(ctx, backend.Options{
		Data: a.settings.Data, Database: a.settings.Database, Direct: a.settings.DatabaseDirect, Own: true, Create: true, Join: a.settings.Blobs != nil, Grown: a.growth.Add, AcceptDamage: a.o.AcceptDamage, Log: a.o.Log,
	})
	if err != nil {
		return err
	}
	a.parts.opened, a.parts.store = opened, opened.Aggregate().CacheAccounts().CacheSites()
	a.stores("store", func(context.Context) error { return opened.Close() })
	a.parts.inventory = resource.Inventory{Elsewhere: a.settings.Database != "", Data: a.settings.Data, Folder: sqlite.AccountFolder, Store: a.parts.store.Databases, Log: a.o.Log, AcceptDamage: a.o.AcceptDamage}
	if err := a.parts.inventory.Check(ctx); err != nil {
		return err
	}
	a.closes("inventory of databases", func(ctx context.Context) error { return a.parts.inventory.Update(ctx, time.Now()) })
	vault, err := seal.OpenVault(ctx, a.parts.store.Accounts, a.settings.MasterKeyPath(), false)
	if err != nil {
		return err
	}
	a.parts.accounts = account.NewService(a.parts.store.Accounts, vault, account.Options{
		Gate: a.newHashing(), Dev: a.settings.Dev, KeysOnce: a.settings.KeysOnce, Limits: a.settings.Limits, Plans: a.settings.PlanNames(), OwnHosts: a.settings.OwnHosts(),
	})
	return nil
}

// build puts the service together and returns what answers its callers.
func (a *App) build(ctx context.Context) (http.Handler, error) {
	p := &a.parts
	p.metrics = telemetry.NewMetrics(a.o.Version)
	p.guard = guard.New(a.o.Log, p.metrics.CountPanic)
	if err := a.openCertificates(); err != nil {
		return nil, err
	}
	p.ledger = admit.NewLedger(admit.LedgerOptions{Budget: a.o.CallMemory, Unlimited: a.settings.Dev})
	if err := a.openResources(ctx); err != nil {
		return nil, err
	}
	authenticator, err := a.authenticator(ctx)
	if err != nil {
		return nil, err
	}
	p.programs = lang.NewCache(programBytes)
	p.limiter = admit.NewLimiter(admit.LimiterOptions{Unlimited: a.settings.Dev, Shared: p.store.Buckets})
	p.gate = admit.NewGate(admit.GateOptions{Slots: a.o.Cores, SpareSlots: a.o.Cores, SchedYield: platform.Yield, Memory: a.o.Memory, Unlimited: a.settings.Dev})
	p.recorder = record.NewRecorder(p.store.Jobs, record.Options{
		Log: p.store.Log, Guard: p.guard,
		Failed: func(err error) {
			a.o.Log.Error("records of jobs could not be stored and will be retried", "error", err)
			p.blobs.MakeRoom(p.store.Files, err)
		},
		LogFailed: func(err error) {
			a.o.Log.Error("the intake log failed and is disabled until the next start: until then jobs take longer to be accepted", "error", err)
		},
	})
	a.stores("recorder", p.recorder.Close)
	if a.settings.OTLPEndpoint != "" {
		if p.traces, err = telemetry.NewTraces(ctx, a.settings.OTLPEndpoint, a.o.Version, a.o.Log); err != nil {
			return nil, err
		}
		a.closes("traces", func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			return p.traces.Close(ctx)
		})
	}
	p.handouts = a.newHandouts()
	host := a.host(a.o.Log)
	p.worker = a.newWorker(host)
	p.resources.ShipAs(p.worker.ValidMember)
	p.caller = network.NewClient(a.egress(), network.ForWebhooks())
	a.closes("webhook client", func(context.Context) error { p.caller.Close(); return nil })
	p.proofs = domainproof.New(a.egress(), network.Options{})
	a.closes("proofs of domains", func(context.Context) error { p.proofs.Close(); return nil })
	service := service.New(service.Options{
		Auth: authenticator, Dashboard: authenticator, Accounts: p.store.Accounts, Audit: p.store.Audit, Keys: p.accounts, Owners: p.accounts, SignIns: p.signIns, SignUps: p.accounts, Administration: p.accounts, AdminsInvite: a.settings.SignUp != config.SignUpClosed,
		Node: wire.Node{Version: a.o.Version, URL: a.url, SignUp: string(a.settings.SignUp), Dev: a.settings.Dev, StartedAt: a.began}, OpenSignUp: a.settings.SignUp == config.SignUpOpen, SignsInDevelopers: a.settings.Local(), SignsInByLink: a.settings.DevPublic, Domains: p.accounts, CheckDomain: p.proofs.Check, SiteDomains: p.accounts, CheckRecord: p.proofs.CheckRecord, Scripts: p.accounts, Limiter: p.limiter, Gate: p.gate, Ledger: p.ledger,
		Host: host, Records: p.recorder, History: p.store.Jobs, Jobs: p.worker, Pages: p.accounts.Sealer(), NewID: p.store.NewID, MayCome: p.store.MayCome, URLs: a.urls(), Limits: a.settings.Limits, Plans: a.settings.PlanNames(),
		Schedules: p.store.Schedules, ScheduleInputs: p.accounts.Sealer(), OnSchedule: func() { p.schedules.Wake() }, Machines: machines.Machines{Registry: p.resources.Machines(), Reach: p.resources.TestMachine},
		Shares: owned.Links{Admin: shares.Admin{Store: p.store.Shares, Clock: time.Now}, Of: p.resources.Links},
		Usage:  p.tally, StorageUsed: p.resources.StoredBytes, RecordsUsed: p.store.Jobs.RecordBytes,
		Listeners: admit.NewTransferLimiter(admit.TransferOptions{Max: mostListeners, Reason: admit.TooManyListeners, Unlimited: a.settings.Dev}),
		Databases: a.openDatabases, Changes: p.store.Changes, Mails: service.Mails{History: p.store.Mails, Sealer: p.accounts.Sealer()},
		Webhooks: service.Webhooks{History: p.store.Deliveries, Wake: func() { p.webhooks.Wake() }},
		Files:    tree.Of(p.resources), Transfers: admit.NewTransferLimiter(admit.TransferOptions{Max: mostTransfers, Wait: transferWait, Unlimited: a.settings.Dev}),
		Handouts: p.handouts, SiteOwners: p.store.Files.SiteOwners, SiteVersion: p.resources.SiteVersions(p.store.SiteVersions.SiteVersion),
		CheckWebhook: p.caller.Check, DevelopmentWebhooks: a.settings.Dev, Unlimited: a.settings.Dev, Log: a.o.Log,
		OnDeleted: func() { p.upkeep.RequestDeletions() },
		OnRun:     func(state job.State, took time.Duration) { p.metrics.ObserveRun(string(state), took) },
	})
	host.Calls, host.SignalURL = service.Calls, service.SignalURL
	if err := a.startJobs(ctx, service); err != nil {
		return nil, err
	}
	checkHost := server.CheckHost(a.settings.Hosts())
	handler := server.New(server.Options{
		Routes: slices.Concat(jsonapi.Routes(service), formapi.Routes(service), formpage.Routes(service), asset.Routes(), runapi.Routes(service), download.Routes(a.downloads()),
			dashboard.Routes(dashboard.Options{Dev: a.settings.Local(), SignUp: string(a.settings.SignUp), Own: a.url, Files: cmp.Or(a.settings.FileURL, a.url)})),
		Preflight: authenticator.Preflight, CheckRequest: checkHost, Ready: a.ready, OpenAPI: openapi.Document(),
		Proxies: a.settings.TrustedProxies, HTTPS: strings.HasPrefix(a.url, "https://"), PlainCookies: a.settings.Dev,
		Gate: p.gate, Ledger: p.ledger, BodyTime: a.settings.ReadTimeout, Log: a.o.Log, Guard: p.guard, OnServed: p.metrics.ObserveRequest, Nodes: p.nodes,
	})
	sites := a.buildSites(service)
	if err := a.startUpkeep(ctx); err != nil {
		return nil, err
	}
	var next http.Handler = handler
	if a.settings.Dev && a.settings.MetricsListen == "" {
		next = server.LocalMetrics(p.metrics.Handler(), next, checkHost)
	}
	next = p.traces.Middleware(next, func(r *http.Request) string { return cmp.Or(handler.Pattern(r.URL.Path), "none") })
	if sites != nil && a.settings.SitesShare() {
		next = server.ByHost(a.settings.Hosts(), next, sites)
	}
	return next, nil
}

// startUpkeep removes, from now on, what is stored no longer.
func (a *App) startUpkeep(ctx context.Context) error {
	p := &a.parts
	p.observer = observe.New(observe.Parts{
		Gate: p.gate, Limiter: p.limiter, Ledger: p.ledger, Logins: p.logins, Hashing: p.hashing, Certificates: p.certificates, Programs: p.programs,
		LinesLeftOut: a.linesLeftOut, Store: p.store, Recorder: p.recorder, Worker: p.worker, Schedules: p.schedules, Data: a.settings.Data, RequiredDisk: requiredDisk,
	})
	// So that there is something to show from the start.
	if err := p.observer.Observe(ctx, time.Now()); err != nil {
		a.o.Log.Error("what metrics show of the store could not be counted and will be tried again", "error", err)
	}
	p.upkeep = upkeep.New(upkeep.Options{
		Accounts: p.accounts, AccountStore: p.store.Accounts, Jobs: p.store.Jobs, Queue: p.store.Queue, Deliveries: p.store.Deliveries, Mails: p.store.Mails,
		Shares: p.store.Shares, Files: p.store.Files, Blobs: p.blobs, Resources: p.resources, Store: p.store,
		Data: a.settings.Data, MinFreeDisk: minFreeDisk, Growth: a.growth, Limits: a.settings.Limits,
		PurgeDevelopment: !a.settings.Dev && a.settings.DevUsername != "", Began: a.began,
		Buckets: p.store.Buckets, Duties: p.opened.Duties(p.store), Member: p.worker.ValidMember, Own: []upkeep.Task{p.certificates.Remind, p.inventory.Update}, Tasks: []upkeep.Task{p.accounts.CheckSites(p.proofs.CheckRecord), p.signIns.Sweep, p.accounts.SweepInvitations}, Observe: p.observer.Observe, Guard: p.guard, Log: a.o.Log,
	})
	p.upkeep.Start()
	a.closes("upkeep", p.upkeep.Stop)
	return p.observer.Register(p.metrics, p.upkeep)
}

// openCertificates makes ready what encrypts connections, where the settings say so.
func (a *App) openCertificates() (err error) {
	s, p := &a.settings, &a.parts
	if !s.TLS() {
		return nil
	}
	o := tlscert.Options{
		CertFiles: s.TLSCert, KeyFiles: s.TLSKey, Domains: s.ACMEDomains, Directory: s.ACMEURL, Email: s.ACMEEmail, Folder: filepath.Join(s.Data, "acme"),
		Log: a.o.Log, Clock: time.Now,
	}
	if s.ACMESites {
		o.Sites = p.accounts
	}
	p.tls, p.certificates, err = tlscert.Open(o)
	return err
}

// openResources opens what scripts reach.
func (a *App) openResources(ctx context.Context) error {
	p := &a.parts
	blobs, err := blob.OpenShared(ctx, a.settings.Data, a.settings.Blobs, p.opened.Bucket, p.opened.IsFirst())
	if err != nil {
		return fmt.Errorf("contents of files: %w", err)
	}
	p.blobs = blobs
	a.closes("blobs", func(context.Context) error { return blobs.Close() })
	lock, err := sqlite.OpenBlobLock(a.settings.Data)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	a.closes("blobs' lock", func(context.Context) error { return lock.Close() })
	blobs.SetRemovalLock(lock.TryExclusive)
	if err := blobs.Recover(ctx, p.store.Files, p.opened.IsFirst(), p.opened.Bucket != nil); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	trees := files.NewTrees(p.store.Files, blobs, time.Now)
	p.tally = usage.NewTally(p.store.Usage, time.Now)
	a.stores("views of sites", p.tally.StartViews(p.guard, func(err error) {
		a.o.Log.Error("views of sites could not be stored and will be retried", "error", err)
	}))
	p.shares = resource.NewShares(p.store.Shares, trees, cmp.Or(a.settings.FileURL, a.url), time.Now)
	fetcher := resource.NewFetcher(resource.FetcherOptions{Policy: a.egress(), Plans: a.settings.Plans, Dev: a.settings.Dev, Done: p.metrics.ObserveFetch, Guard: p.guard, Ledger: p.ledger})
	reached, err := resource.NewMachines(ctx, resource.MachineOptions{Store: p.store.Machines, Sealer: p.accounts.Sealer(), Policy: a.egress(), Ledger: p.ledger, Guard: p.guard, Done: p.metrics.ObserveMachine})
	if err != nil {
		return err
	}
	if err := a.openSiteFolder(); err != nil {
		return err
	}
	p.mailing = resource.NewMailing(resource.MailOptions{Ledger: p.ledger, Store: p.store.Mails, Accounts: p.accounts, Trees: trees, Server: a.settings.MailServer, Password: a.settings.MailPassword, From: a.settings.MailFrom, Dev: a.settings.Dev, Data: a.settings.Data, Log: a.o.Log, Guard: p.guard, OnAttempt: p.metrics.CountMail, OnSent: a.downloaded})
	folder, areCopies := p.opened.Databases()
	p.resources = resource.New(resource.Options{
		Mount:  p.mount,
		Folder: filepath.Join(a.settings.Data, folder), Ship: ship.Options{Changes: p.store.Shipped, Blobs: blobs, Sealer: p.accounts.Sealer(), Log: a.o.Log}.If(areCopies), Guard: p.guard, Usage: p.store.Files, Trees: trees, Reclaims: p.opened.IsFirst(),
		Dev: a.settings.Dev, Accounts: p.accounts, Shares: p.shares, Sessions: sessions.New(p.store.Sessions, sessions.Options{Turns: p.store.Turns, Holder: func() int64 { return p.worker.Member().Incarnation }}), Fetcher: fetcher, Machines: reached, Mails: p.mailing, Tally: p.tally,
	})
	a.closes("databases", func(context.Context) error { return p.resources.Close() })
	a.closes("fetches", func(context.Context) error { fetcher.Close(); return nil })
	return nil
}

func (a *App) authenticator(ctx context.Context) (*auth.Authenticator, error) {
	a.parts.logins = auth.NewGate(password.AtOnce(a.o.Cores, a.o.Memory, password.DefaultMemory), a.settings.Dev)
	a.parts.signIns = signin.New(a.parts.store.SignIns, a.parts.accounts.Sealer(), time.Now)
	o := auth.Options{
		Dashboard: a.dashboard(), SignIns: a.parts.signIns,
		Gate: a.parts.logins, Plain: a.settings.Dev, Unthrottled: a.settings.Dev, Shared: a.parts.store.Buckets, Own: a.origins(), Guard: a.parts.guard, Log: a.parts.store.Audit, Limits: a.settings.Limits,
		OnFailure: observe.LoginFailures(a.o.Log, a.parts.metrics),
	}
	if a.settings.DevUsername != "" {
		dev, err := a.parts.accounts.EnsureDevelopment(ctx)
		if err != nil {
			return nil, err
		}
		o.Development = &auth.Development{
			Account: dev.ID, Recreate: a.parts.accounts.EnsureDevelopment,
			Username: a.settings.DevUsername, Password: a.settings.DevPassword, NamedKeys: a.settings.Dev,
		}
	}
	authenticator, err := auth.New(a.parts.store.Accounts, o)
	if err == nil {
		a.closes("uses of keys and log-ins", authenticator.FlushUses)
	}
	return authenticator, err
}

// newHashing returns what gives accounts turns to hash passwords.
func (a *App) newHashing() *password.Gate {
	return password.NewGate(password.GateOptions{Slots: password.AtOnce(a.o.Cores, a.o.Memory, password.MaxMemory)})
}

// dashboard is the origin of the dashboard's pages.
func (a *App) dashboard() hostname.Origin {
	o, _ := hostname.OriginOf(a.url) // which settings have checked
	return o
}

// origins are those of the service's own pages.
func (a *App) origins() (own []hostname.Origin) {
	for _, address := range []string{a.url, a.settings.JSONAPIURL} {
		if o, err := hostname.OriginOf(address); err == nil {
			own = append(own, o)
		}
	}
	return own
}
