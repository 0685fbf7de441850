// Package patch is the second loop: it runs an agent in a workspace made from the
// project, captures what it changed, decides and scores it, proves base and patch
// in a clean workspace, and, when the proof fails, gives the same agent a bounded
// failure packet and another try. Whether a person is needed is decided by
// patch/risk, never by an agent.
package patch

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/patch/drive"
	"vise/engine/patch/gitpatch"
	"vise/engine/patch/policy"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/engine/patch/tree"
	"vise/engine/process"
	"vise/engine/trace"
	"vise/store"
)

// Options are what a Bench is made of. Paths are absolute.
type Options struct {
	Store *store.Store
	Bus   *event.Bus // nil = nobody watches
	Log   *slog.Logger
	// Root is the project, Dir the store's folder (.vise): bases, runs and packets lie below it.
	Root, Dir string
	// PolicyFile is the policy; when it does not exist the built-in one holds.
	PolicyFile string
	// AgentEnv and PhaseEnv are the whole environments of agents and of the proof's commands.
	AgentEnv, PhaseEnv []string
	// Home is the user's home folder, for the sandbox. A confined agent may change
	// the places where known agents keep their logins and sessions, and HomeEntries.
	Home        string
	HomeEntries []string
	// Sandbox is auto, off or required.
	Sandbox string
	// Hosts are what an agent may reach of the network; none leaves it open.
	Hosts guard.Hosts
	// MaxRuntime bounds the agent of a first run, PhaseTimeout each command of a proof.
	MaxRuntime, PhaseTimeout time.Duration
	Redactor                 *guard.Redactor
	// Builder makes repair commands; nil = drive.Build.
	Builder drive.CommandBuilder
	// OnProcess is told of every agent that starts (gone = false) and ends.
	OnProcess func(runID string, r process.Record, gone bool)
	// Reserve sets aside of a larger budget what an agent is likely to use (zero =
	// nothing is known of it) before it is started; its error refuses the agent. nil =
	// there is no such budget.
	Reserve func(likely trace.Usage) (Reserved, error)
	// NewHex makes the random part of run ids, 12 hex digits; nil = crypto/rand.
	NewHex func() string
}

// Bench does the work of the patch loop for one project. It is safe for
// concurrent use; one run has one loop at a time.
type Bench struct {
	o Options

	mu    sync.Mutex
	loops map[string]bool // runs whose loop is going on
	// active are runs whose agent or proof is at work, using the bases of coming runs.
	active map[string]bool
	using  map[string]int
	stops  map[string]map[*context.CancelCauseFunc]bool // by run: what Cancel ends
	// writing is held by whoever takes a base, writes to the project or removes a run.
	writing chan struct{}
}

// New makes a bench over an open store, which stays the caller's.
func New(o Options) (*Bench, error) {
	switch {
	case o.Store == nil || !filepath.IsAbs(o.Root) || !filepath.IsAbs(o.Dir):
		return nil, errors.New("open the patch bench: a store, the project's folder and the store's folder are needed")
	case o.MaxRuntime <= 0 || o.PhaseTimeout <= 0:
		return nil, errors.New("open the patch bench: patch.max_runtime and patch.phase_timeout must be positive")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Redactor == nil {
		o.Redactor = guard.DefaultRedactor()
	}
	if o.Builder == nil {
		o.Builder = drive.Build
	}
	if o.OnProcess == nil {
		o.OnProcess = func(string, process.Record, bool) {}
	}
	if o.Reserve == nil {
		o.Reserve = func(trace.Usage) (Reserved, error) {
			return Reserved{Over: func(trace.Usage) bool { return false }, Settle: func(*trace.Usage) {}}, nil
		}
	}
	if o.NewHex == nil {
		o.NewHex = func() string {
			var b [6]byte
			_, _ = rand.Read(b[:]) // never fails
			return hex.EncodeToString(b[:])
		}
	}
	// The system's own spelling: a link in the way would make paths differ.
	for _, p := range []*string{&o.Root, &o.Dir} {
		if real, err := filepath.EvalSymlinks(*p); err == nil {
			*p = real
		}
	}
	return &Bench{o: o, loops: map[string]bool{}, active: map[string]bool{}, using: map[string]int{}, stops: map[string]map[*context.CancelCauseFunc]bool{}, writing: make(chan struct{}, 1)}, nil
}

func (b *Bench) now() time.Time { return b.o.Store.Now() }

func (b *Bench) newID() string {
	return b.now().UTC().Format("20060102T150405Z") + "-" + b.o.NewHex()
}

func (b *Bench) bases() string            { return filepath.Join(b.o.Dir, "patch", "bases") }
func (b *Bench) home(id string) string    { return filepath.Join(b.o.Dir, "patch", "runs", id) }
func (b *Bench) objects(id string) string { return filepath.Join(b.home(id), "objects") }

// RepairDir is the folder of a loop's packets and its outcome.
func (b *Bench) RepairDir(id string) string { return filepath.Join(b.o.Dir, "repair", id) }

// outside are the paths of the project that are not part of it: our own folder.
func (b *Bench) outside() []string {
	rel, err := filepath.Rel(b.o.Root, b.o.Dir)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	return []string{filepath.ToSlash(rel)}
}

// policy reads the policy as it is now. named tells that the file must exist.
func (b *Bench) policy(file string, named bool) (policy.Policy, string, string, error) {
	p, name := policy.Default(), ""
	raw, err := os.ReadFile(file)
	switch {
	case err == nil:
		if p, err = policy.Parse(file, raw); err != nil {
			return p, "", "", err
		}
		name = file
	case named || !errors.Is(err, fs.ErrNotExist):
		return p, "", "", fmt.Errorf("read policy: %w", err)
	}
	digest, err := run.Digest(p)
	return p, digest, name, err
}

// put stores a run and its event in one transaction.
func (b *Bench) put(ctx context.Context, r run.Run, e event.Event) error {
	e.RunID = r.ID
	err := b.o.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.PutPatchRun(r); err != nil {
			return err
		}
		return tx.Emit(e)
	})
	if err != nil {
		return fmt.Errorf("store patch run %s: %w", r.ID, err)
	}
	return nil
}

// Run returns a run.
func (b *Bench) Run(id string) (run.Run, error) {
	var r run.Run
	err := b.o.Store.View(func(tx *store.Tx) error {
		var found bool
		var err error
		if r, found, err = tx.PatchRun(id); err == nil && !found {
			err = fmt.Errorf("no patch run %q; vise patch ls lists them", id)
		}
		return err
	})
	return r, err
}

// Diff returns the diff of every changed path of a run.
func (b *Bench) Diff(id string) ([]FileDiff, error) {
	list, err := b.EachDiff(id)
	if err != nil {
		return nil, err
	}
	return slices.Collect(list), nil
}

// EachDiff is Diff one by one: a large patch need not lie in memory as a whole.
func (b *Bench) EachDiff(id string) (iter.Seq[FileDiff], error) {
	r, err := b.Run(id)
	if err != nil {
		return nil, err
	}
	return b.eachDiff(r)
}

func (b *Bench) eachDiff(r run.Run) (iter.Seq[FileDiff], error) {
	if r.Patch == nil {
		return nil, fmt.Errorf("run %s has no patch: %s %s", r.ID, r.Status, r.Error)
	}
	base, err := tree.Open(b.bases(), r.BaseDigest)
	if err != nil {
		return nil, fmt.Errorf("diff of %s: %w", r.ID, err)
	}
	return func(yield func(FileDiff) bool) {
		for _, e := range r.Patch.Entries {
			if !yield(diffOf(base, e, b.objects(r.ID))) {
				return
			}
		}
	}, nil
}

// GitPatch is the patch of a run in the format of git.
type GitPatch struct {
	Parts iter.Seq2[gitpatch.Part, error] // one in memory at a time
	// Lost are paths of whose permission bits git keeps one only.
	Lost    []string
	sources gitpatch.Sources
}

// Encode writes all of it, for `git apply` in the project's folder.
func (g GitPatch) Encode(w io.Writer) error { return gitpatch.Write(w, g.Parts, g.sources) }

// Git returns the patch of a run in the format of git. What could not be captured
// is not in it (see the run's Unseen).
func (b *Bench) Git(id string) (GitPatch, error) {
	fail := func(err error) (GitPatch, error) { return GitPatch{}, fmt.Errorf("patch of %s: %w", id, err) }
	r, err := b.Run(id)
	if err != nil {
		return GitPatch{}, err
	}
	if r.Patch == nil {
		return fail(fmt.Errorf("it has none: %s %s", r.Status, r.Error))
	}
	base, err := tree.Open(b.bases(), r.BaseDigest)
	if err != nil {
		return fail(err)
	}
	g := GitPatch{Lost: gitpatch.Lost(r.Patch.Entries), sources: gitpatch.Sources{Before: base.Originals, After: tree.Objects(b.objects(r.ID))}}
	g.Parts = gitpatch.Parts(r.Patch.Entries, g.sources, b.below())
	return g, nil
}

// below is the project's folder seen from the top of the git work tree it lies in;
// "" when it is that top, or lies in none.
func (b *Bench) below() string {
	for dir := b.o.Root; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			rel, err := filepath.Rel(dir, b.o.Root)
			if err != nil || rel == "." {
				return ""
			}
			return filepath.ToSlash(rel)
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// writeJSON writes a private JSON file at once.
func writeJSON(name string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = tree.WriteFile(name, append(raw, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// weigh decides every path of a captured patch, scores it and finds why a person
// must look at it. texts of files are read up to risk.MaxText.
func (b *Bench) weigh(r *run.Run, base *tree.Tree, c *tree.Captured, profile risk.Profile) error {
	r.Unseen, r.Ignored = c.Unseen, c.Ignored
	r.Outcome = r.Decision.Action
	var changes []risk.Change
	var files []risk.Text
	moved := map[string]string{}
	for _, e := range c.Entries {
		if e.RenamedFrom != "" {
			moved[e.RenamedFrom] = e.Path
		}
	}
	for i := range c.Entries {
		e := &c.Entries[i]
		d, err := r.Policy.Path(e.Path)
		if err != nil {
			d = policy.Decision{Action: policy.Deny, Rule: "invalid path"}
		}
		e.Decision, e.Reason = d.Action, d.Rule
		r.Outcome = policy.Stricter(r.Outcome, d.Action)
		changes = append(changes, risk.Change{Path: e.Path, Type: e.ChangeType, Decision: d.Action, ModeChanged: e.ModeChanged()})
		t := risk.Text{Path: e.Path, Type: e.ChangeType, MovedTo: moved[e.Path], Same: e.BaseSHA256 != nil && e.ResultSHA256 != nil && *e.BaseSHA256 == *e.ResultSHA256}
		var read bool
		t.Before, t.After, read = texts(base, *e, b.objects(r.ID), risk.MaxText)
		t.Unread = !read && !t.Same
		files = append(files, t)
	}
	m, err := run.NewManifest(r.ID, c.Entries)
	if err != nil {
		return err
	}
	r.Patch = &m
	if r.ContentDigest, err = contentDigest(m); err != nil {
		return err
	}
	r.Limits = limits(r.Policy, m)
	if len(r.Limits) > 0 || len(c.Unseen) > 0 {
		r.Outcome = policy.Stricter(r.Outcome, policy.Review)
	}
	r.Blast = risk.Radius(changes, risk.Counters{LimitViolations: len(r.Limits)}, r.Policy.Scoring.Weights)
	r.Future = risk.Later(files, profile)
	r.Causes = risk.Boundary(risk.Evidence{Command: r.Decision, Changes: changes, Texts: files, Future: r.Future, Limits: r.Limits, Unseen: c.Unseen})
	if profile == risk.Seed {
		r.Causes = nil
		cause, err := risk.ScopeChange(changes, r.Future.Level)
		if err != nil {
			return err
		}
		if cause != nil {
			r.Causes = []risk.Cause{*cause}
		}
	}
	return nil
}

// contentDigest identifies what a patch does, whoever decided what about it.
func contentDigest(m run.Manifest) (string, error) {
	bare := m
	bare.Entries = append([]run.Entry{}, m.Entries...)
	for i := range bare.Entries {
		bare.Entries[i].Decision, bare.Entries[i].Reason = "", ""
	}
	return bare.ContentDigest()
}

// limits returns which limits of the policy a patch is over.
func limits(p policy.Policy, m run.Manifest) []risk.Limit {
	deleted := 0
	for _, e := range m.Entries {
		if e.ChangeType == run.Deleted {
			deleted++
		}
	}
	var out []risk.Limit
	for _, l := range []struct {
		name     string
		observed int
		limit    *int
	}{{"files_changed", len(m.Entries), p.Limits.FilesChanged}, {"files_deleted", deleted, p.Limits.FilesDeleted}} {
		if l.limit != nil && l.observed > *l.limit {
			out = append(out, risk.Limit{Name: l.name, Observed: l.observed, Limit: *l.limit})
		}
	}
	return out
}
