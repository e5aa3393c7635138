package storetest

import (
	"bytes"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/account/usage"
	"ql/internal/resource/machines"
)

func sshMachine(id account.ID, name string) machines.Machine {
	return machines.Machine{Account: id, Name: name, Kind: machines.KindSSH, Set: noon, SSH: machines.SSH{
		User: "ada", Host: "box.example.com", Port: 2222, PublicKey: "ssh-ed25519 AAAA", Allow: []string{"uptime", "convert * *"},
	}}
}

func testMachines(t *testing.T, s Stores) {
	ctx := t.Context()
	ada, bob := create(t, s.Accounts, person("ada")), create(t, s.Accounts, person("bob"))
	put := func(m machines.Machine, sealed []byte, want bool) {
		t.Helper()
		created, err := s.Machines.Put(ctx, m, sealed, 2)
		must(t, err)
		if created != want {
			t.Errorf("%s was created: %t", m.Name, created)
		}
	}
	box := sshMachine(ada.ID, "box")
	calc := machines.Machine{Account: ada.ID, Name: "calc", Kind: machines.KindWASM, Set: noon.Add(time.Hour), WASM: machines.WASM{Module: "/calc.wasm", Folder: "/data", Write: true}}
	put(calc, nil, true)
	put(box, []byte("sealed"), true)
	put(box, []byte("sealed again"), false)
	_, err := s.Machines.Put(ctx, sshMachine(ada.ID, "more"), nil, 2)
	wantError(t, "one too many", err, machines.ErrTooMany)
	_, err = s.Machines.Put(ctx, sshMachine(4711, "box"), nil, 0)
	wantError(t, "of a stranger", err, account.ErrNotFound)
	put(sshMachine(bob.ID, "box"), nil, true)

	got, sealed, err := s.Machines.Machine(ctx, ada.ID, "box")
	must(t, err)
	same(t, "a host", got, box)
	if !bytes.Equal(sealed, []byte("sealed again")) {
		t.Errorf("its key is %q", sealed)
	}
	got, sealed, err = s.Machines.Machine(ctx, ada.ID, "calc")
	must(t, err)
	same(t, "a module", got, calc)
	if sealed != nil {
		t.Errorf("it has a key %q", sealed)
	}
	list, err := s.Machines.Machines(ctx, ada.ID)
	must(t, err)
	same(t, "the list", list, []machines.Machine{box, calc})
	_, _, err = s.Machines.Machine(ctx, ada.ID, "more")
	wantError(t, "one that is not there", err, account.ErrNotFound)

	// The first key is pinned, of the machine as it was then.
	wantError(t, "of a machine that was changed", s.Machines.Pin(ctx, ada.ID, "box", noon.Add(time.Second), "first"), account.ErrConflict)
	wantError(t, "of no machine", s.Machines.Pin(ctx, ada.ID, "none", noon, "first"), account.ErrNotFound)
	must(t, s.Machines.Pin(ctx, ada.ID, "box", noon, "first"))
	must(t, s.Machines.Pin(ctx, ada.ID, "box", noon, "first"))
	wantError(t, "another key", s.Machines.Pin(ctx, ada.ID, "box", noon, "second"), account.ErrConflict)
	box.SSH.HostKey = "first"
	got, _, err = s.Machines.Machine(ctx, ada.ID, "box")
	must(t, err)
	same(t, "with the pinned key", got, box)
	box.SSH.HostKey = ""
	put(box, []byte("sealed"), false)
	got, _, err = s.Machines.Machine(ctx, ada.ID, "box")
	must(t, err)
	same(t, "set anew", got, box)

	must(t, s.Machines.Remove(ctx, ada.ID, "calc"))
	wantError(t, "a second Remove", s.Machines.Remove(ctx, ada.ID, "calc"), account.ErrNotFound)
	wantActs(t, "the log", auditLog(t, s, ada.ID)[1:],
		"service machine_set calc", "service machine_set box", "service machine_set box", "service machine_pinned box", "service machine_set box", "service machine_removed calc")
	must(t, s.Accounts.Delete(ctx, ada.ID))
	list, err = s.Machines.Machines(ctx, ada.ID)
	if err != nil || len(list) > 0 {
		t.Errorf("of an account that is gone there are %v, %v", list, err)
	}
	if _, _, err := s.Machines.Machine(ctx, bob.ID, "box"); err != nil {
		t.Errorf("another account's went with it: %v", err)
	}
}

func testMachineTime(t *testing.T, s Stores) {
	a := create(t, s.Accounts, person("ada"))
	first := usage.DayOf(noon)
	for i, ran := range []time.Duration{1500 * time.Millisecond, 2 * time.Second} {
		must(t, s.Usage.Count(t.Context(), a.ID, first+usage.Day(i), usage.Used{Machine: ran}))
	}
	wantUsed(t, "the month", s, a.ID, first.Month(), usage.Used{Machine: 3500 * time.Millisecond})
	days, err := s.Usage.Days(t.Context(), a.ID, first)
	must(t, err)
	same(t, "the days", days, []usage.UsedDay{
		{Day: first, Used: usage.Used{Machine: 1500 * time.Millisecond}}, {Day: first + 1, Used: usage.Used{Machine: 2 * time.Second}},
	})
}
