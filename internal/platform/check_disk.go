package platform

import "fmt"

// CheckDisk returns an error where the disk of a folder has less free than is required of one of its size.
func CheckDisk(folder string, required func(total uint64) uint64) error {
	free, total, err := DiskSpace(folder)
	if err == nil && free < required(total) {
		err = fmt.Errorf("the disk of the data folder has %d bytes left", free)
	}
	return err
}
