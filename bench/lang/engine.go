package main

import (
	"slices"
	"syscall"
	"time"
)

const (
	oursName = "ql"
	// referenceName is the engine whose speed every other is told against.
	referenceName = "lua5.4"
)

// engine is one implementation of a language.
type engine struct {
	name      string
	extension string // of its programs' file names
	// missing, where set, tells why this machine cannot run the engine.
	missing func() error
	// without names programs that need what the engine has not.
	without []string
	// compile is not part of the time measured.
	compile func(name, text string) (runner, error)
}

// runner runs a compiled program once, in a fresh state, and gives its result
// as text and the time it took.
type runner func() (result string, took time.Duration, err error)

// processor is whether engines of this process are timed by what it takes of the
// processors, collecting garbage included, and not by the wall clock.
var processor = false

// timed makes a runner of a function that runs in this process.
func timed(run func() (string, error)) runner {
	return func() (string, time.Duration, error) {
		start, startProcessor := time.Now(), processorTime()
		result, err := run()
		if processor {
			return result, processorTime() - startProcessor, err
		}
		return result, time.Since(start), err
	}
}

// processorTime is what this process has taken of the processors.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// lacks tells whether the engine cannot run a program at all.
func (e *engine) lacks(program string) bool { return slices.Contains(e.without, program) }

func engines() []engine {
	return []engine{ours(), lua54(), php(), gopherLua(), goJA(), starlarkGo(), tengoVM()}
}
