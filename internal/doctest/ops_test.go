package doctest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// alertRule is a rule of ops/alerts.yaml.
type alertRule struct{ name, expression, period, severity, summary, description string }

// What stands in the file, which is written so that its lines can be read one by one.
var (
	alertLine  = regexp.MustCompile(`^      - alert: (Ql[A-Za-z]+)$`)
	alertField = regexp.MustCompile(`^        (expr|for): (.+)$`)
	alertLabel = regexp.MustCompile(`^        labels: \{severity: (critical|warning|info)\}$`)
	alertNote  = regexp.MustCompile(`^          (summary|description): "([^"]+)"$`)
	alertTime  = regexp.MustCompile(`^[1-9][0-9]*[mh]$`)
	alertValue = regexp.MustCompile(`\{\{[^}]*\}\}`)
)

// alertValues are the places in a note where something is put.
var alertValues = []string{
	"{{ $labels.instance }}", "{{ $value }}", "{{ $value | humanize }}", "{{ $value | humanize1024 }}", "{{ $value | humanizeDuration }}", "{{ $value | humanizePercentage }}",
}

func readAlerts(t *testing.T) (rules []alertRule) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "ops", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, text2, ok := strings.Cut(string(text), "groups:\n  - name: ql\n    rules:\n")
	if !ok {
		t.Fatal("ops/alerts.yaml has no rules of the group ql")
	}
	for line := range strings.Lines(text2) {
		line = strings.TrimSuffix(line, "\n")
		if m := alertLine.FindStringSubmatch(line); m != nil {
			rules = append(rules, alertRule{name: m[1]})
			continue
		}
		if len(rules) == 0 {
			t.Fatalf("before the first rule: %s", line)
		}
		one := &rules[len(rules)-1]
		switch {
		case line == "" || line == "        annotations:":
		case alertField.MatchString(line):
			if m := alertField.FindStringSubmatch(line); m[1] == "expr" {
				one.expression = m[2]
			} else {
				one.period = m[2]
			}
		case alertLabel.MatchString(line):
			one.severity = alertLabel.FindStringSubmatch(line)[1]
		case alertNote.MatchString(line):
			if m := alertNote.FindStringSubmatch(line); m[1] == "summary" {
				one.summary = m[2]
			} else {
				one.description = m[2]
			}
		default:
			t.Errorf("%s: this line is of no form that is known: %s", one.name, line)
		}
	}
	return rules
}

// TestAlerts checks the rules against what a service shows: an alert by a metric that is not there
// is silent for ever.
func TestAlerts(t *testing.T) {
	shown := shownMetrics(t)
	var names []string
	for _, rule := range readAlerts(t) {
		if _, err := checkExpression(rule.expression, shown); err != nil {
			t.Errorf("%s: %s: %v", rule.name, rule.expression, err)
		}
		if slices.Contains(names, rule.name) {
			t.Errorf("there are two rules %s", rule.name)
		}
		names = append(names, rule.name)
		if rule.severity == "" || rule.summary == "" || rule.description == "" || rule.period != "" && !alertTime.MatchString(rule.period) {
			t.Errorf("something is missing: %+v", rule)
		}
		if !strings.Contains(rule.summary, "{{ $labels.instance }}") {
			t.Errorf("%s does not say where", rule.name)
		}
		for _, value := range alertValue.FindAllString(rule.summary+rule.description, -1) {
			if !slices.Contains(alertValues, value) {
				t.Errorf("%s: nothing is known to put in %s", rule.name, value)
			}
		}
	}
	if len(names) < 20 {
		t.Errorf("there are %d rules", len(names))
	}
	p, err := readPage(root, "docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	if page := strings.Join(p.lines, "\n"); !strings.Contains(page, "../ops/alerts.yaml") || !strings.Contains(page, "../ops/grafana.json") {
		t.Errorf("%s does not lead to the rules and the dashboard", p.name)
	}
}

// dashboard is what counts here of a dashboard of Grafana.
type dashboard struct {
	Title, UID string
	Panels     []struct {
		ID          int
		Type, Title string
		GridPos     struct{ X, Y, W, H int }
		Datasource  struct{ Type, UID string }
		Targets     []struct{ Expr, RefID, LegendFormat string }
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

// TestDashboard checks the dashboard against what a service shows: of a metric that is not there it
// would show an empty picture.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ops", "grafana.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	shown := shownMetrics(t)
	used := map[string]bool{}
	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if p.Title == "" || ids[p.ID] {
			t.Errorf("the panel %d %q has no title, or the number of another", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("the panel %q lies over %q, or beside the page", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("the panel %q shows nothing, or from one place alone", p.Title)
		}
		for _, target := range p.Targets {
			names, err := checkExpression(target.Expr, shown)
			if err != nil {
				t.Errorf("%s: %s: %v", p.Title, target.Expr, err)
			}
			if !strings.Contains(target.Expr, `instance=~"$instance"`) || target.LegendFormat == "" || target.RefID == "" {
				t.Errorf("%s: %s: it is of all instances, or has no legend", p.Title, target.Expr)
			}
			for _, name := range names {
				used[name] = true
			}
		}
	}
	if !used["ql_jobs"] || !used["ql_http_requests_total"] {
		t.Error("no panel shows jobs, or calls")
	}
	var variables []string
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name+" "+v.Definition)
	}
	if got := strings.Join(variables, ", "); d.UID == "" || got != "datasource , instance label_values(ql_build_info, instance)" {
		t.Errorf("the dashboard %q has the variables %s", d.UID, got)
	}
}
