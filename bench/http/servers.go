package main

import (
	"context"
	"errors"
	"io"

	"ql/bench/load"
)

// asBareServer is the first argument of a process that serves bare handlers.
const asBareServer = "child-bare"

// serveAsChild is what a process does that was started as a child.
func serveAsChild(args []string) (code int, isChild bool) {
	return load.AsChild(args, map[string]func(io.Writer) error{asBareServer: serveBare})
}

// servers are the two that are compared.
type servers struct {
	ql   *load.Service
	bare *load.Server
}

// startServers starts the service as in production, and the bare handler.
func startServers(ctx context.Context, o load.Options) (*servers, error) {
	s := &servers{}
	var err error
	if s.ql, err = load.StartService(ctx, o); err != nil {
		return nil, err
	}
	if s.bare, err = load.Start(ctx, o, asBareServer, "bare"); err == nil {
		err = s.prepare(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *servers) stop() error { return errors.Join(s.ql.Stop(), s.bare.Stop()) }

// prepare has the service make what scripts read.
func (s *servers) prepare(ctx context.Context) error {
	c, err := load.Dial(ctx, s.ql.Address)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Ask(s.ql.Query(prepare, "sync"))
	return err
}

// target is a script as it is called in one way.
type target struct {
	load.Target
	script *script
	called string // the convention
	server *load.Server
}

// targets are all that is measured, those of one script together: of the one
// that is named, or of all.
func (s *servers) targets(only string) []*target {
	var all []*target
	for i, script := range scripts() {
		if only != "" && script.name != only {
			continue
		}
		add := func(called string, server *load.Server, request []byte, check func([]byte) error) {
			t := load.Target{Name: called + ", " + script.name, Address: server.Address, Request: request, Check: check}
			all = append(all, &target{t, &script, called, server})
		}
		add(asBare, s.bare, bareCall(s.bare.Address, barePath(i), s.ql.Password, script.text), script.checkJSON)
		add(asJSON, s.ql.Server, s.ql.Query(script.text, "sync"), script.checkJSON)
		add(asForm, s.ql.Server, formCall(s.ql.Address, s.ql.Key, script.text), script.checkText)
	}
	return all
}

// Usage is that of the target's server.
func (t *target) Usage(ctx context.Context) (load.Usage, error) { return t.server.Usage(ctx) }

// Work is the script: the bare handler does the same.
func (t *target) Work() string { return t.script.name }
