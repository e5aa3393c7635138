package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// process is a ql serve under way.
type process struct {
	command *exec.Cmd
	out     *bufio.Reader
	said    *bytes.Buffer // what it has said so far, on both outputs
}

// services are those of the sessions, by the folder of the session.
var services = &registry{byFolder: map[string]*process{}}

type registry struct {
	mu       sync.Mutex
	byFolder map[string]*process
}

func (r *registry) put(folder string, p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byFolder[folder] = p
}

func (r *registry) take(folder string) *process {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.byFolder[folder]
	delete(r.byFolder, folder)
	return p
}

// service implements the command of that name.
func service(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: service start [flags] | service dev FOLDER [flags] | service stop")
	}
	folder := ts.MkAbs(".")
	switch args[0] {
	case "start", "dev":
		command := "serve"
		if args[0] == "dev" {
			command = "dev"
		}
		p, address, err := startService(folder, ts.Getenv("PATH"), command, args[1:])
		ts.Check(err)
		services.put(folder, p)
		ts.Defer(func() {
			if p := services.take(folder); p != nil {
				_ = p.command.Process.Kill()
				_ = p.command.Wait()
			}
		})
		ts.Setenv("URL", address)
	case "stop":
		p := services.take(folder)
		if p == nil {
			ts.Fatalf("no service was started")
		}
		ts.Check(p.command.Process.Signal(os.Interrupt))
		_, err := io.Copy(p.said, p.out)
		ts.Check(err)
		ts.Check(p.command.Wait())
		ts.Check(os.WriteFile(ts.MkAbs("service.out"), p.said.Bytes(), 0o600))
	default:
		ts.Fatalf("service knows start, dev and stop, not %s", args[0])
	}
}

// keep implements the command of that name.
func keep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: keep NAME PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	found := pattern.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("the last output has no %s", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// startService starts ql serve, or ql dev, and returns when it has told its address.
func startService(folder, path, name string, flags []string) (*process, string, error) {
	command := exec.CommandContext(context.Background(), "ql", append([]string{name, "--listen", "127.0.0.1:0"}, flags...)...)
	command.Dir, command.Env = folder, []string{"PATH=" + path}
	for _, dir := range filepath.SplitList(path) {
		if name := filepath.Join(dir, "ql"); isFile(name) {
			command.Path, command.Err = name, nil // that of these tests
			break
		}
	}
	said := &bytes.Buffer{}
	logged, err := os.Create(filepath.Join(folder, "service.log"))
	if err != nil {
		return nil, "", err
	}
	defer logged.Close() // the process has its own
	command.Stderr = logged
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := command.Start(); err != nil {
		return nil, "", err
	}
	p := &process{command, bufio.NewReader(out), said}
	line, err := p.out.ReadString('\n')
	said.WriteString(line)
	if err != nil {
		return nil, "", fmt.Errorf("ql %s said %q: %w", name, line, command.Wait())
	}
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if !ok {
		return nil, "", fmt.Errorf("ql %s said %q", name, line)
	}
	return p, address, nil
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// callHTTP is the program http.
func callHTTP() {
	if err := call(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "http:", err)
		os.Exit(1)
	}
}

func call(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: http METHOD ADDRESS [Name:value…] [name=value…]")
	}
	var body []byte
	headers, shown, fields := http.Header{}, []string(nil), url.Values{}
	for _, arg := range args[2:] {
		if file, ok := strings.CutPrefix(arg, "@"); ok {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			body = bytes.TrimSuffix(text, []byte("\n"))
			continue
		}
		if name, value, ok := strings.Cut(arg, "="); ok && !strings.Contains(name, ":") {
			fields.Add(name, value)
			continue
		}
		name, value, _ := strings.Cut(arg, ":")
		if value == "" {
			shown = append(shown, name)
			continue
		}
		headers.Set(name, strings.TrimSpace(value))
	}
	if body == nil && len(fields) > 0 {
		body = []byte(fields.Encode())
		headers.Set("Content-Type", "application/x-www-form-urlencoded")
	} else if headers.Get("Content-Type") == "" && json.Valid(body) {
		headers.Set("Content-Type", "application/json")
	}
	req, err := http.NewRequestWithContext(context.Background(), args[0], args[1], bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = headers
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	fmt.Println(res.StatusCode)
	for _, name := range shown {
		fmt.Printf("%s: %s\n", name, res.Header.Get(name))
	}
	answer, err := io.ReadAll(res.Body)
	fmt.Println(strings.TrimSuffix(string(answer), "\n"))
	return err
}
