package syntax_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"ql/lang/source"
	"ql/lang/syntax"
)

var nodeType = reflect.TypeFor[syntax.Node]()

// nodesOf collects the pointers to nodes below v, by reflection.
func nodesOf(v reflect.Value, path string, found map[uintptr]string) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			nodesOf(v.Elem(), path, found)
		}
	case reflect.Pointer:
		if v.IsNil() || v.Type() == reflect.TypeFor[*source.File]() {
			return
		}
		if v.Type().Implements(nodeType) {
			found[v.Pointer()] = path
		}
		nodesOf(v.Elem(), path, found)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]*syntax.Text]() {
			return // the short names of a GATHER, which its fields have too
		}
		for i := range v.Len() {
			nodesOf(v.Index(i), path, found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			nodesOf(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name, found)
		}
	}
}

// Same tells trees apart where Dump prints them differently.
func TestSame(t *testing.T) {
	paths, err := filepath.Glob("testdata/*/*.ql")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var last *syntax.Script
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		script, _ := syntax.Parse(source.NewFile("", string(text)))
		moved, _ := syntax.Parse(source.NewFile("", "-- moved\n  "+string(text)))
		if same := syntax.Dump(script) == syntax.Dump(moved); syntax.Same(script, moved) != same {
			t.Errorf("%s: one that is moved is the same: %v", path, !same)
		}
		if last != nil {
			if same := syntax.Dump(script) == syntax.Dump(last); syntax.Same(script, last) != same {
				t.Errorf("%s: it is the same as the one before: %v", path, !same)
			}
		}
		last = script
	}
	for _, pair := range [][2]string{{"EMIT 1", "EMIT 2"}, {"EMIT 1", "EMIT 1.0"}, {"EMIT ?a", "EMIT !GET"}, {"EMIT 1 + 2", "EMIT 1 - 2"}, {"EMIT 1", "EMIT 1 STOP"}, {"RETURN", "RETURN 1"}} {
		a, _ := syntax.Parse(source.NewFile("", pair[0]))
		b, _ := syntax.Parse(source.NewFile("", pair[1]))
		if syntax.Same(a, b) {
			t.Errorf("%q", pair)
		}
	}
}

// Walk reaches every node of every tree: a new statement has to be added to it.
func TestWalkReachesAll(t *testing.T) {
	texts := map[string]string{}
	for _, pattern := range []string{"testdata/*/*.ql"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no scripts: %v", err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts[path] = string(b)
		}
	}
	for _, s := range append(append([]string(nil), samples...), topSamples...) {
		texts[s] = s
	}
	missing := map[string]bool{}
	for name, text := range texts {
		script, _ := syntax.Parse(source.NewFile("", text))
		want := map[uintptr]string{}
		nodesOf(reflect.ValueOf(script), "Script", want)
		open := 0
		syntax.Walk(script, func(n syntax.Node) bool {
			if n == nil {
				open--
				return true
			}
			open++
			delete(want, reflect.ValueOf(n).Pointer())
			return true
		})
		if open != 0 {
			t.Errorf("%s: %d nodes were not left", name, open)
		}
		for _, path := range want {
			missing[path] = true
		}
	}
	for path := range missing {
		t.Errorf("Walk does not reach %s: add it to walk.go", path)
	}
}
