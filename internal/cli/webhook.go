package cli

import (
	"errors"
	"time"

	"ql/internal/fault"
	"ql/internal/operator"
	"ql/internal/webhook"
)

// webhookCommand is ql webhook. Its commands work on the data folder, while a
// server runs or not.
type webhookCommand struct {
	remoteSettings

	List   webhookList   `cmd:"" help:"List an account's webhook deliveries, the newest first."`
	Show   webhookShow   `cmd:"" help:"Show a delivery with its attempts."`
	Repeat webhookRepeat `cmd:"" help:"Have a delivery sent again, whatever became of it."`
}

func newWebhookCommand() webhookCommand {
	return webhookCommand{remoteSettings: newRemoteSettings("data", "database", "database-direct", "blobs", "master-key-file")}
}

// deliveryJSON is a delivery in a listing.
type deliveryJSON struct {
	ID       string     `json:"id"`
	JobID    string     `json:"job_id"`
	Event    string     `json:"event"`
	Prompt   string     `json:"prompt_id,omitempty"`
	URL      string     `json:"url"`
	Status   string     `json:"status"`
	Attempts int        `json:"attempts"`
	Made     time.Time  `json:"created_at"`
	Due      *time.Time `json:"due_at,omitempty"`
	Settled  *time.Time `json:"settled_at,omitempty"`
}

func newDeliveryJSON(d webhook.Delivery) deliveryJSON {
	j := deliveryJSON{ID: d.ID, JobID: d.Job.String(), Event: d.Event, Prompt: d.Prompt, URL: d.URL, Status: string(d.State), Attempts: d.Attempts, Made: d.Made}
	if !d.Due.IsZero() {
		j.Due = &d.Due
	}
	if !d.Settled.IsZero() {
		j.Settled = &d.Settled
	}
	return j
}

type webhookList struct {
	who
	Status string `placeholder:"STATE" help:"Only those that are pending, delivered, stopped or exhausted."`
	Limit  int    `default:"50" placeholder:"N" help:"How many at most (${default})."`
	Before string `placeholder:"ID" help:"Those before a delivery, to go on from the last one listed."`
}

// Run implements the command.
func (k *webhookList) Run(c *console, line *commands) error {
	q := webhook.Query{State: webhook.State(k.Status), Limit: k.Limit, Before: k.Before}
	if k.Status != "" && !q.State.Valid() {
		return usage("--status: there is no state %q: a delivery is pending, delivered, stopped or exhausted", k.Status)
	}
	if k.Limit < 1 {
		return usage("--limit: %d is no number from 1 on", k.Limit)
	}
	if line.Webhook.Server != "" {
		return k.remote(c, &line.Webhook.remoteSettings)
	}
	return line.Webhook.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.Find(c.ctx, k.Account)
		if err != nil {
			return err
		}
		deliveries, err := o.Webhooks.List(c.ctx, a.ID, q)
		if err != nil {
			return err
		}
		list := []deliveryJSON{}
		for _, d := range deliveries {
			list = append(list, newDeliveryJSON(d))
		}
		c.showDeliveries(list)
		return nil
	})
}

func (c *console) showDeliveries(list []deliveryJSON) {
	if c.json {
		c.print(struct {
			Deliveries []deliveryJSON `json:"deliveries"`
		}{list})
		return
	}
	c.table(func(row func(...any)) {
		row("DELIVERY", "EVENT", "STATUS", "ATTEMPTS", "CREATED", "DUE", "URL")
		for _, d := range list {
			row(d.ID, d.Event, d.Status, d.Attempts, moment(d.Made), optionalMoment(d.Due), printable(d.URL))
		}
	})
}

func optionalMoment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return moment(*t)
}

type webhookShow struct {
	ID string `arg:"" help:"The delivery's id."`
}

// attemptJSON is an attempt of a delivery.
type attemptJSON struct {
	Number     int       `json:"number"`
	At         time.Time `json:"at"`
	DurationMS int64     `json:"duration_ms"`
	HTTPStatus int       `json:"http_status,omitempty"`
	Answer     string    `json:"answer,omitempty"`
	Error      string    `json:"error,omitempty"`
}

// Run implements the command.
func (k *webhookShow) Run(c *console, line *commands) error {
	if line.Webhook.Server != "" {
		return k.remote(c, &line.Webhook.remoteSettings)
	}
	return line.Webhook.with(c, false, func(o *operator.Operator) error {
		d, err := o.Webhooks.ByID(c.ctx, k.ID)
		if err != nil {
			return noDelivery(err, k.ID)
		}
		attempts, err := o.Webhooks.Attempts(c.ctx, k.ID)
		if err != nil {
			return err
		}
		list := []attemptJSON{}
		for _, a := range attempts {
			list = append(list, attemptJSON{a.Number, a.At, a.Took.Milliseconds(), a.Status, a.Answer, a.Error})
		}
		c.showDelivery(newDeliveryJSON(d), list)
		return nil
	})
}

func (c *console) showDelivery(d deliveryJSON, attempts []attemptJSON) {
	if c.json {
		c.print(struct {
			deliveryJSON
			Log []attemptJSON `json:"log"`
		}{d, attempts})
		return
	}
	c.table(func(row func(...any)) {
		row("delivery", d.ID)
		row("job", d.JobID)
		row("event", d.Event)
		row("url", printable(d.URL))
		row("status", d.Status)
		row("created", moment(d.Made))
		row("due", optionalMoment(d.Due))
		row("settled", optionalMoment(d.Settled))
		for _, a := range attempts {
			said := printable(a.Error)
			if a.HTTPStatus != 0 {
				said = printable(a.Answer)
			}
			row("attempt", a.Number, moment(a.At), time.Duration(a.DurationMS)*time.Millisecond, statusText(a.HTTPStatus), said)
		}
	})
}

// statusText shows that there was no answer.
func statusText(status int) any {
	if status == 0 {
		return "-"
	}
	return status
}

type webhookRepeat struct {
	ID string `arg:"" help:"The delivery's id."`
}

// Run implements the command.
func (k *webhookRepeat) Run(c *console, line *commands) error {
	if line.Webhook.Server != "" {
		return k.remote(c, &line.Webhook.remoteSettings)
	}
	return line.Webhook.with(c, false, func(o *operator.Operator) error {
		d, err := o.Webhooks.Repeat(c.ctx, k.ID, c.clock())
		if err != nil {
			return noDelivery(err, k.ID)
		}
		c.showRepeated(newDeliveryJSON(d))
		return nil
	})
}

func (c *console) showRepeated(d deliveryJSON) {
	if c.json {
		c.print(d)
		return
	}
	c.said("%s is due: a running server sends it within 15 seconds", d.ID)
}

func noDelivery(err error, id string) error {
	if errors.Is(err, webhook.ErrNotFound) {
		return fault.New(fault.NotFound, "there is no webhook delivery %q", id)
	}
	return err
}
