package archtest

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

// wall keeps a package of the standard library, and those below it, to the few
// packages meant to use it.
type wall struct {
	imported string
	allowed  []string // packages of the module; a star stands for one part
	why      string
}

var walls = []wall{
	{"C", nil, "the program builds without a C compiler"},
	{"unsafe", []string{"lang/value", "internal/sqlite"}, "what the compiler cannot check stays in the value's representation and the SQLite binding"},
	{"net", []string{"internal/listen", "internal/forward", "internal/server", "internal/network", "internal/network/networktest", "internal/mail/mailtest", "internal/programtest", "internal/store/postgres", "internal/resource/machines/sshtest", "internal/store/blob/s3", "internal/tlscert/tlscerttest", "bench/cluster", "bench/http", "bench/load"}, "every way out to the network goes through one guarded dialer, and one package listens"},
	{"net/http", []string{"internal/server", "internal/server/*", "internal/app", "internal/listen", "internal/forward", "internal/network", "internal/remote", "internal/store/blob/s3", "internal/telemetry", "internal/tlscert", "internal/admit/admittest", "bench/cluster", "bench/http", "bench/load", "bench/resources"}, "every way out to the network goes through one guarded client, and every way in through the codecs"},
	{"net/rpc", nil, "nothing here speaks it"},
	{"net/smtp", []string{"internal/mail"}, "one package sends mail, by a guarded dialer"},
	{"os/exec", []string{"bench/load", "internal/cli/browser", "internal/programtest", "internal/resource/machines/sshtest", "internal/server/browsertest", "internal/store/blob/s3/s3test", "internal/store/postgres/pgtest"}, "scripts run programs on machines, never beside the service"},
	{"plugin", nil, "what runs is what was built"},
	{"syscall", []string{"internal/network", "internal/programtest", "internal/resource/files", "internal/store/postgres/pgtest", "internal/store/ring", "internal/store/sqlite", "bench/fuel", "bench/resources"}, "elsewhere the standard library's portable calls do"},
	{"database/sql", []string{"internal/resource/sessions", "bench/resources"}, "a transaction never leaves the package that began it"},
	{"os", []string{"lang/langtest", "lang/langtest/*", "internal/*", "internal/account/seal", "internal/tlscert/tlscerttest", "internal/resource/*", "internal/resource/databases/ship", "internal/resource/machines/sshtest", "internal/store/*", "internal/store/blob/*", "internal/store/blob/s3/s3test", "internal/store/postgres/pgtest", "internal/store/sqlite/sqlitetest", "cmd/*", "editors", "bench/*"}, "the language reaches the world through its host alone"},
	{"math/rand", nil, "chance comes from the host, so that a run can be repeated"},
}

// under are the packages below a walled one that do not do what it is walled
// for: they work on texts and numbers alone.
var under = []string{"net/mail", "net/netip", "net/textproto", "net/url"}

// TestWalls checks that only the packages meant to do so import what reaches
// past the process or the type system. Tests may.
func TestWalls(t *testing.T) {
	for _, p := range loadTree(t) {
		complain(t, checkWalls(p, walls))
	}
}

func checkWalls(p goPackage, walls []wall) []string {
	var complaints []string
	for _, f := range p.files {
		if f.test {
			continue
		}
		for _, imported := range f.imports {
			w, ok := wallAround(imported, walls)
			if ok && !matches(p.path, w.allowed) {
				complaints = append(complaints, fmt.Sprintf("%s may not import %s: %s", path.Join(p.path, f.name), imported, w.why))
			}
		}
	}
	return complaints
}

// wallAround finds the innermost wall around an import.
func wallAround(imported string, walls []wall) (wall, bool) {
	if matches(imported, under) {
		return wall{}, false
	}
	var innermost wall
	for _, w := range walls {
		if imported != w.imported && !strings.HasPrefix(imported, w.imported+"/") {
			continue
		}
		if len(w.imported) > len(innermost.imported) {
			innermost = w
		}
	}
	return innermost, innermost.imported != ""
}

func TestCheckWalls(t *testing.T) {
	walls := []wall{
		{"unsafe", []string{"lang/value"}, "one package answers for it"},
		{"net", nil, "guarded dialer"},
		{"net/http", []string{"internal/web/*"}, "guarded client"},
	}
	tests := []struct {
		name string
		path string
		file goFile
		want []string
	}{
		{"allowed", "lang/value", goFile{name: "a.go", imports: []string{"unsafe"}}, nil},
		{"allowed by a star, below the wall", "internal/web/page", goFile{name: "a.go", imports: []string{"net/http/httputil"}}, nil},
		{"not walled", "lang/vm", goFile{name: "a.go", imports: []string{"fmt", "network"}}, nil},
		{"harmless below a wall", "lang/lib", goFile{name: "a.go", imports: []string{"net/url"}}, nil},
		{"tests may", "lang/vm", goFile{name: "a_test.go", test: true, imports: []string{"unsafe"}}, nil},
		{"refused", "lang/vm", goFile{name: "a.go", imports: []string{"unsafe"}}, []string{"lang/vm/a.go may not import unsafe: one package answers for it"}},
		{"the innermost wall counts", "lang/vm", goFile{name: "a.go", imports: []string{"net/http"}}, []string{"lang/vm/a.go may not import net/http: guarded client"}},
		{"an inner gate is not an outer one", "internal/web/page", goFile{name: "a.go", imports: []string{"net"}}, []string{"internal/web/page/a.go may not import net: guarded dialer"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantComplaints(t, checkWalls(goPackage{test.path, []goFile{test.file}}, walls), test.want)
		})
	}
}
