package engine

import (
	"errors"
	"io"

	"ql/lang/lib"
	"ql/lang/value"
)

const (
	// streamBytes is what a file holds in memory that is written as a stream.
	streamBytes = 256 << 10
	// flushBytes is how many bytes of rows are written to it at once.
	flushBytes = 64 << 10
)

// sqlFile has the rows of a statement written to a file. What is read can be read again, so
// that only the file has to be there once, with the result.
func sqlFile(c *call) (value.Value, error) {
	last := len(c.args) - 1
	path, err := c.path(last)
	if err != nil {
		return value.Null, err
	}
	format := lib.RowsFormat(path)
	switch {
	case format == "":
		return value.Null, value.Errorf(value.BadArgument, "%s", lib.RowsFormatHelp(path))
	case c.o.Databases == nil:
		return value.Null, missing("databases")
	case c.o.Files == nil:
		return value.Null, missing("files")
	}
	c.meter.Alloc(streamBytes)
	return value.Null, c.o.Files.WriteStream(c.ctx, path, func(to io.Writer) error {
		return limited(func() error {
			sink := &fileSink{call: c, format: format, to: to}
			q := Query{Statement: c.effect.Statement, Params: c.args[:last], Meter: c.meter, Rows: sink}
			if _, err := c.o.Databases.Query(c.ctx, c.database(), q); err != nil {
				return err
			}
			return sink.end()
		})
	}, c.checkpoint)
}

// limited returns a limit that f passes as an error: what f is called by has to tidy up.
func limited(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			l, ok := r.(*value.LimitError)
			if !ok {
				panic(r)
			}
			err = l
		}
	}()
	return f()
}

// fileSink writes rows to a file, piece by piece.
type fileSink struct {
	*call
	format string
	to     io.Writer
	out    *lib.RowWriter
}

// Columns implements RowSink.
func (s *fileSink) Columns(names []string) error {
	var err *value.Error
	if s.out, err = lib.NewRowWriter(s.meter, s.format, names); err != nil {
		return err
	}
	return nil
}

// Row implements RowSink.
func (s *fileSink) Row(cells []value.Value) error {
	if err := s.out.Row(cells); err != nil {
		return err
	}
	if s.out.Len() < flushBytes {
		return nil
	}
	return s.flush()
}

func (s *fileSink) end() error {
	if s.out == nil {
		return errors.New("engine: a statement whose rows have no columns")
	}
	s.out.End()
	return s.flush()
}

func (s *fileSink) flush() error {
	b := s.out.Drain()
	s.meter.WorkBytes(len(b))
	Yield(s.ctx) // it may wait for the disk
	_, err := s.to.Write(b)
	return err
}
