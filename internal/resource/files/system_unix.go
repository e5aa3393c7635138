//go:build unix

package files

import (
	"errors"
	"io/fs"
	"syscall"
)

// openFlags keep an open from following a link and from waiting for the other
// end of a pipe.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// hasOtherName reports whether a file has more than one name.
func hasOtherName(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}

// systemCodes are the codes of the system's errors that a script may see.
var systemCodes = []struct {
	err  syscall.Errno
	code string
}{
	{syscall.ENOTDIR, fileNotFound}, // below a file there is nothing
	{syscall.ENOTEMPTY, folderNotEmpty},
	{syscall.EISDIR, isFolder},
	{syscall.ENOSPC, quotaExceeded},
	{syscall.EDQUOT, quotaExceeded},
	{syscall.EROFS, accessDenied},
}

// systemCode returns the code for an error of this system, "" where it has
// none.
func systemCode(err error) string {
	for _, known := range systemCodes {
		if errors.Is(err, known.err) {
			return known.code
		}
	}
	return ""
}
