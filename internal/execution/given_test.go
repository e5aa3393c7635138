package execution

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/admit"
	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/job"
	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/form"
	"ql/lang/vm"
)

// steady is a pace that always has its turn, until the context ends.
type steady struct{}

func (steady) Turn(ctx context.Context) error { return ctx.Err() }
func (steady) Yield()                         {}

// open opens an execution of a script that is given an input.
func open(t *testing.T, script, input string) (*Execution, *bytecode.Program, *admit.Ledger) {
	t.Helper()
	program, err := lang.Compile(script, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ledger := admit.NewLedger(admit.LedgerOptions{Budget: 64 << 20})
	h := &Host{Ledger: ledger, Resources: func(context.Context, account.Account, account.Limits, string) (engine.Resources, error) {
		return engine.Resources{}, nil
	}}
	limits := account.Standard.Limits()
	x, err := h.Open(t.Context(), job.NewID(), account.Account{ID: 1}, limits, Spec{Input: json.RawMessage(input), Limits: limits.SyncMachine()}, steady{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x, program, ledger
}

func TestCheckInput(t *testing.T) {
	const order = "INPUT FIELDS name TEXT REQUIRED, qty INTEGER MIN 1 DEFAULT 1\nEMIT !INPUT"
	tests := []struct{ name, script, input, want, wrong string }{
		{"in its kinds", order, `{"qty":"2","name":"Ada"}`, `{"name":"Ada","qty":2}`, ""},
		{"again", order, `{"name":"Ada","qty":2}`, `{"name":"Ada","qty":2}`, ""},
		{"none", order, ``, ``, "name must be answered"},
		{"null", order, `null`, ``, "name must be answered"},
		{"wrong", order, `{"qty":0,"x":1}`, ``, "name must be answered; qty must be a whole number from 1 on; x is not one of the fields"},
		{"no map", order, `[1]`, ``, "input must be a map, not a list of 1"},
		{"no JSON", order, `{`, ``, "input "},
		{"anything", "EMIT !INPUT", `{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, ""},
		{"a large one", "EMIT !INPUT", `{"t":"` + strings.Repeat("x", 50_000) + `"}`, `{"t":"` + strings.Repeat("x", 50_000) + `"}`, ""},
		{"many small ones", "EMIT !INPUT", `[` + strings.Repeat("1,", 1000) + "1]", ``, "input must be a map"},
		{"lists of nothing", "EMIT !INPUT", `{"a":[` + strings.Repeat("[],", 30_000) + `[]]}`, `{"a":[` + strings.Repeat("[],", 30_000) + `[]]}`, ""},
		{"nothing", "EMIT !INPUT", ``, ``, ""},
		{"null as nothing", "EMIT !INPUT", `null`, ``, ""},
		{"anything but a list", "EMIT !INPUT", `[]`, ``, "input must be a map, not a list of 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x, program, ledger := open(t, test.script, test.input)
			err := x.CheckInput(t.Context(), program)
			var wrong form.FieldErrors
			if errors.As(err, &wrong) {
				if !strings.HasPrefix(wrong.Error(), test.wrong) || test.wrong == "" {
					t.Errorf("%v", wrong)
				}
				return
			}
			if err != nil || string(x.Spec.Input) != test.want {
				t.Fatalf("%s: %v", x.Spec.Input, err)
			}
			m := x.Machine(t.Context(), program)
			defer m.Release()
			if m.Run(t.Context()) != vm.Done || string(m.Output()) != test.want {
				t.Errorf("it finds %s: %v", m.Output(), m.Err())
			}
			if n := ledger.Stats().Held; n != 0 {
				t.Errorf("%d bytes are still reserved", n)
			}
		})
	}
}

// TestInputBeyondLimits: a check that takes more than the script may use is an error of
// that limit, not a fault.
func TestInputBeyondLimits(t *testing.T) {
	x, program, _ := open(t, `INPUT FIELDS t LONG TEXT PATTERN '(?:a?){900}b*'`, `{"t":"`+strings.Repeat("a", 9000)+`"}`)
	x.Spec.Limits.Fuel = 10_000
	if err := x.CheckInput(t.Context(), program); !fault.Is(err, fault.LimitExceeded) {
		t.Error(err)
	}
	x, program, _ = open(t, "EMIT 1", `{"a":[`+strings.Repeat("[],", 1000)+"1]}")
	x.Spec.Limits.Bounds.Elements = 10
	if err := x.CheckInput(t.Context(), program); !fault.Is(err, fault.LimitExceeded) {
		t.Error(err)
	}
	x, program, _ = open(t, "INPUT FIELDS a TEXT", `{}`)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	x.Spec.Limits.Fuel = 1 << 40
	if err := x.CheckInput(ended, program); err == nil {
		t.Error("it is checked for a call that has ended")
	}
}
