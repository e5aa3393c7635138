package app

import (
	"context"
	"net/http"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/app/tree"
	"ql/internal/listen"
	"ql/internal/server"
	"ql/internal/server/livereload"
	"ql/internal/server/site"
	"ql/internal/service"
)

// mostHandouts is how many files of sites are on their way at once, each counted for its account
// and for its visitor's network.
const mostHandouts = 2 * 2048

func (a *App) newHandouts() *admit.TransferLimiter {
	return admit.NewTransferLimiter(admit.TransferOptions{Max: mostHandouts, Wait: transferWait, Unlimited: a.settings.Dev})
}

// openSites opens the listener of sites, where they have one of their own.
func (a *App) openSites(ctx context.Context) error {
	s := &a.settings
	if s.SiteListen == "" || s.SitesShare() {
		return nil
	}
	setting := "site-listen"
	if a.o.SiteFolder != "" { // the site is all that there is to listen for
		setting = "listen"
	}
	l, err := listen.Open(ctx, setting, s.SiteListen, listen.Limits{Connections: s.MaxConnections, PerAddress: s.MaxConnectionsPerAddress})
	if err != nil {
		return err
	}
	a.siteListener = l
	a.closes("listener of sites", func(context.Context) error { return l.Close() })
	return nil
}

// buildSites returns what answers the visitors of sites; nil where there are none.
func (a *App) buildSites(s *service.Service) http.Handler {
	if a.settings.SiteListen == "" {
		return nil
	}
	p := &a.parts
	handler := server.New(server.Options{
		Routes:      site.Routes(site.Options{Service: s, Hosts: a.siteHosts(), Develops: p.live != nil}),
		RoutesAlone: true, HostCookies: true,
		Proxies: a.settings.TrustedProxies, HTTPS: strings.HasPrefix(a.SiteURL(""), "https://"),
		Gate: p.gate, Ledger: p.ledger, BodyTime: a.settings.ReadTimeout, Log: a.o.Log, Guard: p.guard,
		Nodes:    p.nodes,
		OnServed: func(_ string, status int, took time.Duration) { p.metrics.ObserveRequest("site", status, took) },
	})
	p.siteHandler = p.traces.Middleware(handler, func(*http.Request) string { return "site" })
	if p.live != nil {
		p.siteHandler = p.live.Handler(p.siteHandler)
	}
	return p.siteHandler
}

// siteHosts says whose sites hosts are.
func (a *App) siteHosts() site.Hosts {
	h := site.Hosts{Domain: a.settings.SiteHost, Local: a.settings.Local(), Paths: site.PathsFor(a.settings.Dev, a.settings.SitesShare())}
	if a.o.SiteFolder != "" {
		h.Only = account.Development
	}
	return h
}

// openSiteFolder opens the real folder that is a site, where there is one.
func (a *App) openSiteFolder() (err error) {
	if a.o.SiteFolder == "" {
		return nil
	}
	p := &a.parts
	p.mount, p.live, err = tree.OpenFolder(a.o.SiteFolder, a.o.HiddenFolder, livereload.Options{Knows: a.siteHosts().Knows, Guard: p.guard})
	if err == nil {
		a.closes("folder of the site", func(context.Context) error { return p.mount.Dir.Close() })
	}
	return err
}

// SiteURL is the address of the site of an account, without a slash at its end; "" where there are
// no sites.
func (a *App) SiteURL(username string) string {
	if a.settings.SiteListen == "" {
		return ""
	}
	bound := a.settings.SiteListen
	if a.siteListener != nil {
		bound = a.siteListener.Addr().String()
	}
	return a.settings.SiteOrigin(username, bound)
}
