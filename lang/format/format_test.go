package format

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ql/lang/langtest/gen"
	"ql/lang/source"
	"ql/lang/syntax"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// builtins are the functions that the golden scripts take for built-in.
var builtins = Options{IsBuiltin: func(name string) bool {
	return strings.Contains(" UPPER LOWER MAP FILTER REDUCE ROUND NOW TO_JSON REPLACE FORMAT_TIME POWER ", " "+name+" ")
}}

func TestGolden(t *testing.T) {
	for _, file := range files(t, "testdata/*.in.ql") {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".in.ql"), func(t *testing.T) {
			got, errs := builtins.Source("", read(t, file))
			if errs != nil {
				t.Fatalf("%s: %v", file, errs)
			}
			golden := strings.TrimSuffix(file, ".in.ql") + ".out.ql"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := read(t, golden); got != want {
				t.Errorf("formatted differently:\n%s", Diff(golden, want, got))
			}
		})
	}
}

// TestCorpus holds every known script to what formatting promises.
func TestCorpus(t *testing.T) {
	corpus := append(files(t, "testdata/*.ql"), files(t, "../syntax/testdata/scripts/*.ql")...)
	for _, file := range corpus {
		check(t, file, read(t, file))
	}
}

// forms are the ways in which a comment or an empty line may stand.
var forms = []string{" /* c */ ", " -- c\n", "\n-- c\n", "\n/* c */\n", " /* c\n d */ ", "\n\n", "\n/* c */ -- d\n"}

// TestPromiseCommentAnywhere puts a comment, or an empty line, at every place of
// every script where it does not change what the script says: one form a place,
// and with QL_PROMISES=1 all of them.
func TestPromiseCommentAnywhere(t *testing.T) {
	all := os.Getenv("QL_PROMISES") != ""
	for _, file := range files(t, "testdata/*.in.ql") {
		text := source.NewFile("", read(t, file)).Text
		plain := syntax.Dump(parse(t, file, text))
		for place := range len(text) + 1 {
			for i, form := range forms {
				if all || i == place%len(forms) {
					checkInserted(t, file, plain, text[:place]+form+text[place:])
				}
			}
		}
	}
}

// TestPromiseManyComments changes scripts at random: longer names, so that lines
// break at other places, and several comments at once.
func TestPromiseManyComments(t *testing.T) {
	rounds := 2_000
	if os.Getenv("QL_PROMISES") != "" {
		rounds = 200_000
	}
	random := rand.New(rand.NewPCG(1, 2))
	corpus := files(t, "testdata/*.in.ql")
	for range rounds {
		file := corpus[random.IntN(len(corpus))]
		text := read(t, file)
		for range random.IntN(4) {
			text = longerName(text, random)
		}
		plain := syntax.Dump(parse(t, file, text))
		for range random.IntN(6) {
			place := random.IntN(len(text) + 1)
			longer := text[:place] + forms[random.IntN(len(forms))] + text[place:]
			if s, errs := syntax.Parse(source.NewFile("", longer)); errs == nil && syntax.Dump(s) == plain {
				text = longer
			}
		}
		check(t, file, text)
	}
}

// TestPromiseGenerated formats random programs, whose expressions are long and deep and stand on
// one line each.
func TestPromiseGenerated(t *testing.T) {
	programs := uint64(100)
	if os.Getenv("QL_PROMISES") != "" {
		programs = 10_000
	}
	for seed := range programs {
		check(t, fmt.Sprintf("the program of seed %d", seed), gen.Program(seed, gen.Options{}))
	}
}

// longerName makes one of the variables' names longer.
func longerName(text string, random *rand.Rand) string {
	names := regexp.MustCompile(`[?][a-z]+`).FindAllStringIndex(text, -1)
	if len(names) == 0 {
		return text
	}
	end := names[random.IntN(len(names))][1]
	return text[:end] + strings.Repeat("n", random.IntN(80)) + text[end:]
}

// checkInserted checks a changed script, if it still says what it said.
func checkInserted(t *testing.T, file string, plain, text string) {
	t.Helper()
	s, errs := syntax.Parse(source.NewFile("", text))
	if errs == nil && syntax.Dump(s) == plain {
		check(t, file, text)
	}
}

func FuzzFormat(f *testing.F) {
	for _, file := range append(files(f, "testdata/*.ql"), files(f, "../syntax/testdata/scripts/*.ql")...) {
		f.Add(read(f, file))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, errs := syntax.Parse(source.NewFile("", text)); errs == nil {
			check(t, "fuzz", text)
		}
	})
}

// check holds a script to what formatting promises: it means the same, has the
// same comments, and is not changed by formatting it again.
func check(t *testing.T, name, text string) {
	t.Helper()
	before := parse(t, name, text)
	once := Script(before)
	after, errs := syntax.Parse(source.NewFile("", once))
	if errs != nil {
		t.Fatalf("%s: formatted, it does not parse: %v\nbefore:\n%s\nafter:\n%s", name, errs, text, once)
	}
	bracketed := parse(t, name, once)
	syntax.Bracket(before)
	syntax.Bracket(bracketed)
	if a, b := syntax.Dump(before), syntax.Dump(bracketed); a != b {
		t.Fatalf("%s: formatted, it says something else:\n%s\nbefore:\n%s\nafter:\n%s", name, Diff("tree", a, b), text, once)
	}
	if a, b := comments(before), comments(after); strings.Join(a, "\x00") != strings.Join(b, "\x00") {
		t.Fatalf("%s: formatted, it has the comments %q, not %q\nbefore:\n%s\nafter:\n%s", name, b, a, text, once)
	}
	if twice := Script(after); once != twice {
		t.Fatalf("%s: formatting again changes it:\n%s\nbefore:\n%s", name, Diff("again", once, twice), text)
	}
	if once != "" && (!strings.HasSuffix(once, "\n") || strings.HasSuffix(once, "\n\n") || strings.HasPrefix(once, "\n")) {
		t.Fatalf("%s: does not end with one line end or begins with one: %q", name, once)
	}
}

func parse(t testing.TB, name, text string) *syntax.Script {
	t.Helper()
	s, errs := syntax.Parse(source.NewFile("", text))
	if errs != nil {
		t.Fatalf("%s: does not parse: %v\n%s", name, errs, text)
	}
	return s
}

func files(t testing.TB, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil || len(list) == 0 {
		t.Fatalf("no files match %s (%v)", pattern, err)
	}
	return list
}

func read(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
