package doctest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"ql/internal/apptest"
	"ql/internal/config"
)

// shownURL is the address that pages call.
const shownURL = "http://127.0.0.1:8080"

// shownSites ends the hosts of sites in addresses that pages call.
const shownSites = ".localhost:8081"

// bootService starts a service on the folder ql-data of a folder. It returns
// what makes the commands of a page call it, and what makes its answers those
// that a page shows.
func bootService(t *testing.T, folder string) (*strings.Replacer, func(string) string) {
	t.Helper()
	s := apptest.Boot(t, func(s *config.Settings) { s.Data = filepath.Join(folder, "ql-data") })
	sites := strings.TrimPrefix(s.SiteURL(""), "http://")
	answers := strings.NewReplacer(s.URL(), shownURL, sites, shownSites)
	return strings.NewReplacer(shownURL, s.URL(), shownSites, sites), func(text string) string { return same(answers.Replace(text)) }
}

// changing is what is different in every answer, with what is shown for it.
var changing = []struct {
	pattern *regexp.Regexp
	shown   string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`), "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"},
	{regexp.MustCompile(`"receipt":"\d{4}-\d{4}-\d{4}"`), `"receipt":"4821-9034-1782"`},
	{regexp.MustCompile(`"duration_us":\d+`), `"duration_us":12`},
	{regexp.MustCompile(`"(duration_ms|start_ms)":\d+`), `"$1":0`},
	{regexp.MustCompile(`qln_[0-9A-Za-z]{49}`), "qln_9TbXq2LmVw4RzKc7HsYd1NfJ6PgUe8AoQi3BxCvMkEt5nSW0r"},
	{regexp.MustCompile(`"qln_[0-9A-Za-z]{6}"`), `"qln_9TbXq2"`},
	{regexp.MustCompile(`qlk_[0-9A-Za-z]{49}`), "qlk_2JWz6yGcK3yMCpq0c7kq8mPZ5nXh1sTdUeLr4vBo9AfKqt7Rw"},
	{regexp.MustCompile(`QLSESSID=[0-9A-Za-z_-]{43}`), "QLSESSID=3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
	{regexp.MustCompile(`/files/[0-9A-Za-z_-]{43}`), "/files/Zq3b1xGq0vJc2rX9mB4nT7kLsPdWyUeHoAfIiQjRg5E"},
	{regexp.MustCompile(`ql-site=[0-9A-Za-z_-]{43}`), "ql-site=Zq3b1xGq0vJc2rX9mB4nT7kLsPdWyUeHoAfIiQjRg5E"},
	{regexp.MustCompile(`"id":"[0-9a-f]{16}"`), `"id":"5f1d9b6c0a7e4432"`},
	{regexp.MustCompile(`"hash":"[0-9a-f]{64}"`), `"hash":"5d41402abc4b2a76b9719d911017c592b8a1a2d3f4e5968778695a4b3c2d1e0f"`},
	// What was sent is noted after the last byte has gone.
	{regexp.MustCompile(`"sent":\d+,"finished_at":(null|"[^"]*")`), `"sent":5,"finished_at":"2026-11-15T08:30:00Z"`},
	{regexp.MustCompile(`(Date|Last-Modified): [^\r\n]*`), "$1: Sun, 15 Nov 2026 08:30:00 GMT"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "2026-11-15T08:30:00Z"},
}

// same makes an answer the same each time.
func same(text string) string {
	text = strings.ReplaceAll(text, "\r", "")
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.shown)
	}
	return text
}

// curl is the program of that name, as far as pages use it.
func curl() {
	if err := runCurl(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "curl:", err)
		os.Exit(1)
	}
}

func runCurl(args []string, out io.Writer) error {
	var headers, fields []string
	var data, method, user, send, save string
	var withHead bool
	flags := flag.NewFlagSet("curl", flag.ContinueOnError)
	flags.Bool("s", false, "say nothing of the progress, which it never does")
	flags.BoolVar(&withHead, "i", false, "show the head of the answer")
	flags.BoolFunc("I", "ask for the head of the answer alone", func(string) error {
		method, withHead = http.MethodHead, true
		return nil
	})
	flags.StringVar(&data, "d", "", "the body")
	flags.StringVar(&method, "X", "", "the method")
	flags.StringVar(&user, "u", "", "name:password")
	flags.StringVar(&send, "T", "", "a file to send by PUT")
	flags.StringVar(&save, "o", "", "the file to write the answer to")
	flags.Func("H", "a header", func(text string) error {
		headers = append(headers, text)
		return nil
	})
	flags.Func("data-urlencode", "a field", func(text string) error {
		fields = append(fields, text)
		return nil
	})
	var parts bytes.Buffer
	multi := multipart.NewWriter(&parts)
	flags.Func("F", "a field of a form, or name=@file", func(text string) error {
		name, value, _ := strings.Cut(text, "=")
		path, isFile := strings.CutPrefix(value, "@")
		if !isFile {
			return multi.WriteField(name, value)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		part, err := multi.CreateFormFile(name, filepath.Base(path))
		if err == nil {
			_, err = part.Write(content)
		}
		return err
	})
	// An address may stand before the flags.
	var address string
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return err
		}
		if args = flags.Args(); len(args) > 0 {
			address, args = args[0], args[1:]
		}
	}
	form := url.Values{}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		form.Add(name, value)
	}
	if len(fields) > 0 {
		data = form.Encode()
	}
	hasParts := parts.Len() > 0
	if hasParts {
		if err := multi.Close(); err != nil {
			return err
		}
		data = parts.String()
	}
	if send != "" {
		text, err := os.ReadFile(send)
		if err != nil {
			return err
		}
		data, method = string(text), http.MethodPut
	}
	if method == "" {
		method = http.MethodGet
		if data != "" {
			method = http.MethodPost
		}
	}
	req, err := http.NewRequestWithContext(context.Background(), method, address, strings.NewReader(data))
	if err != nil {
		return err
	}
	if data != "" && send == "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if hasParts {
		req.Header.Set("Content-Type", multi.FormDataContentType())
	}
	req.Header.Set("User-Agent", "curl/8.5.0")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ":")
		req.Header.Set(name, strings.TrimSpace(value))
		if http.CanonicalHeaderKey(name) == "Host" {
			req.Host = strings.TrimSpace(value)
		}
	}
	if name, password, ok := strings.Cut(user, ":"); ok {
		req.SetBasicAuth(name, password)
	}
	var received recording
	res, err := (&http.Client{Transport: &http.Transport{DialContext: received.dial}}).Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if withHead {
		status, lines := received.head()
		fmt.Fprintf(out, "%s\n%s\n\n", status, strings.Join(lines, "\n"))
	}
	if save != "" {
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return err
		}
		return os.WriteFile(save, text, 0o600)
	}
	_, err = io.Copy(out, res.Body)
	return err
}

// recording is what came over a connection: the client respells the names of
// headers, and pages show them as they are sent.
type recording struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (r *recording) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if host, port, err := net.SplitHostPort(address); err == nil && strings.HasSuffix(host, ".localhost") {
		address = net.JoinHostPort("127.0.0.1", port) // as curl and browsers know without asking
	}
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &recorded{c, r}, nil
}

// head returns the first line of an answer, and its headers in their order by
// name.
func (r *recording) head() (status string, headers []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	head, _, _ := strings.Cut(r.bytes.String(), "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	slices.Sort(lines[1:])
	return lines[0], lines[1:]
}

// recorded is a connection that is recorded.
type recorded struct {
	net.Conn
	to *recording
}

// Read implements net.Conn.
func (c *recorded) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.to.mu.Lock()
	defer c.to.mu.Unlock()
	c.to.bytes.Write(p[:n])
	return n, err
}
