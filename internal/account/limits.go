package account

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Override is a limit that an account has for itself, instead of its plan's. Times are
// nanoseconds, and a switch is 1 where it is on.
type Override struct {
	Name  string
	Value int64
}

// Limits returns the limits that hold for the account: those of its plan, with its own in their
// place. What an account's own ones leave half said allows nothing: a mistake never widens.
func (a *Account) Limits(of func(Plan) Limits) Limits {
	l := of(a.limitPlan())
	if len(a.Overrides) == 0 {
		return l
	}
	v := reflect.ValueOf(&l).Elem()
	for _, o := range a.Overrides {
		if i, ok := limitFields[o.Name]; ok {
			setInt(v.Field(i), o.Value)
		}
	}
	if l.halfFetches() {
		l.Fetches = 0
	}
	return l
}

// halfFetches tells that scripts may FETCH, and that all of it is forbidden in another way.
func (l *Limits) halfFetches() bool {
	return l.Fetches > 0 && (l.FetchesAtOnce == 0 || l.FetchTime == 0 || l.FetchBytes == 0 || l.FetchRatio == 0)
}

// Check says what of the limits does not fit together, and the name of one that is to change; ""
// where all does.
func (l *Limits) Check() (name, why string) {
	if l.halfFetches() {
		return "fetches", "scripts may FETCH, so fetches_at_once, fetch_time, fetch_bytes and fetch_ratio must not be 0"
	}
	return "", ""
}

// limitFields are the fields of Limits by their names.
var limitFields = func() map[string]int {
	fields := map[string]int{}
	for i := range reflect.TypeFor[Limits]().NumField() {
		fields[LimitKey(reflect.TypeFor[Limits]().Field(i))] = i
	}
	return fields
}()

// IsLimit tells whether there is a limit of a name.
func IsLimit(name string) bool {
	_, ok := limitFields[name]
	return ok
}

// LimitNames returns the names of all limits, in their order.
func LimitNames() []string {
	names := make([]string, len(limitFields))
	for name, i := range limitFields {
		names[i] = name
	}
	return names
}

// LimitKey returns the name of a limit in settings and commands: SyncTime is sync_time. A tag says
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

// ParseLimit reads the value of a limit, which is one of LimitNames: a number, a switch, or a text
// as commands and settings have it.
func ParseLimit(name string, v any) (int64, error) {
	field := reflect.TypeFor[Limits]().Field(limitFields[name])
	_, takesZero := field.Tag.Lookup("zero")
	switch field.Type {
	case reflect.TypeFor[bool]():
		switch v {
		case true, "true":
			return 1, nil
		case false, "false":
			return 0, nil
		}
		return 0, fmt.Errorf("it takes true or false")
	case reflect.TypeFor[time.Duration]():
		return parseDuration(v, takesZero)
	}
	least := int64(1)
	if takesZero {
		least = 0
	}
	n, err := parseAmount(v, isSize(name), least)
	if err == nil && reflect.Zero(field.Type).OverflowInt(n) {
		err = fmt.Errorf("%d is too much", n)
	}
	return n, err
}

// SetLimit sets the limit of a name, one of LimitNames, to what ParseLimit read.
func (l *Limits) SetLimit(name string, n int64) {
	setInt(reflect.ValueOf(l).Elem().Field(limitFields[name]), n)
}

// FormatLimit writes a limit as ParseLimit reads it.
func FormatLimit(name string, n int64) string {
	switch reflect.TypeFor[Limits]().Field(limitFields[name]).Type {
	case reflect.TypeFor[bool]():
		return strconv.FormatBool(n != 0)
	case reflect.TypeFor[time.Duration]():
		return time.Duration(n).String()
	}
	if isSize(name) {
		for _, u := range slices.Backward(units) {
			if n > 0 && n%u.factor == 0 {
				return strconv.FormatInt(n/u.factor, 10) + " " + u.name
			}
		}
	}
	return strconv.FormatInt(n, 10)
}

func setInt(v reflect.Value, n int64) {
	if v.Kind() == reflect.Bool {
		v.SetBool(n != 0)
		return
	}
	v.SetInt(n)
}

// Limit returns the limit of a name, one of LimitNames, as ParseLimit reads it.
func (l *Limits) Limit(name string) int64 {
	v := reflect.ValueOf(l).Elem().Field(limitFields[name])
	if v.Kind() != reflect.Bool {
		return v.Int()
	}
	if v.Bool() {
		return 1
	}
	return 0
}

// exceeds tells whether a is more of a limit than b. Of many limits 0 is none at all.
func exceeds(name string, a, b int64) bool {
	zero := reflect.TypeFor[Limits]().Field(limitFields[name]).Tag.Get("zero")
	if zero == "no limit" {
		return b != 0 && (a == 0 || a > b)
	}
	return a > b
}

// isSize tells whether a limit is a number of bytes, by its name.
func isSize(name string) bool {
	return strings.HasSuffix(name, "_bytes") || strings.HasSuffix(name, "_output") || name == "memory" || name == "egress_per_month"
}

func parseDuration(v any, takesZero bool) (int64, error) {
	if takesZero && (v == int64(0) || v == "0" || v == "0s") {
		return 0, nil
	}
	text, ok := v.(string)
	if !ok {
		return 0, fmt.Errorf("it takes a time such as \"30s\"")
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no time such as 30s, 5m or 1h30m", text)
	}
	return int64(d), nil
}

var units = []struct {
	name   string
	factor int64
}{{"KiB", kib}, {"MiB", mib}, {"GiB", gib}, {"TiB", gib << 10}}

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
