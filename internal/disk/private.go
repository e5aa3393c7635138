package disk

import (
	"io/fs"
	"os"
)

// Private reports whether a file is closed to others, as one with a secret must be. One of the
// administrator's may be read by the group that it was given to: so a Secret of Kubernetes and a credential
// of systemd come to a process that is not root.
func Private(name string, mode fs.FileMode) (bool, error) {
	owner, err := owner(name)
	if err != nil {
		return false, err
	}
	return isPrivate(mode, owner, os.Geteuid()), nil
}

func isPrivate(mode fs.FileMode, owner, self int) bool {
	others := mode.Perm() & 0o077
	return others == 0 || owner == 0 && self != 0 && others == 0o040
}
