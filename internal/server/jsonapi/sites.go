package jsonapi

import (
	"io"
	"net/http"

	"ql/internal/fault"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// siteRoutes are those of an account's site.
func (c codec) siteRoutes() []server.Route {
	route := func(method, path string, serve func(http.Header, *server.Request) (server.Response, error)) server.Route {
		return server.Route{Method: method, Path: path, Accepts: passwordOrNamed, Pages: true, Timeout: c.service.LongestCall(), Serve: serve, EncodeError: encodeError}
	}
	const site = "/v1/sites/main"
	content := route(http.MethodPut, site+"/content/{id}", c.storeSiteContent)
	content.Timeout = service.LongestTransfer
	deploy := route(http.MethodPut, site, c.deploySite)
	deploy.Timeout = service.LongestTransfer // of a zip file
	return []server.Route{
		route(http.MethodGet, site, c.site),
		deploy,
		route(http.MethodPost, site+"/plan", c.planSite),
		content,
		route(http.MethodGet, site+"/releases", c.siteReleases),
		route(http.MethodPost, site+"/releases/{ref}/restore", c.restoreSite),
	}
}

// mostManifestBytes is how long a manifest may be: all of its files, with paths of a usual length.
const mostManifestBytes = 1 << 20

// readManifest reads the body of a request that has a manifest.
func (c codec) readManifest(r *server.Request) (*wire.SiteManifest, error) {
	limits := c.service.LargestRequest()
	limits.Body = mostManifestBytes
	body, err := r.Body(wire.JSONType, limits.Body)
	if err != nil {
		return nil, err
	}
	return wire.DecodeSiteManifest(body, r.DecodeLimits(body, limits))
}

// siteAnswer shows a site with its current release.
func siteAnswer(h http.Header, r *server.Request, a service.SiteAnswer, err error) (server.Response, error) {
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	status := http.StatusOK
	if a.Created {
		status = http.StatusCreated
	}
	if tag := service.SiteTag(&a.Release); tag != "" {
		h.Set("Etag", wire.ETag(tag))
	}
	return encodeJSON(h, r, status, a.Meta, wire.AppendSite(nil, &a.Release))
}

func (c codec) site(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.Site(r.Context(), r.Caller, p)
	return siteAnswer(h, r, a, err)
}

func (c codec) planSite(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	m, err := c.readManifest(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.PlanSite(r.Context(), r.Caller, p, m)
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	return encodeJSON(h, r, http.StatusOK, a.Meta, a.Plan.AppendJSON(nil))
}

func (c codec) storeSiteContent(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	digest, err := wire.ParseDigest("address", r.Variable)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if r.HeaderValue("Content-Range") != "" {
		return server.RejectBeforeAuth(fault.Invalid("Content-Range", "does not fit: content is sent whole"))
	}
	a, err := c.service.StoreSiteContent(r.Context(), r.Caller, p, service.SiteContent{
		Digest: digest, Size: r.ContentLength, Body: func() (io.Reader, error) { return r.BodyStream(service.LongestTransfer) },
	})
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	status := http.StatusOK
	if a.Created {
		status = http.StatusCreated
	}
	return encodeJSON(h, r, status, a.Meta, wire.AppendSiteContent(nil, digest))
}

func (c codec) deploySite(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	conditions, err := wire.ParseConditions(r.HeaderValue)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	if wire.CheckType(wire.ZipType, r.HeaderValue("Content-Type"), "") == nil {
		a, err := c.service.DeployZip(r.Context(), r.Caller, p, service.SiteZip{
			Size: r.ContentLength, Body: func() (io.Reader, error) { return r.BodyStream(service.LongestTransfer) },
		}, conditions.AllowsChange)
		return siteAnswer(h, r, a, err)
	}
	m, err := c.readManifest(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.DeploySite(r.Context(), r.Caller, p, m, conditions.AllowsChange)
	return siteAnswer(h, r, a, err)
}

func (c codec) siteReleases(h http.Header, r *server.Request) (server.Response, error) {
	p, values, err := readHead(r, "limit", "before")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	limit, err := pageLimit(values, "releases", largestPage)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.SiteReleases(r.Context(), r.Caller, p, values.Get("before"), limit)
	if err != nil {
		return server.Response{Meta: l.Meta}, err
	}
	return encodeJSON(h, r, http.StatusOK, l.Meta, wire.AppendReleases(nil, l.Releases, l.Next))
}

func (c codec) restoreSite(h http.Header, r *server.Request) (server.Response, error) {
	p, _, err := readHead(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	conditions, err := wire.ParseConditions(r.HeaderValue)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.RestoreSite(r.Context(), r.Caller, p, r.Variable, conditions.AllowsChange)
	return siteAnswer(h, r, a, err)
}
