package jsonapi

import (
	"net/http"

	"ql/internal/server"
	"ql/internal/wire"
)

// adminRoutes are those of administrators. To others there is nothing at them.
func (c codec) adminRoutes() []server.Route {
	route := func(method, path string, serve func(http.Header, *server.Request) (server.Response, error)) server.Route {
		return server.Route{Method: method, Path: path, Accepts: passwordOnly, Serve: serve, EncodeError: encodeError}
	}
	return []server.Route{
		route(http.MethodGet, "/v1/admin/accounts", c.adminAccounts),
		route(http.MethodPost, "/v1/admin/accounts", c.inviteAccount),
		route(http.MethodPatch, "/v1/admin/accounts/{name}", c.administerAccount),
		route(http.MethodPost, "/v1/admin/accounts/{name}/reset", c.inviteReset),
		route(http.MethodGet, "/v1/admin/invitations", c.invitations),
		route(http.MethodDelete, "/v1/admin/invitations/{id}", c.revokeInvitation),
		route(http.MethodGet, "/v1/admin/plans", c.plans),
		route(http.MethodGet, "/v1/admin/node", c.node),
	}
}

func (c codec) adminAccounts(h http.Header, r *server.Request) (server.Response, error) {
	p, values, err := readHead(r, "limit", "after")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	limit, err := pageLimit(values, "accounts", largestPage)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Accounts(r.Context(), r.Caller, p, values.Get("after"), limit)
	return shown(h, r, l.Meta, err, func() []byte { return wire.AppendAdminAccounts(nil, l.Accounts, l.Next) })
}

func (c codec) inviteAccount(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	n, err := decodeBody(c, r, mostAccountBytes, wire.DecodeNewInvitation)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.InviteAccount(r.Context(), r.Caller, p, *n)
	return shown(h, r, a.Meta, err, func() []byte { return wire.AppendLink(nil, a.URL, a.Expires) })
}

func (c codec) administerAccount(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	change, err := decodeBody(c, r, mostAccountBytes, wire.DecodeAdminChange)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.AdministerAccount(r.Context(), r.Caller, p, r.Variable, *change)
	return shown(h, r, a.Meta, err, func() []byte { return wire.AppendAdminAccount(nil, &a.Account) })
}

func (c codec) inviteReset(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.InviteReset(r.Context(), r.Caller, p, r.Variable)
	return shown(h, r, a.Meta, err, func() []byte { return wire.AppendLink(nil, a.URL, a.Expires) })
}

func (c codec) invitations(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Invitations(r.Context(), r.Caller, p)
	return shown(h, r, l.Meta, err, func() []byte { return wire.AppendInvitations(nil, l.Invitations) })
}

func (c codec) revokeInvitation(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	meta, err := c.service.RevokeInvitation(r.Context(), r.Caller, p, r.Variable)
	return noContent(h, r, meta, err)
}

func (c codec) plans(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.PlanList(r.Context(), r.Caller, p)
	return shown(h, r, l.Meta, err, func() []byte { return wire.AppendPlans(nil, l.Plans) })
}

func (c codec) node(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.Node(r.Context(), r.Caller, p)
	return shown(h, r, a.Meta, err, func() []byte { return wire.AppendNode(nil, &a.Node) })
}
