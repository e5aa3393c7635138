package programtest

import "syscall"

// DieWithParent makes a process end with the test that started it, also where
// that is killed itself.
func DieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
