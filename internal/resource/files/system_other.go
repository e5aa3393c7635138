//go:build !unix

package files

import "io/fs"

const openFlags = 0

// hasOtherName is false where the system does not tell.
func hasOtherName(fs.FileInfo) bool { return false }

// systemCode knows no errors beside those that all systems have.
func systemCode(error) string { return "" }
