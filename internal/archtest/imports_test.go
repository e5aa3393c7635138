package archtest

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

// layer says what a package may import besides the standard library, which
// TestWalls is about.
type layer struct {
	pkg     string   // a path below the module; a star stands for one part
	imports []string // of the module, in the same form
	others  []string // modules of others
}

// language is what the service may use of the language.
var language = []string{
	"lang", "lang/source", "lang/syntax", "lang/format", "lang/value", "lang/bytecode",
	"lang/form", "lang/lib", "lang/regex", "lang/resolve", "lang/rows", "lang/compile", "lang/vm", "lang/ide",
}

// layers has a row for every package, earlier layers first. The language never
// imports the service; the machine never sees a tree, so that a paused job needs
// no source; a resource never imports another.
var layers = []layer{
	{pkg: "lang/source"},
	{pkg: "lang/syntax", imports: []string{"lang/source"}},
	{pkg: "lang/format", imports: []string{"lang/source", "lang/syntax"}},
	{pkg: "lang/value"},
	{pkg: "lang/bytecode", imports: []string{"lang/source", "lang/value"}},
	{pkg: "lang/form", imports: []string{"lang/value"}},
	{pkg: "lang/rows", imports: []string{"lang/source", "lang/value"}, others: []string{"golang.org/x/text"}},
	{pkg: "lang/regex"},
	{pkg: "lang/lib", imports: []string{"lang/regex", "lang/rows", "lang/source", "lang/value"}, others: []string{"go.yaml.in/yaml/v3", "golang.org/x/text"}},
	{pkg: "lang/resolve", imports: []string{"lang/source", "lang/syntax", "lang/bytecode", "lang/value", "lang/lib"}},
	{pkg: "lang/compile", imports: []string{"lang/source", "lang/syntax", "lang/resolve", "lang/bytecode", "lang/value", "lang/form", "lang/lib"}},
	{pkg: "lang/vm", imports: []string{"lang/source", "lang/bytecode", "lang/value", "lang/form", "lang/lib"}},
	{pkg: "lang", imports: []string{"lang/source", "lang/syntax", "lang/format", "lang/value", "lang/bytecode", "lang/lib", "lang/resolve", "lang/compile"}},
	{pkg: "lang/ide", imports: []string{"lang", "lang/source", "lang/syntax", "lang/format", "lang/lib", "lang/resolve"}},
	{pkg: "lang/langtest", imports: append([]string{"lang/langtest/*"}, language...)},
	{pkg: "lang/langtest/*", imports: append([]string{"lang/langtest"}, language...)},

	{pkg: "internal/admit"},
	{pkg: "internal/admit/admittest", imports: []string{"internal/admit"}},
	{pkg: "internal/batch"},
	{pkg: "internal/disk", others: []string{"golang.org/x/sys"}},
	{pkg: "internal/hostname", others: []string{"golang.org/x/net/idna", "golang.org/x/text"}},
	{pkg: "internal/keyedlock"},
	{pkg: "internal/redacted"},
	{pkg: "internal/site", imports: []string{"lang/source"}, others: []string{"github.com/pelletier/go-toml/v2"}},
	{pkg: "internal/wire", imports: []string{"internal/hostname", "internal/redacted"}},
	{pkg: "internal/password", others: []string{"golang.org/x/crypto"}},
	{pkg: "internal/fault"},
	{pkg: "internal/guard"},
	{pkg: "internal/listen", imports: []string{"internal/guard"}},
	{pkg: "internal/forward", imports: []string{"internal/guard", "internal/listen"}},
	{pkg: "internal/tlscert", others: []string{"golang.org/x/crypto/acme"}},
	{pkg: "internal/tlscert/tlscerttest"},
	{pkg: "internal/platform", others: []string{"golang.org/x/sys"}},
	{pkg: "internal/account", imports: []string{"internal/account/names", "internal/account/scope", "internal/account/seal", "internal/colour", "internal/disk", "internal/fault", "internal/hostname", "internal/password", "internal/redacted", "lang/source", "lang/value", "lang/vm"}, others: []string{"golang.org/x/net/publicsuffix", "golang.org/x/text"}},
	{pkg: "internal/account/names", imports: []string{"internal/hostname"}, others: []string{"golang.org/x/net/publicsuffix"}},
	{pkg: "internal/account/scope", imports: []string{"internal/account/names"}},
	{pkg: "internal/account/seal", imports: []string{"internal/disk", "internal/redacted"}},
	{pkg: "internal/account/accounttest", imports: []string{"internal/account", "internal/account/names"}},
	{pkg: "internal/account/usage", imports: []string{"internal/account"}},
	{pkg: "internal/principal", imports: []string{"internal/account", "internal/account/scope"}},
	{pkg: "internal/audit", imports: []string{"internal/account", "internal/principal"}},
	{pkg: "internal/signin", imports: []string{"internal/account", "internal/redacted"}},
	{pkg: "internal/auth", imports: []string{"internal/account", "internal/account/names", "internal/admit", "internal/audit", "internal/fault", "internal/guard", "internal/hostname", "internal/password", "internal/principal", "internal/redacted", "internal/signin"}},
	{pkg: "internal/render", imports: []string{"lang/value"}},
	{pkg: "internal/engine", imports: append([]string{"internal/password", "internal/render"}, language...), others: []string{"github.com/google/uuid"}},
	{pkg: "internal/resource/*", imports: []string{"internal/engine", "lang/value"}},
	{
		pkg:     "internal/resource/databases",
		imports: []string{"internal/disk", "internal/engine", "internal/fault", "internal/sqlite", "lang/bytecode", "lang/value"},
		others:  []string{"modernc.org/sqlite"},
	},
	{
		pkg:     "internal/resource/databases/transfer",
		imports: []string{"internal/resource/databases", "internal/sqlite", "lang/rows", "lang/value"},
		others:  []string{"modernc.org/sqlite"},
	},
	{
		pkg:     "internal/resource/databases/ship",
		imports: []string{"internal/account", "internal/disk", "internal/fault", "internal/member", "internal/resource/files", "internal/sqlite"},
		others:  []string{"github.com/klauspost/compress"},
	},
	{pkg: "internal/resource/databases/owned", imports: []string{"internal/fault", "internal/resource/databases", "internal/resource/databases/transfer", "internal/wire", "lang/value"}},
	{pkg: "internal/resource/fetch", imports: []string{"internal/account", "internal/engine", "internal/guard", "internal/network", "lang/value"}},
	{pkg: "internal/resource/files", imports: []string{"internal/account", "internal/engine", "internal/fault", "internal/keyedlock", "lang/value"}, others: []string{"golang.org/x/text"}},
	{pkg: "internal/resource/files/deployed", imports: []string{"internal/engine", "internal/fault", "internal/resource/files", "internal/wire"}},
	{pkg: "internal/resource/files/filestest", imports: []string{"internal/engine", "lang/value"}},
	{pkg: "internal/sqlite", others: []string{"modernc.org/libc", "modernc.org/sqlite"}},
	{pkg: "internal/resource/sessions", imports: []string{"internal/account", "internal/engine", "internal/keyedlock", "lang/value"}, others: []string{"modernc.org/sqlite"}},
	{pkg: "internal/resource/shares/owned", imports: []string{"internal/account", "internal/engine", "internal/resource/shares", "internal/wire"}},
	{pkg: "internal/resource/machines", imports: []string{"internal/account", "internal/account/names", "internal/engine", "internal/fault", "internal/hostname", "internal/redacted", "lang/value"}, others: []string{"golang.org/x/crypto/ssh"}},
	{pkg: "internal/resource/machines/owned", imports: []string{"internal/account", "internal/resource/machines", "internal/wire", "lang/value"}},
	{pkg: "internal/resource/machines/sshtest", others: []string{"golang.org/x/crypto/ssh"}},
	{pkg: "internal/resource/machines/wasmtest"},
	{pkg: "internal/resource/machines/ssh", imports: []string{"internal/account", "internal/admit", "internal/engine", "internal/guard", "internal/network", "internal/resource/machines", "lang/value"}, others: []string{"github.com/pkg/sftp", "golang.org/x/crypto/ssh"}},
	{pkg: "internal/resource/machines/wasm", imports: []string{"internal/account", "internal/admit", "internal/engine", "internal/resource/machines", "lang/value"}, others: []string{"github.com/tetratelabs/wazero"}},
	{pkg: "internal/resource/mails", imports: []string{"internal/account", "internal/engine", "internal/fault", "internal/mail", "lang/value"}},
	{pkg: "internal/resource/shares", imports: []string{"internal/account", "internal/engine", "internal/fault", "lang/value"}},
	{pkg: "internal/member", others: []string{"golang.org/x/sys"}},
	{pkg: "internal/job", imports: []string{"internal/account", "internal/member", "internal/principal"}},
	{pkg: "internal/schedule", imports: []string{"internal/account", "internal/account/names", "internal/fault", "internal/guard", "internal/job", "internal/member", "lang/lib"}},
	{pkg: "internal/record", imports: []string{"internal/account", "internal/batch", "internal/guard", "internal/job"}},
	{pkg: "internal/editor", imports: []string{"internal/engine", "internal/fault", "lang/ide", "lang/value"}},
	{pkg: "internal/lsp", imports: []string{"internal/editor", "internal/guard", "lang/ide"}},
	// Whoever replays a job needs neither the worker nor a store.
	{pkg: "internal/journal", imports: []string{"internal/admit", "internal/engine", "internal/job", "lang/bytecode", "lang/value", "lang/vm"}},
	{pkg: "internal/replay", imports: append([]string{"internal/account", "internal/engine", "internal/execution", "internal/fault", "internal/job", "internal/journal", "internal/worker"}, language...)},
	{pkg: "internal/execution", imports: append([]string{"internal/account", "internal/admit", "internal/engine", "internal/fault", "internal/job", "internal/password", "internal/wire"}, language...)},
	{
		pkg: "internal/worker",
		imports: []string{
			"internal/account", "internal/admit", "internal/engine", "internal/execution", "internal/fault", "internal/guard", "internal/job", "internal/journal", "internal/member", "internal/principal", "internal/record", "internal/wire",
			"lang/bytecode", "lang/form", "lang/value", "lang/vm",
		},
	},
	{pkg: "internal/network", imports: []string{"internal/hostname"}},
	{pkg: "internal/network/networktest"},
	{pkg: "internal/domainproof", imports: []string{"internal/network"}},
	{pkg: "internal/remote", imports: []string{"internal/fault", "internal/redacted"}},
	// It puts the resources together, which know nothing of each other.
	{
		pkg: "internal/resource",
		imports: []string{
			"internal/account", "internal/account/usage", "internal/admit", "internal/engine", "internal/fault", "internal/guard", "internal/member", "internal/network", "internal/resource/databases", "internal/resource/databases/ship", "internal/resource/fetch",
			"internal/resource/files", "internal/resource/machines", "internal/resource/machines/ssh", "internal/resource/machines/wasm", "internal/mail", "internal/redacted", "internal/resource/mails", "internal/resource/sessions", "internal/resource/shares", "internal/site", "lang/value",
		},
	},
	{pkg: "internal/mail", imports: []string{"internal/account", "internal/guard", "internal/hostname", "internal/job", "internal/network", "internal/redacted"}},
	{pkg: "internal/mail/mailtest", others: []string{"github.com/emersion/go-sasl", "github.com/emersion/go-smtp"}},
	{pkg: "internal/webhook", imports: []string{"internal/account", "internal/guard", "internal/job", "internal/network", "internal/redacted"}},
	// The stores by their interfaces alone: no backend among them.
	{
		pkg:     "internal/store",
		imports: []string{"internal/account", "internal/account/names", "internal/account/usage", "internal/admit", "internal/audit", "internal/job", "internal/mail", "internal/member", "internal/record", "internal/resource/databases/ship", "internal/resource/files", "internal/resource/machines", "internal/resource/sessions", "internal/resource/shares", "internal/schedule", "internal/signin", "internal/webhook"},
	},
	{pkg: "internal/store/blob", imports: []string{"internal/config", "internal/disk", "internal/fault", "internal/resource/files", "internal/store/blob/dir", "internal/store/blob/s3", "internal/store/sqlite"}},
	{pkg: "internal/store/blob/dir", imports: []string{"internal/resource/files"}},
	{pkg: "internal/store/blob/s3", imports: []string{"internal/fault", "internal/resource/files"}, others: []string{"github.com/minio/minio-go/v7"}},
	{pkg: "internal/store/blob/s3/s3test", imports: []string{"internal/programtest"}, others: []string{"github.com/minio/minio-go/v7"}},
	{pkg: "internal/store/migrate"},
	{pkg: "internal/store/tables"},
	{pkg: "internal/store/ring", imports: []string{"internal/disk"}},
	{
		pkg:     "internal/store/relational",
		imports: []string{"internal/account", "internal/account/names", "internal/account/scope", "internal/account/usage", "internal/admit", "internal/audit", "internal/batch", "internal/fault", "internal/job", "internal/mail", "internal/member", "internal/principal", "internal/resource/databases/ship", "internal/resource/files", "internal/resource/machines", "internal/resource/sessions", "internal/resource/shares", "internal/schedule", "internal/signin", "internal/store", "internal/webhook"},
	},
	{
		pkg:     "internal/store/postgres",
		imports: []string{"internal/account", "internal/admit", "internal/audit", "internal/batch", "internal/disk", "internal/fault", "internal/job", "internal/member", "internal/record", "internal/resource/databases/ship", "internal/store", "internal/store/migrate", "internal/store/relational", "internal/store/tables"},
		others:  []string{"github.com/jackc/pgx/v5"},
	},
	{
		pkg:     "internal/store/backend",
		imports: []string{"internal/account", "internal/audit", "internal/member", "internal/redacted", "internal/store", "internal/store/postgres", "internal/store/relational", "internal/store/sqlite", "internal/store/tables"},
	},
	{pkg: "internal/store/postgres/pgtest", others: []string{"github.com/jackc/pgx/v5"}},
	{
		pkg:     "internal/store/sqlite",
		imports: []string{"internal/account", "internal/audit", "internal/batch", "internal/disk", "internal/fault", "internal/job", "internal/principal", "internal/record", "internal/sqlite", "internal/store", "internal/store/migrate", "internal/store/relational", "internal/store/ring", "internal/store/tables"},
		others:  []string{"golang.org/x/sys", "modernc.org/sqlite"},
	},
	{pkg: "internal/store/sqlite/sqlitetest", imports: []string{"internal/store/sqlite"}},
	// The suite is linked into tests alone.
	{
		pkg:     "internal/store/storetest",
		imports: []string{"internal/account", "internal/account/names", "internal/account/scope", "internal/account/usage", "internal/admit", "internal/audit", "internal/engine", "internal/fault", "internal/job", "internal/mail", "internal/member", "internal/principal", "internal/record", "internal/resource/databases/ship", "internal/resource/files", "internal/resource/files/filestest", "internal/resource/machines", "internal/resource/sessions", "internal/resource/shares", "internal/schedule", "internal/signin", "internal/store", "internal/store/blob/dir", "internal/webhook", "lang/value"},
		others:  []string{"github.com/google/go-cmp"},
	},
	{
		pkg: "internal/upkeep",
		imports: []string{
			"internal/account", "internal/admit", "internal/guard", "internal/job", "internal/mail", "internal/member", "internal/platform", "internal/resource", "internal/resource/files", "internal/resource/shares", "internal/webhook",
		},
	},
	// It speaks no HTTP, which TestWalls checks, and never calls up into the server.
	{
		pkg:     "internal/service",
		imports: append([]string{"internal/account", "internal/account/names", "internal/account/scope", "internal/account/usage", "internal/admit", "internal/audit", "internal/auth", "internal/domainproof", "internal/editor", "internal/engine", "internal/execution", "internal/fault", "internal/job", "internal/journal", "internal/mail", "internal/member", "internal/principal", "internal/record", "internal/redacted", "internal/render", "internal/schedule", "internal/signin", "internal/site", "internal/webhook", "internal/wire", "internal/worker"}, language...),
	},
	{pkg: "internal/server", imports: []string{"internal/account", "internal/admit", "internal/auth", "internal/fault", "internal/forward", "internal/guard", "internal/hostname", "internal/listen", "internal/principal", "internal/redacted", "internal/service", "internal/signin", "internal/wire"}},
	// The conventions know nothing of each other, but that sites have forms inside their pages.
	{pkg: "internal/colour"},
	{pkg: "internal/server/asset", imports: []string{"internal/fault", "internal/server", "internal/wire"}},
	{pkg: "internal/server/dashboard", imports: []string{"internal/fault", "internal/hostname", "internal/server", "internal/wire"}},
	{pkg: "internal/server/download", imports: []string{"internal/account", "internal/fault", "internal/hostname", "internal/principal", "internal/resource/shares", "internal/server", "internal/server/asset", "internal/service", "internal/wire"}},
	{pkg: "internal/server/openapi"},
	{pkg: "internal/server/formapi", imports: []string{"internal/fault", "internal/job", "internal/principal", "internal/server", "internal/service", "internal/wire"}},
	{pkg: "internal/server/formpage", imports: []string{"internal/colour", "internal/fault", "internal/job", "internal/keyedlock", "internal/principal", "internal/server", "internal/server/asset", "internal/service", "internal/wire", "lang/form", "lang/value"}},
	{pkg: "internal/server/jsonapi", imports: []string{"internal/fault", "internal/job", "internal/principal", "internal/redacted", "internal/server", "internal/service", "internal/wire"}},
	{pkg: "internal/server/exchange", imports: []string{"internal/fault", "internal/server", "internal/service", "internal/wire"}},
	{pkg: "internal/server/runapi", imports: []string{"internal/account", "internal/fault", "internal/job", "internal/principal", "internal/server", "internal/server/exchange", "internal/service", "internal/wire"}},
	{pkg: "internal/server/livereload", imports: []string{"internal/guard"}},
	{pkg: "internal/server/site", imports: []string{"internal/account/names", "internal/fault", "internal/hostname", "internal/job", "internal/principal", "internal/server", "internal/server/exchange", "internal/server/formpage", "internal/service", "internal/site", "internal/wire"}},
	{
		pkg:     "internal/backup",
		imports: []string{"internal/account", "internal/account/seal", "internal/disk", "internal/job", "internal/resource/files", "internal/sqlite", "internal/store/blob/dir", "internal/store/sqlite"},
	},
	{pkg: "internal/config", imports: []string{"internal/account", "internal/account/names", "internal/disk", "internal/hostname", "internal/mail", "internal/redacted", "lang/source"}, others: []string{"github.com/pelletier/go-toml/v2"}},
	{pkg: "internal/move", imports: []string{"internal/account", "internal/disk", "internal/fault", "internal/guard", "internal/resource/files", "internal/sqlite", "internal/store/relational", "internal/store/tables"}},
	{
		pkg: "internal/operator",
		imports: []string{
			"internal/account", "internal/account/seal", "internal/account/usage", "internal/audit", "internal/backup", "internal/config", "internal/fault", "internal/job", "internal/mail", "internal/member", "internal/move", "internal/network", "internal/platform", "internal/replay", "internal/resource", "internal/resource/databases", "internal/resource/databases/ship",
			"internal/resource/files", "internal/resource/machines/owned", "internal/resource/shares", "internal/store", "internal/store/backend", "internal/store/blob", "internal/store/relational", "internal/store/sqlite", "internal/webhook", "internal/wire",
		},
	},
	{pkg: "internal/telemetry", others: []string{"github.com/prometheus/client_golang", "go.opentelemetry.io/otel"}},
	{
		pkg: "internal/observe",
		imports: []string{
			"internal/admit", "internal/auth", "internal/password", "internal/platform", "internal/record", "internal/schedule", "internal/store", "internal/telemetry", "internal/tlscert", "internal/upkeep", "internal/webhook", "internal/worker", "lang",
		},
	},
	{pkg: "internal/app/tree", imports: []string{"internal/account", "internal/engine", "internal/resource", "internal/resource/files", "internal/resource/files/deployed", "internal/server/livereload", "internal/service", "internal/site", "internal/wire"}},
	// It alone names concrete types, so it imports nearly everything.
	{
		pkg: "internal/app",
		imports: []string{
			"internal/account", "internal/account/seal", "internal/account/usage", "internal/admit", "internal/app/tree", "internal/auth", "internal/backup", "internal/config", "internal/domainproof", "internal/engine", "internal/execution", "internal/fault", "internal/forward", "internal/guard", "internal/hostname", "internal/job", "internal/listen", "internal/member",
			"internal/network", "internal/observe", "internal/password", "internal/platform", "internal/record", "internal/resource", "internal/schedule", "internal/resource/*", "internal/resource/databases/owned", "internal/resource/databases/ship", "internal/resource/files/deployed", "internal/resource/machines/owned", "internal/resource/shares/owned", "internal/server", "internal/server/*", "internal/service", "internal/signin",
			"internal/store", "internal/store/backend", "internal/store/blob", "internal/store/sqlite", "internal/telemetry", "internal/tlscert", "internal/upkeep", "internal/webhook", "internal/wire", "internal/worker",
			"lang", "lang/value",
		},
	},
	{pkg: "internal/programtest"},
	{pkg: "internal/server/browsertest", imports: []string{"internal/programtest"}, others: []string{"github.com/chromedp/cdproto", "github.com/chromedp/chromedp"}},
	{pkg: "internal/server/pagetest", others: []string{"golang.org/x/net"}},
	{pkg: "internal/apptest", imports: []string{"internal/account", "internal/app", "internal/config", "internal/operator", "internal/store/sqlite/sqlitetest"}, others: []string{"go.uber.org/goleak"}},
	{pkg: "internal/cli/browser"},
	{
		pkg: "internal/cli",
		imports: append([]string{
			"internal/account", "internal/app", "internal/audit", "internal/backup", "internal/cli/browser", "internal/config", "internal/domainproof", "internal/editor", "internal/engine", "internal/fault", "internal/job", "internal/lsp", "internal/mail", "internal/move",
			"internal/network", "internal/operator", "internal/password", "internal/platform", "internal/redacted", "internal/remote", "internal/render", "internal/resource/*", "internal/resource/databases/transfer", "internal/site", "internal/telemetry", "internal/webhook", "internal/wire",
		}, language...),
		others: []string{"github.com/alecthomas/kong", "golang.org/x/sys"},
	},
	{pkg: "cmd/ql", imports: []string{"internal/cli"}},
	{pkg: "editors", imports: []string{"lang/lib", "lang/syntax"}},
	// They run the command as a process of its own, and measure that.
	{pkg: "bench/load", imports: []string{"internal/cli"}},
	{pkg: "bench/http", imports: []string{"bench/load", "internal/telemetry"}},
	{pkg: "bench/site", imports: []string{"bench/load"}},
	{pkg: "bench/pairs", imports: []string{"bench/load"}},
	{pkg: "bench/machines", imports: []string{"bench/load", "internal/resource/machines/wasmtest"}},
	{pkg: "bench/cluster", imports: []string{"bench/load", "internal/store/blob/s3/s3test", "internal/store/postgres/pgtest"}, others: []string{"github.com/jackc/pgx/v5"}},
	{
		pkg:     "bench/resources",
		imports: []string{"bench/load", "internal/account", "internal/engine", "internal/resource/databases", "internal/resource/databases/transfer", "internal/sqlite", "lang", "lang/bytecode", "lang/vm"},
		others:  []string{"modernc.org/sqlite"},
	},
	{
		pkg:     "bench/fuel",
		imports: []string{"internal/account", "internal/engine", "internal/resource/databases", "lang", "lang/vm"},
	},
	// What no caller sees of a job is measured on the worker and the store alone.
	{
		pkg: "bench/jobs",
		imports: []string{
			"bench/load", "internal/account", "internal/account/seal", "internal/admit", "internal/engine", "internal/execution", "internal/job", "internal/member", "internal/principal", "internal/record", "internal/sqlite", "internal/store/sqlite", "internal/worker",
			"lang", "lang/bytecode",
		},
	},
}

// testsOnly are the packages that hold nothing but tests, so nobody imports
// them and they may import anybody.
var testsOnly = []string{"internal/archtest", "internal/attacktest", "internal/crashtest", "internal/doctest", "e2e"}

// TestImportDirections checks every import of the module against layers. Tests
// may import what they like, except that those of the language know nothing of
// the service either.
func TestImportDirections(t *testing.T) {
	for _, p := range loadTree(t) {
		complain(t, checkImports(p, layers, testsOnly))
	}
}

func checkImports(p goPackage, layers []layer, testsOnly []string) []string {
	if matches(p.path, testsOnly) {
		if p.testOnly() {
			return nil
		}
		return []string{p.path + " is for tests only, and has other files"}
	}
	row, ok := rowOf(p.path, layers)
	if !ok {
		return []string{p.path + " is in no row of the layers: add one, with what it may import"}
	}
	var complaints []string
	for _, f := range p.files {
		for _, imported := range f.imports {
			if !mayImport(row, f, imported) {
				complaints = append(complaints, fmt.Sprintf("%s may not import %s", path.Join(p.path, f.name), imported))
			}
		}
	}
	return complaints
}

// rowOf finds the row of a package; one that names it goes before a star.
func rowOf(pkg string, layers []layer) (layer, bool) {
	for _, row := range layers {
		if row.pkg == pkg {
			return row, true
		}
	}
	for _, row := range layers {
		if matches(pkg, []string{row.pkg}) {
			return row, true
		}
	}
	return layer{}, false
}

func mayImport(row layer, f goFile, imported string) bool {
	if isStandard(imported) {
		return true
	}
	below, isOwn := own(imported)
	if f.test {
		return !isOwn || !isLanguage(row.pkg) || isLanguage(below)
	}
	if isOwn {
		return matches(below, row.imports)
	}
	for _, other := range row.others {
		if imported == other || strings.HasPrefix(imported, other+"/") {
			return true
		}
	}
	return false
}

func isLanguage(pkg string) bool {
	return pkg == "lang" || strings.HasPrefix(pkg, "lang/")
}

func TestCheckImports(t *testing.T) {
	rows := []layer{
		{pkg: "lang/seed"},
		{pkg: "lang/tree", imports: []string{"lang/seed"}, others: []string{"example.com/soil"}},
		{pkg: "internal/plot/*", imports: []string{"lang/tree"}},
		{pkg: "internal/plot/shed", imports: []string{"lang/seed"}},
		{pkg: "internal/gate", imports: []string{"internal/plot/*"}},
	}
	tests := []struct {
		name string
		pkg  goPackage
		want []string
	}{
		{"standard library", goPackage{"lang/seed", []goFile{{name: "a.go", imports: []string{"fmt", "go/ast"}}}}, nil},
		{"allowed", goPackage{"lang/tree", []goFile{{name: "a.go", imports: []string{"ql/lang/seed"}}}}, nil},
		{"allowed by a star", goPackage{"internal/gate", []goFile{{name: "a.go", imports: []string{"ql/internal/plot/pond"}}}}, nil},
		{"allowed module", goPackage{"lang/tree", []goFile{{name: "a.go", imports: []string{"example.com/soil/wet"}}}}, nil},
		{
			"backwards", goPackage{"lang/seed", []goFile{{name: "a.go", imports: []string{"ql/lang/tree"}}}},
			[]string{"lang/seed/a.go may not import ql/lang/tree"},
		},
		{
			"sibling", goPackage{"internal/plot/pond", []goFile{{name: "a.go", imports: []string{"ql/internal/plot/shed"}}}},
			[]string{"internal/plot/pond/a.go may not import ql/internal/plot/shed"},
		},
		{
			"its own row goes before a star", goPackage{"internal/plot/shed", []goFile{{name: "a.go", imports: []string{"ql/lang/seed", "ql/lang/tree"}}}},
			[]string{"internal/plot/shed/a.go may not import ql/lang/tree"},
		},
		{
			"another module", goPackage{"lang/seed", []goFile{{name: "a.go", imports: []string{"example.com/soil"}}}},
			[]string{"lang/seed/a.go may not import example.com/soil"},
		},
		{
			"a module of like name", goPackage{"lang/tree", []goFile{{name: "a.go", imports: []string{"example.com/soils"}}}},
			[]string{"lang/tree/a.go may not import example.com/soils"},
		},
		{
			"no row", goPackage{"lang/weed", []goFile{{name: "a.go"}}},
			[]string{"lang/weed is in no row of the layers: add one, with what it may import"},
		},
		{"tests import later layers and modules", goPackage{"lang/seed", []goFile{
			{name: "a_test.go", test: true, imports: []string{"ql/lang/tree", "example.com/cmp"}},
		}}, nil},
		{
			"tests of the language do not import the service",
			goPackage{"lang/seed", []goFile{{name: "a_test.go", test: true, imports: []string{"ql/internal/gate"}}}},
			[]string{"lang/seed/a_test.go may not import ql/internal/gate"},
		},
		{"tests only", goPackage{"e2e", []goFile{{name: "a_test.go", test: true, imports: []string{"ql/internal/gate"}}}}, nil},
		{
			"not tests only", goPackage{"e2e", []goFile{{name: "a.go"}}},
			[]string{"e2e is for tests only, and has other files"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantComplaints(t, checkImports(test.pkg, rows, []string{"e2e"}), test.want)
		})
	}
}
