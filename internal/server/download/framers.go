package download

import (
	"slices"

	"ql/internal/hostname"
)

// Framers are the origins of the pages that show previews, as a policy names them, of a service with an origin: one
// on this machine is called by any of the machine's names, and its pages come from that name.
func Framers(own hostname.Origin) string {
	list := own.String()
	names := []string{"127.0.0.1", "localhost"}
	if !slices.Contains(names, own.Host) {
		return list
	}
	for _, name := range names {
		if name != own.Host {
			own.Host = name
			return list + " " + own.String()
		}
	}
	return list
}
