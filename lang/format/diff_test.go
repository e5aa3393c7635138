package format

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	tests := []struct {
		name, before, after, want string
	}{
		{"equal", "a\n", "a\n", ""},
		{"both empty", "", "", ""},
		{"from nothing", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"to nothing", "a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"one line", "a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
		{"an insertion", "a\nb\n", "a\nx\nb\n", "@@ -1,2 +1,3 @@\n a\n+x\n b\n"},
		{"a removal", "a\nx\nb\n", "a\nb\n", "@@ -1,3 +1,2 @@\n a\n-x\n b\n"},
		{"no line end before", "a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"no line end after", "a\nb\n", "a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n"},
		{
			"context", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
			"@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n",
		},
		{
			"two changes in one hunk", "a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n",
			"@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n",
		},
		{
			"two hunks", "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n",
			"@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			if want != "" {
				want = "--- job.ql.orig\n+++ job.ql\n" + want
			}
			if got := Diff("job.ql", test.before, test.after); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestDiffApplies makes random texts and checks that their diff, applied to the
// one, gives the other.
func TestDiffApplies(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2_000 {
		letters := 1 + random.IntN(6)
		lines := func(n int) string {
			var b strings.Builder
			for range n {
				fmt.Fprintf(&b, "%d\n", random.IntN(letters))
			}
			return strings.TrimSuffix(b.String(), "\n"[:random.IntN(2)])
		}
		before, after := lines(random.IntN(30)), lines(random.IntN(30))
		if d := Diff("x", before, after); apply(t, before, d) != after {
			t.Fatalf("the diff of %q and %q does not apply:\n%s", before, after, d)
		}
	}
}

// TestDiffLarge compares texts that are too long to compare each line with each:
// few changes among many lines, and nothing in common.
func TestDiffLarge(t *testing.T) {
	var before, after, other strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&before, "line %d\n", i)
		fmt.Fprintf(&other, "other %d\n", i%7)
		switch i % 50_000 {
		case 10:
			fmt.Fprintf(&after, "changed %d\n", i)
		case 20:
		default:
			fmt.Fprintf(&after, "line %d\n", i)
		}
	}
	d := Diff("x", before.String(), after.String())
	if apply(t, before.String(), d) != after.String() {
		t.Error("the diff of long texts does not apply")
	}
	// Four times: a change and a removal, too far from one another for one hunk.
	if got := strings.Count(d, "\n@@ "); got != 8 {
		t.Errorf("%d hunks, want 8", got)
	}
	if d := Diff("x", before.String(), other.String()); apply(t, before.String(), d) != other.String() {
		t.Error("the diff of texts without a common line does not apply")
	}
}

// apply carries out a unified diff.
func apply(t *testing.T, before, diff string) string {
	t.Helper()
	old := splitLines(before)
	var out strings.Builder
	at := 0
	l := splitLines(diff)
	for i, s := range l {
		if i < 2 || strings.HasPrefix(s, `\`) {
			continue
		}
		body := s[1:]
		if i+1 < len(l) && strings.HasPrefix(l[i+1], `\`) {
			body = strings.TrimSuffix(body, "\n")
		}
		switch s[0] {
		case '@':
			start := hunkStart(t, s)
			out.WriteString(strings.Join(old[at:start], ""))
			at = start
		case '+':
			out.WriteString(body)
		case ' ', '-':
			if at >= len(old) || old[at] != body {
				t.Fatalf("line %d is not %q", at+1, body)
			}
			if s[0] == ' ' {
				out.WriteString(body)
			}
			at++
		}
	}
	out.WriteString(strings.Join(old[at:], ""))
	return out.String()
}

// hunkStart reads the first line of a hunk's old stretch, counted from 0.
func hunkStart(t *testing.T, head string) int {
	t.Helper()
	old := strings.TrimPrefix(strings.Fields(head)[1], "-")
	first, n, counted := strings.Cut(old, ",")
	line, err := strconv.Atoi(first)
	if err != nil {
		t.Fatalf("bad hunk %q", head)
	}
	if counted && n == "0" {
		return line
	}
	return line - 1
}
