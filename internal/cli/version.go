package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"ql/lang/bytecode"
)

// versionCommand is ql version.
type versionCommand struct{}

// Run implements the command.
func (*versionCommand) Run(c *console) error {
	version, revision := buildVersion()
	if c.json {
		c.print(struct {
			Version  string `json:"version"`
			Revision string `json:"revision,omitempty"`
			Language int    `json:"language"`
			Go       string `json:"go"`
			Platform string `json:"platform"`
		}{version, revision, bytecode.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
		return nil
	}
	fmt.Fprintf(c.out, "ql %s, language %d, %s %s/%s\n", version, bytecode.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}

// buildVersion returns the version that was built, and the commit where that is
// known.
func buildVersion() (version, revision string) {
	version = "devel"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, ""
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = s.Value
		}
	}
	return version, revision
}
