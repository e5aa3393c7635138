package platform

import "runtime"

// SpareProcessors gives the process twice as many of Go's processors as there
// are cores, or as GOMAXPROCS says, and returns how many scripts may compute at
// once: the cores. It is the process's to call, once.
//
// A script that computes keeps a processor. Where all of them are kept, nobody
// looks at the network but a watchdog that does so every 10 ms, and calls that
// would take a fraction of that wait for it. Which thread has a core the kernel
// decides better.
func SpareProcessors() (cores int) {
	cores = runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(2 * cores)
	return cores
}
