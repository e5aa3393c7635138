// Package audit is the log of who did what to an account, when and from where: every act that asks
// for the password, log-ins, answers to prompts, publications and exports. Each account has one, and
// the operator has one. Entries are only appended, and each is chained to the one before by its hash,
// so that a changed or missing one is found.
//
// What acts are and who does them is told here. The store appends the entry of an act in the
// transaction of the act itself; who acts, it finds in the context.
package audit

import (
	"context"
	"net/netip"
	"time"

	"ql/internal/account"
	"ql/internal/principal"
)

// Operator is the account that stands for the operator in the log of the operator's own acts.
const Operator account.ID = 0

// Who acts besides callers.
const (
	ByOperator principal.Credential = "operator" // a command on the data folder
	ByService  principal.Credential = "service"  // the service by itself
)

// Act is what was done.
type Act string

// The acts, as logs show them.
const (
	AccountCreated Act = "account_created"
	AccountChanged Act = "account_changed" // a switch of it
	AccountDeleted Act = "account_deleted"

	LoggedIn    Act = "logged_in"
	LogInFailed Act = "log_in_failed"

	PasswordChanged Act = "password_changed"
	APIKeyShown     Act = "api_key_shown"
	APIKeyRotated   Act = "api_key_rotated"
	KeyCreated      Act = "key_created"
	KeyRevoked      Act = "key_revoked"

	DomainAdded     Act = "domain_added"
	DomainRequested Act = "domain_requested"
	DomainProven    Act = "domain_proven"
	DomainRemoved   Act = "domain_removed"

	SiteDomainRequested Act = "site_domain_requested"
	SiteDomainProven    Act = "site_domain_proven"
	SiteDomainLost      Act = "site_domain_lost"
	SiteDomainRemoved   Act = "site_domain_removed"

	SecretSet            Act = "secret_set"
	SecretRemoved        Act = "secret_removed"
	MachineSet           Act = "machine_set"
	MachinePinned        Act = "machine_pinned" // the key that its host showed first
	MachineRemoved       Act = "machine_removed"
	WebhookSecretShown   Act = "webhook_secret_shown"
	WebhookSecretRotated Act = "webhook_secret_rotated"

	Invited     Act = "invited"      // to make an account
	Uninvited   Act = "uninvited"    // the invitation was revoked
	ResetLinked Act = "reset_linked" // a link was made that sets a new password

	PlanChanged  Act = "plan_changed"
	LimitChanged Act = "limit_changed"

	ScriptPublished Act = "script_published"
	ScriptRemoved   Act = "script_removed"
	ScheduleSet     Act = "schedule_set"
	SchedulePaused  Act = "schedule_paused"
	ScheduleResumed Act = "schedule_resumed"
	ScheduleRemoved Act = "schedule_removed"
	SiteDeployed    Act = "site_deployed"
	SiteRestored    Act = "site_restored" // to an earlier release

	Answered Act = "prompt_answered"
	Exported Act = "exported"

	MasterKeyRotated Act = "master_key_rotated"

	// Pruned says that older entries were removed: it names the last of them, and its hash.
	Pruned Act = "log_pruned"
)

// Result is what came of an act.
type Result string

// The results.
const (
	OK     Result = "ok"
	Failed Result = "failed"
)

// Actor is who acts.
type Actor struct {
	By   principal.Credential
	Key  string       // the name of the named key, "" for others
	From netip.Prefix // the network, by NetworkOf; zero where there is none
	// Count is how many acts of the kind an entry stands for, 0 for one; Silent says that there is
	// to be none, since it is counted with a later one.
	Count  int64
	Silent bool
	// Most is how many bytes the log of the account may have, by Entry.Bytes; 0 prunes nothing.
	Most int64
}

// NetworkOf returns as much of an address as logs hold: the network that it is of, and not whose
// machine it is.
func NetworkOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 48
	if a.Is4() {
		bits = 24
	}
	p, _ := a.Prefix(bits) // the zero Prefix for the zero Addr
	return p
}

// ActorOf is who calls from an address. Most is how many bytes the account's log may have.
func ActorOf(p *principal.Principal, from netip.Addr, most int64) Actor {
	return Actor{By: p.By, Key: p.Key.Name, From: NetworkOf(from), Most: most}
}

type actorKey struct{}

// By returns a context in which somebody acts: stores log it with what they change.
func By(ctx context.Context, a Actor) context.Context { return context.WithValue(ctx, actorKey{}, a) }

// FromContext returns who acts, where somebody is named.
func FromContext(ctx context.Context) (a Actor, ok bool) {
	a, ok = ctx.Value(actorKey{}).(Actor)
	return a, ok
}

// Event is an act that a log is to be told of.
type Event struct {
	Account account.ID // Operator for the operator's own log
	Act     Act
	On      string // what it was done to, "" for the account
	Result  Result // OK where it is left out
	Count   int64  // how many acts of this kind the entry stands for; 1 where it is left out
}

// Log is where acts are told that change nothing of the store by themselves.
type Log interface {
	// Append logs an event, of the actor of its context; where that names nobody, of whoever
	// opened the store. An account that is not there has no
	// log: then it is account.ErrNotFound.
	Append(ctx context.Context, e Event) error
}

// Store keeps the logs. The methods of account.Store and job.Queue that do one of the acts log it in
// the same transaction. What the operator does to an account is in both logs, and so is when an
// account comes and goes.
type Store interface {
	Log
	// Entries returns up to limit entries of a log, the newest first: those before a number, 0
	// for the newest.
	Entries(ctx context.Context, id account.ID, before int64, limit int) ([]Entry, error)
	// Scan calls f with every entry of a log, the oldest first, and returns the log's head, all
	// as of one moment. It ends with the first error.
	Scan(ctx context.Context, id account.ID, f func(Entry) error) (Head, error)
}

// Head is what is stored of a log beside its entries. The zero Head is that of an empty log.
type Head struct {
	Number int64 // of the newest entry
	Hash   Hash  // of it
	Bytes  int64 // of all entries that are there

	Pruned     int64 // the number of the newest entry that was removed; 0 for none
	PrunedHash Hash  // of that
}

// Entry is one entry of a log.
type Entry struct {
	Account account.ID
	Number  int64 // 1 for the first ever
	At      time.Time
	Act     Act
	On      string
	By      principal.Credential
	Key     string
	From    string // a network such as 203.0.113.0/24, "" for none
	Result  Result
	Count   int64
	Hash    Hash
}

const (
	// longestText is how many bytes of a text an entry holds.
	longestText = 256
	// rowBytes is what an entry takes besides its texts.
	rowBytes = 96
)

// NewEntry returns the entry of an event, not yet in its place in a log.
func NewEntry(e Event, a Actor, at time.Time) Entry {
	entry := Entry{
		Account: e.Account, At: at.UTC().Truncate(time.Microsecond), Act: e.Act, On: cut(e.On), By: a.By, Key: cut(a.Key),
		Result: e.Result, Count: max(e.Count, 1),
	}
	if a.From.IsValid() {
		entry.From = a.From.String()
	}
	if entry.Result == "" {
		entry.Result = OK
	}
	return entry
}

func cut(text string) string {
	if len(text) <= longestText {
		return text
	}
	end := longestText - len("…")
	for end > 0 && text[end]&0xC0 == 0x80 { // not within a character
		end--
	}
	return text[:end] + "…"
}

// Bytes is what the entry counts for in its log.
func (e *Entry) Bytes() int64 {
	return rowBytes + int64(len(e.Act)+len(e.On)+len(e.By)+len(e.Key)+len(e.From)+len(e.Result))
}
