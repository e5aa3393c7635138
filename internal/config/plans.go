package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

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
	// The plans that are always there come first: others are like them.
	for _, own := range []bool{false, true} {
		for _, name := range slices.Sorted(maps.Keys(tables)) {
			if own == slices.Contains(planNames, name) {
				continue
			}
			wrong = append(wrong, setPlan(plans, where+"."+name, name, tables[name])...)
		}
	}
	return wrong
}

// likeKey names the plan that an operator's own one is like, but for what its table says.
const likeKey = "like"

// planName is how an own plan may be called. Scripts and callers see the name.
var planName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

func setPlan(plans map[account.Plan]account.Limits, where, name string, v any) []error {
	table, ok := v.(map[string]any)
	if !ok {
		return []error{fmt.Errorf("%s: it takes a table of limits", where)}
	}
	base := account.Plan(name)
	if like, own := table[likeKey]; !slices.Contains(planNames, name) {
		text, _ := like.(string)
		switch {
		case !own:
			return []error{fmt.Errorf("%w; a plan of your own says by like which of them it is like", unknown(where, "plan", name, slices.Clone(planNames)))}
		case !planName.MatchString(name) || name == string(account.OfDevelopment):
			return []error{fmt.Errorf("%s: a plan is called by up to 32 of a-z, 0-9, _ and -, a letter first, and not %s", where, account.OfDevelopment)}
		case !slices.Contains(planNames, text):
			return []error{fmt.Errorf("%s.%s: it takes one of %s", where, likeKey, strings.Join(planNames, ", "))}
		}
		base = account.Plan(text)
		table = maps.Clone(table)
		delete(table, likeKey)
	}
	limits := plans[base]
	wrong := setLimits(&limits, where, table)
	plans[account.Plan(name)] = limits
	return wrong
}

func setLimits(limits *account.Limits, where string, table map[string]any) []error {
	names := account.LimitNames()
	var wrong []error
	for _, key := range slices.Sorted(maps.Keys(table)) {
		where := where + "." + key
		if !slices.Contains(names, key) {
			wrong = append(wrong, unknown(where, "limit", key, slices.Clone(names)))
			continue
		}
		n, err := account.ParseLimit(key, table[key])
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", where, err))
			continue
		}
		limits.SetLimit(key, n)
	}
	if len(wrong) > 0 {
		return wrong
	}
	if name, why := limits.Check(); name != "" {
		wrong = append(wrong, fmt.Errorf("%s.%s: %s", where, name, why))
	}
	// A script that is not named keeps within a smaller body by itself.
	if _, named := table["script_bytes"]; len(wrong) == 0 && named && limits.ScriptBytes > limits.BodyBytes {
		wrong = append(wrong, fmt.Errorf("%s.script_bytes: %d bytes never arrive in a request, which may have %d: make it smaller, or body_bytes larger", where, limits.ScriptBytes, limits.BodyBytes))
	}
	return wrong
}
