package migrate

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func folder(names ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for _, name := range names {
		files["m/"+name] = &fstest.MapFile{Data: []byte("-- " + name)}
	}
	return files
}

func TestLoad(t *testing.T) {
	got, err := Load(folder("00002_more.sql", "00001_first_things.sql"), "m")
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{
		{1, "first_things", "-- 00001_first_things.sql"},
		{2, "more", "-- 00002_more.sql"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"a gap":       {folder("00001_a.sql", "00003_b.sql"), "00003_b.sql stands where number 2 is due"},
		"a twin":      {folder("00001_a.sql", "00001_b.sql"), "00001_b.sql stands where number 2 is due"},
		"no start":    {folder("00002_a.sql"), "number 1 is due"},
		"a short one": {folder("1_a.sql"), "not named like"},
		"a stranger":  {folder("00001_a.sql", "README.md"), "README.md is not named like"},
		"no folder":   {folder(), "not exist"},
	} {
		if _, err := Load(test.files, "m"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPending(t *testing.T) {
	steps := []Step{{Number: 1}, {Number: 2}, {Number: 3}}
	for version, first := range []int{1, 2, 3, 0} {
		got, err := Pending(steps, version)
		if err != nil || len(got) != 3-version || first != 0 && got[0].Number != first {
			t.Errorf("from %d: %v, %v", version, got, err)
		}
	}
	var newer *NewerError
	if _, err := Pending(steps, 4); !errors.As(err, &newer) || newer.Version != 4 || newer.Known != 3 {
		t.Errorf("a newer store: %v", err)
	}
	if _, err := Pending(steps, -1); err == nil {
		t.Error("a version below 0 was taken")
	}
}
