//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package cli

import "os"

// stopSignals ask a command to end.
var stopSignals = []os.Signal{os.Interrupt}
