package platform

import (
	"math"
	"path"
	"strconv"
	"strings"
)

// hierarchy is one of the two kinds of cgroups that bound memory.
type hierarchy struct {
	system string   // the kind of its file system
	usual  string   // where it is mounted where nothing says so
	files  []string // that hold a bound; where none is set, a word or a very large number
	// isOurs tells whether a line of /proc/self/cgroup is of it, by the number and
	// the controllers in it.
	isOurs func(number, controllers string) bool
}

var hierarchies = []hierarchy{
	{
		// Beyond memory.high a process is not ended, but hardly gets on.
		system: "cgroup2", usual: "/sys/fs/cgroup", files: []string{"memory.max", "memory.high"},
		isOurs: func(number, controllers string) bool { return number == "0" && controllers == "" },
	},
	{
		system: "cgroup", usual: "/sys/fs/cgroup/memory", files: []string{"memory.limit_in_bytes"},
		isOurs: func(_, controllers string) bool { return hasWord(controllers, "memory") },
	},
}

// cgroupMemory returns the least bound on the process's memory by its own cgroup or
// one above it, as far as they can be seen; math.MaxInt64 where there is none. A
// unit of systemd, a container and a pod are each a cgroup, and may be inside one
// another.
func cgroupMemory(read func(string) ([]byte, error)) int64 {
	least := int64(math.MaxInt64)
	for _, h := range hierarchies {
		own := h.own(read)
		for _, m := range h.mounts(read) {
			for _, folder := range m.folders(own) {
				for _, file := range h.files {
					text, err := read(path.Join(folder, file))
					if err != nil {
						continue
					}
					if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
						least = min(least, n)
					}
				}
			}
		}
	}
	return least
}

// own returns the cgroup of the process in the hierarchy; the root's where it is
// not known.
func (h *hierarchy) own(read func(string) ([]byte, error)) string {
	text, err := read("/proc/self/cgroup")
	if err != nil {
		return "/"
	}
	for line := range strings.Lines(string(text)) {
		// As in 4:memory:/system.slice/ql.service
		parts := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(parts) == 3 && h.isOurs(parts[0], parts[1]) {
			return parts[2]
		}
	}
	return "/"
}

// mount is a place where a part of a hierarchy can be seen, from a cgroup on.
type mount struct{ root, at string }

func (h *hierarchy) mounts(read func(string) ([]byte, error)) (list []mount) {
	text, err := read("/proc/self/mountinfo")
	if err != nil {
		return []mount{{"/", h.usual}}
	}
	for line := range strings.Lines(string(text)) {
		// As in 35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
		place, about, _ := strings.Cut(line, " - ")
		where, what := strings.Fields(place), strings.Fields(about)
		if len(where) < 5 || len(what) < 3 || what[0] != h.system {
			continue
		}
		if h.system == "cgroup" && !hasWord(what[2], "memory") {
			continue
		}
		list = append(list, mount{unescaped.Replace(where[3]), unescaped.Replace(where[4])})
	}
	return list
}

// unescaped undoes what the kernel writes for spaces in a path.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// folders returns where a cgroup and those above it can be seen. One outside of
// what is mounted cannot: then it is what is mounted that bounds it.
func (m mount) folders(own string) []string {
	below, ok := strings.CutPrefix(path.Clean(own), strings.TrimSuffix(path.Clean(m.root), "/"))
	if !ok || below != "" && below[0] != '/' || strings.HasPrefix(own, "/..") {
		below = ""
	}
	folders := []string{m.at}
	for i, c := range below {
		if c == '/' && i > 0 {
			folders = append(folders, path.Join(m.at, below[:i]))
		}
	}
	if len(below) > 1 {
		folders = append(folders, path.Join(m.at, below))
	}
	return folders
}

// hasWord reports whether a list with commas has a word.
func hasWord(list, word string) bool {
	for part := range strings.SplitSeq(list, ",") {
		if part == word {
			return true
		}
	}
	return false
}
