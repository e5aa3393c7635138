package wire

import (
	"time"

	"ql/internal/redacted"
)

// SignIn is a request of POST /v1/session.
type SignIn struct {
	Username string
	Password redacted.Text
}

// DecodeSignIn reads the body of POST /v1/session. The error is a *Refusal.
func DecodeSignIn(body []byte, l Limits) (*SignIn, error) {
	s, hasName := new(SignIn), false
	var password *redacted.Text
	err := decodeFields(body, l, []string{"username", "password"}, func(name string, value node) (r *Refusal) {
		if name == "username" {
			hasName = true
			s.Username, r = text(name, value)
			return r
		}
		password, r = secret(name, value)
		return r
	})
	switch {
	case err != nil:
		return nil, err
	case !hasName:
		return nil, invalid("username", "is missing: a username, e-mail address or phone number fits")
	case password == nil:
		return nil, invalid("password", "is missing: the account's password fits")
	}
	s.Password = *password
	return s, nil
}

// PasswordAgain is a request of POST /v1/session/confirm.
type PasswordAgain struct{ Password redacted.Text }

// DecodePasswordAgain reads the body of POST /v1/session/confirm. The error is a *Refusal.
func DecodePasswordAgain(body []byte, l Limits) (*PasswordAgain, error) {
	password, err := decodeSecret(body, l, "password", "the account's password fits")
	if err != nil {
		return nil, err
	}
	return &PasswordAgain{password}, nil
}

// LinkToken is a request of POST /v1/session/dev where a link signs in.
type LinkToken struct{ Token redacted.Text }

// DecodeLinkToken reads the body of POST /v1/session/dev. The error is a *Refusal.
func DecodeLinkToken(body []byte, l Limits) (*LinkToken, error) {
	token, err := decodeSecret(body, l, "token", "what the link ends with that the service has printed fits")
	if err != nil {
		return nil, err
	}
	return &LinkToken{token}, nil
}

// Session is who is signed in to the dashboard.
type Session struct {
	Username       string
	Admin          bool
	Dev            bool // it is the development account
	ExpiresAt      time.Time
	ConfirmedUntil time.Time // zero where the password counts no more
}

// AppendSession appends the answer of /v1/session.
func AppendSession(dst []byte, s *Session) []byte {
	dst = append(dst, `{"status":"ok","username":`...)
	dst = appendText(dst, s.Username)
	dst = appendBool(dst, "admin", s.Admin)
	dst = appendBool(dst, "dev", s.Dev)
	dst = appendTime(appendName(dst, "expires_at"), s.ExpiresAt)
	dst = appendOptionalTime(appendName(dst, "confirmed_until"), s.ConfirmedUntil)
	return append(dst, '}')
}

// SessionToken is a token of who is signed in.
type SessionToken struct {
	Token     redacted.Text
	Username  string
	ExpiresAt time.Time
}

// AppendSessionToken appends the answer of POST /v1/session/token.
func AppendSessionToken(dst []byte, t *SessionToken) []byte {
	dst = append(dst, `{"status":"ok","token":`...)
	dst = appendText(dst, t.Token.Reveal())
	dst = appendTextField(dst, "username", t.Username)
	dst = appendTime(appendName(dst, "expires_at"), t.ExpiresAt)
	return append(dst, '}')
}

// NewAccount is a request of POST /v1/accounts.
type NewAccount struct {
	Username string
	Password redacted.Text
	Email    string // "" where it was left out, as the others
	Phone    string
	Invite   redacted.Text
}

// DecodeNewAccount reads the body of POST /v1/accounts. The error is a *Refusal.
func DecodeNewAccount(body []byte, l Limits) (*NewAccount, error) {
	a := new(NewAccount)
	texts := map[string]*string{"username": &a.Username, "email": &a.Email, "phone": &a.Phone}
	secrets := map[string]*redacted.Text{"password": &a.Password, "invite": &a.Invite}
	err := decodeFields(body, l, []string{"username", "password", "email", "phone", "invite"}, func(name string, value node) (r *Refusal) {
		if to, ok := texts[name]; ok {
			*to, r = filledText(name, value)
			return r
		}
		s, r := secret(name, value)
		if r == nil {
			*secrets[name] = *s
		}
		return r
	})
	switch {
	case err != nil:
		return nil, err
	case a.Username == "":
		return nil, invalid("username", "is missing: the name of the new account fits")
	case a.Password == "":
		return nil, invalid("password", "is missing: a password of at least 10 characters fits")
	}
	return a, nil
}

// ResetRequest is a request of POST /v1/resets.
type ResetRequest struct{ Username string }

// DecodeResetRequest reads the body of POST /v1/resets. The error is a *Refusal.
func DecodeResetRequest(body []byte, l Limits) (*ResetRequest, error) {
	n := new(ResetRequest)
	err := decodeFields(body, l, []string{"username"}, func(name string, value node) (r *Refusal) {
		n.Username, r = filledText(name, value)
		return r
	})
	switch {
	case err != nil:
		return nil, err
	case n.Username == "":
		return nil, invalid("username", "is missing: a username, e-mail address or phone number fits")
	}
	return n, nil
}

// The names of the cookie of who is signed in: one that no other host can set, and one for
// development, where there is no https.
const (
	SignInName      = "__Host-qldash"
	PlainSignInName = "qldash"
)

// SignInCookie returns the Set-Cookie value that hands the secret of a sign-in to a browser, or, for
// "", takes it away. Secure is of the name with a prefix.
func SignInCookie(secret redacted.Text, secure bool) string {
	name, tail := PlainSignInName, "; Path=/; HttpOnly; SameSite=Strict"
	if secure {
		name, tail = SignInName, "; Path=/; HttpOnly; Secure; SameSite=Strict"
	}
	if secret == "" {
		return name + "=; Max-Age=0" + tail
	}
	return name + "=" + secret.Reveal() + tail
}
