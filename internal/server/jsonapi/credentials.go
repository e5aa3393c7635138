package jsonapi

import (
	"strings"

	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/redacted"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// headerCredentials returns the credentials of the header Authorization, nil where there are none: a
// named key, or by HTTP Basic a username with a password or an API key. Whatever else is sent there is
// a mistake of somebody who thinks that it counts.
func headerCredentials(r *server.Request) (*service.Credentials, error) {
	header := r.HeaderValue("Authorization")
	if header == "" {
		return nil, nil
	}
	if scheme, key, _ := strings.Cut(header, " "); strings.EqualFold(scheme, "Bearer") {
		key = strings.Trim(key, " ")
		if key == "" || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' || c == ',' }) {
			return nil, fault.Invalid("Authorization", "has no named key behind Bearer: one such as qln_… fits")
		}
		return &service.Credentials{By: principal.ByNamedKey, Secret: redacted.Text(key)}, nil
	}
	name, secret, ok := r.BasicAuth()
	switch {
	case ok && service.IsKey(secret):
		return &service.Credentials{By: principal.ByKey, Name: name, Secret: redacted.Text(secret)}, nil
	case ok:
		return &service.Credentials{By: principal.ByPassword, Name: name, Secret: redacted.Text(secret)}, nil
	}
	return nil, fault.Invalid("Authorization", "is neither Bearer with a named key nor HTTP Basic with a username and a password")
}

// queryCredentials returns the credentials of a query: those of its body, or a named key.
func queryCredentials(r *server.Request, a *wire.Auth) (*service.Credentials, error) {
	p, err := headerCredentials(r)
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return bodyCredentials(a), nil
	case a != nil:
		return nil, fault.Invalid("auth", "stands beside the header Authorization: one of the two fits")
	case p.By != principal.ByNamedKey:
		return nil, fault.Invalid("Authorization", `is HTTP Basic: here Bearer with a named key fits, or "auth" with a username and a password in the body`)
	}
	return p, nil
}

// bodyCredentials returns the credentials of a request; a password goes before a token.
func bodyCredentials(a *wire.Auth) *service.Credentials {
	switch {
	case a == nil:
		return nil
	case a.Password != nil:
		return &service.Credentials{By: principal.ByPassword, Name: a.Username, Secret: *a.Password}
	}
	return &service.Credentials{By: principal.ByToken, Name: a.Username, Secret: *a.Token}
}
