package databases

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"ql/internal/fault"
	"ql/lang/value"
)

// Info is a database as its owner sees it.
type Info struct {
	Name  string
	Bytes int64 // of its pages, which is what counts as stored
}

// List returns the databases of the folder by their names.
func (d *Databases) List(ctx context.Context) ([]Info, error) {
	return d.ListPage(ctx, "", math.MaxInt)
}

// ListPage returns up to limit of the databases behind a name.
func (d *Databases) ListPage(ctx context.Context, after string, limit int) ([]Info, error) {
	found, _, err := d.options.find(ctx)
	if err != nil {
		return nil, err
	}
	var list []Info
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if name <= after {
			continue
		}
		if len(list) == limit {
			break
		}
		if d.options.Origin != nil { // it is not fetched for this
			list = append(list, Info{Name: name, Bytes: found[name]})
			continue
		}
		bytes, err := d.Size(ctx, name)
		switch {
		case ctx.Err() != nil:
			return nil, err
		case isNotFound(err):
			continue // it was removed meanwhile
		case err != nil:
			bytes = found[name] // it is there, though it cannot be opened
		}
		list = append(list, Info{Name: name, Bytes: bytes})
	}
	return list, nil
}

func isNotFound(err error) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Code == fault.NotFound
}

// Size returns how much a database holds: its pages, also those that are still in its
// write-ahead log.
func (d *Databases) Size(ctx context.Context, name string) (bytes int64, err error) {
	err = d.view(ctx, name, func(c *conn) error {
		pages, err := c.queryInt(ctx, "PRAGMA page_count")
		bytes = pages * pageSize
		return err
	})
	return bytes, err
}

// Create makes a database that is not there yet, without anything in it.
func (d *Databases) Create(ctx context.Context, name string) error {
	name, err := canonicalName(name)
	if err != nil {
		return err
	}
	if there, err := d.has(ctx, name); err != nil || there {
		if err != nil {
			return err
		}
		return fault.New(fault.InvalidRequest, "there is a database %s already", value.Quote(name))
	}
	return d.change(ctx, name, func(*conn) error { return nil })
}

// existing checks that there is a database.
func (d *Databases) existing(ctx context.Context, name string) (string, error) {
	name, err := canonicalName(name)
	if err != nil {
		return "", err
	}
	there, err := d.has(ctx, name)
	if err != nil {
		return "", err
	}
	if !there {
		return "", missing(name)
	}
	return name, nil
}

// has reports whether there is a database of a name, which is a checked one.
func (d *Databases) has(ctx context.Context, name string) (bool, error) {
	if d.options.Origin == nil {
		return !isMissing(d.path(name)), nil
	}
	sizes, err := d.options.Origin.Sizes(ctx)
	_, there := sizes[name]
	return there, originError(err)
}

func missing(name string) error {
	return fault.New(fault.NotFound, "there is no database %s", value.Quote(name))
}

// names returns the databases that are there or open.
func (d *Databases) names(ctx context.Context) (map[string]bool, error) {
	names, err := d.local()
	if d.options.Origin == nil || err != nil {
		return names, err
	}
	sizes, err := d.options.Origin.Sizes(ctx)
	for name := range sizes {
		names[name] = true
	}
	return names, originError(err)
}

// local returns the databases that are in the folder or open.
func (d *Databases) local() (map[string]bool, error) {
	names := map[string]bool{}
	d.mu.Lock()
	for name := range d.open {
		names[name] = true
	}
	d.mu.Unlock()
	entries, err := os.ReadDir(d.options.Folder)
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), fileSuffix); ok {
			names[name] = true
		}
	}
	if os.IsNotExist(err) {
		err = nil
	}
	return names, err
}
