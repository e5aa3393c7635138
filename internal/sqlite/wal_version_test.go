package sqlite

import "testing"

// TestMarkCountsCommits looks at the version after commits, also those that start
// the log anew.
func TestMarkCountsCommits(t *testing.T) {
	c := openTest(t, Config{})
	run := func(sql string) {
		t.Helper()
		if err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run("PRAGMA journal_mode = WAL")
	run("CREATE TABLE t (a)")
	version, err := c.WALVersions()
	if err != nil {
		t.Fatal(err)
	}
	for _, restart := range []bool{false, true, false, true} {
		before := version()
		run("SELECT * FROM t")
		run("BEGIN IMMEDIATE")
		run("ROLLBACK")
		if after := version(); after != before || after.Follows(&before) {
			t.Errorf("nothing was committed, and the version moved")
		}
		if restart {
			run("PRAGMA wal_checkpoint(RESTART)")
			before = version()
		}
		run("INSERT INTO t VALUES (1)")
		one := version()
		if one == before || !one.Follows(&before) {
			t.Errorf("one commit: it does not follow")
		}
		run("INSERT INTO t VALUES (2)")
		if two := version(); two.Follows(&before) || !two.Follows(&one) {
			t.Errorf("two commits: it follows the first version %t, the second %t", two.Follows(&before), two.Follows(&one))
		}
	}
}
