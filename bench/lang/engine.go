package main

import "time"

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
	// compile is not part of the time measured.
	compile func(name, text string) (runner, error)
}

// runner runs a compiled program once, in a fresh state, and gives its result
// as text and the time it took.
type runner func() (result string, took time.Duration, err error)

// timed makes a runner of a function that runs in this process.
func timed(run func() (string, error)) runner {
	return func() (string, time.Duration, error) {
		start := time.Now()
		result, err := run()
		return result, time.Since(start), err
	}
}

func engines() []engine {
	return []engine{ours(), lua54(), gopherLua(), goJA(), starlarkGo(), tengoVM()}
}
