package patch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// alone waits until nobody else, in this process or another, takes a base of the
// project, writes to it or removes a run, and keeps them waiting until free.
func (b *Bench) alone(ctx context.Context) (free func(), err error) {
	select {
	case b.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	f, err := b.lock(ctx)
	if err != nil {
		<-b.writing
		return nil, err
	}
	return func() { f.Close(); <-b.writing }, nil
}

// lock locks the file that other processes look at. The kernel frees it with the
// process, however it ends.
func (b *Bench) lock(ctx context.Context) (*os.File, error) {
	name := filepath.Join(b.o.Dir, "patch", "writing")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			f.Close()
			return nil, context.Cause(ctx)
		}
	}
}

// claim marks a run as at work, until free.
func (b *Bench) claim(id string) (free func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.active[id] {
		return nil, fmt.Errorf("patch run %s: it is at work already", id)
	}
	b.active[id] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.active, id)
	}, nil
}

// use keeps a base until free, before a run is stored that needs it.
func (b *Bench) use(digest string) (free func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.using[digest]++
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.using[digest]--; b.using[digest] == 0 {
			delete(b.using, digest)
		}
	}
}

// needs reports a base that a coming run was taken from.
func (b *Bench) needs(digest string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.using[digest] > 0
}
