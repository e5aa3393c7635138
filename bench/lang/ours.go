package main

import (
	"context"
	"errors"
	"fmt"

	"ql/lang"
	"ql/lang/vm"
)

// ours is the language of this repository, under the limits of its largest
// plan: metering is part of what is measured.
func ours() engine {
	return engine{name: oursName, extension: "ql", compile: func(_, text string) (runner, error) {
		program, err := lang.Compile(text, lang.Options{})
		if err != nil {
			return nil, err
		}
		return timed(func() (string, error) {
			machine := vm.New(program, vm.Unlimited(), vm.Input{})
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
