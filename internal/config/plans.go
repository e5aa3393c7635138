package config

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ql/internal/account"
)

var planNames = []string{string(account.Free), string(account.Standard), string(account.Unlimited)}

func planDefaults() map[account.Plan]account.Limits {
	plans := map[account.Plan]account.Limits{}
	for _, name := range planNames {
		plans[account.Plan(name)] = account.Plan(name).Limits()
	}
	return plans
}

// setPlans makes the overrides of a file: a table for each plan, with the
// names of account.Limits in lower case.
func setPlans(plans map[account.Plan]account.Limits, where string, v any) []error {
	tables, ok := v.(map[string]any)
	if !ok {
		return []error{fmt.Errorf("%s: it takes tables such as [plans.free]", where)}
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		where := where + "." + name
		table, ok := tables[name].(map[string]any)
		switch {
		case !slices.Contains(planNames, name):
			wrong = append(wrong, unknown(where, "plan", name, slices.Clone(planNames)))
		case !ok:
			wrong = append(wrong, fmt.Errorf("%s: it takes a table of limits", where))
		default:
			limits := plans[account.Plan(name)]
			wrong = append(wrong, setLimits(&limits, where, table)...)
			plans[account.Plan(name)] = limits
		}
	}
	return wrong
}

func setLimits(limits *account.Limits, where string, table map[string]any) []error {
	fields := map[string]reflect.Value{}
	v := reflect.ValueOf(limits).Elem()
	for i := range v.NumField() {
		fields[LimitKey(v.Type().Field(i).Name)] = v.Field(i)
	}
	var wrong []error
	for _, key := range slices.Sorted(maps.Keys(table)) {
		where := where + "." + key
		field, ok := fields[key]
		if !ok {
			wrong = append(wrong, unknown(where, "limit", key, slices.Collect(maps.Keys(fields))))
			continue
		}
		if err := setLimit(field, key, table[key]); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", where, err))
		}
	}
	if len(wrong) == 0 && limits.Fetches > 0 &&
		(limits.FetchesAtOnce == 0 || limits.FetchTime == 0 || limits.FetchBytes == 0 || limits.FetchRatio == 0) {
		wrong = append(wrong, fmt.Errorf("%s.fetches: scripts may FETCH, so fetches_at_once, fetch_time, fetch_bytes and fetch_ratio must not be 0", where))
	}
	return wrong
}

// takesZero tells whether 0 means something for a limit: none for rates, for what
// is kept and for a month, no FETCH, and no steps in a trace.
func takesZero(key string) bool {
	switch key {
	case "rate", "rate_burst", "origin_rate",
		"storage_bytes", "file_bytes", "files", "databases", "standing", "standing_bytes",
		"calls_per_month", "running_per_month", "egress_per_month",
		"fetches", "fetches_at_once", "fetch_time", "fetch_bytes", "fetch_ratio",
		"trace_first", "trace_last":
		return true
	}
	return false
}

// LimitKey returns the name of a limit in a file: SyncTime is sync_time.
func LimitKey(field string) string {
	var b strings.Builder
	runes := []rune(field)
	for i, r := range runes {
		// JSONDepth is json_depth: a word starts where a small letter follows.
		starts := unicode.IsUpper(r) && i > 0 &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if starts {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// isSize tells whether a limit is a number of bytes, by its name.
func isSize(key string) bool {
	return strings.HasSuffix(key, "_bytes") || strings.HasSuffix(key, "_output") || key == "memory" || key == "egress_per_month"
}

func setLimit(field reflect.Value, key string, v any) error {
	switch field.Interface().(type) {
	case bool:
		on, ok := v.(bool)
		if !ok {
			return fmt.Errorf("it takes true or false")
		}
		field.SetBool(on)
	case time.Duration:
		if takesZero(key) && (v == int64(0) || v == "0" || v == "0s") {
			field.SetInt(0)
			return nil
		}
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("it takes a time such as \"30s\"")
		}
		d, err := parseTime(text)
		if err != nil {
			return err
		}
		field.SetInt(int64(d))
	default:
		least := int64(1)
		if takesZero(key) {
			least = 0
		}
		n, err := parseAmount(v, isSize(key), least)
		if err != nil {
			return err
		}
		if field.OverflowInt(n) {
			return fmt.Errorf("%d is too much", n)
		}
		field.SetInt(n)
	}
	return nil
}

var units = []struct {
	name   string
	factor int64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}}

// parseAmount takes a whole number; for a size also a text such as 64 KiB.
func parseAmount(v any, size bool, least int64) (int64, error) {
	fits := fmt.Errorf("it takes a whole number from %d on", least)
	if size {
		fits = fmt.Errorf("it takes a number of bytes from %d on, or a size such as \"64 KiB\"", least)
	}
	switch v := v.(type) {
	case int64:
		if v < least {
			return 0, fits
		}
		return v, nil
	case string:
		factor := int64(1)
		for _, u := range units {
			if digits, ok := strings.CutSuffix(v, u.name); ok && size {
				v, factor = strings.TrimSpace(digits), u.factor
				break
			}
		}
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < least || n > math.MaxInt64/factor {
			return 0, fits
		}
		return n * factor, nil
	}
	return 0, fits
}
