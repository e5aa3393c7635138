package member

import (
	"time"

	"golang.org/x/sys/unix"
)

// BootTime returns the time since the machine booted. It goes on while the machine
// sleeps, which the monotonic clock does not.
func BootTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return time.Since(started) // every kernel that runs this has it
	}
	return time.Duration(t.Nano())
}
