package main

import (
	"context"
	"errors"
	"fmt"

	"ql/lang"
	"ql/lang/value"
	"ql/lang/vm"
)

// ours is the language of this repository, under limits that no task comes near:
// metering is part of what is measured.
func ours() engine {
	return engine{name: oursName, extension: "ql", compile: func(_, text string) (runner, error) {
		program, err := lang.Compile(text, lang.Options{})
		if err != nil {
			return nil, err
		}
		return timed(func() (string, error) {
			machine := vm.New(program, limits(), vm.Input{})
			defer machine.Release()
			switch status := machine.Run(context.Background()); status {
			case vm.Done:
				return string(machine.Output()), nil
			case vm.Failed:
				return "", machine.Err()
			case vm.Pending:
				return "", errors.New("the program asks for an effect")
			default:
				return "", fmt.Errorf("the program ends with status %d", status)
			}
		}), nil
	}}
}

func limits() vm.Limits {
	return vm.Limits{
		Bounds: value.Bounds{Text: 64 << 20, Elements: 10_000_000, Nesting: 1_000, Pattern: 4 << 10, PatternCost: 1e9},
		Fuel:   6_000e6, Memory: 512 << 20, CallDepth: 20_000, Output: 256 << 20, TraceFirst: 500, TraceLast: 500,
	}
}
