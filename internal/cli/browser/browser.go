// Package browser shows people an address of a service that a command of theirs has started. It is all
// of the program that starts another one.
package browser

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
)

// ErrNone says that there is no program by which addresses are shown.
var ErrNone = errors.New("no program was found that opens addresses")

// Open has the browser of whoever runs the command show an address, and does not wait until it is
// shown. Chosen is the program to do it by, as the environment names it in BROWSER; "" for that of
// the system.
func Open(ctx context.Context, chosen, address string) error {
	for _, command := range commands(chosen, runtime.GOOS) {
		path, err := exec.LookPath(command[0])
		if err != nil {
			continue
		}
		// It may be the browser itself, which outlives the command.
		started := exec.CommandContext(context.WithoutCancel(ctx), path, append(command[1:], address)...)
		if err := started.Start(); err != nil {
			return err
		}
		return started.Process.Release()
	}
	return ErrNone
}

// commands are the programs that open an address, the best first.
func commands(chosen, system string) [][]string {
	if chosen != "" {
		return [][]string{{chosen}}
	}
	switch system {
	case "darwin":
		return [][]string{{"open"}}
	case "windows":
		return [][]string{{"rundll32", "url.dll,FileProtocolHandler"}}
	}
	return [][]string{{"xdg-open"}, {"sensible-browser"}, {"x-www-browser"}}
}
