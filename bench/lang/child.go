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

// phpDriver does the same in PHP. A program is a file that returns a function.
const phpDriver = `
ini_set("memory_limit", "-1");
$file = tempnam(sys_get_temp_dir(), "bench");
file_put_contents($file, stream_get_contents(STDIN));
$program = require $file;
unlink($file);
function processor() {
  $u = getrusage();
  return ($u["ru_utime.tv_sec"] + $u["ru_stime.tv_sec"]) * 1e3 + ($u["ru_utime.tv_usec"] + $u["ru_stime.tv_usec"]) / 1e3;
}
$start = processor();
$result = $program();
printf("%s %.3f\n", $result, processor() - $start);
`

// childPatience is far longer than any program takes, on any machine.
const childPatience = 5 * time.Minute

func lua54() engine {
	return engine{
		name:      referenceName,
		extension: "lua",
		missing: func() error {
			_, err := exec.LookPath("lua5.4")
			return err
		},
		compile: func(_, text string) (runner, error) {
			return func() (string, time.Duration, error) { return runChild(text, "lua5.4", "-e", lua54Driver) }, nil
		},
	}
}

func php() engine {
	return engine{
		name:      "php",
		extension: "php",
		missing: func() error {
			_, err := exec.LookPath("php")
			return err
		},
		compile: func(_, text string) (runner, error) {
			return func() (string, time.Duration, error) { return runChild(text, "php", "-r", phpDriver) }, nil
		},
	}
}

// runChild gives a program to an interpreter that runs a driver, which prints the
// program's result and the processor time it took in milliseconds.
func runChild(program, interpreter string, args ...string) (string, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.Background(), childPatience)
	defer cancel()
	command := exec.CommandContext(ctx, interpreter, args...)
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
