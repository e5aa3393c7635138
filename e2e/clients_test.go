//go:build clients

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestEditorClient drives ql lsp by the client library that editors use, on a folder with a database. It
// comes from the network: see TestGeneratedClients.
func TestEditorClient(t *testing.T) {
	folder, client := t.TempDir(), t.TempDir()
	if err := os.CopyFS(client, os.DirFS("testdata/clients/editor")); err != nil {
		t.Fatal(err)
	}
	run := func(in string, command ...string) ([]byte, error) {
		c := exec.CommandContext(t.Context(), command[0], command[1:]...)
		c.Dir = in
		return c.CombinedOutput()
	}
	if out, err := run(client, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"); err != nil {
		t.Skipf("NOT CHECKED: npm ci: %v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(folder, "setup.ql"), []byte("CREATE TABLE people (name TEXT, born INTEGER);"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(folder, "ql", "run", "setup.ql"); err != nil {
		t.Fatalf("ql run: %v\n%s", err, out)
	}
	if out, err := run(client, "node", "main.js", "ql", folder); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestGeneratedClients makes clients of the OpenAPI document as its readers do, compiles them, and
// calls a service by them: sync, async, polls, decisions, forms and files. The generators come from
// the network, and take a while: `make check` runs this, by a build tag. What `make test` holds the
// document to, without them, is internal/server/openapi's test. Where they cannot be had the test says
// so and passes, as that for known vulnerabilities does: a build does not depend on the reach of others.
func TestGeneratedClients(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	document := filepath.Join(root, "internal/server/openapi/openapi.json")
	for _, client := range []struct {
		name     string
		download []string
		commands [][]string // the last one gets the service's address
	}{
		{"go", []string{"go", "mod", "download"}, [][]string{
			{"go", "tool", "-modfile=" + filepath.Join(root, "tools/go.mod"), "oapi-codegen", "-generate", "types,client", "-package", "api", "-o", "api/api.go", document},
			{"go", "vet", "./..."},
			{"go", "run", "."},
		}},
		{"typescript", []string{"npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"}, [][]string{
			{"node_modules/.bin/openapi-typescript", document, "-o", "api.ts"},
			{"node_modules/.bin/tsc", "--project", "."},
			{"node", "main.js"},
		}},
	} {
		t.Run(client.name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.CopyFS(folder, os.DirFS(filepath.Join("testdata/clients", client.name))); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(folder, "api"), 0o700); err != nil {
				t.Fatal(err)
			}
			download := exec.CommandContext(t.Context(), client.download[0], client.download[1:]...)
			download.Dir = folder
			if out, err := download.CombinedOutput(); err != nil {
				t.Skipf("NOT CHECKED: %v: %v\n%s", client.download, err, out)
			}
			service, address, err := startService(t.TempDir(), os.Getenv("PATH"), "serve", []string{"--dev"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = service.command.Process.Kill()
				_ = service.command.Wait()
			}()
			for i, command := range client.commands {
				if i == len(client.commands)-1 {
					command = append(command, address)
				}
				c := exec.CommandContext(t.Context(), command[0], command[1:]...)
				c.Dir = folder
				if command[1] == "tool" {
					c.Dir = root // whose go.mod the tools stand beside
					c.Args[len(c.Args)-2] = filepath.Join(folder, "api/api.go")
				}
				if out, err := c.CombinedOutput(); err != nil {
					t.Fatalf("%v: %v\n%s", command, err, out)
				}
			}
		})
	}
}
