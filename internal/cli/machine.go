package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"ql/internal/operator"
	"ql/internal/redacted"
	"ql/internal/remote"
	"ql/internal/wire"
)

// machineCommand is ql machine. Its commands work on the data folder, while a server runs or not, or on
// a service elsewhere. The flag --key is that of a machine here, so that a named key comes by a file
// or the environment.
type machineCommand struct {
	settings

	Server       string `group:"A service elsewhere" placeholder:"URL" help:"Call this service instead of working on the data folder, such as https://ql.example.com."`
	KeyFile      string `group:"A service elsewhere" placeholder:"FILE" help:"Read a named key of the account from a file, or - for standard input. QL_KEY in the environment does too."`
	PasswordFile string `group:"A service elsewhere" placeholder:"FILE" help:"Read the account's password from a file, or - for standard input: what no key does takes it. QL_PASSWORD does too."`
	AllowHTTP    bool   `name:"allow-http" group:"A service elsewhere" help:"Let the key go to another machine by http, where everybody on the way may read it."`

	Add    machineAdd    `cmd:"" help:"Add a machine, or change one, and print the public key that its host is to let in."`
	List   machineList   `cmd:"" help:"List an account's machines."`
	Show   machineShow   `cmd:"" help:"Show a machine."`
	Test   machineTest   `cmd:"" help:"Reach a machine, without running anything on it."`
	Remove machineRemove `cmd:"" help:"Remove a machine, with its key."`
}

func newMachineCommand() machineCommand {
	return machineCommand{settings: newSettings("data", "database", "database-direct", "blobs", "master-key-file", "dev")}
}

// remote are the settings as other commands have them.
func (k *machineCommand) remote() *remoteSettings {
	return &remoteSettings{settings: k.settings, Server: k.Server, remoteCredentials: remoteCredentials{KeyFile: k.KeyFile, PasswordFile: k.PasswordFile, AllowHTTP: k.AllowHTTP}}
}

// machineJSON is a machine as commands show it, without its private key.
type machineJSON struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`
	Address   string    `json:"address,omitempty"`
	PublicKey string    `json:"public_key,omitempty"`
	HostKey   string    `json:"host_key,omitempty"`
	Allow     []string  `json:"allow,omitempty"`
	Module    string    `json:"module,omitempty"`
	Folder    string    `json:"folder,omitempty"`
	Write     bool      `json:"write,omitempty"`
	Set       time.Time `json:"set_at"`
}

func machineOf(m *wire.Machine) machineJSON {
	return machineJSON{m.Name, m.Kind, m.Address, m.PublicKey, m.HostKey, m.Allow, m.Module, m.Folder, m.Write, m.SetAt}
}

type machineAdd struct {
	who
	Name    string   `arg:"" help:"By which RUN finds it."`
	SSH     string   `name:"ssh" xor:"kind" placeholder:"USER@HOST:PORT" help:"A host that is reached by SSH; port 22 where none is named."`
	Key     string   `placeholder:"FILE" help:"Log in by the private key in a file, or - for standard input; left out, by the one that the machine has, or one that is made."`
	HostKey string   `placeholder:"KEY" help:"The key that the host must show, such as \"ssh-ed25519 AAAA…\"; left out, the one that it shows first."`
	Allow   []string `sep:"none" placeholder:"COMMAND" help:"A command that may run, such as \"convert * *\", where * is any argument; left out, all may. May be given several times."`
	WASM    string   `name:"wasm" xor:"kind" placeholder:"PATH" help:"A module of the account's files, such as /tools/calc.wasm."`
	Folder  string   `placeholder:"PATH" help:"A folder of the account's files that the module sees."`
	Write   bool     `help:"Let the module change what is in the folder."`
}

// Run implements the command.
func (k *machineAdd) Run(c *console, line *commands) error {
	n := wire.NewMachine{Kind: "ssh", Address: k.SSH, HostKey: k.HostKey, Allow: k.Allow, Module: k.WASM, Folder: k.Folder, Write: k.Write}
	switch {
	case k.SSH == "" && k.WASM == "":
		return usage("a machine is a host, by --ssh user@host, or a module, by --wasm /path.wasm")
	case k.WASM != "":
		n.Kind = "wasm"
	}
	if k.Key != "" {
		text, err := c.readPrivateKey(k.Key)
		if err != nil {
			return err
		}
		n.Key = redacted.Text(text)
	}
	if line.Machine.Server != "" {
		return k.remote(c, line.Machine.remote(), n)
	}
	return line.Machine.with(c, false, func(o *operator.Operator) error {
		m, _, err := o.AddMachine(c.ctx, k.Account, k.Name, n)
		if err != nil {
			return err
		}
		c.showAdded(k.Account, machineOf(&m))
		return nil
	})
}

func (k *machineAdd) remote(c *console, s *remoteSettings, n wire.NewMachine) error {
	body := map[string]any{"kind": n.Kind}
	for name, text := range map[string]string{"address": n.Address, "key": n.Key.Reveal(), "host_key": n.HostKey, "module": n.Module, "folder": n.Folder} {
		if text != "" {
			body[name] = text
		}
	}
	if len(n.Allow) > 0 {
		body["allow"] = n.Allow
	}
	if n.Write {
		body["write"] = true
	}
	var m machineJSON
	if err := c.ask(s, k.Account, remote.Call{Method: remote.Put, Path: []string{"machines", k.Name}, JSON: body}, &m); err != nil {
		return err
	}
	c.showAdded(named(k.Account), m)
	return nil
}

// readPrivateKey reads the private key of a machine.
func (c *console) readPrivateKey(file string) (string, error) {
	if file == stdinName {
		return c.readSecret("private key: ")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", usage("--key: %s", plainError(err))
	}
	return string(text), nil
}

// showAdded says what to do with a machine that is new.
func (c *console) showAdded(account string, m machineJSON) {
	if c.json {
		c.print(struct {
			Name      string `json:"name"`
			PublicKey string `json:"public_key,omitempty"`
		}{m.Name, m.PublicKey})
		return
	}
	c.said("%s has the machine %s", account, m.Name)
	if m.PublicKey != "" {
		fmt.Fprintf(c.out, "put this line into authorized_keys of the user on the host:\n%s\n", m.PublicKey)
	}
}

type machineList struct{ who }

// Run implements the command.
func (k *machineList) Run(c *console, line *commands) error {
	list := []machineJSON{}
	if line.Machine.Server != "" {
		answer := struct{ Machines []machineJSON }{list}
		if err := c.ask(line.Machine.remote(), k.Account, remote.Call{Method: remote.Get, Path: []string{"machines"}}, &answer); err != nil {
			return err
		}
		c.showMachines(answer.Machines)
		return nil
	}
	return line.Machine.with(c, false, func(o *operator.Operator) error {
		all, err := o.Machines(c.ctx, k.Account)
		if err != nil {
			return err
		}
		for i := range all {
			list = append(list, machineOf(&all[i]))
		}
		c.showMachines(list)
		return nil
	})
}

func (c *console) showMachines(list []machineJSON) {
	if c.json {
		c.print(struct {
			Machines []machineJSON `json:"machines"`
		}{list})
		return
	}
	c.table(func(row func(...any)) {
		row("NAME", "KIND", "WHERE", "SET")
		for _, m := range list {
			row(m.Name, m.Kind, m.Address+m.Module, moment(m.Set))
		}
	})
}

type machineShow struct {
	who
	Name string `arg:"" help:"The machine's name."`
}

// Run implements the command.
func (k *machineShow) Run(c *console, line *commands) error {
	if line.Machine.Server != "" {
		var m machineJSON
		if err := c.ask(line.Machine.remote(), k.Account, remote.Call{Method: remote.Get, Path: []string{"machines", k.Name}}, &m); err != nil {
			return err
		}
		c.showMachine(m)
		return nil
	}
	return line.Machine.with(c, false, func(o *operator.Operator) error {
		m, err := o.Machine(c.ctx, k.Account, k.Name)
		if err == nil {
			c.showMachine(machineOf(&m))
		}
		return err
	})
}

func (c *console) showMachine(m machineJSON) {
	if c.json {
		c.print(m)
		return
	}
	c.table(func(row func(...any)) {
		row("name", m.Name)
		row("kind", m.Kind)
		if m.Kind == "ssh" {
			row("address", m.Address)
			row("public key", m.PublicKey)
			row("host key", orNone(m.HostKey, "none yet: the one that the host shows first"))
			row("allowed", orNone(strings.Join(m.Allow, "; "), "all commands"))
		} else {
			row("module", m.Module)
			row("folder", orNone(m.Folder, "none"))
			row("writes", m.Write)
		}
		row("set", moment(m.Set))
	})
}

func orNone(text, none string) string {
	if text == "" {
		return none
	}
	return text
}

type machineTest struct {
	who
	Name string `arg:"" help:"The machine's name."`
}

// machineTestJSON is what a test found.
type machineTestJSON struct {
	Name    string `json:"name"`
	Usable  bool   `json:"usable"`
	Problem *struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"problem,omitempty"`
}

// Run implements the command.
func (k *machineTest) Run(c *console, line *commands) error {
	var found machineTestJSON
	if line.Machine.Server != "" {
		if err := c.ask(line.Machine.remote(), k.Account, remote.Call{Method: remote.Post, Path: []string{"machines", k.Name, "test"}}, &found); err != nil {
			return err
		}
		return c.showMachineTest(found)
	}
	return line.Machine.with(c, false, func(o *operator.Operator) error {
		t, err := o.TestMachine(c.ctx, k.Account, k.Name)
		if err != nil {
			return err
		}
		found = machineTestJSON{Name: t.Name, Usable: t.Code == ""}
		if t.Code != "" {
			found.Problem = &struct {
				Code    string `json:"code"`
				Message string `json:"message"`
			}{t.Code, t.Message}
		}
		return c.showMachineTest(found)
	})
}

func (c *console) showMachineTest(t machineTestJSON) error {
	if c.json {
		c.print(t)
	}
	switch {
	case t.Usable && !c.json:
		c.said("%s can be used", t.Name)
	case !t.Usable && t.Problem != nil:
		if c.json {
			return &failure{code: exitFailed}
		}
		return &failure{code: exitFailed, message: t.Problem.Code + ": " + t.Problem.Message}
	}
	return nil
}

type machineRemove struct {
	who
	Name string `arg:"" help:"The machine's name."`
}

// Run implements the command.
func (k *machineRemove) Run(c *console, line *commands) error {
	if line.Machine.Server != "" {
		if err := c.ask(line.Machine.remote(), k.Account, remote.Call{Method: remote.Delete, Path: []string{"machines", k.Name}}, nil); err != nil {
			return err
		}
		c.said("%s has no machine %s any more", named(k.Account), k.Name)
		return nil
	}
	return line.Machine.with(c, false, func(o *operator.Operator) error {
		if err := o.RemoveMachine(c.ctx, k.Account, k.Name); err != nil {
			return err
		}
		c.said("%s has no machine %s any more", k.Account, k.Name)
		return nil
	})
}
