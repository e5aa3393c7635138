package rows

import (
	"strings"

	"ql/lang/value"
)

// CSV is as RFC 4180 has it, with what programs write beside it: lines end with CR LF, LF
// or CR, empty ones do not count, and a quote inside a cell that does not start with one is
// a quote.

// part is how much of a text is worked through between two charges.
const part = 64 << 10

// scanCSV looks for a row of CSV. One that is wrong it passes: up to the end of the line
// on which it became so.
func (r *Reader) scanCSV(m *value.Meter) (found bool, bad *value.Error, err error) {
	if !r.skipEmpty(m) {
		return false, nil, nil
	}
	s := r.text[r.at:]
	at, line := 0, r.line
	r.cells = r.cells[:0]
	m.Work(1)
	for {
		var c cell
		var next int
		if at < len(s) && s[at] == '"' {
			opened := line
			var ok bool
			c, ok = r.quoted(m, s, at)
			if !ok && (r.end || r.isFull(s)) {
				what := "opens a quote that is never closed"
				if !r.end {
					what = "opens a quote that is not closed within " + value.FormatByteCount(int64(r.o.MaxRow))
				}
				return r.pass(m, s, at, opened, badCSV(opened, "%s", what))
			}
			if !ok {
				return false, nil, nil
			}
			line += int64(strings.Count(s[c.from:c.to], "\n"))
			next = c.to + 1
		} else {
			c = r.bare(m, s, at)
			next = c.to
		}
		r.cells = append(r.cells, c)
		if next == len(s) && !r.end {
			return false, nil, r.tooLong(len(s), r.line)
		}
		if strings.HasPrefix(s[next:], r.o.Separator) {
			at = next + len(r.o.Separator)
			continue
		}
		end, ok := r.lineEnd(s, next)
		switch {
		case !ok:
			return false, nil, nil
		case end == next && next < len(s):
			return r.pass(m, s, next, line, badCSV(line, "goes on after a closing quote: inside quotes, a quote is written twice"))
		}
		if err := r.tooLong(next, r.line); err != nil {
			return false, nil, err
		}
		r.take(s, next, end, line+1)
		return true, nil, nil
	}
}

// isFull tells whether there is as much of a row as one may have.
func (r *Reader) isFull(s string) bool { return r.o.MaxRow > 0 && len(s) > r.o.MaxRow }

// take makes s[:n] the row; the next one begins at end, on a line.
func (r *Reader) take(s string, n, end int, line int64) {
	r.row, r.begin, r.start = s[:n], r.line, r.at
	r.at += end
	r.taken += int64(end)
	r.line = line
}

// pass passes a row that is wrong on a line: up to the end of that line, behind at.
func (r *Reader) pass(m *value.Meter, s string, at int, line int64, bad *value.Error) (bool, *value.Error, error) {
	n := strings.IndexAny(s[at:], "\r\n")
	if n < 0 {
		m.Work((len(s) - at) / 8)
		if !r.end {
			return false, nil, r.tooLong(len(s), line)
		}
		r.take(s, len(s), len(s), line+1)
		return false, bad, nil
	}
	m.Work(n / 8)
	end, ok := r.lineEnd(s, at+n)
	if !ok {
		return false, nil, nil
	}
	r.take(s, at+n, end, line+1)
	return false, bad, nil
}

// skipEmpty passes empty lines and reports whether a row follows in what was read.
func (r *Reader) skipEmpty(m *value.Meter) bool {
	for {
		end, ok := r.lineEnd(r.text, r.at)
		if !ok || end == r.at {
			return ok && r.at < len(r.text)
		}
		r.at = end
		r.line++
		m.Work(1)
	}
}

// lineEnd returns the place behind the line end at a place, the same place where there is
// none. It reports false where what follows has to be read first.
func (r *Reader) lineEnd(s string, at int) (int, bool) {
	switch {
	case at == len(s) || s[at] != '\r' && s[at] != '\n':
		return at, true
	case s[at] == '\n':
		return at + 1, true
	case at+1 == len(s):
		return at + 1, r.end
	case s[at+1] == '\n':
		return at + 2, true
	}
	return at + 1, true
}

// bare finds the end of a cell without quotes around it.
func (r *Reader) bare(m *value.Meter, s string, at int) cell {
	sep, n := r.o.Separator, at
	for ; n < len(s); n++ {
		b := s[n]
		if b == '\n' || b == '\r' || b == sep[0] && strings.HasPrefix(s[n:], sep) {
			break
		}
		if (n-at)%part == part-1 {
			m.Work(part / 4)
		}
	}
	m.Work((n-at)%part/4 + 4)
	return cell{from: at, to: n}
}

// quoted finds the end of a cell in quotes. It reports false where that is not in what was
// read.
func (r *Reader) quoted(m *value.Meter, s string, at int) (cell, bool) {
	c := cell{from: at + 1, to: at + 1}
	for {
		i := index(m, s[c.to:])
		if i < 0 {
			return c, false
		}
		c.to += i
		if c.to+1 == len(s) && !r.end {
			return c, false
		}
		if !strings.HasPrefix(s[c.to+1:], `"`) {
			m.Work((c.to-c.from)/8 + 4)
			return c, true
		}
		c.to += 2
		c.twice++
		m.Work(1)
	}
}

// index finds a quote, and charges for the search.
func index(m *value.Meter, s string) int {
	for at := 0; ; at += part {
		piece := s[at:min(len(s), at+part)]
		if i := strings.IndexByte(piece, '"'); i >= 0 {
			m.Search(i, 1)
			return at + i
		}
		m.Search(len(piece), 1)
		if at+len(piece) == len(s) {
			return -1
		}
	}
}
