package service

import (
	"context"
	"errors"

	"ql/internal/account"
	"ql/internal/account/scope"
	"ql/internal/fault"
	"ql/internal/webhook"
	"ql/internal/wire"
)

// Webhooks are the deliveries of accounts' webhooks.
type Webhooks struct {
	webhook.History
	// Wake says that one may have become due; may be left out.
	Wake func()
}

// WebhookListing is a page of an account's deliveries, the newest first.
type WebhookListing struct {
	Meta
	Webhooks []wire.WebhookEntry
	Next     string // "" for the last page
}

// Webhooks lists deliveries of the account that the credentials prove.
func (s *Service) Webhooks(ctx context.Context, c Caller, p *Credentials, state, before string, limit int) (WebhookListing, error) {
	owner, meta, err := s.openWebhooks(ctx, c, p)
	l := WebhookListing{Meta: meta}
	if err != nil {
		return l, err
	}
	q := webhook.Query{State: webhook.State(state), Limit: limit + 1, Before: before}
	if state != "" && !q.State.Valid() {
		return l, fault.Invalid("state", "is no state of a webhook: pending, delivered, stopped and exhausted fit")
	}
	if err := c.Memory.reservePage(ctx, webhookEntries*limit); err != nil {
		return l, err
	}
	list, err := s.o.Webhooks.List(ctx, owner, q)
	list, l.Next = cutPage(list, limit, func(d *webhook.Delivery) string { return d.ID })
	for i := range list {
		l.Webhooks = append(l.Webhooks, webhookEntry(&list[i]))
	}
	return l, err
}

// webhookEntries is how many entries of a listing a delivery takes: an address may be long.
const webhookEntries = 3

func webhookEntry(d *webhook.Delivery) wire.WebhookEntry {
	return wire.WebhookEntry{
		ID: d.ID, JobID: d.Job.String(), Event: d.Event, Prompt: d.Prompt, URL: d.URL, Status: string(d.State), Attempts: d.Attempts,
		CreatedAt: d.Made, DueAt: d.Due, SettledAt: d.Settled,
	}
}

// ShownWebhook is a delivery with what became of its attempts, the first first.
type ShownWebhook struct {
	Meta
	Webhook wire.WebhookEntry
	Log     []wire.WebhookAttempt // the last ones, where there are very many
}

// mostAttempts is how many attempts of a delivery are shown.
const mostAttempts = 200

// Webhook shows a delivery.
func (s *Service) Webhook(ctx context.Context, c Caller, p *Credentials, id string) (ShownWebhook, error) {
	owner, meta, err := s.openWebhooks(ctx, c, p)
	if err != nil {
		return ShownWebhook{Meta: meta}, err
	}
	d, err := s.findDelivery(ctx, owner, id)
	if err != nil {
		return ShownWebhook{Meta: meta}, err
	}
	return s.showWebhook(ctx, c, meta, &d)
}

func (s *Service) showWebhook(ctx context.Context, c Caller, meta Meta, d *webhook.Delivery) (ShownWebhook, error) {
	a := ShownWebhook{Meta: meta, Webhook: webhookEntry(d)}
	if err := c.Memory.reservePage(ctx, d.Attempts+1); err != nil {
		return a, err
	}
	log, err := s.o.Webhooks.Attempts(ctx, d.ID)
	for _, t := range log[max(0, len(log)-mostAttempts):] {
		a.Log = append(a.Log, wire.WebhookAttempt(t))
	}
	return a, err
}

// RepeatWebhook has a delivery sent again, under its id, whatever became of it.
func (s *Service) RepeatWebhook(ctx context.Context, c Caller, p *Credentials, id string) (ShownWebhook, error) {
	owner, meta, err := s.openWebhooks(ctx, c, p)
	if err != nil {
		return ShownWebhook{Meta: meta}, err
	}
	if _, err := s.findDelivery(ctx, owner, id); err != nil {
		return ShownWebhook{Meta: meta}, err
	}
	d, err := s.o.Webhooks.Repeat(ctx, id, s.o.Clock())
	if err != nil {
		return ShownWebhook{Meta: meta}, noDelivery(err, id)
	}
	if s.o.Webhooks.Wake != nil {
		s.o.Webhooks.Wake()
	}
	return s.showWebhook(ctx, c, meta, &d)
}

// findDelivery finds a delivery of an account; that of another is none.
func (s *Service) findDelivery(ctx context.Context, owner account.ID, id string) (webhook.Delivery, error) {
	d, err := s.o.Webhooks.ByID(ctx, id)
	if err == nil && d.Account != owner {
		err = webhook.ErrNotFound
	}
	return d, noDelivery(err, id)
}

func noDelivery(err error, id string) error {
	if errors.Is(err, webhook.ErrNotFound) {
		return fault.New(fault.NotFound, "the account has no webhook with the id %q", shortened(id))
	}
	return err
}

// openWebhooks lets a caller to the deliveries of an account.
func (s *Service) openWebhooks(ctx context.Context, c Caller, p *Credentials) (account.ID, Meta, error) {
	owner, err := s.authenticateOwner(ctx, c, p, access{"webhooks", passwordOrName, scope.Manage})
	meta := Meta{Origin: owner.origin}
	if err != nil {
		return 0, meta, err
	}
	verdict := s.countCall(owner, c, owner.Account.Limits(s.o.Limits))
	meta.Rate = &verdict
	return owner.Account.ID, meta, verdict.Err()
}
