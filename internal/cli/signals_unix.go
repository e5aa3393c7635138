//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// stopSignals ask a command to end: a person's, and a service manager's.
var stopSignals = []os.Signal{os.Interrupt, unix.SIGTERM}
