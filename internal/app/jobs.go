package app

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"ql/internal/execution"
	"ql/internal/job"
	nodes "ql/internal/member"
	"ql/internal/network"
	"ql/internal/observe"
	"ql/internal/schedule"
	"ql/internal/service"
	"ql/internal/store/backend"
	"ql/internal/store/sqlite"
	"ql/internal/webhook"
	"ql/internal/worker"
)

// host is what scripts are run with on this node.
func (a *App) host(log *slog.Logger) *execution.Host {
	p, urls := &a.parts, a.urls()
	p.hashing = a.newHashing()
	return &execution.Host{
		Programs: p.programs, Ledger: p.ledger, Resources: p.resources.Open, Passwords: p.hashing, Clock: time.Now, Log: log,
		Token: p.accounts.Sealer().Token, Forms: urls.Form(), Confirms: urls.Confirm(), DatabasesElsewhere: p.resources.Elsewhere(),
	}
}

// newWorker returns what will run jobs with a host.
func (a *App) newWorker(h *execution.Host) *worker.Worker {
	p := &a.parts
	lease, alone := backend.Lease(a.settings.Database)
	return worker.New(worker.Options{
		Queue: p.store.Queue, Members: p.store.Members, Lease: lease, RenewAlone: alone, Prepare: p.resources.Adopt(filepath.Join(a.settings.Data, sqlite.AccountFolder), p.store.Accounts, a.o.Log), Node: nodes.Node{ID: p.opened.Node, Address: p.nodes.Address()}, Hints: p.store.Hints, Allotments: p.store.Allotments, Version: a.o.Version, Accounts: p.store.Accounts, Host: h, Gate: p.gate, Ledger: p.ledger, Limiter: p.limiter, Guard: p.guard, Sealer: p.accounts.Sealer(),
		Limits: a.settings.Limits, Log: a.o.Log, Clock: time.Now, Unlimited: a.settings.Dev, RecordDurably: p.recorder.RecordDurably,
		OnEnded:    func(s job.State, took time.Duration) { p.metrics.ObserveRun(string(s), took) },
		OnDelivery: func() { p.webhooks.Wake() },
	})
}

// egress is what leaves this node.
func (a *App) egress() network.Policy {
	s := &a.settings
	return network.Policy{
		Private: s.Dev, AnyPort: s.Dev, PlainHTTP: s.Dev || s.EgressHTTP, Networks: s.EgressNetworks, Ports: s.EgressPorts,
	}
}

// startJobs takes up the jobs that an earlier process left, and what is to be told of them, and runs what comes.
func (a *App) startJobs(ctx context.Context, s *service.Service) error {
	p := &a.parts
	p.webhooks = webhook.NewSender(webhook.Options{
		Outbox: p.store.Deliveries, Client: p.caller, Secrets: p.accounts.WebhookSecrets, Log: a.o.Log, Guard: p.guard,
		OnAttempt: func(_ webhook.Attempt, s webhook.State) { p.metrics.CountWebhook(observe.WebhookOutcome(s)) },
		Body: func(ctx context.Context, d webhook.Delivery) ([]byte, error) {
			body, err := s.WebhookBody(ctx, d.Job, d.Prompt, webhook.MaxBody)
			if errors.Is(err, service.ErrQuestionOver) {
				err = webhook.ErrOver
			}
			return body, err
		},
	})
	p.webhooks.Start()
	a.closes("webhooks", p.webhooks.Stop)
	if err := p.worker.Start(ctx); err != nil {
		return err
	}
	a.closes("jobs", a.drained(p.worker.Stop))
	p.mailing.Start(func() int64 { return p.worker.Member().Incarnation })
	a.closes("mails", p.mailing.Stop)
	p.schedules = schedule.Run(schedule.Options{Store: p.store.Schedules, Start: s.StartScheduled, Guard: p.guard, Log: a.o.Log, Clock: time.Now, OnTick: observe.Ticks(p.metrics)})
	a.closes("schedules", p.schedules.Stop)
	return nil
}

// urls are where callers reach the service.
func (a *App) urls() service.URLs {
	u := service.URLs{Base: a.url, API: a.settings.JSONAPIURL}
	if u.API == "" {
		u.API = a.url
	}
	return u
}
