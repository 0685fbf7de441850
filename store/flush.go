package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"vise/engine/event"
)

// flusher makes commits durable and tells of them, in their order. One writer syncs
// for all that have committed until then, so that writers beside each other share the
// wait for the disk; the writer's lock is free meanwhile.
type flusher struct {
	mu      sync.Mutex
	turn    *sync.Cond // who waits for a sync that another one makes
	last    uint64     // number of the newest commit
	synced  uint64     // number up to which commits are durable
	told    uint64     // number up to which commits are published
	syncing bool
	queue   []commit // committed and not yet published, in order
}

// commit is what is published of one transaction.
type commit struct {
	seq    uint64
	events []event.Event
}

// add takes a commit over and returns its number; the writer's lock is held.
func (f *flusher) add(c commit) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	f.queue = append(f.queue, c)
	return f.last
}

// settle returns when the commit is durable, unless it need not be, and published.
// Events are published even when the sync fails: the change is visible, and what is
// missing is only the promise for a power cut.
func (s *Store) settle(n uint64, durable bool) error {
	f := &s.flush
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.turn == nil {
		f.turn = sync.NewCond(&f.mu)
	}
	if s.o.InMemory || !durable && f.told == n-1 {
		s.tell(n)
		return nil
	}
	for f.synced < n {
		if f.syncing {
			f.turn.Wait()
			continue
		}
		f.syncing = true
		upto := f.last
		f.mu.Unlock()
		err := s.syncFiles()
		f.mu.Lock()
		f.syncing = false
		if err == nil {
			f.synced = upto
		}
		s.tell(upto)
		f.turn.Broadcast()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotDurable, err)
		}
	}
	return nil
}

// tell publishes the commits up to a number; s.flush.mu is held.
func (s *Store) tell(upto uint64) {
	f := &s.flush
	for ; f.told < upto; f.told++ {
		c := f.queue[0]
		f.queue = f.queue[1:]
		s.tail.advance(c.seq)
		if s.o.Bus != nil {
			s.o.Bus.Publish(c.events...)
		}
	}
	if len(f.queue) == 0 {
		f.queue = nil
	}
}

// syncFiles makes every commit durable. Badger syncs the logs that it writes to; a log
// that became full since the last sync is not among them any more, and until its table
// is written it is all there is of its commits.
func (s *Store) syncFiles() error {
	if err := s.db.Sync(); err != nil {
		return err
	}
	for i := range s.logs {
		if err := s.logs[i].catchUp(); err != nil {
			return err
		}
	}
	return nil
}

// logSeries are the logs of one kind: numbered files, of which the last is written to.
type logSeries struct {
	dir, ext string
	digits   int
	current  int
}

// series returns Badger's two kinds of logs as they are in the folder now.
func series(dir string) ([]logSeries, error) {
	list := []logSeries{{dir: dir, ext: memoryExt, digits: 5}, {dir: dir, ext: ".vlog", digits: 6}}
	for i := range list {
		last := 0
		ids, err := list[i].ids()
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			last = max(last, id)
		}
		list[i].current = last
	}
	return list, nil
}

func (l *logSeries) path(id int) string {
	return filepath.Join(l.dir, fmt.Sprintf("%0*d%s", l.digits, id, l.ext))
}

func (l *logSeries) ids() (ids []int, err error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), l.ext); ok {
			if id, err := strconv.Atoi(name); err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// catchUp syncs the logs that became full since it was last called. One that is gone
// has become a table, which Badger synced.
func (l *logSeries) catchUp() error {
	for {
		next := l.current + 1
		if _, err := os.Stat(l.path(next)); err == nil {
			if err := syncFile(l.path(l.current)); err != nil {
				return err
			}
			l.current = next
			continue
		}
		if _, err := os.Stat(l.path(l.current)); err == nil {
			return nil
		}
		// Gone, and the one after it too: look for what there is.
		ids, err := l.ids()
		if err != nil {
			return err
		}
		last := l.current
		for _, id := range ids {
			if id > l.current {
				last = max(last, id)
				if err := syncFile(l.path(id)); err != nil {
					return err
				}
			}
		}
		if last == l.current {
			return nil
		}
		l.current = last
	}
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
