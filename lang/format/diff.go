package format

import (
	"fmt"
	"slices"
	"strings"
)

// diffContext is how many unchanged lines stand around a change.
const diffContext = 3

// Diff gives the changes from before to after as a unified diff, line by line;
// "" when there are none. Its time and memory grow with the size of the texts,
// not with its square: long stretches without a line in common are given as
// one change.
func Diff(name, before, after string) string {
	if before == after {
		return ""
	}
	d := differ{a: splitLines(before), b: splitLines(after)}
	d.compare(0, len(d.a), 0, len(d.b))
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s.orig\n+++ %s\n", name, name)
	d.write(&out)
	return out.String()
}

// splitLines cuts a text into lines that keep their line ends.
func splitLines(s string) []string {
	l := strings.SplitAfter(s, "\n")
	if l[len(l)-1] == "" {
		l = l[:len(l)-1]
	}
	return l
}

// change replaces a[fromA:toA] by b[fromB:toB].
type change struct{ fromA, toA, fromB, toB int }

// differ compares the lines of two texts.
type differ struct {
	a, b    []string
	changes []change // in order
}

// smallDiff is the product of two lengths up to which lines are compared each
// with each.
const smallDiff = 1 << 16

// compare finds the changes between two stretches of lines: it cuts off what
// they share at both ends and splits the rest at lines that stand once in each.
func (d *differ) compare(fromA, toA, fromB, toB int) {
	for fromA < toA && fromB < toB && d.a[fromA] == d.b[fromB] {
		fromA, fromB = fromA+1, fromB+1
	}
	for fromA < toA && fromB < toB && d.a[toA-1] == d.b[toB-1] {
		toA, toB = toA-1, toB-1
	}
	switch {
	case fromA == toA && fromB == toB:
		return
	case fromA == toA || fromB == toB:
		d.add(change{fromA, toA, fromB, toB})
		return
	case (toA-fromA)*(toB-fromB) <= smallDiff:
		d.exact(fromA, toA, fromB, toB)
		return
	}
	anchors := d.anchors(fromA, toA, fromB, toB)
	if len(anchors) == 0 {
		d.add(change{fromA, toA, fromB, toB})
		return
	}
	for _, m := range anchors {
		d.compare(fromA, m.a, fromB, m.b)
		fromA, fromB = m.a+1, m.b+1
	}
	d.compare(fromA, toA, fromB, toB)
}

// add appends a change, joining it with the one before where they touch.
func (d *differ) add(c change) {
	if n := len(d.changes); n > 0 && d.changes[n-1].toA == c.fromA && d.changes[n-1].toB == c.fromB {
		d.changes[n-1].toA, d.changes[n-1].toB = c.toA, c.toB
		return
	}
	d.changes = append(d.changes, c)
}

// exact finds the fewest changes by the longest common subsequence.
func (d *differ) exact(fromA, toA, fromB, toB int) {
	n, m := toA-fromA, toB-fromB
	// common[i*(m+1)+j] is the length for the stretches from i and j on.
	common := make([]int32, (n+1)*(m+1))
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			at := i*(m+1) + j
			if d.a[fromA+i] == d.b[fromB+j] {
				common[at] = common[at+m+2] + 1
			} else {
				common[at] = max(common[at+m+1], common[at+1])
			}
		}
	}
	i, j := 0, 0
	for i < n || j < m {
		at := i*(m+1) + j
		switch {
		case i < n && j < m && d.a[fromA+i] == d.b[fromB+j]:
			i, j = i+1, j+1
		case j == m || i < n && common[at+m+1] >= common[at+1]:
			d.add(change{fromA + i, fromA + i + 1, fromB + j, fromB + j})
			i++
		default:
			d.add(change{fromA + i, fromA + i, fromB + j, fromB + j + 1})
			j++
		}
	}
}

// match is a line of a that is a line of b.
type match struct{ a, b int }

// anchors gives lines that stand exactly once in both stretches, the longest
// run of them that is in order in both.
func (d *differ) anchors(fromA, toA, fromB, toB int) []match {
	type seen struct{ inA, inB, a, b int }
	table := make(map[string]*seen, toA-fromA)
	for i := fromA; i < toA; i++ {
		s := table[d.a[i]]
		if s == nil {
			s = &seen{}
			table[d.a[i]] = s
		}
		s.inA, s.a = s.inA+1, i
	}
	for j := fromB; j < toB; j++ {
		if s := table[d.b[j]]; s != nil {
			s.inB, s.b = s.inB+1, j
		}
	}
	var matches []match // in order of a
	for i := fromA; i < toA; i++ {
		if s := table[d.a[i]]; s.inA == 1 && s.inB == 1 {
			matches = append(matches, match{s.a, s.b})
		}
	}
	return longestRising(matches)
}

// longestRising gives the longest subsequence of matches that rises in b.
func longestRising(matches []match) []match {
	var tails []int // tails[k]: the match with the least b that ends a run of k+1
	previous := make([]int, len(matches))
	for i, m := range matches {
		k, _ := slices.BinarySearchFunc(tails, m.b, func(t, b int) int { return matches[t].b - b })
		previous[i] = -1
		if k > 0 {
			previous[i] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, i)
		} else {
			tails[k] = i
		}
	}
	if len(tails) == 0 {
		return nil
	}
	run := make([]match, len(tails))
	for k, i := len(tails)-1, tails[len(tails)-1]; k >= 0; k, i = k-1, previous[i] {
		run[k] = matches[i]
	}
	return run
}

// write prints the changes in hunks: those nearer than twice the context to
// one another stand together.
func (d *differ) write(out *strings.Builder) {
	for i := 0; i < len(d.changes); {
		j := i + 1
		for j < len(d.changes) && d.changes[j].fromA-d.changes[j-1].toA <= 2*diffContext {
			j++
		}
		d.hunk(out, d.changes[i:j])
		i = j
	}
}

func (d *differ) hunk(out *strings.Builder, changes []change) {
	first, last := changes[0], changes[len(changes)-1]
	lead := min(diffContext, first.fromA)
	end := min(last.toA+diffContext, len(d.a))
	startA, startB := first.fromA-lead, first.fromB-lead
	fmt.Fprintf(out, "@@ -%s +%s @@\n",
		hunkRange(startA, end-startA), hunkRange(startB, last.toB+end-last.toA-startB))
	at := startA
	for _, c := range changes {
		writeLines(out, ' ', d.a[at:c.fromA])
		writeLines(out, '-', d.a[c.fromA:c.toA])
		writeLines(out, '+', d.b[c.fromB:c.toB])
		at = c.toA
	}
	writeLines(out, ' ', d.a[at:end])
}

// hunkRange is a stretch of lines in a hunk's head. An empty one is named by
// the line before it, a single line without its count.
func hunkRange(start, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, n)
}

func writeLines(out *strings.Builder, mark byte, l []string) {
	for _, s := range l {
		out.WriteByte(mark)
		out.WriteString(s)
		if !strings.HasSuffix(s, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
