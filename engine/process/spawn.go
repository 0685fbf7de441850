package process

import (
	"os/exec"
	"runtime"
	"sync"
)

// spawner forks every child from one operating-system thread that lives as
// long as any child does. The kernel sends the parent-death signal when the
// forking thread ends, not when the program does: forked from an arbitrary
// goroutine, a child may be killed by the end of a thread nobody knew of.
//
// It is the one global of the package because threads belong to the whole program.
var spawner forkThread

type forkThread struct {
	mu   sync.Mutex
	live int // children not yet released
	jobs chan forkJob
}

type forkJob struct {
	cmd  *exec.Cmd
	done chan error
}

// start forks cmd on the thread; release must follow once the child is reaped.
func (f *forkThread) start(cmd *exec.Cmd) error {
	f.mu.Lock()
	if f.live == 0 {
		f.jobs = make(chan forkJob)
		go forkLoop(f.jobs)
	}
	f.live++
	jobs := f.jobs
	f.mu.Unlock()
	job := forkJob{cmd, make(chan error, 1)}
	jobs <- job
	err := <-job.done
	if err != nil {
		f.release()
	}
	return err
}

// release says that one child is gone; with the last one the goroutine ends
// and gives its thread back.
func (f *forkThread) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.live--; f.live == 0 {
		close(f.jobs)
	}
}

func forkLoop(jobs <-chan forkJob) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for j := range jobs {
		j.done <- j.cmd.Start()
	}
}
