package wire

import (
	"strconv"
	"time"

	"ql/internal/redacted"
)

// NamedText is a name with a text, such as a limit as settings write it.
type NamedText struct {
	Name string
	Text *string // nil for none
}

// AdminAccount is an account as an administrator sees it.
type AdminAccount struct {
	Username  string
	Email     string // "" for none, as the phone number
	Phone     string
	Plan      string
	Admin     bool
	Disabled  bool
	Limits    []NamedText // of its own
	CreatedAt time.Time
}

func appendAdminAccount(dst []byte, a *AdminAccount) []byte {
	dst = append(dst, `{"username":`...)
	dst = appendText(dst, a.Username)
	dst = appendTextOrNull(dst, "email", a.Email)
	dst = appendTextOrNull(dst, "phone", a.Phone)
	dst = appendTextField(dst, "plan", a.Plan)
	dst = appendBool(dst, "admin", a.Admin)
	dst = appendBool(dst, "disabled", a.Disabled)
	dst = appendNamedTexts(appendName(dst, "limits"), a.Limits)
	dst = appendTime(appendName(dst, "created_at"), a.CreatedAt)
	return append(dst, '}')
}

func appendNamedTexts(dst []byte, texts []NamedText) []byte {
	dst = append(dst, '{')
	for _, one := range texts {
		dst = appendText(appendComma(dst), one.Name)
		dst = appendText(append(dst, ':'), *one.Text)
	}
	return append(dst, '}')
}

// AppendAdminAccounts appends the answer of GET /v1/admin/accounts.
func AppendAdminAccounts(dst []byte, accounts []AdminAccount, next string) []byte {
	dst = append(dst, `{"status":"ok","accounts":[`...)
	for i := range accounts {
		dst = appendAdminAccount(appendComma(dst), &accounts[i])
	}
	return appendNext(dst, next)
}

// AppendAdminAccount appends the answer of PATCH /v1/admin/accounts/{name}.
func AppendAdminAccount(dst []byte, a *AdminAccount) []byte {
	dst = append(dst, `{"status":"ok","account":`...)
	dst = appendAdminAccount(dst, a)
	return append(dst, '}')
}

// AdminChange is a request of PATCH /v1/admin/accounts/{name}.
type AdminChange struct {
	Plan     *string // nil where it was left out
	Disabled *bool   // likewise
	Limits   []NamedText
}

// DecodeAdminChange reads the body of PATCH /v1/admin/accounts/{name}. The error is a *Refusal.
func DecodeAdminChange(body []byte, l Limits) (*AdminChange, error) {
	c := new(AdminChange)
	err := decodeFields(body, l, []string{"plan", "disabled", "limits"}, func(name string, value node) (r *Refusal) {
		switch name {
		case "plan":
			var plan string
			plan, r = filledText(name, value)
			c.Plan = &plan
		case "disabled":
			c.Disabled, r = boolean(name, value)
		default:
			c.Limits, r = namedTexts(name, value)
		}
		return r
	})
	switch {
	case err != nil:
		return nil, err
	case c.Plan == nil && c.Disabled == nil && c.Limits == nil:
		return nil, invalid(bodyField, "changes nothing: plan with a text fits, disabled with true or false, and limits with an object")
	}
	return c, nil
}

// namedTexts reads an object of texts, or null for none.
func namedTexts(field string, n node) ([]NamedText, *Refusal) {
	if n[0] != '{' {
		return nil, invalid(field, "is "+n.kind()+": an object of limits fits, each with a text as settings have it, or null for that of the plan")
	}
	list := []NamedText{}
	members := n.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		one := NamedText{Name: name}
		if value[0] != 'n' {
			t, r := text(field+"."+name, value)
			if r != nil {
				return nil, r
			}
			one.Text = &t
		}
		list = append(list, one)
	}
	return list, nil
}

// NewInvitation is a request of POST /v1/admin/accounts.
type NewInvitation struct {
	Plan  string // "" where it was left out, as the address
	Email string
	Admin bool
}

// DecodeNewInvitation reads the body of POST /v1/admin/accounts. The error is a *Refusal.
func DecodeNewInvitation(body []byte, l Limits) (*NewInvitation, error) {
	n := new(NewInvitation)
	err := decodeFields(body, l, []string{"plan", "email", "admin"}, func(name string, value node) (r *Refusal) {
		switch name {
		case "plan":
			n.Plan, r = filledText(name, value)
		case "email":
			n.Email, r = filledText(name, value)
		default:
			var yes *bool
			if yes, r = boolean(name, value); r == nil {
				n.Admin = *yes
			}
		}
		return r
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}

// AdminInvitation is an invitation that is out.
type AdminInvitation struct {
	ID                   int64
	Plan                 string
	Email, By            string // "" for none; that of By for the operator
	Admin                bool
	CreatedAt, ExpiresAt time.Time
}

// AppendInvitations appends the answer of GET /v1/admin/invitations.
func AppendInvitations(dst []byte, list []AdminInvitation) []byte {
	dst = append(dst, `{"status":"ok","invitations":[`...)
	for i := range list {
		one := &list[i]
		dst = strconv.AppendInt(append(appendComma(dst), `{"id":`...), one.ID, 10)
		dst = appendTextField(dst, "plan", one.Plan)
		dst = appendTextOrNull(dst, "email", one.Email)
		dst = strconv.AppendBool(appendName(dst, "admin"), one.Admin)
		dst = appendTextOrNull(dst, "by", one.By)
		dst = appendTime(appendName(dst, "created_at"), one.CreatedAt)
		dst = append(appendTime(appendName(dst, "expires_at"), one.ExpiresAt), '}')
	}
	return append(dst, "]}"...)
}

// AppendLink appends a link that counts once, and until when.
func AppendLink(dst []byte, url redacted.Text, expires time.Time) []byte {
	dst = append(dst, `{"status":"ok","url":`...)
	dst = appendText(dst, url.Reveal())
	dst = appendTime(appendName(dst, "expires_at"), expires)
	return append(dst, '}')
}

// AdminPlan is a plan with its limits, as settings write them.
type AdminPlan struct {
	Name   string
	Limits []NamedText
}

// AppendPlans appends the answer of GET /v1/admin/plans.
func AppendPlans(dst []byte, plans []AdminPlan) []byte {
	dst = append(dst, `{"status":"ok","plans":[`...)
	for _, p := range plans {
		dst = append(appendComma(dst), `{"name":`...)
		dst = appendText(dst, p.Name)
		dst = append(appendNamedTexts(appendName(dst, "limits"), p.Limits), '}')
	}
	return append(dst, "]}"...)
}

// Node is the process that answers.
type Node struct {
	Version   string
	URL       string
	SignUp    string
	Dev       bool
	StartedAt time.Time
}

// AppendNode appends the answer of GET /v1/admin/node.
func AppendNode(dst []byte, n *Node) []byte {
	dst = append(dst, `{"status":"ok","version":`...)
	dst = appendText(dst, n.Version)
	dst = appendTextField(dst, "url", n.URL)
	dst = appendTextField(dst, "sign_up", n.SignUp)
	dst = appendBool(dst, "dev", n.Dev)
	dst = appendTime(appendName(dst, "started_at"), n.StartedAt)
	return append(dst, '}')
}
