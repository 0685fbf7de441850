package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ownerFile is the content of .vise/owner. The lock on the file is the ownership;
// its content tells others whom to talk to. The file is never removed, since a lock
// on a removed file would exclude nobody; a clean close empties it.
type ownerFile struct {
	PID     int       `json:"pid"`
	Socket  string    `json:"socket,omitempty"`
	Started time.Time `json:"started"`
	// Passing is an owner that gives the store up by itself within moments: a command
	// that only reads, or one that is closing. Writers wait for it.
	Passing bool `json:"passing,omitempty"`
}

// ownerLock is the held ownership. The kernel gives it up with the process, however it ends.
type ownerLock struct {
	f        *os.File
	previous int // pid of an owner that did not close; 0 = closed cleanly
	passing  bool
}

func ownerPath(dir string) string { return filepath.Join(dir, "owner") }

// acquire becomes the owner or fails with *BusyError. The file is emptied then, so that
// it must be one that an owner wrote: the folder may have come with a cloned repository,
// or be another one than was meant.
//
// passing is an owner that only reads.
func acquire(dir string, passing bool) (*ownerLock, error) {
	f, err := os.OpenFile(ownerPath(dir), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return nil, &LinkError{Path: ownerPath(dir)}
	}
	if err != nil {
		return nil, unwritable(dir, err)
	}
	if err := ours(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("open store: %s is not what vise wrote there: %w; move it away, or choose another folder (store.path)", f.Name(), err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			o, _ := readOwner(dir)
			return nil, &BusyError{PID: o.PID, Dir: dir, passing: o.Passing || o.PID == 0}
		}
		return nil, fmt.Errorf("open store: lock %s: %w", f.Name(), err)
	}
	l := &ownerLock{f: f, passing: passing}
	if o, err := readOwner(dir); err == nil {
		l.previous = o.PID
	}
	if err := l.write(ownerFile{PID: os.Getpid(), Started: time.Now(), Passing: passing}); err != nil {
		l.abandon()
		return nil, err
	}
	return l, nil
}

// ours checks that a file is one that an owner wrote, or a part of one: a power cut can
// leave it cut short or full of zeros.
func ours(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is no regular file")
	}
	const begin = `{"pid":`
	var head [len(begin)]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if text := strings.TrimRight(string(head[:n]), "\x00"); !strings.HasPrefix(begin, text) {
		return errors.New("it does not begin as the file of an owner does")
	}
	return nil
}

// announce tells where the socket is.
func (l *ownerLock) announce(socket string) error {
	return l.write(ownerFile{PID: os.Getpid(), Socket: socket, Started: time.Now(), Passing: l.passing})
}

// closing tells that the store is about to be given up.
func (l *ownerLock) closing() {
	_ = l.write(ownerFile{PID: os.Getpid(), Started: time.Now(), Passing: true}) // who does not hear of it is refused
}

func (l *ownerLock) write(o ownerFile) error {
	raw, err := json.Marshal(o)
	if err == nil {
		// Shorter content must not leave the end of a longer one behind.
		if err = l.f.Truncate(0); err == nil {
			_, err = l.f.WriteAt(append(raw, '\n'), 0)
		}
	}
	if err != nil {
		return fmt.Errorf("open store: write %s: %w", l.f.Name(), err)
	}
	return nil
}

// release gives the ownership up after everything was closed in order.
func (l *ownerLock) release() {
	_ = l.f.Truncate(0)
	_ = l.f.Close()
}

// abandon gives the ownership up after a failed open, which has repaired nothing: the
// trace of an earlier crash is left for the next one.
func (l *ownerLock) abandon() {
	if l.previous == 0 {
		l.release()
		return
	}
	_ = l.write(ownerFile{PID: l.previous})
	_ = l.f.Close()
}

func readOwner(dir string) (ownerFile, error) {
	var o ownerFile
	f, err := os.Open(ownerPath(dir))
	if err != nil {
		return o, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, 4096))
	if err == nil {
		err = json.Unmarshal(raw, &o)
	}
	return o, err
}

func (s *Store) ownerPID() int {
	o, err := readOwner(s.o.Dir)
	if err != nil {
		return 0
	}
	return o.PID
}
