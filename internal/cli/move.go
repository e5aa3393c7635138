package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"ql/internal/config"
	"ql/internal/move"
	"ql/internal/operator"
)

// moveCommand is ql move.
type moveCommand struct {
	From      string `required:"" placeholder:"PLACE" help:"Where all is now: a data folder, or postgres://user@host/database."`
	FromData  string `placeholder:"FOLDER" help:"The data folder of the first node, where that is a database."`
	FromBlobs string `placeholder:"URL" help:"The bucket that has the contents of files, such as s3://bucket/prefix?region=eu-central-1, where they are in one."`

	To      string `placeholder:"PLACE" help:"Where all is to be, which must be empty: a data folder, or postgres://user@host/database."`
	ToData  string `placeholder:"FOLDER" help:"The data folder of the first node, where that is a database."`
	ToBlobs string `placeholder:"URL" help:"The bucket for the contents of files."`

	MasterKeyFile string `env:"QL_MASTER_KEY_FILE" placeholder:"FILE" help:"The file of the master key, for both sides (master.key in each data folder)."`

	Undo bool `help:"Let what was moved away from --from serve again, as it was then: where it was moved to must serve no more."`
}

// side are the settings of one side.
func (k *moveCommand) side(flag, place, data, blobs string) (config.Settings, error) {
	flags := map[string]string{}
	isDatabase := strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://")
	switch {
	case isDatabase && data == "":
		return config.Settings{}, usage("%s is a database: name the data folder of its first node by %s-data", flag, flag)
	case isDatabase:
		flags["database"] = place
	case strings.Contains(place, "://"):
		return config.Settings{}, usage("%s must be a data folder, or like postgres://user@host/database", flag)
	case data != "":
		return config.Settings{}, usage("%s is a data folder: %s-data is for a database", flag, flag)
	default:
		data = place
	}
	// What is said of it is read elsewhere, and later.
	folder, err := filepath.Abs(data)
	if err != nil {
		return config.Settings{}, err
	}
	flags["data"] = folder
	if blobs != "" {
		flags["blobs"] = blobs
	}
	if k.MasterKeyFile != "" {
		flags["master-key-file"] = k.MasterKeyFile
	}
	// Nothing else decides where a side is.
	s, err := config.Load(config.Sources{Flags: flags, Env: func(string) (string, bool) { return "", false }})
	if err != nil {
		return config.Settings{}, usage("%s: %s", flag, err)
	}
	return s, nil
}

// Run implements the command.
func (k *moveCommand) Run(c *console) error {
	from, err := k.side("--from", k.From, k.FromData, k.FromBlobs)
	if err != nil {
		return err
	}
	if k.Undo {
		if k.To != "" || k.ToData != "" || k.ToBlobs != "" {
			return usage("--undo takes --from alone")
		}
		if err := operator.UndoMove(c.ctx, from); err != nil {
			return err
		}
		c.said("it serves again as it was: where it was moved to must serve no more")
		return nil
	}
	if k.To == "" {
		return usage("say where to, by --to")
	}
	to, err := k.side("--to", k.To, k.ToData, k.ToBlobs)
	if err != nil {
		return err
	}
	counts, err := operator.Move(c.ctx, from, to, c.showMove())
	if err != nil {
		return err
	}
	if c.json {
		c.print(struct {
			Status string `json:"status"`
			move.Counts
		}{"ok", counts})
		return nil
	}
	if counts.Before {
		fmt.Fprintln(c.out, "all was moved before: start the server there")
		return nil
	}
	fmt.Fprintf(c.out, "moved and verified: %d rows of %s, %d contents of files, %s; %s\n", counts.Rows, counted(counts.Tables, "table"), counts.Blobs, counted(int(counts.Databases), "database"), bytesText(counts.Bytes))
	if counts.Replaced > 0 {
		fmt.Fprintf(c.err, "note: in %d texts there was what a database cannot keep (U+0000, or no UTF-8): it is U+FFFD now\n", counts.Replaced)
	}
	fmt.Fprintln(c.err, "note: start the server there now; what is left behind serves no more, and may be removed when you are content")
	return nil
}

// moveEvery is how often it is shown how far a table has come.
const moveEvery = 2 * time.Second

// showMove returns what shows how far a move has come.
func (c *console) showMove() func(move.Progress) {
	if c.json {
		return nil
	}
	last := c.clock()
	return func(p move.Progress) {
		now := c.clock()
		short := p.Done && p.Rows > 0 && p.Stage == move.Copying
		if !short && now.Sub(last) < moveEvery {
			return
		}
		last = now
		more := ""
		if !p.Done {
			more = " so far"
		}
		size := ""
		if p.Bytes > 0 {
			size = ", " + bytesText(p.Bytes)
		}
		fmt.Fprintf(c.err, "%s %s: %d%s%s\n", p.Stage, p.Name, p.Rows, size, more)
	}
}
