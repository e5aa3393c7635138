//go:build !linux

package member

import "time"

// BootTime returns the time since the process started: there is no clock for more.
func BootTime() time.Duration { return time.Since(started) }
