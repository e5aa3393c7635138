package doctest

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"ql/internal/account"
	"ql/internal/config"
	"ql/internal/fault"
)

// settingsTable is the table of the service's settings.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| Flag | In the environment | In the file | What it is | Default |\n|---|---|---|---|---|")
	for _, s := range config.All() {
		name := code("--" + s.Name)
		if s.Takes != "" {
			name = code("--" + s.Name + " " + s.Takes)
		}
		if s.Secret {
			name = "none: a secret"
		}
		fmt.Fprintf(&b, "\n| %s | %s | %s | %s | %s |", name, code(s.Env()), code(s.Key()), plain(s.Help), plain(s.Default))
	}
	return b.String()
}

// planLimitsTable is the table of the limits of plans, by the names that a file
// of settings has for them.
func planLimitsTable() string {
	plans := []account.Limits{account.Free.Limits(), account.Standard.Limits(), account.Unlimited.Limits()}
	var b strings.Builder
	b.WriteString("| Limit | free | standard | unlimited |\n|---|---|---|---|")
	kind := reflect.TypeFor[account.Limits]()
	for i := range kind.NumField() {
		name := kind.Field(i).Name
		fmt.Fprintf(&b, "\n| %s |", code(account.LimitKey(kind.Field(i))))
		for _, l := range plans {
			fmt.Fprintf(&b, " %s |", limit(name, reflect.ValueOf(l).Field(i).Interface()))
		}
	}
	return b.String()
}

// limit writes a limit for people.
func limit(name string, v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case time.Duration:
		return period(name, v)
	}
	n := reflect.ValueOf(v).Int()
	isSize := strings.HasSuffix(name, "Bytes") || strings.HasSuffix(name, "Output") || name == "Memory" || name == "EgressPerMonth"
	switch {
	case n == 0:
		return nothing(name)
	case isSize && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case isSize && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case isSize && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return grouped(n)
}

// nothing is what 0 means: no FETCH at all, or else no limit.
func nothing(name string) string {
	if strings.HasPrefix(name, "Fetch") {
		return "0"
	}
	return "no limit"
}

func period(name string, d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == 0:
		return nothing(name)
	case d%day == 0 && d > day:
		return fmt.Sprintf("%d days", d/day)
	case d%time.Hour == 0:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// statusTable is the table of the codes of errors by their HTTP status.
func statusTable() string {
	byStatus := map[int][]string{}
	for c, status := range fault.Statuses() {
		byStatus[status] = append(byStatus[status], code(string(c)))
	}
	var b strings.Builder
	b.WriteString("| Status | Codes |\n|---|---|")
	for _, status := range slices.SortedFunc(maps.Keys(byStatus), cmp.Compare[int]) {
		slices.Sort(byStatus[status])
		fmt.Fprintf(&b, "\n| %d | %s |", status, strings.Join(byStatus[status], ", "))
	}
	return b.String()
}
