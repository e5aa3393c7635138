//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package cli

import "os"

// hasTerminal reports that nothing is known to be a terminal here.
func hasTerminal(*os.File) bool { return false }

// hideInput reports that nothing can be hidden here.
func hideInput(*os.File) (restore func(), ok bool) { return nil, false }
