package execution

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"ql/internal/account"
	"ql/internal/wire"
	"ql/lang"
	"ql/lang/bytecode"
	"ql/lang/value"
	"ql/lang/vm"
)

func compile(t testing.TB, script string) *bytecode.Program {
	t.Helper()
	p, err := lang.Compile(script, lang.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func specOf(r wire.Request) *Spec {
	return &Spec{Request: r, Limits: account.Standard.Limits().SyncMachine()}
}

// outputOf runs a script with a request.
func outputOf(t testing.TB, script string, s *Spec) (string, *vm.Machine) {
	t.Helper()
	p := compile(t, script)
	m := vm.New(p, s.Limits, s.input(p, func() {}))
	m.Run(context.Background())
	return string(m.Output()), m
}

const showAll = "EMIT TO_JSON(!GET), ' ', TO_JSON(!POST), ' ', TYPE(!BODY), ' ', !BODY, ' ', !REQUEST('body')"

func TestInputValues(t *testing.T) {
	for name, test := range map[string]struct {
		request wire.Request
		want    string
	}{
		"nothing": {wire.Request{}, `{} {} null  `},
		"values": {wire.Request{
			Get:  []wire.Field{{Name: "n", Value: "1.5", JSON: true}, {Name: "t", Value: "1.5"}, {Name: "none", Value: "null", JSON: true}},
			Post: []wire.Field{{Name: "l", Value: ` [1, {"a": true}] `, JSON: true}},
			Body: wire.Body{Kind: wire.JSONBody, Text: `{"a": [1]}`},
		}, `{"n":1.5,"t":"1.5","none":null} {"l":[1,{"a":true}]} map {"a":[1]} `},
		"a body of an earlier version": {wire.Request{Entries: []wire.Pair{{Name: "body", Value: "b"}}}, `{} {} text b b`},
		"a text":                       {wire.Request{Body: wire.Body{Kind: wire.TextBody, Text: "hi"}}, `{} {} text hi hi`},
		"bytes":                        {wire.Request{Body: wire.Body{Kind: wire.BytesBody, Bytes: []byte("\xff")}}, "{} {} bytes \xff \xff"},
		"false":                        {wire.Request{Body: wire.Body{Kind: wire.JSONBody, Text: "false"}}, `{} {} boolean false `},
	} {
		t.Run(name, func(t *testing.T) {
			// As it is stored with a job.
			text, err := json.Marshal(specOf(test.request))
			if err != nil {
				t.Fatal(err)
			}
			var s Spec
			if err := json.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
			if got, m := outputOf(t, showAll, &s); got != test.want {
				t.Errorf("got %q, want %q (%v)", got, test.want, m.Err())
			}
		})
	}
}

// TestInputIsPaid: who sends values has the script pay for them as if it had read their
// JSON itself, and texts cost nothing, as ever.
func TestInputIsPaid(t *testing.T) {
	text := "[" + strings.Repeat(`{"a":1},`, 10_000) + "0]"
	sent := specOf(wire.Request{Body: wire.Body{Kind: wire.JSONBody, Text: text}})
	_, m := outputOf(t, "SET ?b AS !BODY", sent)
	read := specOf(wire.Request{Get: []wire.Field{{Name: "j", Value: text}}})
	_, n := outputOf(t, "SET ?b AS FROM_JSON(!GET('j'))", read)
	if m.Fuel() < n.Fuel()*9/10 || m.Fuel() > n.Fuel()*11/10 {
		t.Errorf("a body costs %d, and its JSON %d", m.Fuel(), n.Fuel())
	}
	if _, m := outputOf(t, "EMIT 1", sent); m.Fuel() > 1000 {
		t.Errorf("a script that does not read the body pays %d for it", m.Fuel())
	}
	turns := 0
	p := compile(t, "EMIT !BODY[0]")
	in := sent.input(p, func() { turns++ })
	if least := int(in.Fuel / value.Slice); turns < least || least == 0 {
		t.Errorf("%d of fuel is used in %d turns", in.Fuel, turns)
	}
	in.Body = value.Null
	if m := vm.New(p, sent.Limits, in); m.Fuel() != in.Fuel {
		t.Errorf("%d of fuel is charged as %d", in.Fuel, m.Fuel())
	}
}

// TestInputLimits: a request that would take the script beyond its limits ends it before it
// begins.
func TestInputLimits(t *testing.T) {
	deep := strings.Repeat("[", 30) + strings.Repeat("]", 30)
	for limit, test := range map[string]struct {
		request wire.Request
		set     func(*vm.Limits)
	}{
		"memory":     {wire.Request{Body: wire.Body{Kind: wire.JSONBody, Text: "[" + strings.Repeat(`{"a":1},`, 10_000) + "0]"}}, func(l *vm.Limits) { l.Memory = 1 << 20 }},
		"fuel":       {wire.Request{Body: wire.Body{Kind: wire.JSONBody, Text: "[" + strings.Repeat(`{"a":1},`, 10_000) + "0]"}}, func(l *vm.Limits) { l.Fuel = 10_000 }},
		"nesting":    {wire.Request{Post: []wire.Field{{Name: "a", Value: deep, JSON: true}}}, func(l *vm.Limits) { l.Nesting = 30 }},
		"elements":   {wire.Request{Get: []wire.Field{{Name: "a", Value: "[1,2,3,4]", JSON: true}}}, func(l *vm.Limits) { l.Elements = 3 }},
		"value_size": {wire.Request{Body: wire.Body{Kind: wire.BytesBody, Bytes: make([]byte, 101)}}, func(l *vm.Limits) { l.Text = 100 }},
	} {
		s := specOf(test.request)
		test.set(&s.Limits)
		out, m := outputOf(t, "EMIT 1, !BODY IS NULL", s)
		if err := m.Err(); err == nil || err.Limit == nil || err.Limit.Name != limit || out != "" {
			t.Errorf("%s: it gives %q and %v", limit, out, err)
		}
	}
	// What was stored is checked, so that this is a fault of ours.
	_, m := outputOf(t, "EMIT !BODY", specOf(wire.Request{Body: wire.Body{Kind: wire.JSONBody, Text: "{"}}))
	if err := m.Err(); err == nil || err.Code != "internal" || !errors.As(err.Unwrap(), new(*value.Error)) {
		t.Errorf("what cannot be read gives %v", err)
	}
}

// FuzzInput makes values of whatever the decoders accept: none is beyond what a script can
// have, and they say what was sent.
func FuzzInput(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[null,{"c":-0.5e1}],"\u00e9":"\ud83d\ude00"}`))
	f.Add([]byte(`[123456789012345678901234567890,1e308,-0]`))
	f.Add([]byte(`""`))
	p := compile(f, "EMIT TO_JSON(!BODY)")
	f.Fuzz(func(t *testing.T, body []byte) {
		b, _, err := wire.DecodeBody(wire.JSONType, body, wire.Limits{Body: 4000})
		if err != nil || b.Kind == wire.NoBody {
			return
		}
		s := specOf(wire.Request{Body: b})
		m := vm.New(p, s.Limits, s.input(p, func() {}))
		m.Run(context.Background())
		var got, want any
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(m.Output(), &got); err != nil {
			t.Fatalf("%q: %v, %v", m.Output(), err, m.Err())
		}
		if a, b := mustMarshal(t, got), mustMarshal(t, want); a != b {
			t.Errorf("%s became %s", b, a)
		}
	})
}

func mustMarshal(t *testing.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "-0", "0") // there is no -0
}
