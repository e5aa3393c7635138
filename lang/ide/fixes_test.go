package ide_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/ide"
	"ql/lang/langtest/gen"
)

// nameMistakes are codes of mistakes in a name that is like another one.
var nameMistakes = []string{"unknown_word", "unknown_variable", "unknown_function", "unknown_global"}

// Every message that says which name was meant has a fix, and with all fixes the
// mistake is gone.
func TestNameMistakesHaveFixes(t *testing.T) {
	texts := scripts(t, "wrong/*.ql")
	for i, text := range []string{
		"SET ?name AS 1\nEMIT ?nmae",
		"EMIT UPER(\"a\")",
		"EMIT STRLEN(\"a\")",
		"DEFINE twice(?x) RETURN ?x * 2 END\nEMIT twise(1)",
		"INPUT FIELDS age INTEGER\nEMIT ?age",
		"\uFEFFSET ?name AS 1\r\nEMIT \"ä\"\r\nEMIT ?nmae",
		"EMTI 1\r\nEMIT !GTE('a')",
	} {
		texts[fmt.Sprint("more ", i)] = text
	}
	found := 0
	for name, text := range texts {
		before := named(ide.Diagnostics(text, nil))
		if len(before) == 0 {
			continue
		}
		found++
		fixed := text
		for _, d := range slices.Backward(before) {
			if len(d.Fixes) == 0 {
				t.Errorf("%s: %s has no fix", name, d.Message)
				continue
			}
			fixed = ide.Apply(fixed, d.Fixes[0].Edits)
		}
		if after := ide.Diagnostics(fixed, nil); len(after) > 0 && len(after) > len(ide.Diagnostics(text, nil))-len(before) {
			t.Errorf("%s: with the fixes, %q has %+v", name, fixed, after)
		}
	}
	if found < 12 {
		t.Errorf("only %d scripts have such mistakes", found)
	}
}

// named returns the mistakes whose message says what was meant.
func named(list []ide.Diagnostic) []ide.Diagnostic {
	return slices.DeleteFunc(list, func(d ide.Diagnostic) bool {
		says := strings.Contains(d.Message, "did you mean") || strings.Contains(d.Message, "; there is ") || strings.Contains(d.Message, "!INPUT.") ||
			strings.Contains(d.Message, " is never set") && strings.HasSuffix(d.Message, " is") || strings.Contains(d.Message, ": here it is LENGTH")
		return !slices.Contains(nameMistakes, d.Code) || !says
	})
}

func TestActions(t *testing.T) {
	const text = "SET ?name AS 1\nEMIT ?nmae"
	got := ide.Actions(text, 22, 22, nil)
	if len(got) != 1 || got[0].Title != "Write ?name" || ide.Apply(text, got[0].Edits) != "SET ?name AS 1\nEMIT ?name" {
		t.Errorf("%+v", got)
	}
	if got := ide.Actions(text, 0, 3, nil); len(got) != 0 {
		t.Errorf("elsewhere: %+v", got)
	}
}

// A generated program whose names are changed compiles to the same as before but for names,
// in its written form too.
func TestPromiseRenames(t *testing.T) {
	programs := 30
	if promised {
		programs = 10_000
	}
	renamed := 0
	for seed := range programs {
		text, wrong := ide.Format(gen.Program(uint64(seed), gen.Options{Statements: 15}))
		if wrong != nil {
			t.Fatalf("%d: %+v", seed, wrong)
		}
		want := encoded(t, text)
		changed, n, functions := renameAll(text)
		renamed += n
		if seed%oneByOne == 0 {
			if again := renameOneByOne(text); again != changed {
				t.Fatalf("seed %d: one by one\n%s, all at once\n%s", seed, again, changed)
			}
		}
		formed, wrong := ide.Format(changed)
		if wrong != nil {
			t.Fatalf("seed %d: %+v\n%s", seed, wrong, changed)
		}
		old := strings.NewReplacer(functions...)
		if got := encoded(t, formed); old.Replace(got) != old.Replace(want) {
			t.Fatalf("seed %d: renaming has changed the program\n%s\n%s", seed, text, formed)
		}
	}
	if renamed < 2*programs {
		t.Errorf("only %d names were changed", renamed)
	}
}

// In one of so many programs the names are also changed one by one, each in the text that
// the change before has left. That parses the text for each name, and gives the same.
const oneByOne = 10

// renameAll gives all names of a text others. It returns how many, and of functions both
// names, the new one first.
func renameAll(text string) (changed string, renamed int, functions []string) {
	rename := ide.Renames(text)
	var all []ide.Edit
	taken := text
	for _, at := range firstNames(text) {
		name := unused(taken, len(strings.TrimPrefix(at.word, "?")))
		edits, err := rename(at.at, name)
		if name == "" || err != nil {
			continue
		}
		all = append(all, edits...)
		taken += " " + name
		renamed++
		if at.word[0] != '?' { // names of functions stand in programs
			functions = append(functions, name, at.word)
		}
	}
	return ide.Apply(text, all), renamed, functions
}

func renameOneByOne(text string) string {
	taken := text
	for _, at := range firstNames(text) {
		name := unused(taken, len(strings.TrimPrefix(at.word, "?")))
		if edits, err := ide.Rename(text, at.at, name); name != "" && err == nil {
			text = ide.Apply(text, edits)
			taken += " " + name
		}
	}
	return text
}

// unused returns a word so long that a text does not have, "" where all are taken.
func unused(text string, length int) string {
	for i := range 26 * 26 {
		name := strings.Repeat("z", max(0, length-2)) + string(rune('a'+i/26)) + string(rune('a'+i%26))
		name = name[len(name)-length:]
		if !strings.Contains(text, name) {
			return name
		}
	}
	return ""
}

// firstNames returns where each variable and function first stands.
func firstNames(text string) []position {
	var out []position
	seen := map[string]bool{}
	for _, k := range ide.Tokens(text) {
		word := text[k.Start:k.End]
		if k.Kind != ide.Variable && k.Kind != ide.Function || seen[word] {
			continue
		}
		seen[word] = true
		out = append(out, position{k.Start + 1, word})
	}
	return out
}

const checksum = 16 // at the end of a stored program

// encoded is a program without its hash, its checksum and the names of its variables.
func encoded(t *testing.T, text string) string {
	t.Helper()
	p, err := lang.Compile(text, lang.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p.Hash = [sha256.Size]byte{}
	for _, f := range p.Funcs {
		f.Vars = nil
	}
	p.Bytes = p.Weigh()
	b := bytecode.Encode(p)
	return string(b[:len(b)-checksum])
}

// BenchmarkComplete tells how long completion takes in a script of a quarter of a megabyte,
// at its end and in places all over it, by percentiles.
func BenchmarkComplete(b *testing.B) {
	text := longScript(b)
	for _, place := range []struct{ name, typed string }{
		{"statement", ""}, {"value", "EMIT "}, {"variable", "EMIT ?"}, {"field", "EMIT ?row."}, {"sql", "SELECT "},
	} {
		b.Run(place.name, func(b *testing.B) {
			typed := text + "\n" + place.typed
			timeCompletions(b, func() (string, int) { return typed, len(typed) })
		})
	}
	b.Run("anywhere", func(b *testing.B) {
		places := positions(text, 1)
		random := rand.New(rand.NewPCG(1, 2))
		timeCompletions(b, func() (string, int) { return text, places[random.IntN(len(places))].at })
	})
	b.Run("block", func(b *testing.B) {
		typed := "TRANSACTION\n" + text + "\nEMIT "
		timeCompletions(b, func() (string, int) { return typed, len(typed) })
	})
}

// timeCompletions reports percentiles of the wall clock's time, and of the time that the
// processor spent in it: on a machine that others use too, only that can be compared.
func timeCompletions(b *testing.B, place func() (text string, at int)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b.ReportAllocs()
	var took, spent []time.Duration
	for b.Loop() {
		text, at := place()
		start, before := time.Now(), processorTime(b)
		ide.Complete(text, at, library{})
		took, spent = append(took, time.Since(start)), append(spent, processorTime(b)-before)
	}
	for name, times := range map[string][]time.Duration{"": took, "cpu-": spent} {
		slices.Sort(times)
		for _, p := range []int{50, 99} {
			b.ReportMetric(float64(times[(len(times)-1)*p/100].Microseconds()), fmt.Sprintf("%sp%d-µs", name, p))
		}
	}
}

// processorTime is what the processor has spent on the thread.
func processorTime(b *testing.B) time.Duration {
	const ofThread = 1 // RUSAGE_THREAD of Linux
	var used syscall.Rusage
	if err := syscall.Getrusage(ofThread, &used); err != nil {
		b.Skip("only Linux tells:", err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// longScript is all sample scripts, one after another, of 256 KiB.
func longScript(tb testing.TB) string {
	var all strings.Builder
	samples := scripts(tb, "scripts/*.ql")
	for {
		for _, name := range slices.Sorted(maps.Keys(samples)) {
			if all.Len()+len(samples[name]) > 256<<10 {
				return all.String()
			}
			all.WriteString(samples[name] + ";\n")
		}
	}
}
