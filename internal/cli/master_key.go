package cli

import (
	"fmt"

	"ql/internal/operator"
)

// masterKeyCommand is ql master-key.
type masterKeyCommand struct {
	settings

	Rotate masterKeyRotate `cmd:"" help:"Make a new master key and seal everything anew under it, while no server runs."`
}

func newMasterKeyCommand() masterKeyCommand {
	return masterKeyCommand{settings: newSettings("data", "database", "database-direct", "blobs", "master-key-file")}
}

type masterKeyRotate struct{}

// Run implements the command.
func (k *masterKeyRotate) Run(c *console, line *commands) error {
	s, err := line.MasterKey.load()
	if err != nil {
		return err
	}
	r, err := operator.RotateMasterKey(c.ctx, s)
	if err != nil {
		return err
	}
	if c.json {
		c.print(struct {
			Done       bool     `json:"done"`
			Resumed    bool     `json:"resumed"`
			Resealed   int      `json:"resealed"`
			Unreadable int      `json:"unreadable"`
			Waiting    int      `json:"waiting"`
			Unread     []string `json:"unread_databases,omitempty"`
		}{r.Done, r.Resumed, r.Resealed, r.Unreadable, r.Waiting, r.Unread})
		return nil
	}
	if r.Resumed {
		fmt.Fprintln(c.out, "an earlier rotation was interrupted, and goes on")
	}
	fmt.Fprintf(c.out, "%d records are sealed under the new master key in %s\n", r.Resealed, s.MasterKeyPath())
	if r.Unreadable > 0 {
		fmt.Fprintf(c.err, "note: %d records are opened by no key, and stay as they are\n", r.Unreadable)
	}
	for _, one := range r.Unread {
		fmt.Fprintf(c.err, "note: a database cannot be read, so the key before stays in the file until it is removed or mended and this command is run again: %s\n", one)
	}
	if r.Waiting > 0 {
		fmt.Fprintf(c.err, "note: %d jobs are not finished and have receipts in databases under the key before: it stays in the file, to open them, until this command is run after they have ended\n", r.Waiting)
	}
	if !r.Done {
		return nil
	}
	fmt.Fprintln(c.err, "note: the key before opens nothing in this data folder any more: a backup from before needs it, so keep it with those")
	return nil
}
