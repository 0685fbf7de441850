package store

import "sync"

// activity counts running calls so that Close can wait for them.
type activity struct {
	mu     sync.Mutex
	cond   *sync.Cond
	n      int
	closed bool
}

func (a *activity) enter() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return ErrClosed
	}
	a.n++
	return nil
}

func (a *activity) leave() {
	a.mu.Lock()
	a.n--
	if a.cond != nil {
		a.cond.Broadcast()
	}
	a.mu.Unlock()
}

// close refuses new calls and waits for the running ones; false when already closed.
func (a *activity) close() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	a.closed = true
	a.cond = sync.NewCond(&a.mu)
	for a.n > 0 {
		a.cond.Wait()
	}
	return true
}
