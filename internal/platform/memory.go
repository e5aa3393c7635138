// Package platform asks the operating system what the process has, memory, cores and
// disk, and takes its share of them. What that is spent on is for others to say.
package platform

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// LimitMemory holds the process to three quarters of the memory that its
// machine or container has, unless GOMEMLIMIT says otherwise, and returns how
// much of it scripts may use together, two fifths, and how much may be held for
// callers besides, a quarter. The rest is the collector's, the database
// library's and the service's own. It returns 0 where nothing is known. It is the
// process's to call, once.
func LimitMemory() (scripts, calls int64) {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		has := machineMemory(os.ReadFile)
		if has == 0 {
			return 0, 0
		}
		limit = has / 4 * 3
		debug.SetMemoryLimit(limit)
	}
	return limit / 5 * 2, limit / 4
}

// ballastBytes is memory that is set aside and never touched, so that it costs
// none. The collector runs when the heap has doubled; without it that would be
// several times a second on a busy node that holds little.
const ballastBytes = 64 << 20

// Ballast returns what is to be kept as long as the process serves.
func Ballast() []byte { return make([]byte, ballastBytes) }

// machineMemory returns what the container, or else the machine, has; 0 where
// that is not known.
func machineMemory(read func(string) ([]byte, error)) int64 {
	least := cgroupMemory(read)
	if text, err := read("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) == 3 && fields[0] == "MemTotal:" {
				if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
					least = min(least, n<<10)
				}
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}
