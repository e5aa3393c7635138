package cli

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"unicode"
)

// lineReader reads what a person or a pipe says, line by line, and does not
// keep a waiting command from ending.
type lineReader struct {
	from    io.Reader
	buffer  *bufio.Reader
	results chan lineResult // of the read under way, nil without one
}

type lineResult struct {
	line string
	err  error
}

func newLineReader(from io.Reader) *lineReader {
	return &lineReader{from: from, buffer: bufio.NewReader(from)}
}

// Read implements io.Reader, for input that is not read line by line.
func (r *lineReader) Read(p []byte) (int, error) { return r.buffer.Read(p) }

// line returns the next line without its end. At the end of input the error is
// io.EOF.
func (r *lineReader) line(ctx context.Context) (string, error) {
	if r.results == nil {
		// A read cannot be interrupted: where the context ends first, the
		// goroutine waits on, and its line goes to whoever asks next.
		results := make(chan lineResult, 1)
		r.results = results
		go func() {
			line, err := r.buffer.ReadString('\n')
			if line != "" {
				err = nil
			}
			results <- lineResult{strings.TrimRight(line, "\r\n"), err}
		}()
	}
	select {
	case result := <-r.results:
		r.results = nil
		return result.line, result.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// terminal reports whether somebody types what is read.
func (r *lineReader) terminal() bool {
	f, ok := r.from.(*os.File)
	return ok && hasTerminal(f)
}

// secret is line for what must not be seen on the screen, after a question there.
func (r *lineReader) secret(ctx context.Context, screen io.Writer, question string) (string, error) {
	// Hidden before the question, which may be answered at once.
	if f, ok := r.from.(*os.File); ok {
		if restore, ok := hideInput(f); ok {
			defer func() {
				restore()
				_, _ = io.WriteString(screen, "\n") // the one that was typed was hidden too
			}()
		}
	}
	_, _ = io.WriteString(screen, question)
	return r.line(ctx)
}

// printable keeps a terminal safe from what a script wants people to read.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// isTerminal reports whether w writes to a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && hasTerminal(f)
}
