package jsonapi

import (
	"net/http"
	"time"

	"ql/internal/principal"
	"ql/internal/server"
	"ql/internal/wire"
)

const (
	// mostMachineBytes is how long a request that defines a machine may be.
	mostMachineBytes = 256 << 10
	// machineTestTime is how long a test of a machine may take.
	machineTestTime = 30 * time.Second
)

// machineRoutes are those of an account's machines.
func (c codec) machineRoutes() []server.Route {
	route := func(method, path string, accepts principal.Set, serve func(http.Header, *server.Request) (server.Response, error)) server.Route {
		return server.Route{Method: method, Path: path, Accepts: accepts, Pages: accepts.Has(principal.ByNamedKey), Serve: serve, EncodeError: encodeError}
	}
	const machine = "/v1/machines/{name}"
	test := route(http.MethodPost, machine+"/test", passwordOnly, c.testMachine)
	test.Timeout = machineTestTime
	return []server.Route{
		route(http.MethodGet, "/v1/machines", passwordOrNamed, c.machines),
		route(http.MethodGet, machine, passwordOrNamed, c.machine),
		route(http.MethodPut, machine, passwordOnly, c.setMachine),
		route(http.MethodDelete, machine, passwordOnly, c.removeMachine),
		test,
	}
}

func (c codec) machines(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	l, err := c.service.Machines(r.Context(), r.Caller, p)
	return shown(h, r, l.Meta, err, func() []byte { return wire.AppendMachines(nil, l.Machines) })
}

func (c codec) machine(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.ShowMachine(r.Context(), r.Caller, p, r.Variable)
	return shown(h, r, a.Meta, err, func() []byte { return wire.AppendMachine(nil, &a.Machine) })
}

func (c codec) setMachine(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	n, err := decodeBody(c, r, mostMachineBytes, wire.DecodeNewMachine)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, created, err := c.service.SetMachine(r.Context(), r.Caller, p, r.Variable, *n)
	reply, err := shown(h, r, a.Meta, err, func() []byte { return wire.AppendMachine(nil, &a.Machine) })
	if created && err == nil {
		reply.Status = http.StatusCreated
	}
	return reply, err
}

func (c codec) removeMachine(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	m, err := c.service.RemoveMachine(r.Context(), r.Caller, p, r.Variable)
	return noContent(h, r, m, err)
}

func (c codec) testMachine(h http.Header, r *server.Request) (server.Response, error) {
	p, err := plainCredentials(r)
	if err != nil {
		return server.RejectBeforeAuth(err)
	}
	a, err := c.service.TestMachine(r.Context(), r.Caller, p, r.Variable)
	return shown(h, r, a.Meta, err, func() []byte { return wire.AppendMachineTest(nil, &a.Test) })
}
