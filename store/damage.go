package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	badger "github.com/dgraph-io/badger/v4"
)

// DamageError tells that a file of the database itself is damaged, so that nothing of
// the store can be read. Nothing was changed by the attempt to open it.
type DamageError struct {
	File   string // the file to look at; the database's folder when none is known
	Reason string
	db     string // folder of the database
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("open store: %s is damaged: %s: nothing was changed; move %s aside, then bring a backup back with vise store restore FILE, or import the recordings again with vise import",
		e.File, e.Reason, e.db)
}

// Files of a Badger database.
const (
	manifestName = "MANIFEST"
	tableExt     = ".sst"
	memoryExt    = ".mem"
)

// maxChecksum is more than a table's checksum message ever takes, in bytes.
const maxChecksum = 1 << 10

// examineFiles looks for damage that Badger meets with a panic, or with an empty
// database: without its MANIFEST it removes every table as unknown, and it trusts
// the footer of a table. What Badger reports by itself is left to it.
func examineFiles(dir string) error {
	broken := func(name, format string, args ...any) error {
		return &DamageError{File: filepath.Join(dir, name), Reason: fmt.Sprintf(format, args...), db: dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("open store: look at its files: %w", err)
	}
	tables, memory := map[uint64]string{}, false
	for _, e := range entries {
		switch ext := filepath.Ext(e.Name()); ext {
		case tableExt:
			if id, err := strconv.ParseUint(strings.TrimSuffix(e.Name(), ext), 10, 64); err == nil {
				tables[id] = e.Name()
			}
		case memoryExt:
			memory = true
		}
	}
	f, err := os.Open(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		if len(tables) > 0 || memory {
			return broken(manifestName, "it is missing, and %d tables of data are there", len(tables))
		}
		return nil // a new database
	}
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	defer f.Close()
	m, whole, err := badger.ReplayManifestFile(f, 0, badger.Options{})
	if err != nil {
		return broken(manifestName, "%v", err)
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open store: %w", err)
	}
	unknown := 0
	for id := range tables {
		if _, ok := m.Tables[id]; !ok {
			unknown++
		}
	}
	// A table that was being made when its process was killed is unknown too; then
	// what it holds is in the memory log or in the tables that it was made from.
	if unknown > 0 && !memory && whole < info.Size() {
		return broken(manifestName, "it is cut short and does not know %d of the tables", unknown)
	}
	for id := range m.Tables {
		name := tables[id]
		if name == "" {
			return broken(fmt.Sprintf("%06d%s", id, tableExt), "it is missing")
		}
		if reason, err := examineTable(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("open store: %w", err)
		} else if reason != "" {
			return broken(name, "%s", reason)
		}
	}
	return nil
}

// examineTable checks that the footer of a table leads into the file. The footer is,
// from the end: length of the checksum, checksum, length of the index, index.
func examineTable(path string) (reason string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	at := info.Size()
	for _, limit := range []int64{maxChecksum, info.Size()} {
		at -= 4
		if at < 0 {
			return "it is cut short", nil
		}
		var b [4]byte
		if _, err := f.ReadAt(b[:], at); err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		n := int64(binary.BigEndian.Uint32(b[:]))
		if n == 0 || n > limit || n > at {
			return "its footer is no footer of a table", nil
		}
		at -= n
	}
	return "", nil
}
