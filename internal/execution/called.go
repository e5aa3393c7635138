package execution

import (
	"encoding/json"
	"slices"
	"strings"

	"ql/internal/wire"
)

// MaxCalled is how many bytes of a request are kept with its job.
const MaxCalled = 1 << 20

// Called is what a job's history shows of its call, beside the script.
type Called struct {
	Request wire.Request    `json:"request"`
	Input   json.RawMessage `json:"input,omitempty"`
	// Omitted is how many bytes were sent that are not kept, since they are more than
	// MaxCalled; 0 where all are.
	Omitted int64 `json:"omitted,omitempty"`
}

// CalledBytes is about how many bytes EncodeCalled makes.
func CalledBytes(r *wire.Request, input json.RawMessage) int64 {
	if n := r.Bytes() + int64(len(input)); n <= MaxCalled {
		return n
	}
	return 0
}

// EncodeCalled makes what is kept of a call, which is to be sealed; nil where nothing was sent.
// Credentials are left out: headers that hold some, and cookies, which log somebody in.
func EncodeCalled(r *wire.Request, input json.RawMessage) ([]byte, error) {
	isCredential := func(p wire.Pair) bool { return isCredentialHeader(p.Name) }
	isKept := func(p wire.Pair) bool { return !isCredential(p) }
	if len(r.Get) == 0 && len(r.Post) == 0 && r.Body.Kind == wire.NoBody && len(input) == 0 && !slices.ContainsFunc(r.Entries, isKept) {
		return nil, nil
	}
	c := &Called{Request: *r, Input: input}
	c.Request.Cookie = nil
	c.Request.Entries = slices.DeleteFunc(slices.Clone(r.Entries), isCredential)
	if n := c.Request.Bytes() + int64(len(input)); n > MaxCalled {
		c = &Called{Omitted: n}
	}
	return json.Marshal(c)
}

// DecodeCalled reads what EncodeCalled has made.
func DecodeCalled(plain []byte) (c Called, err error) {
	if plain == nil {
		return c, nil
	}
	return c, json.Unmarshal(plain, &c)
}

// isCredentialHeader tells whether an entry of a request is a header that proves who calls.
func isCredentialHeader(entry string) bool {
	name, ok := strings.CutPrefix(strings.ToLower(entry), "header:")
	return ok && slices.Contains(credentialHeaders[:], name)
}

var credentialHeaders = [...]string{"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token", "x-access-token", "x-session-token"}
