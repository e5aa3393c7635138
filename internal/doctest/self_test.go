package doctest

import (
	"slices"
	"strings"
	"testing"
)

// sample is a page in which most is wrong.
const sample = `# A page

<!-- given
-- /a.txt --
one
two
-- setup --
CREATE TABLE t (n INTEGER);
-->

~~~ql --get name=Ada
READ "/a.txt" SET ?text
SELECT COUNT(*) FROM t SET VALUE ?n
EMIT ?text, ?n, !GET('name')
~~~
~~~output
one
two
0Ada
~~~

~~~ql
EMIT "right"
~~~
~~~output
wrong
~~~
~~~text
shown only
~~~

~~~ql
EMIT 1 / 0
~~~

~~~ql
EMIT 1
~~~
~~~error
division_by_zero 1:8: cannot divide 1 by zero
~~~

~~~ql
emit "a"
~~~

~~~ql as-is
emit "a"
~~~

~~~ql compile
FETCH "https://example.com"
~~~

~~~ql
WRITE "x" TO "/b.txt"
~~~
~~~text file=/b.txt
y
~~~

## Another chapter

~~~ql
READ "/a.txt" SET ?text
~~~

~~~python
print("http://127.0.0.1:8080")
~~~
~~~output
http://127.0.0.1:8080
~~~

~~~python
print("right")
~~~
~~~output
wrong
~~~

~~~python
raise SystemExit("no answer")
~~~
~~~output
an answer
~~~

~~~python
print("anything")
~~~

~~~go
package main
func main() { println() }
~~~
~~~output
~~~
~~~error
division_by_zero 1:8: cannot divide 1 by zero
~~~
`

// TestSelf checks that what is wrong on a page is found.
func TestSelf(t *testing.T) {
	p, err := parsePage("sample.md", strings.ReplaceAll(sample, "~~~", fence))
	if err != nil {
		t.Fatal(err)
	}
	examples, err := p.examples()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		nil,
		{"the output is", "right", "want", "wrong"},
		{"the script fails", "division_by_zero 1:8: cannot divide 1 by zero"},
		{"the error is", "the script should fail"},
		{"the ql is", "EMIT"},
		nil,
		nil,
		{"the text is", "x", "want", "y"},
		{"the script fails", "file_not_found"},
		nil,
		{"the output is", "right", "want", "wrong"},
		{"the program fails", "exit status 1", "no answer"},
		{"what the program prints is not shown"},
		{"the go is", "package main\n\t\n\tfunc main()", "and no error beside it"},
	}
	if len(examples) != len(want) {
		t.Fatalf("%d scripts were found, want %d", len(examples), len(want))
	}
	for i, e := range examples {
		r := e.try(t, p.name)
		got := strings.Join(slices.Concat(r.differences, r.failures), "\n")
		rest := got
		for _, part := range want[i] {
			_, after, found := strings.Cut(rest, part)
			if !found {
				t.Errorf("the complaint about script %d has no %q:\n%s", i, part, indented(got))
			}
			rest = after
		}
		if want[i] == nil && got != "" {
			t.Errorf("script %d is right, and yet:\n%s", i, indented(got))
		}
	}
}

// TestMissingProgram checks that a language that this machine cannot run is told
// of, and how to help it.
func TestMissingProgram(t *testing.T) {
	l := language{file: "hello.x", command: []string{"no-such-program"}, from: "the-package"}
	_, err := l.run(t, "")
	if want := "no-such-program is missing, which runs this block: install the package the-package"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("the error is %v, want %s", err, want)
	}
}

func TestApply(t *testing.T) {
	p, err := parsePage("", "a\n"+fence+"output\n"+fence+"\nb\n"+fence+"output\nold\nold\n"+fence+"\n")
	if err != nil {
		t.Fatal(err)
	}
	first, second := p.blocks[0], p.blocks[1]
	got := p.apply([]edit{{first.from, first.to, "new"}, {second.from, second.to, ""}})
	if want := "a\n" + fence + "output\nnew\n" + fence + "\nb\n" + fence + "output\n" + fence + "\n"; got != want {
		t.Errorf("the page is %q, want %q", got, want)
	}
}

func TestSplitWords(t *testing.T) {
	got, err := splitWords(` ql --get 'name=Ada '' B' --path=/x `)
	if want := []string{"ql", "--get", "name=Ada ' B", "--path=/x"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("the words are %q (%v), want %q", got, err, want)
	}
	if _, err := splitWords("ql 'open"); err == nil {
		t.Error("an open quote is no error")
	}
}

func TestBadPages(t *testing.T) {
	for _, text := range []string{fence + "ql\nEMIT 1\n", "<!-- given\n-- /a --\n", fence + "ql 'a\n" + fence + "\n"} {
		if _, err := parsePage("", text); err == nil {
			t.Errorf("the page %q is no error", text)
		}
	}
	p, err := parsePage("", fence+"output\nx\n"+fence+"\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.examples(); err == nil {
		t.Error("an output without a script is no error")
	}
}

func TestAnchor(t *testing.T) {
	for heading, want := range map[string]string{
		"A first script": "a-first-script", "`START SESSION`, `END SESSION`": "start-session-end-session",
		"Pauses, and what they mean for you": "pauses-and-what-they-mean-for-you",
	} {
		if got := anchor(heading); got != want {
			t.Errorf("the anchor of %q is %q, want %q", heading, got, want)
		}
	}
}
