package cli

import (
	"errors"
	"strconv"
	"time"

	"ql/internal/audit"
	"ql/internal/fault"
	"ql/internal/operator"
	"ql/internal/remote"
	"ql/internal/resource/files"
	"ql/lang/value"
)

// siteCommand is ql site. Its commands work on the data folder, while a server runs or not.
type siteCommand struct {
	remoteSettings

	Releases siteReleases `cmd:"" help:"List the releases of a site, the newest first."`
	Restore  siteRestore  `cmd:"" help:"Bring a release back."`

	Domain siteDomainCommand `cmd:"" help:"Have the site served at domains of its owner's."`
}

func newSiteCommand() siteCommand {
	return siteCommand{remoteSettings: newRemoteSettings("data", "database", "database-direct", "blobs", "master-key-file")}
}

// releaseJSON is a release, as GET /v1/sites/main/releases shows it.
type releaseJSON struct {
	Number   int64     `json:"number"`
	Made     time.Time `json:"made_at"`
	By       string    `json:"by"`
	Key      *string   `json:"key"`
	Restored *int64    `json:"restored"`
	Files    int64     `json:"files"`
	Bytes    int64     `json:"bytes"`
}

func releaseOf(r files.Release) releaseJSON {
	shown := releaseJSON{Number: r.Number, Made: r.Made, By: r.By, Files: r.Files, Bytes: r.Bytes}
	if r.Key != "" {
		shown.Key = &r.Key
	}
	if r.Restored > 0 {
		shown.Restored = &r.Restored
	}
	return shown
}

type siteReleases struct{ who }

// Run implements the command.
func (k *siteReleases) Run(c *console, line *commands) error {
	var list []releaseJSON
	if s := &line.Site.remoteSettings; s.Server != "" {
		client, err := s.dial(c, k.Account)
		if err == nil {
			list, err = remote.List[releaseJSON](c.ctx, client, remote.Call{Method: remote.Get, Path: []string{"sites", "main", "releases"}}, "releases", "before", files.MaxReleases)
		}
		if err != nil {
			return err
		}
		c.showReleases(list)
		return nil
	}
	return line.Site.with(c, false, func(o *operator.Operator) error {
		return o.Files(c.ctx, k.Account, func(t *files.Tree) error {
			found, err := t.Releases(c.ctx, 0, files.MaxReleases)
			list = []releaseJSON{}
			for _, r := range found {
				list = append(list, releaseOf(r))
			}
			c.showReleases(list)
			return err
		})
	})
}

func (c *console) showReleases(list []releaseJSON) {
	if c.json {
		c.print(struct {
			Releases []releaseJSON `json:"releases"`
		}{list})
		return
	}
	c.table(func(row func(...any)) {
		row("RELEASE", "MADE", "BY", "FILES", "BYTES", "STATE")
		for i, r := range list {
			by, state := r.By, "earlier"
			if r.Key != nil {
				by += " " + printable(*r.Key)
			}
			if i == 0 {
				state = "current"
			}
			if r.Restored != nil {
				state += ", restored " + strconv.FormatInt(*r.Restored, 10)
			}
			row(r.Number, moment(r.Made), by, r.Files, r.Bytes, state)
		}
	})
}

type siteRestore struct {
	who
	Release int64 `arg:"" help:"The number of the release."`
}

// Run implements the command.
func (k *siteRestore) Run(c *console, line *commands) error {
	if s := &line.Site.remoteSettings; s.Server != "" {
		var answer struct{ Release releaseJSON }
		call := remote.Call{Method: remote.Post, Path: []string{"sites", "main", "releases", strconv.FormatInt(k.Release, 10), "restore"}}
		if err := c.ask(s, k.Account, call, &answer); err != nil {
			return err
		}
		c.showRestored(k.Release, answer.Release)
		return nil
	}
	return line.Site.with(c, false, func(o *operator.Operator) error {
		return o.Files(c.ctx, k.Account, func(t *files.Tree) error {
			r, _, err := t.Deploy(c.ctx, nil, files.Deployment{By: string(audit.ByOperator), Restore: k.Release})
			var known *value.Error
			switch {
			case errors.Is(err, files.ErrNoRelease):
				return fault.New(fault.NotFound, "the site has no release %d, or has it no more: the newest %d are kept", k.Release, files.MaxReleases)
			case errors.As(err, &known):
				return fault.New(fault.Code(known.Code), "%s", known.Message)
			case err != nil:
				return err
			}
			c.showRestored(k.Release, releaseOf(r))
			return nil
		})
	})
}

func (c *console) showRestored(number int64, r releaseJSON) {
	if c.json {
		c.print(struct {
			Status  string      `json:"status"`
			Release releaseJSON `json:"release"`
		}{"ok", r})
		return
	}
	c.said("the site is as release %d was: release %d", number, r.Number)
}
