package store

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	badger "github.com/dgraph-io/badger/v4"
	"github.com/klauspost/compress/zstd"
)

// A backup is a zstd stream of
//
//	"vise store backup 1\n", schema u32
//	per key: length of the key u32 (not 0), key, length of the value u32, value
//	0 u32, number of keys u64, sha256 of everything before it
//
// with big-endian numbers, the keys in byte order and each at one version: those of
// one snapshot. Records of running processes are left out, they are about a machine.
const backupMagic = "vise store backup 1\n"

// Bounds of what a backup may hold; larger means that the file is no backup.
const (
	maxBackupKey   = 64 << 10
	maxBackupValue = 16 << 20
)

// BackupReport is what a backup or a restore wrote.
type BackupReport struct {
	File    string `json:"file"`
	Keys    uint64 `json:"keys"`
	Bytes   int64  `json:"bytes"` // of the backup file
	LastSeq uint64 `json:"last_seq"`
}

// Backup writes a consistent copy of the store to a new file: of the moment at which
// it begins, whatever is written meanwhile. It works beside the owner, through its
// socket. It fails if the file exists; a backup that fails leaves none behind.
func (s *Store) Backup(ctx context.Context, file string) (r BackupReport, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("back up store: %w", err)
		}
	}()
	if _, err := os.Lstat(file); err == nil {
		return r, fmt.Errorf("%s is there already: choose another name or remove it", file)
	}
	part, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".part-*") // mode 0600: it holds transcripts
	if err != nil {
		return r, err
	}
	defer os.Remove(part.Name())
	err = s.View(func(tx *Tx) (err error) {
		if r.LastSeq, err = tx.LastSeq(); err != nil {
			return err
		}
		r.Keys, err = writeBackup(ctx, tx.snap, part)
		return err
	})
	if err == nil {
		err = part.Sync()
	}
	if err == nil {
		r.Bytes, err = part.Seek(0, io.SeekEnd)
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return r, err
	}
	// A link fails where a rename would replace what came to be there meanwhile.
	if err := os.Link(part.Name(), file); err != nil {
		return r, err
	}
	r.File = file
	return r, syncDir(filepath.Dir(file))
}

func writeBackup(ctx context.Context, snap snapshot, to io.Writer) (keys uint64, err error) {
	schema, found, err := readSchema(snap)
	if err != nil {
		return 0, err
	}
	if !found {
		schema = schemaVersion
	}
	z, err := zstd.NewWriter(to, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return 0, err
	}
	sum := sha256.New()
	w := io.MultiWriter(z, sum)
	if _, err := w.Write(u32([]byte(backupMagic), schema)); err != nil {
		return 0, err
	}
	var frame []byte
	err = snap.scan(scan{}, func(k, v []byte) (bool, error) {
		if err := ctx.Err(); err != nil {
			return false, context.Cause(ctx)
		}
		if k[0] == kindProcess {
			return true, nil
		}
		keys++
		frame = lengthed(lengthed(frame[:0], k), v)
		_, err := w.Write(frame)
		return true, err
	})
	if err == nil {
		if _, err = w.Write(u64(u32(nil, 0), keys)); err == nil {
			_, err = z.Write(sum.Sum(nil))
		}
	}
	return keys, errors.Join(err, z.Close())
}

// Restore makes the store in o.Dir from a backup and checks all of it. It fails if a
// store is there, if the file is no whole backup, and if a newer vise wrote it; then
// nothing is left behind. The report of the check names what had been damaged already
// when the backup was made.
func Restore(ctx context.Context, o Options, file string) (r BackupReport, rep VerifyReport, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("restore store: %w", err)
		}
	}()
	o = o.withDefaults()
	if o.InMemory || o.Dir == "" {
		return r, rep, errors.New("a folder is needed: set Options.Dir")
	}
	if err := CheckFolder(o.Dir); err != nil {
		return r, rep, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return r, rep, unwritable(o.Dir, err)
	}
	lock, err := acquire(o.Dir, false)
	if err != nil {
		return r, rep, err
	}
	defer lock.abandon()
	lock.previous = 0 // whoever it was, its store is not here any more
	if used, err := holdsFiles(o.dbDir()); err != nil || used {
		return r, rep, errors.Join(err, fmt.Errorf("%s holds a store: nothing is overwritten; move it aside first", o.dbDir()))
	}
	tmp, err := os.MkdirTemp(o.Dir, "restore-*")
	if err != nil {
		return r, rep, unwritable(o.Dir, err)
	}
	defer os.RemoveAll(tmp)
	in := o
	in.Dir, in.Bus = tmp, nil
	if err := os.Mkdir(in.dbDir(), 0o700); err != nil {
		return r, rep, err
	}
	if r, err = fillFrom(ctx, in, file); err != nil {
		return r, rep, err
	}
	s, err := Open(ctx, in)
	if err != nil {
		return r, rep, err
	}
	rep, err = s.Verify(ctx)
	r.LastSeq = s.tail.last()
	if err = errors.Join(err, s.Close()); err != nil {
		return r, rep, err
	}
	_ = os.Remove(o.dbDir()) // an empty folder; what is not empty was refused above
	if err := os.Rename(in.dbDir(), o.dbDir()); err != nil {
		return r, rep, err
	}
	return r, rep, syncDir(o.Dir)
}

// fillFrom fills a new database from a backup.
func fillFrom(ctx context.Context, o Options, file string) (r BackupReport, err error) {
	f, err := os.Open(file)
	if err != nil {
		return r, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return r, err
	}
	need := o.MinFree + 4*uint64(info.Size())
	if free, err := o.Free(o.Dir); err == nil && free < need {
		return r, &FullError{Dir: o.Dir, Free: free, Need: need}
	}
	db, err := badger.Open(badgerOptions(o))
	if err != nil {
		return r, err
	}
	batch := db.NewWriteBatch()
	defer batch.Cancel()
	keys, err := readBackup(ctx, o.Dir, f, func(k, v []byte) error { return batch.Set(k, v) })
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	} else if err = batch.Flush(); err == nil {
		err = db.Sync()
	}
	return BackupReport{File: file, Keys: keys, Bytes: info.Size()}, errors.Join(err, db.Close())
}

var errNoBackup = errors.New("it is not a backup made by vise store backup")

// readBackup calls put with every key of a backup, and fails unless it is whole.
func readBackup(ctx context.Context, dir string, from io.Reader, put func(k, v []byte) error) (keys uint64, err error) {
	z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return 0, err
	}
	defer z.Close()
	in := &summed{r: bufio.NewReaderSize(z, 256<<10), sum: sha256.New()}
	head, err := in.take(len(backupMagic) + 4)
	if err != nil || !bytes.HasPrefix(head, []byte(backupMagic)) {
		return 0, errNoBackup
	}
	if schema := binary.BigEndian.Uint32(head[len(backupMagic):]); schema > schemaVersion {
		return 0, &SchemaError{Dir: dir, Found: schema, Known: schemaVersion}
	}
	for {
		if err := ctx.Err(); err != nil {
			return keys, context.Cause(ctx)
		}
		k, err := in.text(maxBackupKey)
		if err != nil {
			return keys, err
		}
		if len(k) == 0 {
			break
		}
		v, err := in.text(maxBackupValue)
		if err != nil {
			return keys, err
		}
		if err := put(k, v); err != nil {
			return keys, err
		}
		keys++
	}
	n, err := in.take(8)
	if err != nil {
		return keys, err
	}
	want := in.sum.Sum(nil)
	sum, err := in.take(len(want))
	if err != nil {
		return keys, err
	}
	if binary.BigEndian.Uint64(n) != keys || !bytes.Equal(sum, want) {
		return keys, errors.New("the backup is damaged: its digest does not match")
	}
	return keys, nil
}

// summed reads and digests what it reads.
type summed struct {
	r   io.Reader
	sum hash.Hash
}

func (s *summed) take(n int) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(s.r, b); err != nil {
		return nil, fmt.Errorf("the backup is cut short or damaged: %w", err)
	}
	s.sum.Write(b)
	return b, nil
}

func (s *summed) text(limit uint32) ([]byte, error) {
	b, err := s.take(4)
	if err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(b)
	if n > limit {
		return nil, fmt.Errorf("the backup is damaged: a part of %d bytes, at most %d are possible", n, limit)
	}
	return s.take(int(n))
}

func holdsFiles(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return len(entries) > 0, err
}

// syncDir makes a new name in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
