package engine

import (
	"bytes"
	"encoding/hex"
	"io"
	"strings"
	"time"

	"ql/lang/value"
)

// The arguments of RUN. The last is there where the command was computed.
const (
	runText = iota
	runMachine
	runInput
	runTimeout
	runComputed
)

// The arguments of COPY with ON.
const (
	copyFrom = iota
	copyFromMachine
	copyTo
	copyToMachine
)

// maxArguments is how many arguments a command has at most.
const maxArguments = 10_000

// runCommand runs a command on a machine. All results before it are committed first, and that it is
// begun: it may be run again, and has the same key then.
func runCommand(c *call) (value.Value, error) {
	machine, err := c.machineName(runMachine)
	if err != nil {
		return value.Null, err
	}
	r := MachineRun{Most: c.meter.Text}
	if r.Command, err = c.command(); err != nil {
		return value.Null, err
	}
	if r.Input, err = c.input(c.args[runInput]); err != nil {
		return value.Null, err
	}
	if v := c.args[runTimeout]; !v.IsNull() {
		if r.Timeout, err = duration(v, "TIMEOUT"); err != nil {
			return value.Null, err
		}
		if r.Timeout < time.Millisecond {
			return value.Null, value.Errorf(value.BadArgument, "TIMEOUT takes a time in which a command can end, not 0")
		}
	}
	key, err := c.beginCommand()
	if err != nil {
		return value.Null, err
	}
	r.Env = map[string]string{StepKey: key}
	if f := c.o.MachineOutput; f != nil {
		line := c.effect.Line
		r.Output = func(stderr bool, piece []byte) { f(MachineOutput{machine, line, stderr, piece}) }
	}
	result, err := c.o.Machines.Run(c.ctx, machine, r)
	if err != nil {
		return value.Null, err
	}
	return c.ended(result)
}

// machineName returns argument i, the name of a machine.
func (c *call) machineName(i int) (string, error) {
	if c.o.Machines == nil {
		return "", missing("machines")
	}
	return c.text(i, "the name of a machine that "+c.effect.Step+" takes ON")
}

// beginCommand has the journal note that a command begins, and returns the key of its step.
func (c *call) beginCommand() (key string, err error) {
	Yield(c.ctx)
	if c.o.Journal == nil {
		var raw [16]byte
		if _, err := io.ReadFull(c.o.Rand, raw[:]); err != nil {
			return "", err
		}
		return hex.EncodeToString(raw[:]), nil
	}
	key, repeated, err := c.o.Journal.BeforeCommand(c.ctx, c.effect.Seq)
	if err == nil && repeated {
		c.repeated = true
		c.machine.MarkRepeated()
	}
	return key, err
}

// command is what RUN runs. A text stands in the script, so that its insertions were quoted.
func (c *call) command() (command MachineCommand, err error) {
	v := c.args[runText]
	switch {
	case v.IsList():
		command.List, err = c.arguments(v)
		return command, err
	case !v.IsText():
		return command, value.Errorf(value.WrongKind, "RUN takes a command, or a list of a program and its arguments, not %s", value.Describe(v))
	case len(c.args) > runComputed:
		return command, value.Errorf(value.WrongKind, "RUN takes a command that stands in the script, such as RUN \"ls {?folder}\", where each insertion is quoted, "+
			"or a list such as [\"ls\", ?folder]: a text that was computed is not taken")
	}
	command.Text = strings.Clone(v.Str())
	c.meter.Alloc(len(command.Text))
	if strings.TrimSpace(command.Text) == "" {
		return command, value.Errorf(value.BadArgument, "RUN takes a command such as \"uptime\", not an empty text")
	}
	return command, checkZero(command.Text)
}

// arguments reads a program and its arguments.
func (c *call) arguments(v value.Value) ([]string, error) {
	l := v.List()
	if l.Len() == 0 || l.Len() > maxArguments {
		return nil, value.Errorf(value.BadArgument, "RUN takes a list of a program and its arguments, with 1 to %d members, not %d", maxArguments, l.Len())
	}
	list := make([]string, l.Len())
	for i := range list {
		one := l.At(i)
		if one.IsNull() || one.IsContainer() || one.Kind() == value.KindBytes {
			return nil, value.Errorf(value.WrongKind, "RUN takes texts, numbers and booleans in its list, and member %d is %s", i, value.Describe(one))
		}
		list[i] = string(asText(c.meter, one))
		if err := checkZero(list[i]); err != nil {
			return nil, err
		}
	}
	if strings.TrimSpace(list[0]) == "" {
		return nil, value.Errorf(value.BadArgument, "the first member of RUN's list is the program, and is empty")
	}
	return list, nil
}

// checkZero refuses what would end a command early for whoever takes it.
func checkZero(text string) error {
	if strings.IndexByte(text, 0) >= 0 {
		return value.Errorf(value.BadArgument, "a command has no zero characters: give such data by INPUT")
	}
	return nil
}

// input is what a command reads from its standard input.
func (c *call) input(v value.Value) ([]byte, error) {
	switch {
	case v.IsNull():
		return nil, nil
	case v.IsText(), v.Kind() == value.KindBytes:
		c.meter.Alloc(len(v.Raw()))
		c.meter.WorkBytes(len(v.Raw()))
		return bytes.Clone(v.Raw()), nil
	case v.IsContainer():
		return asJSON(c.meter, v), nil
	}
	return asText(c.meter, v), nil
}

// ended makes the value of how a command ended.
func (c *call) ended(r MachineResult) (value.Value, error) {
	m := c.meter
	all := value.NewMap(m, 3)
	all.SetText("code", value.Int(int64(r.Code)))
	for _, out := range []struct {
		name  string
		bytes []byte
	}{{"stdout", r.Stdout}, {"stderr", r.Stderr}} {
		m.WorkBytes(len(out.bytes))
		v, err := decode(m, out.name, formatAny, out.bytes)
		if err != nil {
			return value.Null, err
		}
		all.SetText(out.name, v)
	}
	return all.Value(), nil
}

// machineCopy copies a file to a machine, or from one. What comes is written with its result.
func machineCopy(c *call) (value.Value, error) {
	if c.o.Files == nil {
		return value.Null, missing("files")
	}
	from, err := c.path(copyFrom)
	if err != nil {
		return value.Null, err
	}
	to, err := c.path(copyTo)
	if err != nil {
		return value.Null, err
	}
	source, target := c.args[copyFromMachine], c.args[copyToMachine]
	if !source.IsNull() && !target.IsNull() {
		return value.Null, value.Errorf(value.BadArgument, "COPY goes between a machine and the account's files: copy to a file first, and from there to the other machine")
	}
	at := copyFromMachine
	if source.IsNull() {
		at = copyToMachine
	}
	machine, err := c.machineName(at)
	if err != nil {
		return value.Null, err
	}
	if err := checkZero(from + to); err != nil {
		return value.Null, err
	}
	if _, err := c.beginCommand(); err != nil {
		return value.Null, err
	}
	c.meter.Alloc(streamBytes)
	if at == copyToMachine {
		return value.Null, c.copyTo(machine, from, to)
	}
	return value.Null, c.o.Files.WriteStream(c.ctx, to, func(w io.Writer) error {
		return c.o.Machines.CopyFrom(c.ctx, machine, from, w)
	}, c.checkpoint)
}

func (c *call) copyTo(machine, from, to string) error {
	content, err := c.o.Files.Hold(c.ctx, from)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read
	return c.o.Machines.CopyTo(c.ctx, machine, to, content)
}
