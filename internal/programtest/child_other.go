//go:build !linux

package programtest

import "syscall"

// DieWithParent does nothing: no other kernel has it.
func DieWithParent() *syscall.SysProcAttr { return nil }
