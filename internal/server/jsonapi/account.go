package jsonapi

import (
	"net/http"

	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// accountRoutes are those of an account itself, and of its secrets.
func (c codec) accountRoutes() []server.Route {
	route := func(method, path string, accepts principal.Set, serve func(http.Header, *server.Request) (server.Response, error)) server.Route {
		return server.Route{Method: method, Path: path, Accepts: accepts, Pages: accepts.Has(principal.ByNamedKey), Serve: serve, EncodeError: encodeError}
	}
	const (
		itself  = "/v1/account"
		webhook = "/v1/account/webhook-secret"
		secret  = "/v1/secrets/{name}"
	)
	return []server.Route{
		route(http.MethodGet, itself, passwordOrNamed, c.account),
		route(http.MethodPatch, itself, passwordOnly, c.changeAccount),
		route(http.MethodDelete, itself, passwordOnly, c.deleteAccount),
		route(http.MethodPost, "/v1/account/password", passwordOnly, c.setPassword),
		route(http.MethodPost, "/v1/account/key", passwordOnly, c.rotateKey),
		route(http.MethodGet, webhook, passwordOnly, c.webhookSecret),
		route(http.MethodPost, webhook, passwordOnly, c.rotateWebhookSecret),
		route(http.MethodGet, "/v1/account/log", passwordOrNamed, c.log),
		route(http.MethodGet, "/v1/secrets", passwordOrNamed, c.secrets),
		route(http.MethodPut, secret, passwordOnly, c.setSecret),
		route(http.MethodDelete, secret, passwordOnly, c.removeSecret),
	}
}

// plainCredentials returns the credentials of a request whose address has no parameters.
func plainCredentials(r *server.Request) (*service.Credentials, error) {
	p, err := headerCredentials(r)
	if err == nil {
		_, err = parameters(r)
	}
	return p, err
}

const (
	// mostAccountBytes is how long a request that changes an account may be, and mostSecretBytes
	// one that has a secret: each of its characters may be written as six.
	mostAccountBytes = 16 << 10
	mostSecretBytes  = 6*64<<10 + 1<<10
)

// decodeBody reads a body of at most so many bytes, 0 for as many as a request may have, by a decoder
// of package wire.
func decodeBody[T any](c codec, r *server.Request, most int, decode func([]byte, wire.Limits) (*T, error)) (*T, error) {
	limits := c.service.LargestRequest()
	if most > 0 {
		limits.Body = min(limits.Body, most)
	}
	body, err := r.Body(wire.JSONType, limits.Body)
	if err != nil {
		return nil, err
	}
	return decode(body, r.DecodeLimits(body, limits))
}

// shown is an answer with a body.
func shown(h http.Header, r *server.Request, m service.Meta, err error, body func() []byte) (server.Response, error) {
	reply := server.Response{Status: http.StatusOK, Meta: m}
	if err != nil {
		return reply, err
	}
	wire.SetJSON(h, r.Setting(m.Origin))
	reply.Body = body()
	return reply, nil
}

func (c codec) account(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.ShowAccount(r.Context(), r.Caller, p)
	return shown(h, r, a.Meta, err, func() []byte { return wire.AppendAccount(nil, &a.Account) })
}

func (c codec) changeAccount(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	change, err := decodeBody(c, r, mostAccountBytes, wire.DecodeAccountChange)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.ChangeAccount(r.Context(), r.Caller, p, *change)
	return shown(h, r, a.Meta, err, func() []byte { return wire.AppendAccount(nil, &a.Account) })
}

func (c codec) deleteAccount(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	m, err := c.service.DeleteAccount(r.Context(), r.Caller, p)
	return noContent(h, r, m, err)
}

func (c codec) setPassword(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	n, err := decodeBody(c, r, mostAccountBytes, wire.DecodeNewPassword)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	m, err := c.service.SetPassword(r.Context(), r.Caller, p, *n)
	return noContent(h, r, m, err)
}

func (c codec) rotateKey(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.RotateKey(r.Context(), r.Caller, p)
	return shown(h, r, a.Meta, err, func() []byte { return wire.AppendShownKey(nil, a.Username, a.Key) })
}

func (c codec) webhookSecret(h http.Header, r *server.Request) (server.Response, error) {
	return c.showWebhookSecret(h, r, false)
}

func (c codec) rotateWebhookSecret(h http.Header, r *server.Request) (server.Response, error) {
	return c.showWebhookSecret(h, r, true)
}

func (c codec) showWebhookSecret(h http.Header, r *server.Request, rotate bool) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.WebhookSecret(r.Context(), r.Caller, p, rotate)
	return shown(h, r, a.Meta, err, func() []byte { return wire.AppendWebhookSecret(nil, a.Secret) })
}

func (c codec) secrets(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Secrets(r.Context(), r.Caller, p)
	return shown(h, r, l.Meta, err, func() []byte { return wire.AppendSecrets(nil, l.Secrets) })
}

func (c codec) setSecret(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	n, err := decodeBody(c, r, mostSecretBytes, wire.DecodeNewSecret)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	m, created, err := c.service.SetSecret(r.Context(), r.Caller, p, r.Variable, *n)
	reply, err := noContent(h, r, m, err)
	if created && err == nil {
		reply.Status = http.StatusCreated
	}
	return reply, err
}

func (c codec) removeSecret(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	m, err := c.service.RemoveSecret(r.Context(), r.Caller, p, r.Variable)
	return noContent(h, r, m, err)
}

func (c codec) log(h http.Header, r *server.Request) (server.Response, error) {
	p, err := headerCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	values, err := parameters(r, "limit", "before")
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	limit, err := pageLimit(values, "entries", largestPage)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Log(r.Context(), r.Caller, p, values.Get("before"), limit)
	return shown(h, r, l.Meta, err, func() []byte { return wire.AppendLog(nil, l.Entries, l.Next) })
}
