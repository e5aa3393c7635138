package wire

import (
	"time"

	"ql/internal/redacted"
)

// Account is an account as its owner sees it.
type Account struct {
	Username          string
	Email             string // "" for none
	Phone             string // "" for none
	Plan              string
	RequireAuthOnJobs bool
	ShowEffects       bool
	DisplayName       string // "" for none, as the logo and the accent
	Logo              string
	Accent            string
	CreatedAt         time.Time
}

// AppendAccount appends the answer of GET /v1/account.
func AppendAccount(dst []byte, a *Account) []byte {
	dst = append(dst, `{"status":"ok","username":`...)
	dst = appendText(dst, a.Username)
	dst = appendTextOrNull(dst, "email", a.Email)
	dst = appendTextOrNull(dst, "phone", a.Phone)
	dst = appendTextField(dst, "plan", a.Plan)
	dst = appendBool(dst, "require_auth_on_jobs", a.RequireAuthOnJobs)
	dst = appendBool(dst, "show_effects", a.ShowEffects)
	dst = appendTextOrNull(dst, "display_name", a.DisplayName)
	dst = appendTextOrNull(dst, "logo", a.Logo)
	dst = appendTextOrNull(dst, "accent", a.Accent)
	dst = appendTime(appendName(dst, "created_at"), a.CreatedAt)
	return append(dst, '}')
}

func appendBool(dst []byte, name string, v bool) []byte {
	dst = appendName(dst, name)
	if v {
		return append(dst, "true"...)
	}
	return append(dst, "false"...)
}

// AccountChange is a request of PATCH /v1/account.
type AccountChange struct {
	Email, Phone              *string // nil where it was left out, "" for none
	DisplayName, Logo, Accent *string // likewise
	RequireAuthOnJobs         *bool   // nil where it was left out
	ShowEffects               *bool   // likewise
}

// DecodeAccountChange reads the body of PATCH /v1/account. The error is a *Refusal.
func DecodeAccountChange(body []byte, l Limits) (*AccountChange, error) {
	c := new(AccountChange)
	texts := map[string]**string{"email": &c.Email, "phone": &c.Phone, "display_name": &c.DisplayName, "logo": &c.Logo, "accent": &c.Accent}
	fields := []string{"email", "phone", "display_name", "logo", "accent", "require_auth_on_jobs", "show_effects"}
	err := decodeFields(body, l, fields, func(name string, value node) (r *Refusal) {
		if text, ok := texts[name]; ok {
			*text, r = textOrNone(name, value)
			return r
		}
		flag := &c.RequireAuthOnJobs
		if name == "show_effects" {
			flag = &c.ShowEffects
		}
		*flag, r = boolean(name, value)
		return r
	})
	switch {
	case err != nil:
		return nil, err
	case *c == AccountChange{}:
		return nil, invalid(bodyField, "changes nothing: email, phone, display_name, logo or accent with a text or null fits, and require_auth_on_jobs or show_effects with true or false")
	}
	return c, nil
}

// textOrNone reads a text, or null, which is "".
func textOrNone(field string, n node) (*string, *Refusal) {
	if n[0] == 'n' {
		return new(string), nil
	}
	t, r := text(field, n)
	return &t, r
}

// NewPassword is a request of POST /v1/account/password.
type NewPassword struct{ Password redacted.Text }

// DecodeNewPassword reads the body of POST /v1/account/password. The error is a *Refusal.
func DecodeNewPassword(body []byte, l Limits) (*NewPassword, error) {
	password, err := decodeSecret(body, l, "password", "the new password, a text, fits")
	if err != nil {
		return nil, err
	}
	return &NewPassword{password}, nil
}

// NewSecret is a request of PUT /v1/secrets/{name}.
type NewSecret struct{ Value redacted.Text }

// DecodeNewSecret reads the body of PUT /v1/secrets/{name}. The error is a *Refusal.
func DecodeNewSecret(body []byte, l Limits) (*NewSecret, error) {
	v, err := decodeSecret(body, l, "value", "the secret, a text, fits")
	if err != nil {
		return nil, err
	}
	return &NewSecret{v}, nil
}

// decodeSecret reads a body whose only field is not to be seen; fits says of one that is missing what does.
func decodeSecret(body []byte, l Limits, field, fits string) (redacted.Text, error) {
	var t *redacted.Text
	err := decodeFields(body, l, []string{field}, func(name string, value node) (r *Refusal) {
		t, r = secret(name, value)
		return r
	})
	switch {
	case err != nil:
		return "", err
	case t == nil:
		return "", invalid(field, "is missing: "+fits)
	}
	return *t, nil
}

// decodeFields reads a body of a few fields, of which each is given to f, and no other may be there.
func decodeFields(body []byte, l Limits, fields []string, f func(name string, value node) *Refusal) error {
	return decodeObject(body, l, func(top node) *Refusal {
		members := top.inside()
		for name, value, ok := members.member(); ok; name, value, ok = members.member() {
			known := false
			for _, field := range fields {
				known = known || field == name
			}
			if !known {
				return unknown(bodyField, name, fields)
			}
			if r := f(name, value); r != nil {
				return r
			}
		}
		return nil
	})
}

// decodeObject reads a body that is an object. The error is a *Refusal.
func decodeObject(body []byte, l Limits, decode func(top node) *Refusal) error {
	l = l.withDefaults()
	var shape Shape
	top, r := document(body, &l, &shape)
	if r == nil {
		r = decode(top)
	}
	if r != nil {
		return r.withoutPlanLimit()
	}
	return nil
}

// AppendWebhookSecret appends the answer of /v1/account/webhook-secret.
func AppendWebhookSecret(dst []byte, secret redacted.Text) []byte {
	dst = append(dst, `{"status":"ok","webhook_secret":`...)
	dst = appendText(dst, secret.Reveal())
	return append(dst, '}')
}

// SecretEntry is a secret in a list, without its value.
type SecretEntry struct {
	Name  string
	SetAt time.Time
}

// AppendSecrets appends the answer of GET /v1/secrets.
func AppendSecrets(dst []byte, secrets []SecretEntry) []byte {
	dst = append(dst, `{"status":"ok","secrets":[`...)
	for _, s := range secrets {
		dst = append(appendComma(dst), `{"name":`...)
		dst = appendText(dst, s.Name)
		dst = appendTime(appendName(dst, "set_at"), s.SetAt)
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}
