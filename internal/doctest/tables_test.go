package doctest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/resource/databases"
	"ql/lang/lib"
	"ql/lang/vm"
)

// reference is the page about the language.
const reference = "docs/language.md"

// Tables stand between these lines; what they hold is named in the first.
const (
	tableStart = "<!-- table: "
	tableEnd   = "<!-- end of table -->"
)

// TestTables compares the tables of the pages with the code.
func TestTables(t *testing.T) {
	language := map[string]string{"limits": limitsTable()}
	for _, f := range lib.Reference() {
		language["functions "+f.Group] = functionsTable(f.Group)
	}
	for name, tables := range map[string]map[string]string{
		reference:            language,
		"docs/operations.md": {"settings": settingsTable(), "limits of plans": planLimitsTable()},
		"docs/api.md":        {"codes": statusTable()},
		"docs/databases.md":  {"functions of SQL": sqlFunctionsTable()},
	} {
		t.Run(name, func(t *testing.T) { compareTables(t, name, tables) })
	}
}

// compareTables compares the tables of one page, by their names.
func compareTables(t *testing.T, page string, tables map[string]string) {
	p, err := readPage(root, page)
	if err != nil {
		t.Fatal(err)
	}
	var edits []edit
	for i, line := range p.lines {
		name, ok := strings.CutPrefix(line, tableStart)
		if !ok {
			continue
		}
		name = strings.TrimSuffix(name, " "+commentEnd)
		want, ok := tables[name]
		if !ok {
			t.Errorf("%s:%d: there is no table %q", p.name, i+1, name)
			continue
		}
		delete(tables, name)
		end := p.find(i, func(s string) bool { return s == tableEnd })
		if end < 0 {
			t.Fatalf("%s:%d: this table has no end", p.name, i+1)
		}
		if got := strings.Join(p.lines[i+1:end], "\n"); got != want {
			edits = append(edits, edit{i + 1, end, want})
		}
	}
	for name := range tables {
		t.Errorf("%s has no table %q: write %s%s %s, and %s below", p.name, name, tableStart, name, commentEnd, tableEnd)
	}
	if *update {
		p.save(t, edits)
		return
	}
	for _, e := range edits {
		t.Errorf("%s:%d: the table is not that of the code: go test ./internal/doctest -update writes it anew", p.name, e.from)
	}
}

// functionsTable is the table of the functions of one group.
func functionsTable(group string) string {
	var b strings.Builder
	b.WriteString("| Function | What it gives | Example |\n|---|---|---|")
	for _, f := range lib.Reference() {
		if f.Group != group {
			continue
		}
		example := code(f.Example)
		if f.Result != "" {
			example += " gives " + code(f.Result)
		}
		var signatures []string
		for _, s := range strings.Split(f.Signature, " or ") {
			signatures = append(signatures, code(s))
		}
		fmt.Fprintf(&b, "\n| %s | %s | %s |", strings.Join(signatures, " or "), plain(f.Summary), example)
	}
	return b.String()
}

// sqlFunctionsTable is the table of the functions that SQL may use.
func sqlFunctionsTable() string {
	var b strings.Builder
	b.WriteString("| | Functions |\n|---|---|")
	for _, group := range databases.AllowedFunctions {
		var names []string
		for _, name := range group.Names {
			if name != "match" { // it is an operator to who writes SQL
				names = append(names, code(name))
			}
		}
		slices.Sort(names)
		fmt.Fprintf(&b, "\n| %s | %s |", group.Title, strings.Join(names, " "))
	}
	return b.String()
}

// code writes s as code in the cell of a table.
func code(s string) string { return "`" + strings.ReplaceAll(s, "|", `\|`) + "`" }

// plain writes s as text in the cell of a table.
func plain(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "$", `\$`, "*", `\*`).Replace(s)
}

// limitsTable is the table of what a run may use, by plan.
func limitsTable() string {
	plans := []vm.Limits{account.Free.Limits().SyncMachine(), account.Standard.Limits().SyncMachine(), account.Unlimited.Limits().SyncMachine()}
	rows := []struct {
		name, what string
		of         func(vm.Limits) string
	}{
		{"fuel", "work: about one for each step of the machine", func(l vm.Limits) string { return millions(l.Fuel) }},
		{"memory", "all values that the script holds at one time", func(l vm.Limits) string { return sized(l.Memory) }},
		{"value_size", "one text, or one value of bytes", func(l vm.Limits) string { return sized(int64(l.Text)) }},
		{"elements", "elements of one list, or entries of one map", func(l vm.Limits) string { return grouped(int64(l.Elements)) }},
		{"nesting", "lists and maps inside each other", func(l vm.Limits) string { return grouped(int64(l.Nesting)) }},
		{"call_depth", "functions that wait for the one they called", func(l vm.Limits) string { return grouped(int64(l.CallDepth)) }},
		{"output", "all that `EMIT` writes", func(l vm.Limits) string { return sized(int64(l.Output)) }},
		{"pattern_size", "one regular expression", func(l vm.Limits) string { return grouped(int64(l.Pattern)) + " bytes" }},
		{"pattern_cost", "size of a compiled pattern times bytes of the text", func(l vm.Limits) string { return millions(l.PatternCost) }},
	}
	var b strings.Builder
	b.WriteString("| Limit | What it bounds | free | standard | unlimited |\n|---|---|---|---|---|")
	for _, r := range rows {
		fmt.Fprintf(&b, "\n| `%s` | %s |", r.name, r.what)
		for _, l := range plans {
			fmt.Fprintf(&b, " %s |", r.of(l))
		}
	}
	b.WriteString("\n| | steps that the trace shows: the first, and the last after them |")
	for _, l := range plans {
		fmt.Fprintf(&b, " %d + %d |", l.TraceFirst, l.TraceLast)
	}
	return b.String()
}

func millions(n int64) string { return grouped(n/1_000_000) + " million" }

func sized(n int64) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// grouped writes a number with commas between the thousands.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
