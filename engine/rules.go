package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"vise/engine/event"
	"vise/engine/guard"
	"vise/engine/repair"
	"vise/engine/rule"
	"vise/store"
)

// RetireRule retires a live rule on a person's word.
func (h *Harness) RetireRule(ctx context.Context, id, why string) error {
	return h.moveRule(ctx, "retire", id, func(r *rule.Rule) (event.Event, error) {
		if !r.Live() {
			return event.Event{}, fmt.Errorf("rule %s is %s already", id, r.Status)
		}
		r.Status, r.Reason = rule.Retired, "by a person: "+guard.Line(why, 300)
		return event.Event{Type: event.RuleRetire, RuleID: id, Data: map[string]any{"by": "person", "reason": guard.Line(why, 300)}}, nil
	})
}

// RestoreRule makes a retired rule a candidate again, with a new trial. Only
// validation can make it active.
func (h *Harness) RestoreRule(ctx context.Context, id string) error {
	return h.moveRule(ctx, "restore", id, func(r *rule.Rule) (event.Event, error) {
		if r.Live() {
			return event.Event{}, fmt.Errorf("rule %s is %s", id, r.Status)
		}
		r.Status, r.Reason, r.VerdictID, r.Flag = rule.Candidate, "restored by a person", "", nil
		trial := rule.Trial{StartedAt: h.now(), TracksReads: true}
		if r.Trial != nil {
			trial.BaselineBreachedSessions, trial.BaselineSessions = r.Trial.BaselineBreachedSessions, r.Trial.BaselineSessions
			trial.BaselineWindow = r.Trial.BaselineWindow
		}
		r.Trial = &trial
		return event.Event{Type: event.RuleRestore, RuleID: id, Data: map[string]any{"by": "person"}}, nil
	})
}

// EditRule stores a person's wording of a rule as a new candidate, which validation
// judges like any other; the rule that it comes from stays what it is. why may be "".
func (h *Harness) EditRule(ctx context.Context, id, text, why string) (rule.Rule, error) {
	var r rule.Rule
	err := h.store.Update(ctx, func(tx *store.Tx) error {
		from, ok, err := tx.Rule(id)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("no rule %q; vise rules ls lists them", id)
		}
		r, err = repair.Reword(tx, repairConfig(h.cfg), h.red, from, repair.Edit{Text: text, Why: why, ID: h.store.NewID("r"), Now: h.now()})
		return err
	})
	if err != nil {
		return rule.Rule{}, fmt.Errorf("edit rule: %w", err)
	}
	return r, nil
}

func (h *Harness) moveRule(ctx context.Context, op, id string, move func(*rule.Rule) (event.Event, error)) error {
	err := h.store.Update(ctx, func(tx *store.Tx) error {
		r, ok, err := tx.Rule(id)
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("no rule %q; vise rules ls lists them", id)
		}
		e, err := move(&r)
		if err != nil {
			return err
		}
		if err := tx.PutRule(r); err != nil {
			return err
		}
		return tx.Emit(e)
	})
	if err != nil {
		return fmt.Errorf("%s rule: %w", op, err)
	}
	return nil
}

// RenderRules writes rules.md and rules/SCOPE.md into a folder, each atomically,
// and removes documents of scopes that have no live rule any more. The files are
// artifacts for people and diffs; the store is the truth.
func (h *Harness) RenderRules(dir string) ([]string, error) {
	docs := map[string]string{}
	if err := h.store.ReadRules(func(r rule.Reader) error {
		index, err := rule.Index(r)
		if err != nil {
			return err
		}
		docs["rules.md"] = rule.RootMarkdown(index)
		for _, e := range index {
			doc, err := rule.Document(r, e.Scope, rule.DocOptions{TrialMin: h.cfg.Validate.TrialMinSessions})
			if err != nil {
				return err
			}
			docs[filepath.Join("rules", e.Scope+".md")] = doc.Markdown()
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("render rules: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "rules"), 0o755); err != nil {
		return nil, fmt.Errorf("render rules: %w", err)
	}
	var files []string
	for name, text := range docs {
		path := filepath.Join(dir, name)
		if err := writeAtomically(path, []byte(text)); err != nil {
			return nil, fmt.Errorf("render rules: %w", err)
		}
		files = append(files, path)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "rules"))
	if err != nil {
		return nil, fmt.Errorf("render rules: %w", err)
	}
	for _, e := range entries {
		name := filepath.Join("rules", e.Name())
		if _, live := docs[name]; !live && strings.HasSuffix(e.Name(), ".md") && !e.IsDir() {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("render rules: %w", err)
			}
		}
	}
	slices.Sort(files)
	return files, nil
}

// ruleChanges are the events that tell of a change of the live rules.
var ruleChanges = []event.Type{event.RuleAdd, event.RulePromote, event.RuleRetire, event.RuleRestore}

// renderedFile holds the sequence of the last change that was rendered.
const renderedFile = ".rendered"

// renderChanged renders the rules when they have changed since they were last rendered.
func (h *Harness) renderChanged(dir string) error {
	var seq uint64
	if err := h.store.View(func(tx *store.Tx) error {
		last, err := tx.LastEvents(1, ruleChanges...)
		if len(last) > 0 {
			seq = last[0].Seq
		}
		return err
	}); err != nil {
		return err
	}
	mark := filepath.Join(dir, "rules", renderedFile)
	now := strconv.FormatUint(seq, 10)
	if was, err := os.ReadFile(mark); err == nil && string(was) == now || seq == 0 {
		return nil
	}
	// Changes that come while it renders leave the mark behind them: they are
	// rendered again, never left out.
	if _, err := h.RenderRules(dir); err != nil {
		return err
	}
	return writeAtomically(mark, []byte(now))
}

// writeAtomically replaces a file: a reader sees the old text or the new, never half of one.
func writeAtomically(path string, text []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(text)
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}
