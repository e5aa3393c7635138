package files

import (
	"context"
	"path"
	"strings"

	"ql/internal/engine"
)

// Stat tells what stands at each of some paths; the zero FileInfo where there is nothing, as at a
// path that cannot be used.
func (t *Tree) Stat(ctx context.Context, paths []string) ([]engine.FileInfo, error) {
	all := make([]engine.FileInfo, len(paths))
	keys, canonical, places := make([]string, 0, len(paths)), make([]string, 0, len(paths)), make([]int, 0, len(paths))
	for i, p := range paths {
		if c, err := t.canonical(ctx, p); err == nil {
			keys, canonical, places = append(keys, Key(c)), append(canonical, c), append(places, i)
		}
	}
	if err := ctx.Err(); err != nil || len(keys) == 0 {
		return all, err
	}
	found, err := t.find(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i, n := range found {
		if n != nil && n.Path == canonical[i] {
			all[places[i]] = engine.FileInfo{Path: n.Path, Name: path.Base(n.Path), Size: n.Size, Modified: n.Modified, Folder: n.Folder}
		}
	}
	return all, nil
}

// NamesWith returns the names in a folder that begin with a text, in their order, and no more than
// so many; none where there is no such folder.
func (t *Tree) NamesWith(ctx context.Context, folder, beginning string, most int) ([]string, error) {
	folder, err := t.canonical(ctx, folder)
	if err != nil {
		return nil, ctx.Err()
	}
	_, nodes, err := t.children(ctx, Key(folder), folder+"/"+beginning, most)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range nodes {
		name := path.Base(nodes[i].Path)
		if !strings.HasPrefix(name, beginning) {
			break
		}
		names = append(names, name)
	}
	return names, nil
}
