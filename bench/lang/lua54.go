package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// lua54Driver times a program inside the interpreter, so that starting the
// process and compiling are left out, as they are for every other engine.
const lua54Driver = `
local program = assert(load(io.read("a")))
local start = os.clock()
local result = program()
local took = os.clock() - start
io.write(tostring(result), " ", string.format("%.3f", took * 1000), "\n")
`

// lua54Patience is far longer than any program takes, on any machine.
const lua54Patience = 5 * time.Minute

func lua54() engine {
	return engine{
		name:      referenceName,
		extension: "lua",
		missing: func() error {
			_, err := exec.LookPath("lua5.4")
			return err
		},
		compile: func(_, text string) (runner, error) {
			return func() (string, time.Duration, error) { return runLua54(text) }, nil
		},
	}
}

func runLua54(program string) (string, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lua54Patience)
	defer cancel()
	command := exec.CommandContext(ctx, "lua5.4", "-e", lua54Driver)
	command.Stdin = strings.NewReader(program)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	output, err := command.Output()
	if err != nil {
		return "", 0, errors.Join(err, errors.New(complaint.String()))
	}
	var result string
	var milliseconds float64
	if _, err := fmt.Sscan(string(output), &result, &milliseconds); err != nil {
		return "", 0, fmt.Errorf("answered %q: %w", output, err)
	}
	return result, time.Duration(milliseconds * float64(time.Millisecond)), nil
}
