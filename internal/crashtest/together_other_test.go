//go:build !linux

package crashtest

import "syscall"

func dieTogether() *syscall.SysProcAttr { return nil }
