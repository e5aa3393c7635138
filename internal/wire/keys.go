package wire

import (
	"strconv"
	"time"

	"ql/internal/redacted"
)

// NewKey is a request of POST /v1/keys.
type NewKey struct {
	Name      string
	Scopes    []string
	ExpiresIn int64 // seconds; 0 where it was left out
}

var newKeyFields = []string{"name", "scopes", "expires_in"}

// mostSeconds is the longest that a key may be good for, in seconds: 100 years.
const mostSeconds = 100 * 365 * 24 * 60 * 60

// DecodeNewKey reads the body of POST /v1/keys. The error is a *Refusal.
func DecodeNewKey(body []byte, l Limits) (*NewKey, error) {
	k := new(NewKey)
	if err := decodeObject(body, l, k.decode); err != nil {
		return nil, err
	}
	return k, nil
}

func (k *NewKey) decode(top node) *Refusal {
	var hasName, hasScopes bool
	members := top.inside()
	for name, value, ok := members.member(); ok; name, value, ok = members.member() {
		var r *Refusal
		switch name {
		case "name":
			hasName = true
			k.Name, r = text("name", value)
		case "scopes":
			hasScopes = true
			k.Scopes, r = texts("scopes", value)
		case "expires_in":
			k.ExpiresIn, r = lasting("expires_in", value)
		default:
			r = unknown(bodyField, name, newKeyFields)
		}
		if r != nil {
			return r
		}
	}
	switch {
	case !hasName:
		return invalid("name", "is missing: what the key is to be called, a text, fits")
	case !hasScopes:
		return invalid("scopes", `is missing: a list of what the key may do, such as ["run", "jobs"], fits`)
	}
	return nil
}

// texts reads a list of texts.
func texts(field string, n node) ([]string, *Refusal) {
	if n[0] != '[' {
		return nil, invalid(field, "is "+n.kind()+": a list of texts fits")
	}
	list := []string{}
	items := n.inside()
	for item, ok := items.item(); ok; item, ok = items.item() {
		t, r := text(field+"["+strconv.Itoa(len(list))+"]", item)
		if r != nil {
			return nil, r
		}
		list = append(list, t)
	}
	return list, nil
}

// lasting reads a number of seconds.
func lasting(field string, n node) (int64, *Refusal) {
	const fits = "a whole number of seconds from 1 on fits, or leave the field out"
	if n.kind() != "a number" {
		return 0, invalid(field, "is "+n.kind()+": "+fits)
	}
	seconds, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || seconds < 1 || seconds > mostSeconds {
		return 0, invalid(field, "is "+quote(string(n))+": "+fits+", and "+strconv.Itoa(mostSeconds)+" is the most")
	}
	return seconds, nil
}

// KeyEntry is a named key in a list.
type KeyEntry struct {
	Name       string
	Prefix     string // how it begins
	Scopes     []string
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero for never
	LastUsedAt time.Time // zero for never
}

// AppendKeys appends the answer of GET /v1/keys.
func AppendKeys(dst []byte, keys []KeyEntry) []byte {
	dst = append(dst, `{"status":"ok","keys":[`...)
	for i := range keys {
		dst = append(appendComma(dst), '{')
		dst = appendKey(dst, &keys[i])
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

func appendKey(dst []byte, k *KeyEntry) []byte {
	dst = append(dst, `"name":`...)
	dst = appendText(dst, k.Name)
	dst = appendTextField(dst, "prefix", k.Prefix)
	dst = append(appendName(dst, "scopes"), '[')
	for _, s := range k.Scopes {
		dst = appendText(appendComma(dst), s)
	}
	dst = append(dst, ']')
	dst = appendTime(appendName(dst, "created_at"), k.CreatedAt)
	dst = appendOptionalTime(appendName(dst, "expires_at"), k.ExpiresAt)
	return appendOptionalTime(appendName(dst, "last_used_at"), k.LastUsedAt)
}

// AppendCreatedKey appends the answer of POST /v1/keys, the one place where a named key is shown.
func AppendCreatedKey(dst []byte, k KeyEntry, key redacted.Text) []byte {
	dst = append(dst, `{"status":"ok",`...)
	dst = appendKey(dst, &k)
	dst = appendTextField(dst, "key", key.Reveal())
	return append(dst, '}')
}

// AppendShownKey appends the answer of GET /v1/account/key.
func AppendShownKey(dst []byte, username string, key redacted.Text) []byte {
	dst = append(dst, `{"status":"ok","username":`...)
	dst = appendText(dst, username)
	dst = appendTextField(dst, "api_key", key.Reveal())
	return append(dst, '}')
}
