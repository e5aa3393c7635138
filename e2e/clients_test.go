//go:build clients

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEditorClient drives ql lsp by the client library that editors use, on a folder with a database. It
// comes from the network: see TestGeneratedClients.
func TestEditorClient(t *testing.T) {
	folder, client := t.TempDir(), t.TempDir()
	if err := os.CopyFS(client, os.DirFS("testdata/clients/editor")); err != nil {
		t.Fatal(err)
	}
	if out, err := runIn(t, client, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"); err != nil {
		t.Skipf("NOT CHECKED: npm ci: %v\n%s", err, out)
	}
	makePeople(t, folder)
	if out, err := runIn(t, client, "node", "main.js", "ql", folder); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func runIn(t *testing.T, folder string, command ...string) ([]byte, error) {
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Dir = folder
	return c.CombinedOutput()
}

// makePeople makes the table people in a folder.
func makePeople(t *testing.T, folder string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "setup.ql"), []byte("CREATE TABLE people (name TEXT, born INTEGER);"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := runIn(t, folder, "ql", "run", "setup.ql"); err != nil {
		t.Fatalf("ql run: %v\n%s", err, out)
	}
}

// writePeople writes a script with a mistake into a folder, behind characters that take one, two and four
// bytes.
func writePeople(t *testing.T, folder string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, "people.ql"), []byte("-- é 😀\nset ?who as \"Ada\"\nEMIT ?woh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// configOf returns the first configuration in the part of docs/editors.md about an editor, or the one behind it.
func configOf(t *testing.T, editor string, n int) string {
	t.Helper()
	text, err := os.ReadFile("../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n## "+editor+"\n")
	part, _, _ = strings.Cut(part, "\n## ")
	blocks := strings.Split(part, "```text\n")
	if len(blocks) < n+2 {
		t.Fatalf("docs/editors.md has %d configurations for %s", len(blocks)-1, editor)
	}
	config, _, _ := strings.Cut(blocks[n+1], "```")
	return config
}

// TestNeovim types into Neovim, with the configuration that the documentation has for its version.
func TestNeovim(t *testing.T) {
	folder, home := t.TempDir(), t.TempDir()
	out, err := runIn(t, folder, "nvim", "--version")
	if err != nil {
		t.Skipf("NOT CHECKED: nvim: %v", err)
	}
	var minor int
	if _, err := fmt.Sscanf(string(out), "NVIM v0.%d", &minor); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	older := 0
	if minor < 11 {
		older = 1
	}
	makePeople(t, folder)
	writePeople(t, folder)
	config := filepath.Join(home, "init.lua")
	if err := os.WriteFile(config, []byte(configOf(t, "Neovim", older)), 0o600); err != nil {
		t.Fatal(err)
	}
	drive, err := filepath.Abs("testdata/clients/neovim/drive.lua")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, filepath.Join(home, name))
	}
	if out, err := runIn(t, folder, "nvim", "--headless", "-u", config, "-c", "luafile "+drive, "people.ql"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestEmacs types into Emacs with Eglot, with the configuration of the documentation.
func TestEmacs(t *testing.T) {
	folder, home := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	if out, err := runIn(t, folder, "emacs", "--batch", "-f", "package-initialize", "--eval", "(require 'eglot)"); err != nil {
		t.Skipf("NOT CHECKED: emacs: %v\n%s", err, out)
	}
	makePeople(t, folder)
	writePeople(t, folder)
	config := filepath.Join(home, "init.el")
	if err := os.WriteFile(config, []byte(configOf(t, "Emacs", 0)), 0o600); err != nil {
		t.Fatal(err)
	}
	drive, err := filepath.Abs("testdata/clients/emacs/drive.el")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := runIn(t, folder, "emacs", "--batch", "-f", "package-initialize", "-l", config, "-l", drive); err != nil {
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
