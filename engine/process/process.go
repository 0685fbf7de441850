// Package process starts and ends the programs vise runs: agents, verifiers,
// bridges. A started program leads its own process group, dies with us, is
// waited for with a bound, and leaves nothing behind.
//
// Three facts of Unix shape the package. A parent-death signal follows the
// thread that forked, so all children are forked from one thread (see
// spawner). Killing a program does not kill its children, so signals go to the
// group. And a grandchild that leaves the group may still hold a pipe of ours,
// so waiting never depends on the end of a pipe alone.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Defaults of Spec.
const (
	DefaultGrace  = 2 * time.Second        // between the polite signal and the kill
	DefaultDrain  = 500 * time.Millisecond // silence on a pipe after the exit
	DefaultMaxLog = 8 << 20                // bytes of standard error passed on
	busyFactor    = 6                      // a reader at work may take Drain times this to come back
	drainFactor   = 20                     // a pipe that keeps talking is read for Drain times this at most
	tailSize      = 8 << 10                // bytes of standard error kept for messages
)

// Spec says what to run. Command[0] is looked up on our PATH when it holds no
// slash; a relative path with a slash is relative to Dir.
type Spec struct {
	// Name is what messages call the program; Command[0] when empty.
	Name    string
	Command []string
	// Dir is the working directory; empty means ours.
	Dir string
	// Env is the whole environment but for MarkVariable: nothing is inherited.
	Env []string
	// Stdin is copied to the program; nil gives a pipe (Process.Stdin).
	Stdin io.Reader
	// Stdout receives the output; nil gives a pipe (Process.Stdout), which must be read.
	Stdout io.Writer
	// Stderr receives at most MaxLog bytes of standard error; nil drops it.
	// The last few kilobytes are kept for Process.Tail either way.
	Stderr io.Writer
	MaxLog int64
	// Grace is the time between the polite signal and the kill.
	Grace time.Duration
	// Drain is how long a pipe may be silent after the exit before it is closed.
	Drain time.Duration
	// OnStart, if set, is told of the started program before Start returns.
	OnStart func(Record)
	// Sandbox confines the program; nil does not. A confined program also needs
	// what it loads to be readable: all but places of secrets is.
	Sandbox *Sandbox

	merged bool // standard error goes where standard output goes
}

// Process is a running or ended program. All methods may be called from any goroutine.
type Process struct {
	spec   Spec
	cmd    *exec.Cmd
	group  group
	record Record
	stdin  *os.File
	stdout *pipeReader
	log    *boundedLog
	box    *box // nil without a sandbox, or where nothing holds
	held   Held

	stop     chan struct{} // asks the owner goroutine to end the group
	stopOnce sync.Once
	exited   chan struct{} // the program itself has ended
	done     chan struct{} // and its pipes are drained or closed
	exit     Exit          // valid after done
}

// Start runs the program. It is ended, group and all, when ctx ends or Stop is
// called; Done is closed once nothing of it is left to wait for. The error
// names the program; errors.Is finds exec.ErrNotFound and fs.ErrNotExist.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	if len(spec.Command) == 0 || spec.Command[0] == "" {
		return nil, errors.New("start program: no command given; set it as a list of arguments")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Command[0], context.Cause(ctx))
	}
	if spec.Name == "" {
		spec.Name = spec.Command[0]
	}
	if spec.Grace <= 0 {
		spec.Grace = DefaultGrace
	}
	if spec.Drain <= 0 {
		spec.Drain = DefaultDrain
	}
	if spec.MaxLog <= 0 {
		spec.MaxLog = DefaultMaxLog
	}
	p := &Process{spec: spec, stop: make(chan struct{}), exited: make(chan struct{}), done: make(chan struct{}),
		log: &boundedLog{to: spec.Stderr, left: spec.MaxLog}, held: None("none was asked for"), record: Record{Mark: newMark()}}
	in, out, errs, err := p.launch(ctx)
	if err != nil {
		return nil, err
	}
	pid := p.cmd.Process.Pid
	ticks, _ := startTime(pid) // 0 when the system cannot tell: Reap then leaves it alone
	p.record = Record{Name: spec.Name, PID: pid, PGID: pid, StartTime: ticks, Mark: p.record.Mark,
		Command: bounded(strings.Join(spec.Command, " "), 500), Started: time.Now()}
	if spec.OnStart != nil {
		spec.OnStart(p.record)
	}
	p.stdin = in.w
	p.stdout = newPipeReader(out.r)
	stderr := newPipeReader(errs.r)

	var copies sync.WaitGroup
	copies.Go(func() { io.Copy(p.log, stderr) })
	if spec.Stdout != nil {
		copies.Go(func() { io.Copy(spec.Stdout, p.stdout) })
	}
	if spec.Stdin != nil {
		// Not waited for: the source may block for as long as it likes. The
		// copy ends with its source or, at the latest, with the write after the exit.
		go func() {
			io.Copy(p.stdin, spec.Stdin)
			p.stdin.Close()
		}()
	}
	go p.own(ctx, stderr, &copies)
	return p, nil
}

// own is the one goroutine that signals, reaps and closes.
func (p *Process) own(ctx context.Context, stderr *pipeReader, copies *sync.WaitGroup) {
	reaped := make(chan error, 1)
	go func() { reaped <- reap(p.cmd, &p.group) }()
	var err error
	patience := p.spec.Drain // whoever asks for the end waits for no slow reader
	select {
	case err = <-reaped:
		patience *= busyFactor
	case <-ctx.Done():
		err = p.end(reaped)
	case <-p.stop:
		err = p.end(reaped)
	}
	close(p.exited)
	spawner.release()
	if p.box != nil {
		p.box.close()
	}
	exit := exitOf(p.cmd, err)
	p.stdin.Close()
	exit.Leftover = killMarked(p.record.Mark)
	// Grandchildren outside the group that hold a pipe of ours are of our
	// making, even without the mark, and would keep it open for ever.
	if !p.stdout.settle(p.spec.Drain, patience) || !stderr.settle(p.spec.Drain, patience) {
		exit.Leftover = append(exit.Leftover, killHolders(p.stdout.inode, stderr.inode)...)
	}
	p.stdout.Close()
	stderr.Close()
	copies.Wait()
	p.exit = exit
	close(p.done)
}

// end asks the group to leave and kills what has not left after the grace.
func (p *Process) end(reaped <-chan error) error {
	p.signal(syscall.SIGTERM)
	t := time.NewTimer(p.spec.Grace)
	defer t.Stop()
	select {
	case err := <-reaped:
		return err
	case <-t.C:
	}
	p.signal(syscall.SIGKILL)
	return <-reaped
}

// group keeps signals from a group that has been reaped: its number may be somebody
// else's then.
type group struct {
	mu   sync.Mutex
	gone bool
}

func (p *Process) signal(s syscall.Signal) {
	p.group.mu.Lock()
	defer p.group.mu.Unlock()
	if !p.group.gone {
		killGroup(p.cmd.Process.Pid, s)
	}
}

// Record identifies the program for Reap after a crash of ours.
func (p *Process) Record() Record { return p.record }

// Held says what of the sandbox holds.
func (p *Process) Held() Held { return p.held }

// Stdin is the pipe to the program; closing it is the polite end of a filter.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout is the pipe from the program. It ends, at the latest, a bounded time
// after the program has, even when a grandchild holds it open.
func (p *Process) Stdout() io.Reader { return p.stdout }

// Tail is the end of what the program wrote on standard error, at most 8 KB.
func (p *Process) Tail() string { return p.log.tailText() }

// Exited is closed when the program itself has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Done is closed when the program has ended and its pipes are closed.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for Done, at most until ctx ends, which is then the error. It does not end the program.
func (p *Process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.done:
		return p.exit, nil
	case <-ctx.Done():
		select {
		case <-p.done:
			return p.exit, nil
		default:
			return Exit{}, fmt.Errorf("wait for %s: %w", p.spec.Name, context.Cause(ctx))
		}
	}
}

// Stop ends the group, politely first, and returns when it is gone: after
// Grace plus the bounded draining of the pipes at the latest.
func (p *Process) Stop() Exit {
	p.stopOnce.Do(func() { close(p.stop) })
	<-p.done
	return p.exit
}

// Kill ends the group at once.
func (p *Process) Kill() Exit {
	p.signal(syscall.SIGKILL)
	return p.Stop()
}
