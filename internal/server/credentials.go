package server

import (
	"strings"

	"ql/internal/account"
	"ql/internal/fault"
	"ql/internal/principal"
	"ql/internal/redacted"
	"ql/internal/service"
	"ql/internal/signin"
)

// Credentials returns the credentials of the header Authorization, nil where there are none: a
// named key, a token of the dashboard, or by HTTP Basic a username with a password or an API key. Whatever else is sent there is
// a mistake of somebody who thinks that it counts.
func (r *Request) Credentials() (*service.Credentials, error) {
	header := r.HeaderValue("Authorization")
	if header == "" {
		return nil, nil
	}
	if scheme, key, _ := strings.Cut(header, " "); strings.EqualFold(scheme, "Bearer") {
		key = strings.Trim(key, " ")
		if key == "" || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' || c == ',' }) {
			return nil, fault.Invalid("Authorization", "has no named key behind Bearer: one such as qln_… fits")
		}
		if strings.HasPrefix(key, signin.TokenPrefix) {
			return &service.Credentials{By: principal.ByToken, Secret: redacted.Text(key), Unnamed: true}, nil
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

// IsCredential tells whether a header Authorization holds a credential of this service: HTTP
// Basic, or a key, in however wrong a form: a program of somebody else's is not to read it.
func IsCredential(header string) bool {
	scheme, _, _ := strings.Cut(strings.TrimLeft(header, " \t"), " ")
	scheme, _, _ = strings.Cut(scheme, "\t")
	return strings.EqualFold(scheme, "Basic") || strings.Contains(header, account.NamedKeyPrefix) || strings.Contains(header, account.KeyPrefix) ||
		strings.Contains(header, signin.TokenPrefix)
}
