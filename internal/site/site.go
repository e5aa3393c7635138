// Package site says what of an account's files is its site: which file answers a path, which are
// never served, and what type each has. It looks at names alone, through a small interface, so
// that a site in the store and one in a folder of a developer are routed alike. Running a page
// and sending a file are for others.
package site

import (
	"context"
	"slices"
	"strings"
)

// Root is the folder of an account's files that is its site.
const Root = "/site"

// Kind is what stands at a path.
type Kind uint8

// The kinds.
const (
	None Kind = iota
	File
	Folder
)

// Tree is a tree of files, as routing asks about it. A path that no file can have is None.
type Tree interface {
	// Kinds tells what stands at each of some paths.
	Kinds(ctx context.Context, paths []string) ([]Kind, error)
	// Patterns returns the names in a folder that begin with a bracket, in their order and no
	// more than so many.
	Patterns(ctx context.Context, folder string, most int) ([]string, error)
}

// Param is a part of a path that a file's name has a pattern for.
type Param struct{ Name, Value string }

// Target is what answers a request.
type Target struct {
	Kind   TargetKind
	Path   string // of the file
	Params []Param
	// Release is the release of the site that the file is of; 0 for the files as they are.
	Release int64
}

// TargetKind is how a request is answered.
type TargetKind uint8

// The ways.
const (
	Missing   TargetKind = iota
	Static               // the file is sent
	Script               // the file is run
	AddSlash             // the address is that of a folder, and wants a slash at its end: there the file answers
	NotServed            // nothing may be here, whatever the files are
)

// scriptEnding ends the names of files that are run.
const scriptEnding = ".ql"

// The endings that an address may leave out, and the names that answer for a folder, in their order.
var (
	endings = []string{scriptEnding, ".html"}
	indexes = []string{"index.ql", "index.html"}
	missing = []string{"404.ql", "404.html"}
)

// mostLookups is how many folders are looked at for one path. A tree in which each part stands
// twice, as itself and as a pattern, would have as many as its owner made folders.
const mostLookups = 64

// mostPatterns is how many patterns of a folder are looked at.
const mostPatterns = 8

// IsServed tells whether a name may be part of an address: names that begin with _ or . are the
// site's own, but for .well-known, and those of patterns stand for others.
func IsServed(name string) bool {
	if name == ".well-known" {
		return true
	}
	return name != "" && !strings.ContainsRune("_.[", rune(name[0]))
}

// Find returns what answers the path of a request: decoded, beginning with a slash, without empty
// parts but for the one behind a last slash. It is the first of: the file, the script or page of
// that name, the folder, and then of what has patterns, the part that is there winning from the
// left.
func Find(ctx context.Context, tree Tree, path string) (Target, error) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, part := range parts {
		if !IsServed(part) && (part != "" || i != len(parts)-1) {
			return Target{Kind: NotServed}, nil
		}
	}
	f := finder{ctx: ctx, tree: tree, parts: parts}
	return f.find(Root, 0, nil)
}

// FileAt returns what answers where it is known which file does.
func FileAt(ctx context.Context, tree Tree, path string) (Target, error) {
	t, _, err := firstFile(ctx, tree, []string{path}, nil)
	return t, err
}

// NotFoundPage returns the page for what is not there: the nearest 404 page, from the folder of the
// path up to the root.
func NotFoundPage(ctx context.Context, tree Tree, path string) (Target, error) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if i := slices.IndexFunc(parts, func(part string) bool { return !IsServed(part) }); i >= 0 {
		parts = parts[:i+1]
	}
	var paths []string
	for n := min(len(parts)-1, mostLookups/len(missing)); n >= 0; n-- {
		folder := strings.Join(append([]string{Root}, parts[:n]...), "/")
		for _, name := range missing {
			paths = append(paths, folder+"/"+name)
		}
	}
	t, _, err := firstFile(ctx, tree, paths, nil)
	return t, err
}

// firstFile returns the first of some paths at which there is a file.
func firstFile(ctx context.Context, tree Tree, paths []string, params []Param) (t Target, found bool, err error) {
	kinds, err := tree.Kinds(ctx, paths)
	if err != nil {
		return t, false, err
	}
	for i, kind := range kinds {
		if kind == File {
			return fileTarget(paths[i], params), true, nil
		}
	}
	return t, false, nil
}

func fileTarget(path string, params []Param) Target {
	return Target{Kind: KindOf(path), Path: path, Params: params}
}

// KindOf tells how a file answers: scripts are run.
func KindOf(path string) TargetKind {
	if strings.HasSuffix(path, scriptEnding) {
		return Script
	}
	return Static
}

// finder finds the file of one path.
type finder struct {
	ctx     context.Context
	tree    Tree
	parts   []string
	lookups int
}

// find returns what answers the parts from at on, in a folder.
func (f *finder) find(folder string, at int, params []Param) (Target, error) {
	if f.lookups++; f.lookups > mostLookups {
		return Target{}, nil
	}
	part, last := f.parts[at], at == len(f.parts)-1
	if last && part == "" {
		return f.index(folder, at, params)
	}
	if last {
		if t, found, err := f.named(folder, part, params); found || err != nil {
			return t, err
		}
	} else if kinds, err := f.tree.Kinds(f.ctx, []string{folder + "/" + part}); err != nil {
		return Target{}, err
	} else if kinds[0] == Folder {
		if t, err := f.find(folder+"/"+part, at+1, params); t.Kind != Missing || err != nil {
			return t, err
		}
	}
	return f.matched(folder, at, params)
}

// index returns what answers for a folder.
func (f *finder) index(folder string, at int, params []Param) (Target, error) {
	paths := make([]string, len(indexes))
	for i, name := range indexes {
		paths[i] = folder + "/" + name
	}
	if t, found, err := firstFile(f.ctx, f.tree, paths, params); found || err != nil {
		return t, err
	}
	return f.rest(folder, at, params, nil)
}

// named returns what has the name of the last part.
func (f *finder) named(folder, part string, params []Param) (t Target, found bool, err error) {
	path := folder + "/" + part
	paths := make([]string, 0, 1+len(endings))
	if !strings.HasSuffix(part, scriptEnding) { // the text of a script is nobody's business
		paths = append(paths, path)
	}
	for _, ending := range endings {
		paths = append(paths, path+ending)
	}
	if t, found, err = firstFile(f.ctx, f.tree, paths, params); found || err != nil {
		return t, found, err
	}
	return f.folder(path, params)
}

// folder returns that an address wants a slash, where it is that of a folder which answers.
func (f *finder) folder(path string, params []Param) (t Target, found bool, err error) {
	paths := make([]string, len(indexes))
	for i, name := range indexes {
		paths[i] = path + "/" + name
	}
	if t, found, err = firstFile(f.ctx, f.tree, paths, params); found {
		t.Kind = AddSlash
	}
	return t, found, err
}

// matched returns what answers by a pattern: for one part, then for all that follow.
func (f *finder) matched(folder string, at int, params []Param) (Target, error) {
	names, err := f.tree.Patterns(f.ctx, folder, mostPatterns)
	if err != nil || len(names) == 0 {
		return Target{}, err
	}
	last := at == len(f.parts)-1
	for _, p := range patterns(names) {
		if p.rest || !last && p.ending != "" {
			continue
		}
		with := append(params[:len(params):len(params)], Param{p.param, f.parts[at]})
		path := folder + "/" + p.name
		var t Target
		switch {
		case !last:
			t, err = f.find(path, at+1, with)
		case p.ending == "":
			t, _, err = f.folder(path, with)
		default:
			t, _, err = firstFile(f.ctx, f.tree, []string{path}, with)
		}
		if t.Kind != Missing || err != nil {
			return t, err
		}
	}
	return f.rest(folder, at, params, names)
}

// rest returns what answers for all parts from at on; names are the patterns of the folder, nil
// where they are not known.
func (f *finder) rest(folder string, at int, params []Param, names []string) (Target, error) {
	if names == nil {
		var err error
		if names, err = f.tree.Patterns(f.ctx, folder, mostPatterns); err != nil {
			return Target{}, err
		}
	}
	for _, p := range patterns(names) {
		if !p.rest {
			continue
		}
		with := append(params[:len(params):len(params)], Param{p.param, strings.Join(f.parts[at:], "/")})
		if t, found, err := firstFile(f.ctx, f.tree, []string{folder + "/" + p.name}, with); found || err != nil {
			return t, err
		}
	}
	return Target{}, nil
}

// pattern is the name of a file or folder that stands for others.
type pattern struct {
	name   string
	param  string
	rest   bool   // it stands for all parts that follow
	ending string // "" of a folder
}

// patterns reads names, those of scripts first, then those of pages, then those of folders.
func patterns(names []string) []pattern {
	var list []pattern
	for _, ending := range append(endings[:len(endings):len(endings)], "") {
		for _, name := range names {
			if p, ok := parsePattern(name); ok && p.ending == ending {
				list = append(list, p)
			}
		}
	}
	return list
}

// parsePattern reads [name], [name].ql, [name].html, [...name].ql and [...name].html.
func parsePattern(name string) (p pattern, ok bool) {
	inside, ok := strings.CutPrefix(name, "[")
	if !ok {
		return p, false
	}
	p.name = name
	if p.param, p.ending, ok = strings.Cut(inside, "]"); !ok {
		return p, false
	}
	p.param, p.rest = strings.CutPrefix(p.param, "...")
	return p, isParamName(p.param) && (p.ending != "" || !p.rest)
}

// isParamName tells whether a name of a pattern is one that a script can ask for.
func isParamName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
