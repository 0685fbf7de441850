package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// launch starts the program, confined if so asked, and returns the pipes whose
// other ends it holds.
func (p *Process) launch(ctx context.Context) (in, out, errs pipe, err error) {
	program := exec.Command(p.spec.Command[0], p.spec.Command[1:]...)
	program.Dir = p.spec.Dir
	program.Env = append(slices.Clone(p.spec.Env), MarkVariable+"="+p.record.Mark) // never nil, which would inherit ours
	if p.spec.Sandbox != nil {
		if program.Err != nil {
			return in, out, errs, fmt.Errorf("start %s: %w", p.spec.Name, program.Err)
		}
		if p.box, p.held, err = newBox(p.spec, program); err != nil {
			return in, out, errs, err
		}
	}
	if p.box == nil {
		program.SysProcAttr = groupAttr()
		p.cmd = program
		return p.fork()
	}
	in, out, errs, err = p.enterBox(ctx)
	if errors.Is(err, errNamespace) {
		p.box.withoutNamespace(err)
		if err = p.box.refusal(p.spec.Name); err == nil {
			in, out, errs, err = p.enterBox(ctx)
		}
	}
	if err == nil {
		p.held = p.box.held
		return in, out, errs, nil
	}
	p.box.close()
	if ctx.Err() != nil {
		err = fmt.Errorf("start %s: %w", p.spec.Name, context.Cause(ctx))
	}
	return in, out, errs, err
}

// fork starts p.cmd on pipes of its own; the ends that are not ours are closed.
func (p *Process) fork() (in, out, errs pipe, err error) {
	var pipes pipeSet
	in, out, errs = pipes.open(), pipes.open(), pipes.open()
	if pipes.err != nil {
		pipes.close()
		return in, out, errs, fmt.Errorf("start %s: open pipes: %w", p.spec.Name, pipes.err)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in.r, out.w, errs.w
	if p.spec.merged {
		p.cmd.Stderr = out.w
	}
	if err := spawner.start(p.cmd); err != nil {
		pipes.close()
		return in, out, errs, fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	for _, f := range []*os.File{in.r, out.w, errs.w} {
		f.Close()
	}
	return in, out, errs, nil
}

// enterBox starts the box and waits until the program runs in its place. After
// an error nothing of it is left.
func (p *Process) enterBox(ctx context.Context) (in, out, errs pipe, err error) {
	cmd, socket, err := p.box.command()
	if err != nil {
		return in, out, errs, fmt.Errorf("start %s: sandbox: %w", p.spec.Name, err)
	}
	p.cmd = cmd
	in, out, errs, err = p.fork()
	socket.Close()
	if err != nil {
		if p.box.namespaced() && refusedNamespace(err) {
			err = fmt.Errorf("%w: user namespaces are refused: %w", errNamespace, err)
		}
		return in, out, errs, err
	}
	if err = p.box.enter(ctx, p.log); err != nil {
		killGroup(cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
		spawner.release()
		for _, f := range []*os.File{in.w, out.r, errs.r} {
			f.Close()
		}
		return in, out, errs, fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	return in, out, errs, nil
}

// refusedNamespace recognises what a kernel, a container's filter or a full
// count of namespaces answers.
func refusedNamespace(err error) bool {
	for _, e := range []error{syscall.EPERM, syscall.EACCES, syscall.ENOSPC, syscall.EINVAL, syscall.EUSERS, syscall.ENOSYS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
