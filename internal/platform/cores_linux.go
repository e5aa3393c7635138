package platform

import "golang.org/x/sys/unix"

// Yield lets another thread have this one's core, if any waits for it. The
// kernel would see to it by its clock, some milliseconds later: too late for who
// has only a packet to read.
func Yield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) } // it never fails
