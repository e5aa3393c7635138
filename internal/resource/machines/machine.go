// Package machines has an account's machines: named places where a script runs commands. A
// machine is of a kind, which a Runner does the work for: ssh reaches a host, wasm runs a module
// in the process.
package machines

import (
	"context"
	"io"
	"time"

	"ql/internal/account"
	"ql/internal/engine"
)

// Kind says what a machine is.
type Kind string

// The kinds.
const (
	KindSSH  Kind = "ssh"
	KindWASM Kind = "wasm"
)

// Machine is a machine as its owner defined it.
type Machine struct {
	Account account.ID
	Name    string
	Kind    Kind
	SSH     SSH  // of KindSSH
	WASM    WASM // of KindWASM
	Set     time.Time
}

// SSH is a host that is reached by SSH.
type SSH struct {
	User string
	Host string
	Port int
	// PublicKey is the public half of the key to log in by, a line of authorized_keys.
	PublicKey string
	// HostKey is that which the host showed first, a line of authorized_keys; "" before that.
	HostKey string
	// Allow are the commands that may run; none means all.
	Allow []string
}

// WASM is a module of the account's files.
type WASM struct {
	Module string // its path
	Folder string // of the account's files that it sees; "" for none
	Write  bool   // it may change what is in the folder
}

// Use is a machine in the hands of a run.
type Use struct {
	Machine Machine
	Account account.Account
	Limits  account.Limits
	Files   engine.Files // of the account
	// Key returns the private key to log in by, as PEM. It is asked where a connection is made.
	Key func(context.Context) ([]byte, error)
}

// Runner does the work of a kind of machines, for all accounts. What a RUN costs, how many there
// may be at once and how long each may take is counted and bounded by whoever calls it.
type Runner interface {
	// Run, CopyTo and CopyFrom are those of engine.Machines. They hold no slot: whoever computes
	// for a script inside asks engine.Turn.
	Run(ctx context.Context, u Use, r engine.MachineRun) (engine.MachineResult, error)
	CopyTo(ctx context.Context, u Use, path string, from io.Reader) error
	CopyFrom(ctx context.Context, u Use, path string, to io.Writer) error
	// Test reaches the machine without running anything of its owner's. An error is a
	// *value.Error that says what is wrong.
	Test(ctx context.Context, u Use) error
	// Forget lets go of what is kept of a machine that was changed or removed.
	Forget(id account.ID, name string)
	// Close lets go of everything.
	Close() error
}
