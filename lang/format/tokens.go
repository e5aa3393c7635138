package format

import "strings"

// gap moves to the next token and gives the comments on the way, with sep
// between those that end a line and those that lead the token.
func (p *printer) gap(sep doc) doc {
	return spread(p.collect(), sep)
}

// collect moves to the next token and gives the comments on the way, those
// held back before it too.
func (p *printer) collect() []comment {
	list := joined(p.pending, p.met())
	p.pending = nil
	return list
}

// joined is the comments on both sides of a token that is printed after or
// before them all.
func joined(a, b []comment) []comment {
	if len(a) > 0 && len(b) > 0 && a[len(a)-1].alone {
		b[0].first = true
	}
	return append(a, b...)
}

// spread puts sep among comments: after the last one that ends a line.
func spread(list []comment, sep doc) doc {
	head := 0
	for i, c := range list {
		if c.last {
			head = i + 1
		}
	}
	if len(list) == 0 {
		return sep
	}
	before := doc(appendRemarks(nil, list[:head]))
	if _, breaks := sep.(line); !breaks {
		before = indented(before) // inside a phrase, as what follows
	}
	return appendRemarks(concat{before, sep}, list[head:])
}

func appendRemarks(out concat, list []comment) concat {
	own := false
	for _, c := range list {
		if c.first {
			own = c.last
		}
		out = append(out, remark{
			text: c.text,
			own:  c.first && c.last,
			ends: c.alone && own || strings.HasPrefix(c.text, "--"),
		})
		if c.alone {
			own = false
		}
	}
	return out
}

// beforeClosing prints the comments before a closing bracket or END that may
// begin a line. One that begins its line then ends it too.
func beforeClosing(list []comment) doc {
	own := false
	for i := range list {
		own = own || list[i].first
		list[i].last = list[i].last || own
	}
	if own {
		list[len(list)-1].alone = true
	}
	return appendRemarks(nil, list)
}

// token prints one token after sep.
func (p *printer) token(sep doc, written string) doc {
	before := p.gap(sep)
	p.skip(written)
	return concat{before, text(written)}
}

// comma prints a comma. A comment before it that ends its line is held back
// to stand after it; one inside the line stays.
func (p *printer) comma() doc {
	var stay concat
	list := p.collect()
	for len(list) > 0 && !list[0].last {
		stay = appendRemarks(stay, list[:1])
		list = list[1:]
	}
	p.pending = list
	p.skip(",")
	if stay == nil {
		return text(",")
	}
	return concat{stay, text(",")}
}

// bracketed is what stands between two brackets, separated by commas.
type bracketed struct {
	open, end string
	before    map[int][]comment // before members that have any
	members   []doc             // each with its comma
	after     []comment         // before the closing bracket
	overLines bool              // it was written over several lines
}

// brackets takes n members between brackets, the cursor being at the opening
// one. A comma after the last member is left out.
func (p *printer) brackets(open, end string, n int, member func(i int) doc) bracketed {
	b := bracketed{open: open, end: end, members: make([]doc, 0, n)}
	start := p.pos
	p.skip(open)
	for i := range n {
		if list := p.collect(); len(list) > 0 {
			if b.before == nil {
				b.before = map[int][]comment{}
			}
			b.before[i] = list
		}
		m := member(i)
		if i < n-1 {
			m = concat{m, p.comma()}
		}
		b.members = append(b.members, m)
	}
	b.after = p.collect()
	if n > 0 && strings.HasPrefix(p.src[p.pos:], ",") {
		p.skip(",")
		b.after = joined(b.after, p.met())
	}
	b.overLines = strings.Contains(p.src[start:p.pos], "\n")
	p.skip(end)
	return b
}

// doc is the brackets with one member a line where the group is broken.
func (b bracketed) doc() concat {
	if len(b.members)+len(b.after) == 0 {
		return concat{text(b.open + b.end)}
	}
	inner := make(concat, 0, 2*len(b.members)+1)
	for i, m := range b.members {
		sep := lineOrSpace
		if i == 0 {
			sep = lineOrNothing
		}
		inner = append(inner, spread(b.before[i], sep), m)
	}
	inner = append(inner, beforeClosing(b.after))
	return concat{text(b.open), indented(inner), lineOrNothing, text(b.end)}
}

// hug is the brackets after name with only the last member broken, where no
// comment forbids that.
func (b bracketed) hug(name doc) (doc, bool) {
	before := concat{name, text(b.open)}
	for i, m := range b.members {
		if len(b.before[i]) > 0 {
			return nil, false
		}
		if i < len(b.members)-1 {
			before = append(before, m, space{})
		}
	}
	if len(b.after) > 0 {
		return nil, false
	}
	last := b.members[len(b.members)-1]
	return hug{
		before:   before,
		last:     last,
		after:    text(b.end),
		expanded: concat{name, b.doc()},
		broken:   mustBreak(before) || mustBreak(last),
		lastOnly: !mustBreak(before),
	}, true
}
