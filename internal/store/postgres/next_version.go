//go:build ql_next

package postgres

import "ql/internal/store/migrate"

// The next version, as tests of upgrades build it beside this one: it adds a column to a table that all versions write to,
// and a table which the versions before are taken to need.
func init() {
	extend = func(s *schema) {
		number := len(s.steps) + 1
		s.steps = append(s.steps, migrate.Step{Number: number, Name: "next", SQL: "ALTER TABLE jobs ADD COLUMN next_version BIGINT NOT NULL DEFAULT 0;\nCREATE TABLE version_before (n BIGINT);\n"})
		s.contracts = append(s.contracts, contract{needs: number, statements: []string{"DROP TABLE IF EXISTS version_before"}})
	}
}
