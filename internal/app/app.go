// Package app is the composition root: it alone names concrete types. It opens
// the data folder, puts accounts, resources, operations and codecs together,
// and starts and stops them in order. What any of them does is theirs.
package app

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ql/internal/config"
	"ql/internal/listen"
	"ql/internal/telemetry"
	"ql/internal/upkeep"
)

// Options are what an App is made of besides its settings.
type Options struct {
	Log     *slog.Logger // nowhere where left out
	Version string       // of the program
	// Memory is how many bytes all scripts that run at once may use; 0 for no
	// bound but those of each.
	Memory int64
	// CallMemory is how many bytes are held for callers at once besides: bodies,
	// answers, what is stored and restored; 0 for no bound.
	CallMemory int64
	// AcceptDamage lets a service start on a data folder that has lost changes, by the
	// word of its operator.
	AcceptDamage bool
	// Cores is how many scripts compute at once; where left out, as many as Go
	// has processors.
	Cores int
	// SiteFolder is a real folder that is the site of the development account, the only one that
	// there is, with pages that load themselves again; "" for none. HiddenFolder is the name of a
	// folder in it that is no part of the site.
	SiteFolder, HiddenFolder string
}

// App is a whole service.
type App struct {
	settings config.Settings
	o        Options

	parts  parts
	growth *upkeep.Growth
	url    string
	main   *listen.Server
	nodes  *listen.Server // nil where there are no others
	sites  *listen.Server // nil where they have no listener of their own
	// siteListener is opened before what builds links to sites; nil likewise.
	siteListener listen.Listener
	metrics      *listen.Server // nil where metrics have no listener of their own
	stopping     atomic.Bool
	began        time.Time
	failed       chan error
	// linesLeftOut is how many lines the log has left out.
	linesLeftOut func() uint64

	closers []closer // in the order of the start
	stop    sync.Once
	stopErr error
	// scriptsEnd is until when a stop waits for scripts under way.
	scriptsEnd time.Time
}

// New returns a service that is not started.
func New(s config.Settings, o Options) *App {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Cores <= 0 {
		o.Cores = runtime.GOMAXPROCS(0)
	}
	a := &App{settings: s, o: o, began: time.Now(), failed: make(chan error, 4)}
	a.o.Log, a.linesLeftOut = telemetry.LimitLines(o.Log)
	var bounds []int64
	for plan := range s.Plans {
		bounds = append(bounds, a.settings.Limits(plan).RecordsBytes)
	}
	a.growth = upkeep.NewGrowth(bounds)
	return a
}

// Start opens the data folder and serves. It returns when callers are served;
// where it fails, nothing is left running. It is called once.
func (a *App) Start(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Stop(ctx))
		}
	}()
	// The data folder first: that it is in use is the likeliest reason why the
	// address is too.
	if err := a.openStore(ctx); err != nil {
		return err
	}
	// The address is known before anything is made that builds links from it.
	listener, err := listen.Open(ctx, "listen", a.settings.Listen, listen.Limits{Connections: a.settings.MaxConnections, PerAddress: a.settings.MaxConnectionsPerAddress})
	if err != nil {
		return err
	}
	a.closes("listener", func(context.Context) error { return listener.Close() })
	a.url = a.settings.OwnURL(listen.LocalAddress(listener.Addr().String()))
	if err := errors.Join(a.openSites(ctx), a.openNodes(ctx)); err != nil {
		return err
	}
	handler, err := a.build(ctx)
	if err != nil {
		return err
	}
	if a.settings.MetricsListen != "" {
		if err := a.startMetrics(ctx); err != nil {
			return err
		}
	}
	a.main = listen.NewServer(listener, a.serverOptions(handler, a.parts.tls))
	if a.siteListener != nil {
		a.sites = listen.NewServer(a.siteListener, a.serverOptions(a.parts.siteHandler, a.parts.tls))
		a.sites.Start(a.parts.guard, a.failed)
	}
	a.nodes = a.parts.nodes.Start(handler, a.parts.siteHandler, a.serverOptions(nil, nil), a.parts.guard, a.failed)
	a.closes("server", a.stopServers)
	if live := a.parts.live; live != nil { // before the server, which waits for those who listen
		a.closes("live reload", func(context.Context) error { live.Close(); return nil })
	}
	a.main.Start(a.parts.guard, a.failed)
	if !a.settings.Loopback() && !strings.HasPrefix(a.url, "https://") {
		a.o.Log.Warn("callers on other machines send passwords and keys unencrypted: set up TLS, or set base-url to the https address of a proxy")
	}
	if !a.settings.Dev && a.settings.DevUsername != "" {
		a.o.Log.Warn("the development account is open to whoever knows its dev-username and dev-password: unset both where that is not meant")
	}
	a.o.Log.Info("the service has started", "address", listener.Addr().String(), "url", a.url, "data", a.settings.Data, "dev", a.settings.Dev)
	return nil
}

func (a *App) startMetrics(ctx context.Context) error {
	listener, err := listen.Open(ctx, "metrics-listen", a.settings.MetricsListen, listen.Limits{Connections: a.settings.MaxConnections})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.parts.metrics.Handler())
	a.metrics = listen.NewServer(listener, a.serverOptions(mux, nil))
	a.closes("metrics", a.stopMetrics)
	a.metrics.Start(a.parts.guard, a.failed)
	return nil
}

func (a *App) serverOptions(h http.Handler, t *tls.Config) listen.Options {
	s := &a.settings
	return listen.Options{Handler: h, TLS: t, Log: a.o.Log, ReadHeaderTimeout: s.ReadHeaderTimeout, ReadTimeout: s.ReadTimeout, IdleTimeout: s.IdleTimeout}
}

// Failed gives the error of a listener that ended by itself.
func (a *App) Failed() <-chan error { return a.failed }

// URL is the address that callers on this machine reach the service by, or the
// one that settings give.
func (a *App) URL() string { return a.url }

// Address is where the service listens, with the port that it took.
func (a *App) Address() string { return a.main.Address() }

// MetricsAddress is where metrics are served, "" where they have no listener
// of their own.
func (a *App) MetricsAddress() string {
	if a.metrics == nil {
		return ""
	}
	return a.metrics.Address()
}

// FirstLink is where the first account is made, an administrator, within the hour.
func (a *App) FirstLink() (string, error) {
	token, err := a.parts.accounts.InviteFirst()
	return a.url + config.WelcomePath + token.Reveal(), err
}

// SignInToken is what a link ends with that signs one browser in to the development account.
func (a *App) SignInToken() string { return a.parts.signIns.NewLink().Reveal() }

// HasAccounts reports whether anybody but the development account could log in.
func (a *App) HasAccounts(ctx context.Context) (bool, error) { return a.parts.accounts.HasOwners(ctx) }
