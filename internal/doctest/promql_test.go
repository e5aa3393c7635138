package doctest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// promToken is a piece of an expression of Prometheus. What counts here is which metrics and
// labels it names: whether it means something is for Prometheus to say, whose parser is larger
// than this program.
var promToken = regexp.MustCompile(`\s+|"[^"]*"|'[^']*'|[a-zA-Z_:][a-zA-Z0-9_:]*|\$[a-zA-Z_]+|[0-9][0-9a-zA-Z.]*|[=!]~|[=!<>]=|[-+*/%^<>=(){}\[\],:.]`)

// The words of the language that stand where a metric could.
var (
	promWords     = []string{"and", "or", "unless", "bool", "offset", "group_left", "group_right"}
	promGroups    = []string{"by", "without", "on", "ignoring"}
	promFunctions = []string{
		"changes", "count", "delta", "histogram_quantile", "increase", "max", "min", "predict_linear", "rate", "sum", "time", "vector",
	}
	// Those that Prometheus adds to what it scrapes.
	promLabels = []string{"instance", "job", "le"}
	// Those that only make sense of what grows.
	promOfCounters = []string{"rate", "increase"}
)

// promExpression reads the tokens of an expression.
type promExpression struct {
	tokens []string
	at     int
	shown  map[string]metric
	used   map[string]bool
}

// checkExpression says what is wrong with an expression, given the metrics that a service shows,
// and returns those that it uses.
func checkExpression(expression string, shown map[string]metric) (used []string, err error) {
	e := promExpression{shown: shown, used: map[string]bool{}}
	for rest := expression; rest != ""; {
		token := promToken.FindString(rest)
		if token == "" || !strings.HasPrefix(rest, token) {
			return nil, fmt.Errorf("there is no such token: %s", rest)
		}
		rest = rest[len(token):]
		if strings.TrimSpace(token) != "" {
			e.tokens = append(e.tokens, token)
		}
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	if len(e.used) == 0 {
		return nil, fmt.Errorf("it names no metric")
	}
	return slices.Sorted(maps.Keys(e.used)), nil
}

func (e *promExpression) next() string {
	if e.at >= len(e.tokens) {
		return ""
	}
	e.at++
	return e.tokens[e.at-1]
}

func (e *promExpression) peek() string {
	if e.at >= len(e.tokens) {
		return ""
	}
	return e.tokens[e.at]
}

func isWord(token string) bool {
	return token != "" && (token[0] == '_' || token[0] >= 'a' && token[0] <= 'z' || token[0] >= 'A' && token[0] <= 'Z')
}

func (e *promExpression) check() error {
	var open []string // parentheses, with the function before each
	function := ""
	for token := e.next(); token != ""; token = e.next() {
		before := function
		function = ""
		switch {
		case token == "(":
			open = append(open, before)
		case token == ")":
			if len(open) == 0 {
				return fmt.Errorf("a parenthesis is closed that is not open")
			}
			open = open[:len(open)-1]
		case token == "[":
			for token != "]" {
				if token = e.next(); token == "" {
					return fmt.Errorf("a range is not closed")
				}
			}
		case slices.Contains(promGroups, token):
			if err := e.checkGroup(); err != nil {
				return err
			}
			function = before // sum by (x) (…)
		case !isWord(token) || slices.Contains(promWords, token):
		case slices.Contains(promFunctions, token) && e.peek() != "{":
			function = token
		default:
			in := ""
			if len(open) > 0 {
				in = open[len(open)-1]
			}
			if err := e.checkSelector(token, in); err != nil {
				return err
			}
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("a parenthesis is not closed")
	}
	return nil
}

// checkGroup checks the labels that something is grouped by.
func (e *promExpression) checkGroup() error {
	if token := e.next(); token != "(" {
		return fmt.Errorf("labels are grouped by in parentheses, and not by %s", token)
	}
	for token := e.next(); token != ")"; token = e.next() {
		switch {
		case token == "":
			return fmt.Errorf("a list of labels is not closed")
		case token == ",":
		case !e.hasLabel(token):
			return fmt.Errorf("no metric has the label %s", token)
		}
	}
	return nil
}

func (e *promExpression) hasLabel(name string) bool {
	if slices.Contains(promLabels, name) {
		return true
	}
	for _, m := range e.shown {
		if m.labels[name] != nil {
			return true
		}
	}
	return false
}

// checkSelector checks a metric with its labels, in the parentheses of a function or in none.
func (e *promExpression) checkSelector(name, function string) error {
	one, ok := e.shown[familyOf(name, e.shown)]
	if !ok && name != "up" {
		return fmt.Errorf("a service does not show the metric %s", name)
	}
	e.used[familyOf(name, e.shown)] = true
	isHistogram := one.kind == "histogram" && familyOf(name, e.shown) == name
	switch grows := one.kind == "counter" || one.kind == "histogram"; {
	case isHistogram:
		return fmt.Errorf("%s is a histogram: it has _bucket, _sum and _count", name)
	case slices.Contains(promOfCounters, function) && !grows:
		return fmt.Errorf("%s of %s, which is a %s", function, name, one.kind)
	}
	if e.peek() != "{" {
		return nil
	}
	e.next()
	for token := e.next(); token != "}"; token = e.next() {
		if token == "," {
			continue
		}
		if err := e.checkMatcher(name, one, token); err != nil {
			return err
		}
	}
	return nil
}

func (e *promExpression) checkMatcher(name string, of metric, label string) error {
	operator, value := e.next(), strings.Trim(e.next(), `"'`)
	values, ok := of.labels[label]
	switch {
	case !ok && !slices.Contains(promLabels, label):
		return fmt.Errorf("%s has no label %s", name, label)
	case strings.HasSuffix(operator, "~"):
		if _, err := regexp.Compile(value); err != nil && !strings.Contains(value, "$") {
			return err
		}
	case operator == "=" && ok && !slices.Contains(values, value):
		return fmt.Errorf("%s has no %s that is %q: there is %s", name, label, value, strings.Join(values, ", "))
	case operator != "=" && operator != "!=":
		return fmt.Errorf("%s stands where an operator belongs", operator)
	}
	return nil
}

// TestCheckExpression: what checks expressions finds what is wrong with one.
func TestCheckExpression(t *testing.T) {
	shown := map[string]metric{
		"ql_jobs":      {"gauge", map[string][]string{"state": {"paused", "waiting"}}},
		"ql_x_total":   {"counter", map[string][]string{"code": {"200"}}},
		"ql_y_seconds": {"histogram", map[string][]string{"route": {"/"}}},
	}
	for expression, want := range map[string]string{
		`ql_jobs{state="paused"} > 3`: "",
		`sum by (code) (rate(ql_x_total{code=~"5..",instance=~"$instance"}[$__rate_interval])) / 2`:           "",
		`histogram_quantile(0.9, sum by (le, route) (rate(ql_y_seconds_bucket[5m])))`:                         "",
		`delta(sum without (code) (ql_x_total)[15m:1m]) > 0 and time() - ql_jobs < 3600 or up{job="ql"} == 0`: "",
		`ql_missing`:                        "does not show the metric ql_missing",
		`rate(ql_jobs[5m])`:                 "rate of ql_jobs, which is a gauge",
		`ql_jobs{state="gone"}`:             `no state that is "gone"`,
		`ql_jobs{code="200"}`:               "no label code",
		`sum by (nothing) (ql_jobs)`:        "no metric has the label nothing",
		`rate(ql_y_seconds[5m])`:            "is a histogram",
		`sum(ql_jobs`:                       "not closed",
		`ql_jobs)`:                          "not open",
		`ql_jobs{state=~"("}`:               "error parsing regexp",
		`ql_jobs # 3`:                       "no such token",
		`1 + 1`:                             "names no metric",
		`rat(ql_x_total[5m])`:               "does not show the metric rat",
		`ql_x_total[5m`:                     "not closed",
		`ql_x_total_count{code="200"} > 20`: "does not show the metric ql_x_total_count",
	} {
		_, err := checkExpression(expression, shown)
		if got := fmt.Sprint(err); want == "" && err != nil || want != "" && !strings.Contains(got, want) {
			t.Errorf("%s: got %v, want %q", expression, err, want)
		}
	}
}
