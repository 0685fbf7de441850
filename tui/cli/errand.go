package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"vise/engine/config"
	"vise/engine/patch"
	"vise/engine/trace"
	"vise/replay/format"
	"vise/store"
	"vise/tui"
	"vise/tui/action"
)

// errands are the commands that the workbench runs itself: beside it nothing else can
// write to the project.
func (a *app) errands(h *harness, bench *patch.Bench) map[action.ID]tui.Errand {
	return map[action.ID]tui.Errand{
		action.Import: func(ctx context.Context, path string) (string, error) { return a.importErrand(ctx, h, path) },
		action.Score:  func(ctx context.Context, id string) (string, error) { return a.scoreErrand(ctx, h, id) },
		action.Agent:  func(ctx context.Context, line string) (string, error) { return a.agentErrand(ctx, bench, line) },
	}
}

// importErrand is vise import of one path, which may begin with ~/ since no shell is there
// to expand it.
func (a *app) importErrand(ctx context.Context, h *harness, path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && a.getenv("HOME") != "" {
		path = filepath.Join(a.getenv("HOME"), rest)
	}
	total, failures, err := a.readPaths(ctx, h, []string{path}, format.Options{}, false, func(format.Summary) error { return nil })
	if err = errors.Join(append([]error{err}, failures...)...); err != nil {
		return "", err
	}
	if total.Sessions == 0 {
		return "", total.nothing()
	}
	said := total.words()
	if total.Damaged > 0 {
		said += "; " + counted(total.Damaged, "damaged record") + " skipped"
	}
	return said, nil
}

// scoreErrand is vise replay --recorded of one session.
func (a *app) scoreErrand(ctx context.Context, h *harness, id string) (string, error) {
	var head trace.Session
	if err := h.store.View(func(tx *store.Tx) (err error) {
		head, err = findSession(tx, id)
		return err
	}); err != nil {
		return "", err
	}
	from, err := lastSeq(h.store)
	if err != nil {
		return "", err
	}
	done, err := h.ReplayRecorded(ctx, head)
	if err != nil {
		return "", err
	}
	notices, err := countNotices(h.store, from)
	return recordedWords(done, notices), err
}

// agentErrand is vise patch run -- of a command line.
func (a *app) agentErrand(ctx context.Context, bench *patch.Bench, line string) (string, error) {
	argv, err := splitWords(line)
	if err != nil {
		return "", err
	}
	r, err := bench.Start(ctx, patch.Request{Argv: config.Expand(argv, a.self)})
	if err == nil {
		r, err = bench.Prove(ctx, r.ID)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("patch run %s: %s, %s; next: %s", r.ID, r.Status, verdictOf(r), nextOf(r)), nil
}

// splitWords splits a command line at spaces; what stands between quotes, single or
// double, is one word, and a backslash takes the next character as it is outside single
// ones. Nothing is expanded: there is no shell.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	begun, quote := false, rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, begun = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 || escaped {
		return nil, usagef("command line %s: a quote or backslash at the end is open", show(line, 80))
	}
	if begun {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, usagef("command line: name the agent and its arguments, e.g. codex exec 'mend the tests'")
	}
	return words, nil
}
