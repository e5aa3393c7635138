package config

import (
	"maps"
	"path/filepath"
	"slices"

	"ql/internal/account"
)

// Limits returns the limits of a plan; those of free for an unknown one, as a mistake
// never widens. A month protects those who share a node, and so do a bound on records and
// a plan without FETCH: one developer is bound by none of them.
func (s *Settings) Limits(plan account.Plan) account.Limits {
	if plan == account.OfDevelopment && s.Dev {
		// Nobody else is on the node, and what a developer tries would work.
		plan = account.Standard
	}
	l, ok := s.Plans[plan]
	if !ok {
		l = s.Plans[account.Free]
	}
	if !s.Dev {
		return l
	}
	l.CallsPerMonth, l.RunningPerMonth, l.EgressPerMonth, l.RecordsBytes = 0, 0, 0, 0
	if l.Fetches == 0 {
		from := s.Plans[account.Standard]
		l.Fetches, l.FetchesAtOnce, l.FetchTime, l.FetchBytes, l.FetchRatio = from.Fetches, from.FetchesAtOnce, from.FetchTime, from.FetchBytes, from.FetchRatio
	}
	return l
}

// PlanNames returns the plans that accounts may have: those that are always there, then the
// operator's own by name.
func (s *Settings) PlanNames() []account.Plan {
	names := account.Plans()
	for _, p := range slices.Sorted(maps.Keys(s.Plans)) {
		if !slices.Contains(names, p) {
			names = append(names, p)
		}
	}
	return names
}

// MasterKeyPath returns where the master key is.
func (s *Settings) MasterKeyPath() string {
	if s.MasterKeyFile != "" {
		return s.MasterKeyFile
	}
	return filepath.Join(s.Data, "master.key")
}
