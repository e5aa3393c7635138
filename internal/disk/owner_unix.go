//go:build unix

package disk

import "golang.org/x/sys/unix"

// owner is whose file it is.
func owner(name string) (int, error) {
	var s unix.Stat_t
	if err := unix.Stat(name, &s); err != nil {
		return 0, err
	}
	return int(s.Uid), nil
}
