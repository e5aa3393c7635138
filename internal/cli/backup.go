package cli

import (
	"errors"
	"fmt"

	"ql/internal/backup"
	"ql/internal/operator"
	"ql/lang/value"
)

// backupCommand is ql backup.
type backupCommand struct {
	settings

	Dest    string `arg:"" help:"A folder that is not there or empty, or a file that ends in .tar.gz or .tgz."`
	WithKey bool   `help:"Take the master key along: whoever has the backup can then read all secrets."`

	KeepGoing bool `help:"Where something of the data folder is missing or damaged, back up the rest, and end with an error."`
}

func newBackupCommand() backupCommand {
	return backupCommand{settings: newSettings("data", "database", "database-direct", "blobs", "master-key-file")}
}

// Run implements the command.
func (k *backupCommand) Run(c *console) error {
	return k.with(c, false, func(o *operator.Operator) error {
		version, _ := buildVersion()
		do := o.Backup
		if k.KeepGoing {
			do = o.BackupPartial
		}
		counts, err := do(c.ctx, k.Dest, version, k.WithKey)
		var incomplete *backup.Incomplete
		if err != nil && !(errors.As(err, &incomplete) && incomplete.Made) {
			return err
		}
		if !c.json || err == nil {
			c.showCounts("backed up", counts)
		}
		if err != nil {
			return err
		}
		if !k.WithKey && !c.json {
			fmt.Fprintln(c.err, "note: the master key is not in the backup: keep a copy of it elsewhere, a restore needs it")
		}
		return nil
	})
}

// restoreCommand is ql restore.
type restoreCommand struct {
	settings

	Src string `arg:"" help:"A backup: a folder, or a file that ends in .tar.gz or .tgz."`

	AcceptDamage bool `help:"Restore also a backup that lacks something, as ql backup --keep-going makes it."`
}

func newRestoreCommand() restoreCommand {
	return restoreCommand{settings: newSettings("data", "master-key-file")}
}

// Run implements the command.
func (k *restoreCommand) Run(c *console) error {
	s, err := k.load()
	if err != nil {
		return err
	}
	if !k.AcceptDamage {
		counts, err := backup.Restore(c.ctx, k.Src, s.Data, s.MasterKeyFile)
		if err == nil {
			c.showCounts("restored", counts)
		}
		return err
	}
	counts, problems, err := backup.RestoreIncomplete(c.ctx, k.Src, s.Data, s.MasterKeyFile)
	if err != nil {
		return err
	}
	c.showCounts("restored", counts)
	for _, p := range problems {
		fmt.Fprintf(c.err, "note: the backup lacks %s: %s\n", p.Name, p.What)
	}
	return nil
}

func (c *console) showCounts(what string, n backup.Counts) {
	if c.json {
		c.print(struct {
			Status string `json:"status"`
			backup.Counts
		}{"ok", n})
		return
	}
	fmt.Fprintf(c.out, "%s: %s of %s, %s; %s, %s\n", what, counted(n.Databases, "database"), counted(n.Accounts, "account"),
		counted(n.Blobs, "blob"), counted(n.Files, "file"), bytesText(n.Bytes))
	if n.Interrupted > 0 {
		fmt.Fprintf(c.out, "while their account's databases were copied %s ran: in the backup they are ended, as failed\n", counted(n.Interrupted, "job"))
	}
}

// counted is a number of things.
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// bytesText writes a number of bytes for people.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return value.FormatByteCount(n)
}
