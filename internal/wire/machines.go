package wire

import (
	"time"

	"ql/internal/redacted"
)

// Machine is a machine of an account, without its private key.
type Machine struct {
	Name string
	Kind string

	// Of the kind ssh.
	Address   string
	PublicKey string
	HostKey   string // "" before the host was reached
	Allow     []string

	// Of the kind wasm.
	Module string
	Folder string // "" for none
	Write  bool

	SetAt time.Time
}

// NewMachine is a request of PUT /v1/machines/{name}.
type NewMachine struct {
	Kind    string
	Address string
	Key     redacted.Text
	HostKey string
	Allow   []string
	Module  string
	Folder  string
	Write   bool
}

// DecodeNewMachine reads the body of PUT /v1/machines/{name}. The error is a *Refusal.
func DecodeNewMachine(body []byte, l Limits) (*NewMachine, error) {
	n := new(NewMachine)
	plain := map[string]*string{"kind": &n.Kind, "address": &n.Address, "host_key": &n.HostKey, "module": &n.Module, "folder": &n.Folder}
	err := decodeFields(body, l, []string{"kind", "address", "key", "host_key", "allow", "module", "folder", "write"}, func(name string, value node) (r *Refusal) {
		switch name {
		case "key":
			var key *redacted.Text
			if key, r = secret(name, value); r == nil && key != nil {
				n.Key = *key
			}
		case "allow":
			n.Allow, r = texts(name, value)
		case "write":
			var write *bool
			if write, r = boolean(name, value); r == nil {
				n.Write = *write
			}
		default:
			*plain[name], r = text(name, value)
		}
		return r
	})
	switch {
	case err != nil:
		return nil, err
	case n.Kind == "":
		return nil, invalid("kind", "is missing: ssh or wasm fits")
	}
	return n, nil
}

// AppendMachine appends the answer of GET and PUT /v1/machines/{name}.
func AppendMachine(dst []byte, m *Machine) []byte {
	dst = append(dst, `{"status":"ok",`...)
	return appendMachine(dst, m)
}

// appendMachine appends a machine without the bracket before it.
func appendMachine(dst []byte, m *Machine) []byte {
	dst = append(dst, `"name":`...)
	dst = appendText(dst, m.Name)
	dst = appendTextField(dst, "kind", m.Kind)
	if m.Kind == "ssh" {
		dst = appendTextField(dst, "address", m.Address)
		dst = appendTextField(dst, "public_key", m.PublicKey)
		dst = appendTextOrNull(dst, "host_key", m.HostKey)
		dst = append(appendName(dst, "allow"), '[')
		for _, one := range m.Allow {
			dst = appendText(appendComma(dst), one)
		}
		dst = append(dst, ']')
	} else {
		dst = appendTextField(dst, "module", m.Module)
		dst = appendTextOrNull(dst, "folder", m.Folder)
		dst = appendBool(dst, "write", m.Write)
	}
	dst = appendTime(appendName(dst, "set_at"), m.SetAt)
	return append(dst, '}')
}

// AppendMachines appends the answer of GET /v1/machines.
func AppendMachines(dst []byte, list []Machine) []byte {
	dst = append(dst, `{"status":"ok","machines":[`...)
	for i := range list {
		dst = append(appendComma(dst), '{')
		dst = appendMachine(dst, &list[i])
	}
	return append(dst, "]}"...)
}

// MachineTest is what a test of a machine found.
type MachineTest struct {
	Name string
	// Code and Message say why it cannot be used; "" where it can.
	Code, Message string
}

// AppendMachineTest appends the answer of POST /v1/machines/{name}/test.
func AppendMachineTest(dst []byte, t *MachineTest) []byte {
	dst = append(dst, `{"status":"ok","name":`...)
	dst = appendText(dst, t.Name)
	dst = appendBool(dst, "usable", t.Code == "")
	if t.Code != "" {
		dst = append(appendName(dst, "problem"), `{"code":`...)
		dst = appendText(dst, t.Code)
		dst = appendTextField(dst, "message", t.Message)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
