package langtest

import (
	"fmt"
	"strings"

	"ql/lang/vm"
)

// check compares what a case did with what it says. It returns what differs.
func (c *Case) check(r *Result) []string {
	if r.Wrong != nil {
		return []string{r.Wrong.Error()}
	}
	var all []string
	add := func(what, want, got string) {
		if want != got {
			all = append(all, fmt.Sprintf("%s is\n%s\nand not\n%s", what, indent(got), indent(want)))
		}
	}
	want, err := c.output()
	if err != nil {
		return []string{err.Error()}
	}
	add("the output", want, r.Output)
	for _, name := range expected {
		if name == "output" || name == "lines" {
			continue
		}
		s, stands := c.find(name)
		arg, body, happened := r.show(name)
		if must := name == "error" || name == "compile" || name == "declined" || name == "refused"; !stands && (!must || !happened) {
			continue
		}
		add(name, strings.TrimPrefix(s.arg+"\n"+s.body, "\n"), strings.TrimPrefix(arg+"\n"+body, "\n"))
		switch {
		case stands && !happened:
			all = append(all, name+" stands in the case and did not happen")
		case !stands && happened:
			all = append(all, name+" happened and does not stand in the case")
		}
	}
	return all
}

// adopt makes the case expect what it did.
func (c *Case) adopt(r *Result) {
	if r.Wrong != nil {
		return
	}
	c.putOutput(r.Output)
	for _, name := range expected {
		if name == "output" || name == "lines" {
			continue
		}
		_, stands := c.find(name)
		arg, body, happened := r.show(name)
		must := name == "error" || name == "compile" || name == "declined" || name == "refused"
		switch {
		case happened && (stands || must):
			c.put(section{name: name, arg: arg, body: body})
		case stands && !happened:
			c.drop(name)
		}
	}
}

// show writes a result as the section of that name, and whether there is one.
func (r *Result) show(name string) (arg, body string, happened bool) {
	switch name {
	case "error":
		if r.Err == nil {
			return "", "", false
		}
		place := fmt.Sprintf("%d:%d", r.Err.Line, r.Err.Column)
		if r.Err.File != "" {
			place = r.Err.File + ":" + place
		}
		return r.Err.Code + " " + place, r.Err.Message, true
	case "stack":
		if r.Err == nil {
			return "", "", false
		}
		var lines []string
		for _, p := range r.Err.Stack {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s called in line %d %s", p.Function, p.Line, p.File)))
		}
		return "", strings.Join(lines, "\n"), true
	case "declined":
		return "", "", r.Status == vm.Declined
	case "compile":
		var lines []string
		for _, e := range r.Compile {
			lines = append(lines, e.Error())
		}
		return "", strings.Join(lines, "\n"), len(lines) > 0
	case "refused":
		var lines []string
		for _, f := range r.Refused {
			lines = append(lines, f.Field+" "+f.Message)
		}
		return "", strings.Join(lines, "\n"), len(lines) > 0
	case "effects":
		return "", strings.Join(r.Effects, "\n"), len(r.Effects) > 0
	case "trace":
		return "", strings.Join(r.traceLines(), "\n"), len(r.Trace) > 0 || r.Dropped > 0
	case "steps":
		return fmt.Sprint(r.Steps), "", true
	case "response":
		return r.Response, "", true
	case "cookies":
		return r.Cookies, "", true
	}
	return "", "", false
}

func (r *Result) traceLines() []string {
	var lines []string
	for _, s := range r.Trace {
		lines = append(lines, fmt.Sprintf("%s %s %s %d", s.Step, s.Status, s.Class, s.Line))
	}
	if r.Dropped > 0 {
		lines = append(lines, fmt.Sprintf("%d more", r.Dropped))
	}
	return lines
}

// differences compares what a case did in another way, w, with r, what it did
// straight through.
func (r *Result) differences(w Way, o *Result) []string {
	if o.Wrong != nil {
		if r.Wrong != nil {
			return nil
		}
		return []string{o.Wrong.Error()}
	}
	var all []string
	add := func(what, want, got string) {
		if want != got {
			all = append(all, fmt.Sprintf("%s is\n%s\nand not, as straight through,\n%s", what, indent(got), indent(want)))
		}
	}
	add("the status", fmt.Sprint(r.Status), fmt.Sprint(o.Status))
	if !r.ranOut() {
		add("the output", r.Output, o.Output)
		add("the number of steps", fmt.Sprint(r.Steps), fmt.Sprint(o.Steps))
	}
	for _, name := range []string{"error", "stack", "compile", "refused", "effects", "response", "cookies"} {
		if r.ranOut() && (name == "error" || name == "stack") {
			continue
		}
		arg, body, _ := r.show(name)
		otherArg, otherBody, _ := o.show(name)
		add(name, arg+"\n"+body, otherArg+"\n"+otherBody)
	}
	if (w == stored || w == decoded) && !r.ranOut() {
		add("the fuel", fmt.Sprint(r.Fuel), fmt.Sprint(o.Fuel))
	}
	if n := firstDifference(r.states, o.states); n >= 0 && (w == stored || w == decoded) {
		all = append(all, fmt.Sprintf("the state at effect %d is another", n+1))
	}
	if sameTrace := w == stored || w == decoded || w == allTraced && r.Dropped == 0; sameTrace && !r.ranOut() {
		add("the trace", strings.Join(r.traceLines(), "\n"), strings.Join(o.traceLines(), "\n"))
	}
	return all
}

// firstDifference returns the first place that two lists differ in, or -1.
func firstDifference(a, b [][32]byte) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

// ranOut reports whether a run ended for want of fuel, which happens a little
// earlier or later when more or fewer steps are traced.
func (r *Result) ranOut() bool {
	return r.Err != nil && r.Err.Limit != nil && r.Err.Limit.Name == "fuel"
}

func indent(s string) string {
	return "\t" + strings.ReplaceAll(s, "\n", "\n\t")
}
