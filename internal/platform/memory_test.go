package platform

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMachineMemory(t *testing.T) {
	const (
		meminfo = "MemTotal:       1000 kB\nMemFree:        10 kB\n"
		v2      = "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
		v1      = "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n" +
			"32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n" +
			"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n" +
			"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
		noBound = "9223372036854771712\n"
	)
	type tree = map[string]string
	for name, test := range map[string]struct {
		files tree
		want  int64
	}{
		"nothing":               {nil, 0},
		"the machine":           {tree{"/proc/meminfo": meminfo}, 1000 << 10},
		"v2 without a bound":    {tree{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "max\n"}, 1000 << 10},
		"v2 in a container":     {tree{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "2048\n"}, 2048},
		"v1 in a container":     {tree{"/sys/fs/cgroup/memory/memory.limit_in_bytes": "4096\n"}, 4096},
		"more than the machine": {tree{"/proc/meminfo": meminfo, "/sys/fs/cgroup/memory.max": "99999999\n"}, 1000 << 10},
		"v2, a unit of systemd": {tree{
			"/proc/meminfo": meminfo, "/proc/self/mountinfo": v2, "/proc/self/cgroup": "0::/system.slice/ql.service\n",
			"/sys/fs/cgroup/system.slice/memory.max":            "max\n",
			"/sys/fs/cgroup/system.slice/ql.service/memory.max": "3000\n",
		}, 3000},
		"v2, what is above has less": {tree{
			"/proc/meminfo": meminfo, "/proc/self/mountinfo": v2, "/proc/self/cgroup": "0::/kubepods.slice/pod1.slice/ql.scope\n",
			"/sys/fs/cgroup/kubepods.slice/memory.max":                     "max\n",
			"/sys/fs/cgroup/kubepods.slice/pod1.slice/memory.max":          "2500\n",
			"/sys/fs/cgroup/kubepods.slice/pod1.slice/ql.scope/memory.max": "3000\n",
			"/sys/fs/cgroup/kubepods.slice/pod2.slice/memory.max":          "1\n",
		}, 2500},
		"v2, throttled before it is ended": {tree{
			"/proc/self/mountinfo": v2, "/proc/self/cgroup": "0::/ql.service\n",
			"/sys/fs/cgroup/ql.service/memory.max": "3000\n", "/sys/fs/cgroup/ql.service/memory.high": "2900\n",
		}, 2900},
		"v1, a cgroup below": {tree{
			"/proc/meminfo": meminfo, "/proc/self/mountinfo": v1,
			"/proc/self/cgroup":                                    "5:devices:/\n4:memory:/jobs/a b\n1:cpu:/other\n0::/\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes":          noBound,
			"/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes":     noBound,
			"/sys/fs/cgroup/memory/jobs/a b/memory.limit_in_bytes": "5000\n",
			"/sys/fs/cgroup/memory/other/memory.limit_in_bytes":    "1\n",
			"/sys/fs/cgroup/cpu/jobs/a b/memory.limit_in_bytes":    "2\n",
		}, 5000},
		"v1, what is above has less": {tree{
			"/proc/self/mountinfo": v1, "/proc/self/cgroup": "4:cpu,memory:/jobs/a\n",
			"/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes":   "4000\n",
			"/sys/fs/cgroup/memory/jobs/a/memory.limit_in_bytes": "5000\n",
		}, 4000},
		"both kinds": {tree{
			"/proc/self/mountinfo": v1, "/proc/self/cgroup": "4:memory:/a\n0::/b\n",
			"/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "4000\n", "/sys/fs/cgroup/unified/b/memory.max": "3000\n",
		}, 3000},
		"a container that sees the machine's names": {tree{
			"/proc/self/mountinfo":                                   "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"/proc/self/cgroup":                                      "4:memory:/docker/abc/inner\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes":            "6000\n",
			"/sys/fs/cgroup/memory/inner/memory.limit_in_bytes":      "5500\n",
			"/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "1\n",
		}, 5500},
		"a cgroup outside of what is mounted": {tree{
			"/proc/self/mountinfo": "35 31 0:32 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "/proc/self/cgroup": "0::/docker/abcdef\n",
			"/sys/fs/cgroup/memory.max": "6000\n", "/sys/fs/cgroup/def/memory.max": "1\n",
		}, 6000},
		"a cgroup above the namespace": {tree{
			"/proc/self/mountinfo": v2, "/proc/self/cgroup": "0::/../../etc\n",
			"/sys/fs/cgroup/memory.max": "6000\n", "/sys/fs/cgroup/etc/memory.max": "1\n", "/etc/memory.max": "1\n",
		}, 6000},
		"mounted elsewhere, with a space": {tree{
			"/proc/self/mountinfo": "31 23 0:28 / /my\\040cgroups rw - cgroup2 cgroup2 rw\n", "/proc/self/cgroup": "0::/x\n",
			"/my cgroups/x/memory.max": "7000\n",
		}, 7000},
		"damaged": {tree{
			"/proc/meminfo": meminfo, "/proc/self/mountinfo": "a b c\n - cgroup2\n\n", "/proc/self/cgroup": ":::\n0\n",
		}, 1000 << 10},
	} {
		// As a tree of real files.
		folder := t.TempDir()
		for file, text := range test.files {
			file = filepath.Join(folder, file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := machineMemory(func(file string) ([]byte, error) { return os.ReadFile(filepath.Join(folder, file)) })
		if got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}
