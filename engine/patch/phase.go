package patch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"vise/engine/guard"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/process"
)

// Bounds of a phase.
const (
	maxPhase        = 64 << 10  // bytes of its output that are kept, head and tail
	maxFirstFailure = 16 << 10  // bytes of the output of one that failed before it was proven once more
	maxPhaseText    = 128 << 20 // bytes after which it is ended: it writes without end
)

// phases runs the commands one after the other and stops at the first that fails,
// unless all are asked for.
func (b *Bench) phases(ctx context.Context, p *run.Proof, r run.Run, pl run.Plan, ws, tmp string, how proving, all bool) error {
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return fmt.Errorf("prove %s: %w", r.ID, err)
	}
	cache := filepath.Join(b.o.Dir, "patch", "cache", "proof")
	env := append(environ(b.o.PhaseEnv, tmp, cache), "PWD="+ws, "CI=true")
	sandbox, err := b.sandbox(ws, tmp, cache, cacheDirs(b.o.PhaseEnv), r.Policy.Proof.Network, false)
	if err != nil {
		return fmt.Errorf("prove %s: %w", r.ID, err)
	}
	if r.Policy.Proof.Network { // downloads go where they may be written
		env = append(env, "GOMODCACHE="+filepath.Join(cache, "go-mod"), "CARGO_HOME="+filepath.Join(cache, "cargo"))
	}
	for _, ph := range []struct {
		name     string
		commands [][]string
	}{{run.Setup, pl.Setup}, {run.Build, pl.Build}, {run.Tests, pl.Tests}} {
		for _, argv := range ph.commands {
			shown := ph.name
			switch {
			case all:
				shown = "base_" + shown // the bare base is run, to be compared with
			case how.again:
				shown = "again_" + shown
			}
			spec := process.Spec{Command: argv, Dir: ws, Env: env, Sandbox: sandbox, Grace: agentStop}
			f, err := b.phase(ctx, p, r.ID, ph.name, shown, spec, how.limit)
			if plain := unmarked(argv, f); err == nil && plain != nil {
				spec.Command = plain
				f, err = b.phase(ctx, p, r.ID, ph.name, shown, spec, how.limit)
			}
			if err != nil {
				return err
			}
			p.Phases = append(p.Phases, f)
			if !f.Passed && !all {
				return nil
			}
		}
	}
	return nil
}

// phase runs one command. shown is its name for whoever watches.
func (b *Bench) phase(ctx context.Context, p *run.Proof, id, name, shown string, spec process.Spec, limit time.Duration) (run.Phase, error) {
	f := run.Phase{Phase: name, Command: b.shown(spec.Command)}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	sum, kept := sha256.New(), process.NewEnds(maxPhase)
	var counts summary
	var mu sync.Mutex
	live := b.watched(id, shown)
	written := int64(0)
	take := func(text []byte) {
		sum.Write(text)
		if name == run.Tests {
			counts.add(text)
		}
		f.OutputBytes += int64(len(text))
		_, _ = kept.Write(text) // neither fails
		_, _ = live.Write(text)
	}
	var marks *goMarks
	if tellsMarks(spec.Command) {
		marks = &goMarks{to: take}
	}
	ran, err := process.Run(ctx, spec, process.Bounds{Time: limit, Output: maxPhase}, func(text []byte) {
		mu.Lock()
		defer mu.Unlock()
		if written += int64(len(text)); written > maxPhaseText {
			stop(errEndless)
		}
		if marks != nil {
			_, _ = marks.Write(text) // it does not fail
			return
		}
		take(text)
	})
	mu.Lock()
	defer mu.Unlock()
	if marks != nil {
		marks.Close()
	}
	_ = live.Close()
	f.Millis, f.OutputSHA256 = ran.Elapsed.Milliseconds(), hex.EncodeToString(sum.Sum(nil))
	text, _ := b.o.Redactor.Text(kept.Output().Text())
	f.Output = guard.Sanitize(text, 0)
	p.Sandbox = held(ran.Held, spec.Sandbox)
	switch {
	case errors.Is(err, errEndless):
		f.Detail = fmt.Sprintf("was ended: it wrote more than %d MB", maxPhaseText>>20)
		return f, nil
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, process.ErrNotHeld):
		f.Detail = "could not be started: " + b.mask(err.Error(), 300)
		return f, nil
	case err != nil:
		return f, fmt.Errorf("prove %s: %w", id, err)
	case ran.TimedOut:
		f.Detail = fmt.Sprintf("was ended after %s", limit)
		return f, nil
	}
	if ran.Exit.Signal == "" && ran.Exit.Err == nil {
		f.ReturnCode = &ran.Exit.Code
	} else {
		f.Detail = ran.Exit.String()
		if ran.Exit.Signal == "killed" {
			f.Detail += " by another program: by the system, if memory was short"
		}
	}
	f.Passed = ran.OK()
	if name == run.Tests {
		count(&f, spec.Command, marks, counts)
	}
	return f, nil
}

var errEndless = errors.New("it wrote without end")

// machineFault are messages of a machine that lacks something, not of a patch.
var machineFault = regexp.MustCompile(`(?im)command not found|: not found\z|(?:^\S*\bsh|: (?:line )?\d+): \S+: not found$|^make(?:\[\d+\])?: \*\*\* .* Error 12[67]\b|^make(?:\[\d+\])?: \S+: No such file or directory|^npm (?:err!|error) (?:code|errno) 12[67]\b|no module named ['"]?(pytest|pip|venv|build|setuptools)\b|no space left on device|cannot allocate memory|out of memory|` +
	`temporary failure in name resolution|could not resolve host|network is unreachable|connection refused .*proxy|getaddrinfo (enotfound|eai_again)|dial tcp.*(lookup|connect)|` +
	`read-only file system|too many open files|exec format error|executable file not found in|gcc.*no such file or directory|cc1?: not found|linker .* not found|toolchain .* not (installed|available)|` +
	`requires go >= |EROFS|ENOSPC`)

// classify finds the class of a failed phase. depends tells that the patch touches what
// the setup reads.
func classify(f run.Phase, depends bool) risk.Class {
	switch {
	case strings.HasPrefix(f.Detail, "could not be started"):
		return risk.Environment
	case strings.HasPrefix(f.Detail, "was ended"): // it went on without end: in time, or in what it wrote
		return risk.Timeout
	case f.ReturnCode != nil && (*f.ReturnCode == 126 || *f.ReturnCode == 127):
		return risk.Environment
	case f.Phase == run.Setup && (!depends || machineFault.MatchString(f.Output)):
		return risk.Environment
	case f.Detail == "" && len(ReadTests(f.Output).Failed) == 0 && machineFault.MatchString(f.Output):
		return risk.Environment
	case f.Phase == run.Build || f.Phase == run.Setup:
		return risk.BuildFailed
	}
	return risk.Tests
}

// removeTree removes a folder even when programs in it took away the right to.
func removeTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
