//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasTerminal reports whether f is a terminal.
func hasTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// hideInput stops a terminal from showing what is typed until restore is
// called; ok is false where f is no terminal.
func hideInput(f *os.File) (restore func(), ok bool) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, false
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	if err := unix.IoctlSetTermios(fd, setTermios, &hidden); err != nil {
		return nil, false
	}
	return func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }, true
}
