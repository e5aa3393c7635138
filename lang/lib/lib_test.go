package lib

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ql/lang/syntax"
)

// TestCases runs testdata/*.txt: lines of «expression => what EMIT prints», an
// error as «!code: message» and a line end as «<LF>».
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	tested := map[string]bool{}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan(); n++ {
			line := lines.Text()
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			expr, want, ok := strings.Cut(line, " => ")
			if !ok {
				t.Fatalf("%s:%d: no => in %q", name, n, line)
			}
			got := strings.ReplaceAll(evaluate(newCall(), expr), "\n", "<LF>")
			if got != want {
				t.Errorf("%s:%d: %s\n got %s\nwant %s", name, n, expr, got, want)
			}
			for i := range Len() {
				if strings.Contains(expr, At(i).Name+"(") {
					tested[At(i).Name] = true
				}
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range Len() {
		if b := At(i); !b.Host && !tested[b.Name] {
			t.Errorf("%s has no case", b.Name)
		}
	}
}

// TestExamples runs the examples of the reference.
func TestExamples(t *testing.T) {
	for _, b := range Reference() {
		if b.Host {
			if b.Result != "" {
				t.Errorf("%s: what the host answers has no fixed result", b.Name)
			}
			continue
		}
		if got := evaluate(newCall(), b.Example); got != b.Result {
			t.Errorf("%s: %s\n got %s\nwant %s", b.Name, b.Example, got, b.Result)
		}
	}
}

// TestTable checks that every row is complete.
func TestTable(t *testing.T) {
	groups := []string{"Text", "Patterns", "Numbers", "Lists", "Maps", "Kinds", "Formats", "Hashing", "Time"}
	reserved := append(slices.Concat(syntax.Verbs(), syntax.StructureWords(), syntax.OperatorWords()), "LINE", "JSON")
	seen := map[string]bool{}
	for i := range Len() {
		b := At(i)
		if seen[b.Name] {
			t.Errorf("%s stands in the table twice", b.Name)
		}
		seen[b.Name] = true
		if b.Name != strings.ToUpper(b.Name) {
			t.Errorf("%s is not in capitals", b.Name)
		}
		if b.Min < 0 || b.Max >= 0 && b.Max < b.Min {
			t.Errorf("%s takes %d to %d arguments", b.Name, b.Min, b.Max)
		}
		switch loopOnly := b.Loop == LoopMap || b.Loop == LoopFilter || b.Loop == LoopReduce; {
		case (b.Host || loopOnly) != (b.Fn == nil):
			t.Errorf("%s: a Go function is there just where neither host nor loop is all", b.Name)
		case b.Signature == "" || b.Summary == "" || b.Example == "":
			t.Errorf("%s lacks its line of the reference", b.Name)
		case !b.Host && b.Result == "":
			t.Errorf("%s: the example has no result", b.Name)
		case !strings.HasPrefix(b.Signature, b.Name+"("):
			t.Errorf("%s has the signature %s", b.Name, b.Signature)
		case !strings.HasSuffix(b.Summary, "."):
			t.Errorf("%s: the summary is no sentence: %s", b.Name, b.Summary)
		case strings.ContainsAny(b.Example+b.Result, "\n"):
			t.Errorf("%s: example and result are one line each", b.Name)
		case !slices.Contains(groups, b.Group):
			t.Errorf("%s is in the group %q", b.Name, b.Group)
		}
		// REPLACE starts SQL only before INTO; LIKE is an operator only behind an operand.
		if slices.Contains(reserved, b.Name) && b.Name != "REPLACE" && b.Name != "LIKE" {
			t.Errorf("%s is a word of the language: it cannot be called", b.Name)
		}
		if got, ok := Lookup(strings.ToLower(b.Name)); !ok || got != i {
			t.Errorf("Lookup(%s) = %d, %v, want %d", strings.ToLower(b.Name), got, ok, i)
		}
	}
	for _, name := range []string{"no_such_function", "mın", ""} {
		if i, ok := Lookup(name); ok {
			t.Errorf("Lookup(%q) finds %s", name, At(i).Name)
		}
	}
	order := slices.Compact(slices.Collect(func(yield func(string) bool) {
		for _, b := range Reference() {
			if !yield(b.Group) {
				return
			}
		}
	}))
	if !slices.Equal(order, groups) {
		t.Errorf("the reference goes by %v, want %v", order, groups)
	}
}

// TestLongTexts checks what is done in parts where the parts meet: characters
// of two bytes, at odd places.
func TestLongTexts(t *testing.T) {
	long := `"x" + REPEAT("é", 100000)`
	for expr, want := range map[string]string{
		`LENGTH(` + long + `)`:                                                            "100001",
		`LENGTH(UPPER(` + long + `))`:                                                     "100001",
		`SUBSTRING(` + long + ` + "y", -2)`:                                               "éy",
		`SUBSTRING(` + long + ` + "yz", 99999, 3)`:                                        "ééy",
		`LENGTH(LEFT(` + long + `, 70000))`:                                               "70000",
		`LENGTH(RIGHT(` + long + `, 70000))`:                                              "70000",
		`POSITION(` + long + ` + "yz", "yz")`:                                             "100001",
		`POSITION(REPEAT("a", 65535) + "yz", "yz")`:                                       "65535",
		`POSITION(REPEAT("a", 65536) + REPEAT("y", 70000) + "z", "yz")`:                   "135535",
		`TRIM(REPEAT("é", 100000) + "x" + REPEAT("é", 100001), "é")`:                      "x",
		`LENGTH(TRIM_START(REPEAT("é", 100000) + "x" + "é", "é"))`:                        "2",
		`LENGTH(TRIM(REPEAT("é", 100000), "é"))`:                                          "0",
		`COUNT(SPLIT(` + long + `, ""))`:                                                  "100001",
		`COUNT(WORDS(` + long + ` + " " + REPEAT("é", 40000)))`:                           "2",
		`LENGTH(TEXT(FROM_BASE64(BASE64(` + long + `))))`:                                 "100001",
		`LENGTH(TEXT(FROM_HEX(HEX(` + long + `))))`:                                       "100001",
		`LENGTH(URL_DECODE(URL_ENCODE(` + long + `)))`:                                    "100001",
		`LENGTH(HTML_ESCAPE(` + long + ` + "<"))`:                                         "100005",
		`COUNT(FIND_ALL(` + long + `, "é"))`:                                              "100000",
		`LENGTH(REPLACE_PATTERN(` + long + `, "é", "ab"))`:                                "200001",
		`MATCHES(` + long + `, "^xé+$")`:                                                  "true",
		`FIND(` + long + ` + "12", '(\d)(\d)').start`:                                     "100001",
		`LENGTH(FIRST(FROM_CSV("a\n" + ` + long + `)).a)`:                                 "100001",
		`LENGTH(FIRST(FROM_CSV("a\n" + CHARACTER(34) + ` + long + ` + CHARACTER(34))).a)`: "100001",
		`LEFT(SHA256(` + long + `), 8)`:                                                   sha256Start("x" + strings.Repeat("é", 100000)),
	} {
		if got := evaluate(newCall(), expr); got != want {
			t.Errorf("%s: got %.60s, want %s", expr, got, want)
		}
	}
}

func sha256Start(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:8] }
