package main

import (
	"context"

	"ql/bench/load"
)

// measured is a server that tells what it has used.
type measured interface {
	Usage(ctx context.Context) (load.Usage, error)
}

// peers are nginx and what is behind it.
type peers []*load.Peer

func (p peers) Usage(context.Context) (load.Usage, error) {
	var sum load.Usage
	for _, one := range p {
		seconds, err := one.Seconds()
		if err != nil {
			return sum, err
		}
		sum.Seconds += seconds
	}
	return sum, nil
}

// target is a page as one of the servers has it.
type target struct {
	load.Target
	page   *page
	by     string
	server measured
}

// targets are all that is measured, those of one page together: of the one that is named, or of all.
func (s *servers) targets(only string) []*target {
	var all []*target
	for _, p := range pages() {
		if only != "" && p.name != only {
			continue
		}
		add := func(by, address, host string, server measured) {
			t := load.Target{Name: by + ", " + p.name, Address: address, Request: load.Get(host, p.path, p.head...), Check: p.check}
			all = append(all, &target{t, &p, by, server})
		}
		for _, one := range s.ql {
			add(one.name, one.Sites, one.Password.Username+"."+siteHost, one)
		}
		behind := peers{s.nginx, s.fpm}
		switch {
		case s.nginx == nil:
		case p.isFile:
			add(byNginx, s.plain, s.plain, behind)
		default:
			add(byPHP, s.plain, s.plain, behind)
			add(byKept, s.kept, s.kept, behind)
		}
	}
	return all
}

// Usage is that of the target's server.
func (t *target) Usage(ctx context.Context) (load.Usage, error) { return t.server.Usage(ctx) }

// Work is the page, which each server has.
func (t *target) Work() string { return t.page.name }
