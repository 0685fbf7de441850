package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"vise/engine"
	"vise/engine/event"
	"vise/engine/rule"
	"vise/store"
)

func (p *project) addRule(id, scope string) {
	p.t.Helper()
	if err := p.store.Update(context.Background(), func(tx *store.Tx) error {
		return errors.Join(tx.PutRule(rule.Rule{ID: id, CreatedAt: "2026-01-01T00:00:00Z", Text: "Pass " + id + ".", Scope: scope, Status: rule.Active}),
			tx.Emit(event.Event{Type: event.RuleAdd, RuleID: id}))
	}); err != nil {
		p.t.Fatal(err)
	}
}

func writeFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte("mine\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestNotesBesideTheRulesStay: rendering removes what it wrote itself, and nothing else.
func TestNotesBesideTheRulesStay(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, "rules/house.md", "rules/notes.txt")
	p := open(t, nil)
	p.addRule("r-1", "refunds")
	render := func(want ...string) {
		t.Helper()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		p.start(engine.Options{Config: p.cfg, Store: p.store, Artifacts: dir})
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if got := names(t, filepath.Join(dir, "rules")); !slices.Equal(got, want) {
			t.Errorf("rendered %q, want %q", got, want)
		}
		p.start(engine.Options{Config: p.cfg, Store: p.store})
	}
	render(".rendered", "house.md", "notes.txt", "refunds.md")
	if err := p.RetireRule(t.Context(), "r-1", "old"); err != nil {
		t.Fatal(err)
	}
	render(".rendered", "house.md", "notes.txt")
}

// TestExportedRulesTouchNothingElse: a folder of a person's choice keeps its files.
func TestExportedRulesTouchNothingElse(t *testing.T) {
	p := open(t, nil)
	p.addRule("r-1", "refunds")
	dir := t.TempDir()
	writeFiles(t, dir, "rules/house.md", "notes.md")
	for range 2 { // anew, and over its own files
		if _, err := p.RenderRules(dir); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := names(t, filepath.Join(dir, "rules")), []string{"house.md", "refunds.md"}; !slices.Equal(got, want) {
		t.Errorf("exported %q, want %q", got, want)
	}
	for _, taken := range []string{"rules.md", "rules/refunds.md"} {
		dir := t.TempDir()
		writeFiles(t, dir, taken)
		if _, err := p.RenderRules(dir); err == nil {
			t.Errorf("%s of a person was written over", taken)
		}
		if text, _ := os.ReadFile(filepath.Join(dir, taken)); string(text) != "mine\n" {
			t.Errorf("%s is %q now", taken, text)
		}
	}
}

// TestALinkInPlaceOfTheRules: neither rendering nor export follows it.
func TestALinkInPlaceOfTheRules(t *testing.T) {
	home := t.TempDir()
	writeFiles(t, home, "notes/house.md", "notes/refunds.md")
	dir := filepath.Join(home, "project")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Symlink("../notes", filepath.Join(dir, "rules"))); err != nil {
		t.Fatal(err)
	}
	p := open(t, nil)
	p.addRule("r-1", "refunds")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	p.start(engine.Options{Config: p.cfg, Store: p.store, Artifacts: dir})
	if _, err := p.RenderRules(dir); err == nil {
		t.Error("exported through a link")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"house.md", "refunds.md"} {
		if text, err := os.ReadFile(filepath.Join(home, "notes", name)); err != nil || string(text) != "mine\n" {
			t.Errorf("%s behind the link: %q, %v", name, text, err)
		}
	}
	if got := names(t, filepath.Join(home, "notes")); len(got) != 2 {
		t.Errorf("behind the link there is now %q", got)
	}
}
