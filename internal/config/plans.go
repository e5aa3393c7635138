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
	fields := map[string]limit{}
	v := reflect.ValueOf(limits).Elem()
	for i := range v.NumField() {
		kind := v.Type().Field(i)
		key := LimitKey(kind)
		_, takesZero := kind.Tag.Lookup("zero")
		fields[key] = limit{Value: v.Field(i), isSize: isSize(key), takesZero: takesZero}
	}
	var wrong []error
	for _, key := range slices.Sorted(maps.Keys(table)) {
		where := where + "." + key
		field, ok := fields[key]
		if !ok {
			wrong = append(wrong, unknown(where, "limit", key, slices.Collect(maps.Keys(fields))))
			continue
		}
		if err := field.set(table[key]); err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", where, err))
		}
	}
	if len(wrong) == 0 && limits.Fetches > 0 &&
		(limits.FetchesAtOnce == 0 || limits.FetchTime == 0 || limits.FetchBytes == 0 || limits.FetchRatio == 0) {
		wrong = append(wrong, fmt.Errorf("%s.fetches: scripts may FETCH, so fetches_at_once, fetch_time, fetch_bytes and fetch_ratio must not be 0", where))
	}
	// A script that is not named keeps within a smaller body by itself.
	if _, named := table["script_bytes"]; len(wrong) == 0 && named && limits.ScriptBytes > limits.BodyBytes {
		wrong = append(wrong, fmt.Errorf("%s.script_bytes: %d bytes never arrive in a request, which may have %d: make it smaller, or body_bytes larger", where, limits.ScriptBytes, limits.BodyBytes))
	}
	return wrong
}

// LimitKey returns the name of a limit in a file: SyncTime is sync_time. A tag says
// where it is another.
func LimitKey(field reflect.StructField) string {
	if key, ok := field.Tag.Lookup("key"); ok {
		return key
	}
	var b strings.Builder
	runes := []rune(field.Name)
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

// limit is a limit to be set.
type limit struct {
	reflect.Value
	isSize    bool
	takesZero bool
}

func (l limit) set(v any) error {
	switch l.Interface().(type) {
	case bool:
		on, ok := v.(bool)
		if !ok {
			return fmt.Errorf("it takes true or false")
		}
		l.SetBool(on)
	case time.Duration:
		if l.takesZero && (v == int64(0) || v == "0" || v == "0s") {
			l.SetInt(0)
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
		l.SetInt(int64(d))
	default:
		least := int64(1)
		if l.takesZero {
			least = 0
		}
		n, err := parseAmount(v, l.isSize, least)
		if err != nil {
			return err
		}
		if l.OverflowInt(n) {
			return fmt.Errorf("%d is too much", n)
		}
		l.SetInt(n)
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
