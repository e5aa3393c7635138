package databases

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// heldIn returns how much each database of a folder holds, by its name: its
// pages, also those that a journal has; and how large those journals are. None is
// opened for it.
func heldIn(folder string) (sizes, logs map[string]int64, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return nil, nil, err
	}
	sizes, logs = map[string]int64{}, map[string]int64{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), fileEnding)
		if !ok {
			continue
		}
		size, err := held(filepath.Join(folder, e.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, nil, err
		}
		sizes[name] = size
		if log := logOf(filepath.Join(folder, e.Name())); log > 0 {
			logs[name] = log
		}
	}
	return sizes, logs, nil
}

// held returns how much a database holds. A journal is there where somebody has
// it open, or was ended while they had. What it says last is the size then: its
// own length says nothing, for it has a page as often as that was written, and
// stays as it is when it was taken over.
func held(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	journal, err := os.Open(path + journalEnding)
	if errors.Is(err, os.ErrNotExist) {
		return info.Size(), nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = journal.Close() }() // it was only read
	pages, err := pagesAfter(journal)
	if err != nil {
		return 0, err
	}
	if pages == 0 {
		return info.Size(), nil
	}
	return pages * pageSize, nil
}

// What SQLite's journals are made of: a header, and frames of a header and a
// page. https://sqlite.org/fileformat2.html#walformat
const (
	journalHeader = 32
	frameHeader   = 24
	// Both headers have the salt, which differs from one filling of the journal
	// to the next: what follows the frames with that of the journal is older.
	saltAt, saltBytes = 16, 8
	frameSaltAt       = 8
	// The size of the database in pages, in the frame that ends a transaction; 0
	// in all others.
	framePagesAt = 4
)

// pagesAfter returns how many pages a database has by the last transaction in
// its journal, 0 where that has none.
func pagesAfter(journal io.ReaderAt) (pages int64, err error) {
	var header [journalHeader]byte
	if _, err := journal.ReadAt(header[:], 0); err != nil {
		return 0, unlessEnd(err)
	}
	salt := string(header[saltAt : saltAt+saltBytes])
	var frame [frameHeader]byte
	for at := int64(journalHeader); ; at += frameHeader + pageSize {
		if _, err := journal.ReadAt(frame[:], at); err != nil {
			return pages, unlessEnd(err)
		}
		if string(frame[frameSaltAt:frameSaltAt+saltBytes]) != salt {
			return pages, nil
		}
		if n := binary.BigEndian.Uint32(frame[framePagesAt:]); n > 0 {
			pages = int64(n)
		}
	}
}

func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
