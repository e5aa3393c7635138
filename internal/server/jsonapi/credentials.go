package jsonapi

import (
	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/redacted"
	"ql/internal/server"
	"ql/internal/service"
	"ql/internal/wire"
)

// basicCredentials returns the credentials of HTTP Basic, nil where there are none.
func basicCredentials(r *server.Request) (*service.Credentials, error) {
	name, secret, ok := r.BasicAuth()
	switch {
	case ok && service.IsKey(secret):
		return &service.Credentials{By: principal.ByKey, Name: name, Secret: redacted.Text(secret)}, nil
	case ok:
		return &service.Credentials{By: principal.ByPassword, Name: name, Secret: redacted.Text(secret)}, nil
	case r.HeaderValue("Authorization") != "":
		return nil, fault.Invalid("Authorization", "is no HTTP Basic with a username and a password")
	}
	return nil, nil
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
