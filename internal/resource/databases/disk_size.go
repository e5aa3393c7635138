package databases

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// sizesIn returns how much each database of a folder holds, by its name: its
// pages, also those in a write-ahead log; and how large those logs are. None is
// opened for it.
func sizesIn(folder string) (sizes, wals map[string]int64, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return nil, nil, err
	}
	sizes, wals = map[string]int64{}, map[string]int64{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), fileSuffix)
		if !ok {
			continue
		}
		size, err := sizeOf(filepath.Join(folder, e.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, nil, err
		}
		sizes[name] = size
		if wal := walSize(filepath.Join(folder, e.Name())); wal > 0 {
			wals[name] = wal
		}
	}
	return sizes, wals, nil
}

// sizeOf returns how much a database holds. A write-ahead log is there where somebody
// has it open, or was ended while they had. What it says last is the size then: its
// own length says nothing, for it has a page as often as that was written, and stays
// as it is after a checkpoint.
func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	wal, err := os.Open(path + walSuffix)
	if errors.Is(err, os.ErrNotExist) {
		return info.Size(), nil
	}
	if err != nil {
		return 0, err
	}
	defer func() { _ = wal.Close() }() // it was only read
	pages, err := pagesInWAL(wal)
	if err != nil {
		return 0, err
	}
	if pages == 0 {
		return info.Size(), nil
	}
	return pages * pageSize, nil
}

// What SQLite's write-ahead logs are made of: a header, and frames of a header and a
// page. https://sqlite.org/fileformat2.html#walformat
const (
	walHeader   = 32
	frameHeader = 24
	// Both headers have the salt, which differs from one filling of the log
	// to the next: what follows the frames with that of the log is older.
	saltAt, saltBytes = 16, 8
	frameSaltAt       = 8
	// The size of the database in pages, in the frame that ends a transaction; 0
	// in all others.
	framePagesAt = 4
)

// pagesInWAL returns how many pages a database has by the last transaction in
// its log, 0 where that has none.
func pagesInWAL(wal io.ReaderAt) (pages int64, err error) {
	var header [walHeader]byte
	if _, err := wal.ReadAt(header[:], 0); err != nil {
		return 0, unlessEnd(err)
	}
	salt := string(header[saltAt : saltAt+saltBytes])
	var frame [frameHeader]byte
	for at := int64(walHeader); ; at += frameHeader + pageSize {
		if _, err := wal.ReadAt(frame[:], at); err != nil {
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
