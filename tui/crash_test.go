package tui

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"vise/tui/internal/screen"
)

// bomb is a pane that panics where it is told to.
type bomb struct {
	Pane
	in    string
	armed uint64
}

// Version and Rows are those of a pane that cannot be drawn any more once it is armed.
func (b *bomb) Version() uint64 { return b.Pane.Version() + b.armed }
func (b *bomb) Rows() []string {
	if b.armed > 0 {
		panic("boom")
	}
	return b.Pane.Rows()
}

func (b *bomb) Take(ctx *Context, msg any) (bool, tea.Cmd) {
	if _, ok := msg.(fuse); ok {
		switch b.in {
		case "update":
			panic("boom")
		case "frame":
			b.armed = 1
			return true, nil
		case "command":
			return true, tea.Batch(nil, func() tea.Msg { panic("boom") }, func() tea.Msg { return nil })
		}
	}
	return b.Pane.Take(ctx, msg)
}

type fuse struct{}

// A panic anywhere: the terminal is restored, and a file tells what happened, after
// which act, and up to where the journal was.
func TestPanic(t *testing.T) {
	for _, in := range []string{"run", "update", "command", "frame", "library"} {
		t.Run(in, func(t *testing.T) {
			d := worked(t)
			s, tty := screen.Open(t, 120, 40)
			var printed bytes.Buffer
			cfg := Config{Project: "p", Harness: d.harness, Store: d.store, Bus: d.bus, In: tty, Out: tty, Err: &printed, ReportDir: t.TempDir(),
				Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"}}
			cfg.Replay = func(context.Context, string) error { panic("boom") }
			cfg.made = func(a *App) {
				a.panes[PaneSessions] = &bomb{Pane: a.panes[PaneSessions], in: in}
			}
			light := func(_ tea.Model, m tea.Msg) tea.Msg {
				k, ok := m.(tea.KeyPressMsg)
				if !ok || k.String() != "r" {
					return m
				}
				if in == "library" {
					panic("boom")
				}
				return fuse{}
			}
			if in != "run" {
				cfg.options = []tea.ProgramOption{tea.WithFilter(light)}
			}
			if in == "library" { // it reports on the process's own standard error
				old := os.Stderr
				null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				os.Stderr = null
				defer func() { os.Stderr = old; null.Close() }()
			}
			done := make(chan error, 1)
			go func() { done <- Run(t.Context(), cfg) }()
			s.Wait("3 Trace").Wait("issue_refund").Press("z").Gone("3 Trace").Press("r")
			var crash *Crash
			select {
			case err := <-done:
				if !errors.As(err, &crash) || !strings.Contains(err.Error(), crash.Report) || crash.Report == "" {
					t.Fatalf("Run returned %v, want a crash with a report", err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("it did not end:\n%s", s.Text())
			}
			raw, err := os.ReadFile(crash.Report)
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"last act  view.zoom", "journal   up to event ", "session torn-blanket"}
			if in != "library" {
				want = append(want, "goroutine ")
			}
			if in == "run" {
				want[0] = "last act  run.replay"
			}
			if in != "library" {
				want = append(want, "cause     boom")
			}
			for _, w := range want {
				if !strings.Contains(string(raw), w) {
					t.Errorf("the report lacks %q:\n%s", w, raw)
				}
			}
			s.Restored()
		})
	}
}
