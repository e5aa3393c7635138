package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// shortestComment is what a purpose takes to be said: "Package x does y." alone
// tells nothing that the name does not.
const shortestComment = 60

// TestPackageComments checks that every package says once what it is for.
func TestPackageComments(t *testing.T) {
	for _, p := range loadTree(t) {
		complain(t, checkComment(p))
	}
}

func checkComment(p goPackage) []string {
	var name string
	var comments []string
	var places []string
	for _, f := range p.files {
		if f.test && !p.testOnly() {
			continue
		}
		name = strings.TrimSuffix(f.clause, "_test")
		if f.comment != "" {
			comments = append(comments, f.comment)
			places = append(places, f.name)
		}
	}
	opening := "Package " + name + " "
	if name == "main" {
		opening = "Command " + path.Base(p.path) + " "
	}
	switch {
	case len(comments) == 0:
		return []string{fmt.Sprintf("%s has no package comment: one file says %q…", p.path, opening)}
	case len(comments) > 1:
		slices.Sort(places)
		return []string{fmt.Sprintf("%s has %d package comments, in %s: one is enough", p.path, len(comments), strings.Join(places, " and "))}
	}
	comment := strings.Join(strings.Fields(comments[0]), " ")
	if !strings.HasPrefix(comment, opening) {
		return []string{fmt.Sprintf("%s: the package comment in %s starts otherwise than %q", p.path, places[0], opening)}
	}
	if n := utf8.RuneCountInString(comment); n < shortestComment {
		return []string{fmt.Sprintf("%s: the package comment in %s has %d characters: what is the package for, and what does it leave to others?", p.path, places[0], n)}
	}
	return nil
}

func TestCheckComment(t *testing.T) {
	const good = "Package pond keeps the fish of the garden apart from the frogs, and leaves feeding to others."
	tests := []struct {
		name  string
		path  string
		files []goFile
		want  []string
	}{
		{"good", "pond", []goFile{{name: "a.go", clause: "pond", comment: good}, {name: "b.go", clause: "pond"}}, nil},
		{"a test's comment does not count", "pond", []goFile{
			{name: "a.go", clause: "pond", comment: good},
			{name: "a_test.go", test: true, clause: "pond_test", comment: good},
		}, nil},
		{"tests only", "pond", []goFile{{name: "a_test.go", test: true, clause: "pond_test", comment: good}}, nil},
		{"command", "cmd/pond", []goFile{{name: "main.go", clause: "main", comment: "Command pond" + strings.TrimPrefix(good, "Package pond")}}, nil},
		{
			"none", "pond",
			[]goFile{{name: "a.go", clause: "pond"}, {name: "a_test.go", test: true, clause: "pond", comment: good}},
			[]string{`pond has no package comment: one file says "Package pond "…`},
		},
		{
			"two", "pond",
			[]goFile{{name: "b.go", clause: "pond", comment: good}, {name: "a.go", clause: "pond", comment: good}},
			[]string{"pond has 2 package comments, in a.go and b.go: one is enough"},
		},
		{
			"other words", "pond",
			[]goFile{{name: "a.go", clause: "pond", comment: "This package" + good}},
			[]string{`pond: the package comment in a.go starts otherwise than "Package pond "`},
		},
		{
			"too short", "pond",
			[]goFile{{name: "a.go", clause: "pond", comment: "Package pond has fish."}},
			[]string{"pond: the package comment in a.go has 22 characters: what is the package for, and what does it leave to others?"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			wantComplaints(t, checkComment(goPackage{path: test.path, files: test.files}), test.want)
		})
	}
}
