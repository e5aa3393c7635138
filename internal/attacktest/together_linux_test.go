package attacktest

import "syscall"

// dieTogether makes a process end with the test that started it, also where
// that is killed itself.
func dieTogether() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
