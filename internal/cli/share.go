package cli

import (
	"fmt"
	"time"

	"ql/internal/operator"
	"ql/internal/resource/shares"
)

// shareCommand is ql share. Its commands work on the data folder, while a server
// runs or not, and most of them on a service elsewhere.
type shareCommand struct {
	remoteSettings

	List   shareList   `cmd:"" help:"List an account's links to files, the newest first, with their receipts."`
	Revoke shareRevoke `cmd:"" help:"Take a link back."`
}

func newShareCommand() shareCommand {
	return shareCommand{remoteSettings: newRemoteSettings("data", "database", "database-direct", "blobs", "master-key-file")}
}

// shareJSON is a link in a listing, as GET /v1/shares shows it.
type shareJSON struct {
	ID       string        `json:"id"`
	Path     string        `json:"path"`
	Name     string        `json:"name"`
	Size     int64         `json:"size"`
	Status   string        `json:"status"`
	Times    *int          `json:"times"`
	Used     int           `json:"used"`
	Made     time.Time     `json:"created_at"`
	Expires  time.Time     `json:"expires_at"`
	Revoked  *time.Time    `json:"revoked_at"`
	Receipts []receiptJSON `json:"receipts"`
}

type receiptJSON struct {
	At       time.Time  `json:"at"`
	Address  string     `json:"address"`
	Agent    string     `json:"agent"`
	Restarts int        `json:"restarts"`
	Sent     int64      `json:"sent"`
	Finished *time.Time `json:"finished_at"`
}

func newShareJSON(e shares.Entry) shareJSON {
	j := shareJSON{
		ID: e.ID(), Path: e.Path, Name: e.Name, Size: e.Size, Status: string(e.State), Used: e.Used,
		Made: e.Made, Expires: e.Expires, Revoked: optional(e.Revoked), Receipts: []receiptJSON{},
	}
	if e.Limited() {
		j.Times = &e.Times
	}
	for _, r := range e.Receipts {
		j.Receipts = append(j.Receipts, receiptJSON{r.At, r.Address, r.Agent, r.Restarts, r.Sent, optional(r.Finished)})
	}
	return j
}

// optional returns nil for no time.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

type shareList struct {
	who
	Limit  int    `default:"50" placeholder:"N" help:"How many at most (${default})."`
	Before string `placeholder:"ID" help:"Those before a link, to go on from the last one listed."`
}

// Run implements the command.
func (k *shareList) Run(c *console, line *commands) error {
	if k.Limit < 1 {
		return usage("--limit: %d is no number from 1 on", k.Limit)
	}
	if line.Share.Server != "" {
		return k.remote(c, &line.Share.remoteSettings)
	}
	return line.Share.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.Find(c.ctx, k.Account)
		if err != nil {
			return err
		}
		entries, err := o.Shares(c.clock).List(c.ctx, a.ID, k.Before, k.Limit)
		if err != nil {
			return err
		}
		list := []shareJSON{}
		for _, e := range entries {
			list = append(list, newShareJSON(e))
		}
		c.showShares(list)
		return nil
	})
}

func (c *console) showShares(list []shareJSON) {
	if c.json {
		c.print(struct {
			Shares []shareJSON `json:"shares"`
		}{list})
		return
	}
	c.table(func(row func(...any)) {
		row("LINK", "STATUS", "USED", "CREATED", "EXPIRES", "SIZE", "PATH")
		for _, s := range list {
			row(s.ID, s.Status, uses(s), moment(s.Made), moment(s.Expires), s.Size, printable(s.Path))
			for _, r := range s.Receipts {
				row("", printable(r.Address), "", moment(r.At), optionalMoment(r.Finished), r.Sent, printable(r.Agent))
			}
		}
	})
}

// uses shows how much of a link is used up.
func uses(s shareJSON) string {
	if s.Times == nil {
		return fmt.Sprintf("%d of any", s.Used)
	}
	return fmt.Sprintf("%d of %d", s.Used, *s.Times)
}

type shareRevoke struct {
	who
	ID string `arg:"" help:"The link's id, as ql share list shows it."`
}

// Run implements the command.
func (k *shareRevoke) Run(c *console, line *commands) error {
	if line.Share.Server != "" {
		return k.remote(c, &line.Share.remoteSettings)
	}
	return line.Share.with(c, false, func(o *operator.Operator) error {
		a, err := o.Accounts.Find(c.ctx, k.Account)
		if err != nil {
			return err
		}
		if err := o.Shares(c.clock).Revoke(c.ctx, a.ID, k.ID); err != nil {
			return err
		}
		c.saidTakenBack(k.ID)
		return nil
	})
}

func (c *console) saidTakenBack(link string) {
	if c.json {
		c.print(struct {
			ID string `json:"id"`
		}{link})
		return
	}
	c.said("%s leads nowhere any more", link)
}
