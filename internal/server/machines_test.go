package server_test

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"ql/internal/account"
	"ql/internal/resource/machines"
	machinesowned "ql/internal/resource/machines/owned"
	"ql/internal/store/sqlite"
)

// ownedMachines are machines that can be defined, and none of which is reached.
func ownedMachines(store *sqlite.Store, accounts *account.Service) machinesowned.Machines {
	r := machines.New(machines.Options{Store: store.Machines(), Sealer: accounts.Sealer(), Clock: time.Now, Random: rand.Reader})
	return machinesowned.Machines{Registry: r, Reach: r.ReachAlone}
}

// addMachine gives an account the machine that is asked for.
func (w *world) addMachine(username string) {
	w.t.Helper()
	a, err := w.accounts.Find(w.t.Context(), username)
	check(w.t, err)
	_, err = w.store.Machines().Put(w.t.Context(), machines.Machine{Account: a.ID, Name: accessKey, Kind: machines.KindWASM, WASM: machines.WASM{Module: "/calc.wasm"}, Set: time.Now()}, nil, 0)
	check(w.t, err)
}

// TestMachines: an owner defines machines, whose private keys nobody is shown.
func TestMachines(t *testing.T) {
	w := boot(t)
	ada, bob := w.member("ada", account.Standard), w.member("bob", account.Free)
	owner := []string{"Authorization", basic(ada.name, ada.password)}
	var m struct {
		Name      string
		Kind      string
		Address   string
		PublicKey string  `json:"public_key"`
		HostKey   *string `json:"host_key"`
		Allow     []string
	}
	r := w.send("PUT", "/v1/machines/box", jsonType, `{"kind":"ssh","address":"ada@example.com","allow":["uptime"]}`, owner...)
	check(t, json.Unmarshal([]byte(r.body), &m))
	if r.status != 201 || m.Address != "ada@example.com:22" || !strings.HasPrefix(m.PublicKey, "ssh-ed25519 ") || m.HostKey != nil || len(m.Allow) != 1 {
		t.Errorf("%d %s", r.status, r.body)
	}
	first := m.PublicKey
	r = w.send("PUT", "/v1/machines/box", jsonType, `{"kind":"ssh","address":"ada@example.com:2222"}`, owner...)
	check(t, json.Unmarshal([]byte(r.body), &m))
	if r.status != 200 || m.PublicKey != first || m.Address != "ada@example.com:2222" {
		t.Errorf("changed: %d %s", r.status, r.body)
	}
	if r := w.send("PUT", "/v1/machines/calc", jsonType, `{"kind":"wasm","module":"/calc.wasm","folder":"/data","write":true}`, owner...); r.status != 201 {
		t.Errorf("%d %s", r.status, r.body)
	}
	for _, body := range []string{`{}`, `{"kind":"vm"}`, `{"kind":"ssh"}`, `{"kind":"ssh","address":"example.com"}`, `{"kind":"ssh","address":"a@b.example","key":"x"}`,
		`{"kind":"ssh","address":"a@b.example","host_key":"x"}`, `{"kind":"ssh","address":"a@b.example","allow":["*"]}`, `{"kind":"ssh","address":"a@b.example","module":"/x"}`,
		`{"kind":"wasm"}`, `{"kind":"wasm","module":"x"}`, `{"kind":"wasm","module":"/x","write":true}`, `{"kind":"wasm","module":"/x","address":"a@b"}`, `{"kind":"ssh","addres":"x"}`, `{"kind":7}`} {
		w.send("PUT", "/v1/machines/calc", jsonType, body, owner...).wantError(t, 400, "invalid_request")
	}
	w.send("PUT", "/v1/machines/1st", jsonType, `{"kind":"wasm","module":"/calc.wasm"}`, owner...).wantError(t, 400, "invalid_request")
	for _, path := range []string{"/v1/machines", "/v1/machines/box", "/v1/machines/calc"} {
		r := w.send("GET", path, "", "", owner...)
		if r.status != 200 || strings.Contains(r.body, "PRIVATE") || strings.Contains(r.body, "sealed") {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	if r := w.send("POST", "/v1/machines/calc/test", "", "", owner...); r.status != 200 || !strings.Contains(r.body, `"usable":false`) || !strings.Contains(r.body, "not_available") {
		t.Errorf("%d %s", r.status, r.body)
	}
	other := []string{"Authorization", basic(bob.name, bob.password)}
	for _, name := range []string{"one", "two"} {
		if r := w.send("PUT", "/v1/machines/"+name, jsonType, `{"kind":"wasm","module":"/calc.wasm"}`, other...); r.status != 201 {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	if e := w.send("PUT", "/v1/machines/more", jsonType, `{"kind":"wasm","module":"/calc.wasm"}`, other...).wantError(t, 422, "limit_exceeded"); e.Error.Limit != "machines" || e.Error.Value != 2 {
		t.Errorf("%+v", e)
	}
	w.send("GET", "/v1/machines/box", "", "", other...).wantError(t, 404, "not_found")
	w.send("DELETE", "/v1/machines/box", "", "", other...).wantError(t, 404, "not_found")
	w.send("POST", "/v1/machines/box/test", "", "", other...).wantError(t, 404, "not_found")
	if r := w.send("DELETE", "/v1/machines/box", "", "", owner...); r.status != 204 {
		t.Errorf("%d %s", r.status, r.body)
	}
	w.send("DELETE", "/v1/machines/box", "", "", owner...).wantError(t, 404, "not_found")
}
