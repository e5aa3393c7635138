//go:build darwin || freebsd || linux

package platform

import "golang.org/x/sys/unix"

// DiskSpace returns how much of the disk under a folder may still be used, and how
// large it is.
func DiskSpace(folder string) (free, total uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil {
		return 0, 0, err
	}
	size := uint64(s.Bsize)
	return uint64(s.Bavail) * size, s.Blocks * size, nil //nolint:unconvert // a signed number on some systems
}
