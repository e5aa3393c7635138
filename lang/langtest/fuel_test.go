package langtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"ql/lang"
	"ql/lang/langtest/gen"
	"ql/lang/lib"
	"ql/lang/vm"
)

// childOf says in the environment of a process that it shall tell the fuel of all
// programs, and of how many generated ones.
const childOf = "QL_TELL_FUEL"

// fuels returns what programs cost, by their name: the cases, an example of each
// function, and generated ones.
func fuels(t testing.TB, generated int) map[string]int64 {
	all := map[string]int64{}
	for _, file := range files(t, "testdata/*.qlt") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(string(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Cases {
			all[filepath.Base(file)+": "+c.Name] = c.Run(Straight).Fuel
		}
	}
	for _, f := range lib.Reference() {
		if !f.Host {
			c := Case{Script: "EMIT " + f.Example}
			all[f.Name] = c.Run(Straight).Fuel
		}
	}
	for seed := range uint64(generated) {
		all[fmt.Sprint("generated ", seed)] = generatedFuel(t, seed)
	}
	return all
}

func generatedFuel(t testing.TB, seed uint64) int64 {
	p, err := lang.Compile(gen.Program(seed, gen.Options{}), lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := Limits()
	l.Fuel = 20e6
	m := vm.New(p, l, vm.Input{})
	defer m.Release()
	h := gen.Host{Seed: seed, Failures: 10}
	for m.Run(context.Background()) == vm.Pending {
		if v, err := h.Answer(m.Effect()); err != nil {
			m.ResumeError(err)
		} else {
			m.Resume(v)
		}
	}
	return m.Fuel()
}

// TestPromiseFuelIsTheSame runs programs in this process, again with its caches
// warm, and in processes of their own, whose hashes have other seeds: fuel is the
// same to the unit.
func TestPromiseFuelIsTheSame(t *testing.T) {
	generated, children := 300, 2
	if os.Getenv("QL_PROMISES") != "" {
		generated, children = 5000, 5
	}
	if told := os.Getenv(childOf); told != "" {
		if _, err := fmt.Sscan(told, &generated); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(fuels(t, generated))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s\n", b)
		os.Exit(0)
	}
	want := fuels(t, generated)
	compare := func(where string, got map[string]int64) {
		if len(got) != len(want) {
			t.Errorf("%s there are %d programs, not %d", where, len(got), len(want))
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if got[name] != want[name] {
				t.Errorf("%s costs %d, and %s %d", name, want[name], where, got[name])
			}
		}
	}
	compare("again", fuels(t, generated))
	for range children {
		//nolint:gosec // the test itself
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		child.Env = append(os.Environ(), fmt.Sprintf("%s=%d", childOf, generated))
		child.Stderr = os.Stderr
		out, err := child.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		got := map[string]int64{}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		compare("in another process", got)
	}
	t.Logf("%d programs", len(want))
}
