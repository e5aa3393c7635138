// Package lang makes programs of script texts: it parses a script and all it
// includes, resolves their names and compiles them, and caches what it compiled in
// a Cache. Running them is package vm's.
package lang

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"

	"ql/lang/bytecode"
	"ql/lang/compile"
	"ql/lang/resolve"
	"ql/lang/source"
	"ql/lang/syntax"
)

// Options say how a script is compiled. The zero value refuses INCLUDE.
type Options struct {
	// Include returns the text of an included file of the script's account.
	Include func(path string) (string, error)
	// MaxBytes bounds a script and all that it includes together; 0 for no bound.
	MaxBytes int
	// Reserve, where there is one, is asked for the memory that compiling a text takes
	// at the most, before each text but short ones, and Yield now and then. An error of
	// either ends the compiling, and is returned.
	Reserve func(bytes int64) error
	Yield   func() error
}

const (
	// memoryPerByte is what compiling takes for each byte of a text at the most, tree and
	// program together; see TestCompileMemory.
	memoryPerByte = 160
	// unreserved is the longest text whose memory is not worth being counted.
	unreserved = 4 << 10
)

// maxIncludes bounds how many files a script may include.
const maxIncludes = 100

// Compile makes a program of a script. The error is a source.Errors with
// everything found, or that of one of the options.
func Compile(text string, o Options) (*bytecode.Program, error) {
	p, _, err := compileScript(text, o)
	return p, err
}

// Check returns the errors of a script, or nil.
func Check(text string, o Options) source.Errors {
	_, _, err := compileScript(text, o)
	var errs source.Errors
	errors.As(err, &errs)
	return errs
}

// Warnings returns what a script that has no errors may not mean as it says it.
func Warnings(text string) source.Errors {
	script, errs := syntax.Parse(source.NewFile("", text))
	if len(errs) > 0 {
		return nil
	}
	return syntax.Warnings(script)
}

// file is an included file: its path and the hash of its text.
type file struct {
	path string
	hash [sha256.Size]byte
}

func compileScript(text string, o Options) (p *bytecode.Program, _ []file, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case source.Interrupted:
			p, err = nil, r.Err
		default:
			panic(r)
		}
	}()
	l := loader{o: &o, yield: source.NewYield(o.Yield), seen: map[string]bool{}}
	l.reserve(text)
	script, errs := syntax.ParseYielding(source.NewFile("", text), l.yield)
	l.errs = errs
	l.includes(script)
	if len(l.errs) > 0 {
		l.errs.Sort()
		return nil, nil, l.errs
	}
	res, errs := resolve.Resolve(script, l.scripts, l.yield)
	if len(errs) > 0 {
		return nil, nil, errs
	}
	p, errs = compile.Compile(res, identity(text, l.files), l.yield)
	if len(errs) > 0 {
		return nil, nil, errs
	}
	return p, l.files, nil
}

// loader reads and parses the files that a script includes, each once.
type loader struct {
	o       *Options
	yield   *source.Yield
	bytes   int // of all texts so far
	seen    map[string]bool
	scripts []*syntax.Script
	files   []file
	errs    source.Errors
}

// reserve counts a text before it is read through.
func (l *loader) reserve(text string) {
	l.bytes += len(text)
	if l.o.Reserve == nil || len(text) <= unreserved {
		return
	}
	if err := l.o.Reserve(memoryPerByte * int64(len(text))); err != nil {
		panic(source.Interrupted{Err: err})
	}
}

func (l *loader) includes(s *syntax.Script) {
	for _, st := range s.Statements {
		inc, ok := st.(*syntax.Include)
		if !ok || inc.Path == nil {
			continue
		}
		path := plain(inc.Path)
		if l.seen[path] {
			continue
		}
		l.seen[path] = true
		if len(l.files) == maxIncludes {
			l.errs.Add(s.File, inc.Pos(), inc.End(), "a script includes at most %d files", maxIncludes).As(source.BadInclude)
			return
		}
		if l.o.Include == nil {
			l.errs.Add(s.File, inc.Pos(), inc.End(), "there are no files to INCLUDE from here").As(source.BadInclude)
			continue
		}
		text, err := l.o.Include(path)
		if err != nil {
			l.errs.Add(s.File, inc.Path.Pos(), inc.Path.End(), "cannot include %s: %s", path, err).As(source.BadInclude)
			continue
		}
		if most := l.o.MaxBytes; most > 0 && l.bytes+len(text) > most {
			l.errs.Add(s.File, inc.Path.Pos(), inc.Path.End(), "with %s the script and what it includes have %d bytes, and may have %d together", path, l.bytes+len(text), most).As(source.BadInclude)
			return
		}
		l.reserve(text)
		l.files = append(l.files, file{path, sha256.Sum256([]byte(text))})
		script, errs := syntax.ParseYielding(source.NewFile(path, text), l.yield)
		l.errs = append(l.errs, errs...)
		l.scripts = append(l.scripts, script)
		l.includes(script)
	}
}

func plain(t *syntax.Text) string {
	var b strings.Builder
	for _, p := range t.Parts {
		b.WriteString(p.Plain)
	}
	return b.String()
}

// identity is what tells programs apart: the language's version, what the compiler
// makes of a text, the text, and each include's path and text.
func identity(text string, files []file) [sha256.Size]byte {
	h := sha256.New()
	var n [8]byte
	put := func(s string) {
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	for _, number := range []uint64{bytecode.Version, compile.Revision} {
		binary.LittleEndian.PutUint64(n[:], number)
		h.Write(n[:])
	}
	put(text)
	for _, f := range files {
		put(f.path)
		h.Write(f.hash[:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}
