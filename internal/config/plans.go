package config

import (
	"fmt"
	"maps"
	"slices"

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
