package cli

import (
	"errors"
	"fmt"
	"time"

	"ql/internal/audit"
	"ql/internal/operator"
)

// auditCommand is ql audit. Its commands work on the data folder, while a server runs or not.
type auditCommand struct {
	remoteSettings

	List   auditList   `cmd:"" help:"List who did what, the newest first."`
	Verify auditVerify `cmd:"" help:"Check that no entry was changed or removed."`
}

func newAuditCommand() auditCommand {
	return auditCommand{remoteSettings: newRemoteSettings("data", "database", "database-direct", "blobs", "master-key-file")}
}

type auditList struct {
	Account string `arg:"" optional:"" help:"Username, e-mail address or phone number; left out, the operator's own log."`
	Limit   int    `default:"50" placeholder:"N" help:"How many at most (${default})."`
	Before  int64  `placeholder:"NUMBER" help:"Those before an entry, to go on from the last one listed."`
}

// auditJSON is an entry as GET /v1/account/log shows one.
type auditJSON struct {
	Number int64     `json:"number"`
	At     time.Time `json:"at"`
	Act    string    `json:"act"`
	On     *string   `json:"on"`
	By     string    `json:"by"`
	Key    *string   `json:"key"`
	From   *string   `json:"from"`
	Result string    `json:"result"`
	Count  int64     `json:"count"`
	Hash   string    `json:"hash"`
}

func newAuditJSON(e *audit.Entry) auditJSON {
	return auditJSON{
		Number: e.Number, At: e.At, Act: string(e.Act), On: orNull(e.On), By: string(e.By), Key: orNull(e.Key), From: orNull(e.From),
		Result: string(e.Result), Count: e.Count, Hash: e.Hash.String(),
	}
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Run implements the command.
func (k *auditList) Run(c *console, line *commands) error {
	if k.Limit < 1 {
		return usage("--limit: %d is no number from 1 on", k.Limit)
	}
	if k.Before < 0 {
		return usage("--before: %d is no number of an entry", k.Before)
	}
	if line.Audit.Server != "" {
		return k.remote(c, &line.Audit.remoteSettings)
	}
	return line.Audit.with(c, false, func(o *operator.Operator) error {
		id, err := o.Log(c.ctx, k.Account)
		if err != nil {
			return err
		}
		entries, err := o.LogEntries(c.ctx, id, k.Before, k.Limit)
		if err != nil {
			return err
		}
		list := []auditJSON{}
		for i := range entries {
			list = append(list, newAuditJSON(&entries[i]))
		}
		c.showLog(list)
		return nil
	})
}

func (c *console) showLog(list []auditJSON) {
	if c.json {
		c.print(struct {
			Entries []auditJSON `json:"entries"`
		}{list})
		return
	}
	text := func(t *string) string {
		if t == nil {
			return "-"
		}
		return orDash(printable(*t))
	}
	c.table(func(row func(...any)) {
		row("NUMBER", "AT", "BY", "FROM", "ACT", "RESULT", "ON")
		for _, e := range list {
			by, result := printable(e.By), printable(e.Result)
			if e.Key != nil {
				by += " " + printable(*e.Key)
			}
			if e.Count > 1 {
				result += fmt.Sprintf(" × %d", e.Count)
			}
			row(e.Number, moment(e.At), by, text(e.From), printable(e.Act), result, text(e.On))
		}
	})
}

type auditVerify struct {
	Account string `arg:"" optional:"" help:"Username, e-mail address or phone number; left out, all logs."`
}

// verifiedJSON is a log that was checked.
type verifiedJSON struct {
	Account string `json:"account"` // "" for the operator's
	Whole   bool   `json:"whole"`
	Entries int64  `json:"entries"`
	Pruned  int64  `json:"pruned"`
	Newest  int64  `json:"newest"`
	Hash    string `json:"hash"`
	Broken  int64  `json:"broken,omitempty"` // the first entry that is not as it was
	Why     string `json:"why,omitempty"`
}

// Run implements the command.
func (k *auditVerify) Run(c *console, line *commands) error {
	return line.Audit.with(c, false, func(o *operator.Operator) error {
		var checked []verifiedJSON
		check := func(name string) error {
			id, err := o.Log(c.ctx, name)
			if err != nil {
				return err
			}
			v, err := o.VerifyLog(c.ctx, id)
			shown := verifiedJSON{Account: name, Whole: true, Entries: v.Entries, Pruned: v.Head.Pruned, Newest: v.Head.Number, Hash: v.Head.Hash.String()}
			var broken *audit.Broken
			if errors.As(err, &broken) {
				shown.Whole, shown.Broken, shown.Why, err = false, broken.Number, broken.Why, nil
			}
			checked = append(checked, shown)
			return err
		}
		if k.Account != "" {
			if err := check(k.Account); err != nil {
				return err
			}
			return c.showVerified(checked)
		}
		if err := check(""); err != nil {
			return err
		}
		for after := ""; ; {
			page, err := o.Accounts.List(c.ctx, after, listPage)
			if err != nil {
				return err
			}
			for _, a := range page {
				after = a.Username
				if err := check(a.Username); err != nil {
					return err
				}
			}
			if len(page) < listPage {
				return c.showVerified(checked)
			}
		}
	})
}

// showVerified shows logs that were checked, and fails where one is broken.
func (c *console) showVerified(list []verifiedJSON) error {
	broken := 0
	for _, v := range list {
		if !v.Whole {
			broken++
		}
	}
	if c.json {
		c.print(struct {
			Logs []verifiedJSON `json:"logs"`
		}{list})
	} else {
		c.table(func(row func(...any)) {
			row("LOG", "ENTRIES", "NEWEST", "HASH", "STATE")
			for _, v := range list {
				name, state := v.Account, "whole"
				if name == "" {
					name = "(operator)"
				}
				if !v.Whole {
					state = fmt.Sprintf("broken at entry %d, which %s", v.Broken, v.Why)
				}
				row(name, v.Entries, v.Newest, v.Hash, state)
			}
		})
	}
	if broken == 0 {
		return nil
	}
	message := ""
	if !c.json {
		message = fmt.Sprintf("%d of %d logs are not as they were written", broken, len(list))
	}
	return &failure{exitFailed, message}
}
