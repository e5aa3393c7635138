package jsonapi

import (
	"net/http"

	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/wire"
)

// signUpRoutes are those of people who have no account yet, or forgot its password. They take no
// credentials; pages of other origins do not call them all the same.
func (c codec) signUpRoutes() []server.Route {
	route := func(path string, serve func(http.Header, *server.Request) (server.Response, error)) server.Route {
		return server.Route{Method: http.MethodPost, Path: path, Accepts: principal.Set{principal.ByNobody}, EncodeError: server.EncodeErrorJSON, Serve: func(h http.Header, r *server.Request) (server.Response, error) {
			if err := r.CheckForged(); err != nil {
				return server.RejectBeforeAuth(err)
			}
			if err := r.CheckSignIn(); err != nil {
				return server.RejectBeforeAuth(err)
			}
			if _, err := parameters(r); err != nil {
				return server.RejectBeforeAuth(err)
			}
			return serve(h, r)
		}}
	}
	return []server.Route{
		route("/v1/accounts", c.signUp),
		route("/v1/resets", c.requestReset),
		route("/v1/resets/{token}", c.resetPassword),
	}
}

func (c codec) signUp(h http.Header, r *server.Request) (server.Response, error) {
	n, err := decodeBody(c, r, mostSessionBytes, wire.DecodeNewAccount)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.SignUp(r.Context(), r.Caller, *n)
	if err != nil {
		return server.Response{Meta: a.Meta}, err
	}
	return encodeJSON(h, r, http.StatusCreated, a.Meta, wire.AppendShownKey(nil, a.Username, a.Key))
}

func (c codec) requestReset(_ http.Header, r *server.Request) (server.Response, error) {
	if _, err := decodeBody(c, r, mostSessionBytes, wire.DecodeResetRequest); err != nil {
		return server.RejectBeforeAuth(err)
	}
	m, err := c.service.RequestReset(r.Caller)
	return server.Response{Meta: m, Status: http.StatusNoContent}, err
}

func (c codec) resetPassword(h http.Header, r *server.Request) (server.Response, error) {
	n, err := decodeBody(c, r, mostSessionBytes, wire.DecodeNewPassword)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	m, err := c.service.ResetPassword(r.Context(), r.Caller, r.Variable, *n)
	return noContent(h, r, m, err)
}
