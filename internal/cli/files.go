package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"ql/internal/engine"
	"ql/internal/fault"
	"ql/internal/operator"
	"ql/internal/resource/files"
	"ql/lang/value"
)

// filesCommand is ql files. Its commands work on the data folder, while a
// server runs or not.
type filesCommand struct {
	remoteSettings

	List   filesList   `cmd:"" help:"List a folder."`
	Get    filesGet    `cmd:"" help:"Bring a file out."`
	Put    filesPut    `cmd:"" help:"Bring a file in, in place of one that is there."`
	Remove filesRemove `cmd:"" help:"Remove a file or an empty folder."`
}

func newFilesCommand() filesCommand {
	return filesCommand{remoteSettings: newRemoteSettings("data", "database", "database-direct", "blobs", "master-key-file")}
}

// files does something with the files of an account.
func (k *filesCommand) files(c *console, account string, do func(*operator.Operator, *files.Tree) error) error {
	return k.with(c, false, func(o *operator.Operator) error {
		err := o.Files(c.ctx, account, func(t *files.Tree) error { return do(o, t) })
		var e *value.Error
		if errors.As(err, &e) {
			return fault.New(fault.Code(e.Code), "%s", e.Message)
		}
		return err
	})
}

type filesList struct {
	who
	Path string `arg:"" optional:"" default:"/" help:"The folder (${default})."`
}

// Run implements the command.
func (k *filesList) Run(c *console, line *commands) error {
	if line.Files.Server != "" {
		return k.remote(c, &line.Files.remoteSettings)
	}
	return line.Files.files(c, k.Account, func(_ *operator.Operator, t *files.Tree) error {
		var infos []engine.FileInfo
		for f, err := range t.List(c.ctx, k.Path, "") {
			if err != nil {
				return err
			}
			infos = append(infos, f)
		}
		c.showFiles(filesJSON(infos))
		return nil
	})
}

func (c *console) showFiles(list []fileJSON) {
	if c.json {
		c.print(struct {
			Files []fileJSON `json:"files"`
		}{list})
		return
	}
	c.table(func(row func(...any)) {
		row("NAME", "BYTES", "WRITTEN")
		for _, f := range list {
			if f.Folder {
				row(printable(f.Name)+"/", "", moment(f.Modified))
			} else {
				row(printable(f.Name), f.Size, moment(f.Modified))
			}
		}
	})
}

// fileJSON is a file or folder in a list.
type fileJSON struct {
	Path     string    `json:"path"`
	Name     string    `json:"name"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	Folder   bool      `json:"folder"`
}

func filesJSON(infos []engine.FileInfo) []fileJSON {
	list := []fileJSON{}
	for _, f := range infos {
		list = append(list, fileJSON(f))
	}
	return list
}

// theFile is the file that a command is about.
type theFile struct {
	who
	Path string `arg:"" help:"The file in the account, such as /reports/june.csv."`
}

type filesGet struct {
	theFile
	File string `arg:"" optional:"" default:"-" help:"Where to write it; standard output where left out."`
}

// Run implements the command.
func (k *filesGet) Run(c *console, line *commands) error {
	if line.Files.Server != "" {
		return k.remote(c, &line.Files.remoteSettings)
	}
	return line.Files.files(c, k.Account, func(o *operator.Operator, t *files.Tree) (err error) {
		content, err := t.Open(c.ctx, k.Path)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, content.Close()) }()
		if err := o.LogExport(c.ctx, k.Account, "file "+k.Path); err != nil {
			return err
		}
		return k.save(c, stoppable{c.ctx, content}, content.Size())
	})
}

// save writes a file where it is to go.
func (k *filesGet) save(c *console, from io.Reader, size int64) error {
	if k.File == "-" {
		_, err := io.Copy(c.out, from)
		return err
	}
	if err := writeWhole(k.File, from); err != nil {
		return err
	}
	c.said("%s: %s", k.File, value.FormatByteCount(size))
	return nil
}

// stoppable ends a long copy when the command is asked to end.
type stoppable struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.Reader.Read(p)
}

// writeWhole writes a file: all of it, or it stays as it was.
func writeWhole(name string, from io.Reader) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return usage("%s is a folder: say what the file is to be called in it", name)
	}
	folder := filepath.Dir(name)
	f, err := os.CreateTemp(folder, ".ql-get-*")
	if errors.Is(err, fs.ErrNotExist) {
		return usage("%s cannot be written: there is no folder %s; make it first, or name another one", name, folder)
	}
	if err != nil {
		return usage("%s", cannotWrite(name, err))
	}
	_, err = io.Copy(f, from)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(cannotWrite(name, err), os.Remove(f.Name()))
	}
	return nil
}

// cannotWrite makes an error of the system, which knows a file by the name that it
// has until it is whole, one about the file. Others come back as they are.
func cannotWrite(name string, err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path) && filepath.Dir(path.Path) == filepath.Dir(name):
		return fmt.Errorf("%s cannot be written: %w", name, path.Err)
	case errors.As(err, &link):
		return fmt.Errorf("%s cannot be written: %w", name, link.Err)
	}
	return err
}

type filesPut struct {
	theFile
	File string `arg:"" optional:"" default:"-" help:"What to bring in; standard input where left out."`
}

// Run implements the command.
func (k *filesPut) Run(c *console, line *commands) error {
	from, size := io.Reader(c.in), int64(-1)
	if k.File != "-" {
		f, err := os.Open(k.File)
		if err != nil {
			return usage("%s", plainError(err))
		}
		defer func() { _ = f.Close() }() // it was only read
		info, err := f.Stat()
		if err != nil {
			return usage("%s", plainError(err))
		}
		if info.IsDir() {
			return usage("%s is a folder: files are brought in one by one", k.File)
		}
		if info.Mode().IsRegular() {
			size = info.Size()
		}
		from = f
	}
	counted := &countedReader{Reader: stoppable{c.ctx, from}}
	if line.Files.Server != "" {
		return k.remote(c, &line.Files.remoteSettings, counted, size)
	}
	return line.Files.files(c, k.Account, func(_ *operator.Operator, t *files.Tree) error {
		tag, err := t.Upload(c.ctx, k.Path, counted, files.Upload{Size: size})
		if err != nil {
			return err
		}
		c.showStored(storedJSON{"ok", k.Path, counted.read, `"` + tag + `"`})
		return nil
	})
}

// storedJSON is a file that was brought in, as PUT /v1/files/{path} shows it.
type storedJSON struct {
	Status string `json:"status"`
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	ETag   string `json:"etag"`
}

func (c *console) showStored(s storedJSON) {
	if c.json {
		c.print(s)
		return
	}
	fmt.Fprintf(c.out, "%s: %s\n", printable(s.Path), value.FormatByteCount(s.Size))
}

// countedReader counts what is read.
type countedReader struct {
	io.Reader
	read int64
}

// Read implements io.Reader.
func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.read += int64(n)
	return n, err
}

type filesRemove struct{ theFile }

// Run implements the command.
func (k *filesRemove) Run(c *console, line *commands) error {
	if line.Files.Server != "" {
		return k.remote(c, &line.Files.remoteSettings)
	}
	return line.Files.files(c, k.Account, func(_ *operator.Operator, t *files.Tree) error {
		if err := t.Remove(c.ctx, k.Path); err != nil {
			return err
		}
		c.saidRemoved(k.Path)
		return nil
	})
}

func (c *console) saidRemoved(path string) { c.said("%s is removed", printable(path)) }
