package langtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

// host answers effects from the lines of a case.
type host struct {
	lines  []string
	cancel context.CancelFunc
}

func (c *Case) host(cancel context.CancelFunc) *host {
	h := &host{cancel: cancel}
	if s, ok := c.find("host"); ok && s.body != "" {
		h.lines = strings.Split(s.body, "\n")
	}
	return h
}

// silent are the effects whose result no script sees: without an answer of
// their own they succeed.
var silent = map[bytecode.Effect]bool{
	bytecode.EffectSessionSet: true, bytecode.EffectSessionUnset: true, bytecode.EffectSessionStart: true, bytecode.EffectSessionEnd: true,
	bytecode.EffectWait: true, bytecode.EffectWaitUntil: true,
	bytecode.EffectFileWrite: true, bytecode.EffectFileAppend: true, bytecode.EffectFileCopy: true, bytecode.EffectFileMove: true, bytecode.EffectFileRemove: true,
	bytecode.EffectUnshare: true, bytecode.EffectTxBegin: true, bytecode.EffectTxCommit: true, bytecode.EffectTxRollback: true, bytecode.EffectMachineCopy: true,
	bytecode.EffectSQLFile: true, bytecode.EffectSignal: true,
}

// answer gives the machine the result of the effect it asks for. It reports
// whether the run goes on, and what is wrong with the case if anything is.
func (h *host) answer(m *vm.Machine) (goesOn bool, err error) {
	kind := m.Effect().Kind
	word, what := "", ""
	if len(h.lines) > 0 {
		word, what, _ = strings.Cut(h.lines[0], " ")
	}
	if word != kind.String() {
		if silent[kind] {
			m.Resume(value.Null)
			return true, nil
		}
		if word == "" {
			return false, fmt.Errorf("the script asks for %s, and no answer is left", kind)
		}
		return false, fmt.Errorf("the script asks for %s, and the next answer is to %s", kind, word)
	}
	h.lines = h.lines[1:]
	return h.give(m, what)
}

func (h *host) give(m *vm.Machine, what string) (goesOn bool, err error) {
	word, rest, _ := strings.Cut(what, " ")
	switch word {
	case "error":
		code, message, _ := strings.Cut(rest, " ")
		m.ResumeError(value.Errorf(code, "%s", message))
	case "limit":
		name, most, _ := strings.Cut(rest, " ")
		n, err := strconv.ParseInt(most, 10, 64)
		if err != nil {
			return false, fmt.Errorf("the answer %q has no number after the limit's name", what)
		}
		m.ResumeError(&value.LimitError{Name: name, Max: n})
	case "broken":
		m.ResumeError(errors.New(rest))
	case "cancel":
		h.cancel()
		m.Resume(value.Null)
	case "paused":
		m.MarkPaused()
		return false, nil
	case "bytes":
		var text string
		if err := json.Unmarshal([]byte(rest), &text); err != nil {
			return false, fmt.Errorf("the answer %q has no JSON text: %w", what, err)
		}
		m.Resume(value.Bytes([]byte(text)))
	default:
		v, err := value.ParseJSON(nil, what)
		if err != nil {
			return false, fmt.Errorf("the answer %q is neither JSON nor one of error, limit, broken, cancel, paused and bytes: %w", what, err)
		}
		m.Resume(v)
	}
	return true, nil
}

// left complains about answers that nobody asked for.
func (h *host) left() error {
	if len(h.lines) == 0 {
		return nil
	}
	return fmt.Errorf("the script never asks for what would be answered by %q", h.lines[0])
}

// describe writes an effect as the section effects shows it.
func describe(e *vm.Effect) string {
	var b strings.Builder
	b.WriteString(e.Kind.String())
	if s := e.Statement; s != nil {
		fmt.Fprintf(&b, " %s %s", modeNames[s.Mode], value.AppendQuoted(nil, statementText(s)))
	}
	b.WriteString(" " + string(value.AppendJSON(nil, value.ListOf(e.Args...))))
	if e.Database != "" {
		b.WriteString(" database=" + e.Database)
	}
	if e.Savepoint {
		b.WriteString(" savepoint")
	}
	return b.String()
}

var modeNames = [...]string{bytecode.SQLEmit: "emit", bytecode.SQLRows: "rows", bytecode.SQLRow: "row", bytecode.SQLValue: "value"}

func statementText(s *bytecode.Statement) string {
	text := s.Text(0)
	for i, p := range s.Params {
		place := fmt.Sprintf("$%d", i+1)
		switch p {
		case bytecode.SQLMembers:
			place += "..."
		case bytecode.SQLChoice:
			place = "{" + place + " IN " + strings.Join(s.Choices(i), ", ") + "}"
		}
		text += place + s.Text(i+1)
	}
	return text
}
