package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vise/themes"
	"vise/tui/internal/screen"
)

// A theme of one's own is drawn anew when its file is saved; a mistake in it is told
// with file and line, the look stays, and mending the file ends that.
func TestThemesReload(t *testing.T) {
	d := worked(t)
	s, tty := screen.Open(t, 120, 40)
	raw, err := themes.Source("dark")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "vise", "themes") // both appear later
	save := func(from, to string) {
		t.Helper()
		text := strings.Replace(strings.Replace(string(raw), `name = "dark"`, `name = "mine"`, 1), from, to, 1)
		// As editors do: another file takes the place of the old one.
		tmp := filepath.Join(dir, "mine.toml~")
		if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(tmp, filepath.Join(dir, "mine.toml")); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() {
		done <- Run(t.Context(), Config{Project: "p", Harness: d.harness, Store: d.store, Bus: d.bus, Theme: "dark", ThemeDir: dir, In: tty, Out: tty,
			Env: []string{"TERM=xterm-256color", "COLORTERM=truecolor", "LANG=C.UTF-8"}})
	}()
	s.Wait("1 Sessions")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	save("", "")
	s.Wait("themes read again").Press("T").Wait("(yours)").Press("G", "esc")
	s.Press(":").Wait("type to search").Press(strings.Split("themes mine", "")...).Press("enter").Gone("type to search")
	save(`sky    = "#7fb8ff"`, `sky    = "#0bf0f1"`)
	s.Sent("38;2;11;240;241")
	save(`sky    = "#7fb8ff"`, `sky    = "#0bf0f"`)
	s.Wait("mine.toml:27: sky:")
	s.Press("8").Wait("mend the file")
	save("", "")
	s.Gone("mine.toml:27")
	s.Press("q")
	if err := <-done; err != nil {
		t.Error(err)
	}
}
