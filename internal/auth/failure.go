package auth

import (
	"encoding/hex"
	"net/netip"

	"ql/internal/account"
	"ql/internal/account/names"
	"ql/internal/fault"
	"ql/internal/principal"
)

// Failure is a log-in that failed, as a log may show it: people type passwords where names
// belong, so a name is never told.
type Failure struct {
	By      principal.Credential
	Network netip.Prefix // around the caller's address
	// Name is a keyed hash of the name, the same for the same name as long as the process
	// lives; "" where none was sent.
	Name    string
	Account account.ID // that has the name, where that was looked for; 0 for none
	// Code is bad_credentials, rate_limited where too many failed before it, or overloaded
	// where too many others wait.
	Code fault.Code
}

// failureCodes are those of log-ins that failed. Others are faults, or about what the caller
// may do.
var failureCodes = []fault.Code{fault.BadCredentials, fault.RateLimited, fault.Overloaded}

// nameBytes is how much of a name's hash is shown.
const nameBytes = 6

// reportFailure tells of a log-in that failed. It takes the same time for names that exist and
// names that do not.
func (a *Authenticator) reportFailure(by principal.Credential, name string, named account.ID, from Source, err error) {
	if err == nil {
		return
	}
	for _, code := range failureCodes {
		if fault.Is(err, code) {
			a.o.OnFailure(Failure{By: by, Network: Network(from.Addr), Name: a.hashName(name), Account: named, Code: code})
			return
		}
	}
}

func (a *Authenticator) hashName(name string) string {
	if name == "" {
		return ""
	}
	if alias, err := names.ParseAlias(name); err == nil {
		name = alias.Name
	}
	sum := a.digester.digest([]byte("name in a log "), name, "")
	return hex.EncodeToString(sum[:nameBytes])
}
