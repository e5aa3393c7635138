package doctest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ql/internal/apptest"
	"ql/internal/config"
	"ql/internal/tlscert/tlscerttest"
)

// metric is one that a service shows.
type metric struct {
	kind   string              // counter, gauge or histogram
	labels map[string][]string // their values, by name
}

var (
	typeLine   = regexp.MustCompile(`^# TYPE (\S+) (\S+)$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="([^"]*)"`)
	metricName = regexp.MustCompile("`(ql_[a-z0-9_]+)`")
)

// shownMetrics boots a service as operators run it, with TLS and a listener for metrics, and
// returns what it shows there from its start on.
func shownMetrics(t *testing.T) map[string]metric {
	t.Helper()
	folder := t.TempDir()
	authority := x509.NewCertPool()
	authority.AddCert(tlscerttest.Write(t, folder, 1))
	b := apptest.Boot(t, apptest.Production, func(s *config.Settings) {
		s.MetricsListen, s.TLSCert, s.TLSKey = "127.0.0.1:0", []string{filepath.Join(folder, "cert.pem")}, []string{filepath.Join(folder, "key.pem")}
	})
	callOnce(t, b.URL()+"/healthz", authority)
	text := callOnce(t, "http://"+b.MetricsAddress()+"/metrics", nil)
	found := map[string]metric{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := typeLine.FindStringSubmatch(line); m != nil {
			found[m[1]] = metric{m[2], map[string][]string{}}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		one, ok := found[familyOf(m[1], found)]
		if !ok {
			t.Errorf("a sample of no metric: %s", line)
			continue
		}
		for _, pair := range labelPair.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(one.labels[pair[1]], pair[2]) {
				one.labels[pair[1]] = append(one.labels[pair[1]], pair[2])
			}
		}
	}
	return found
}

// familyOf returns the metric that a sample belongs to: a histogram has several.
func familyOf(sample string, known map[string]metric) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if name, ok := strings.CutSuffix(sample, suffix); ok && (known[name].kind == "histogram" || known[name].kind == "summary") {
			return name
		}
	}
	return sample
}

// callOnce gets an address, by https where an authority is given.
func callOnce(t *testing.T, url string, authority *x509.CertPool) string {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: authority}}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, r.StatusCode, err)
	}
	return string(body)
}

// TestMetricsTable checks that the operators' page lists the metrics that a service shows, and
// no others.
func TestMetricsTable(t *testing.T) {
	p, err := readPage(root, "docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, line := range strings.Split(section(strings.Join(p.lines, "\n"), "## Logs, metrics and traces"), "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, m := range metricName.FindAllStringSubmatch(cells[1], -1) {
				listed[m[1]] = true
			}
		}
	}
	shown := shownMetrics(t)
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		if strings.HasPrefix(name, "ql_") && !listed[name] {
			t.Errorf("%s does not list the metric %s", p.name, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		if _, ok := shown[name]; !ok {
			t.Errorf("%s lists the metric %s, which a service does not show", p.name, name)
		}
	}
}
