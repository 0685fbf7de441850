package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLinksAreNotFollowed: a store's folder may come with a cloned repository. Wherever a
// name of ours is a link there, nothing is opened and what the link names is untouched.
func TestLinksAreNotFollowed(t *testing.T) {
	for _, name := range []string{"owner", "socket", "store", "store/LOCK", "store/DISCARD", "rules", "rules.md", "logs", "logs/workbench.log",
		"runs", "repair", "patch", "patch/writing", "patch/runs", "patch/runs/p-1", "patch/cache/agent"} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			victim := filepath.Join(home, "precious")
			if err := os.WriteFile(victim, []byte("precious\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(home, ".vise")
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(victim, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			o := Options{Dir: dir, MinFree: 1}
			opens := map[string]func() error{
				"Open":     func() error { return closed(Open(t.Context(), o)) },
				"OpenRead": func() error { return closed(OpenRead(t.Context(), o)) },
				"OpenView": func() error { return closed(OpenView(t.Context(), o)) },
				"Restore":  func() error { _, _, err := Restore(t.Context(), o, victim); return err },
			}
			for how, open := range opens {
				var link *LinkError
				if err := open(); !errors.As(err, &link) || link.Path != filepath.Join(dir, name) {
					t.Errorf("%s: %v", how, err)
				}
			}
			if text, err := os.ReadFile(victim); err != nil || string(text) != "precious\n" {
				t.Errorf("the file that the link names: %q, %v", text, err)
			}
		})
	}
}

func closed(s *Store, err error) error {
	if err == nil {
		err = s.Close()
	}
	return err
}

// TestALinkedFolder: the folder itself may be a link to a store, or to where one can be
// made, and to nothing else.
func TestALinkedFolder(t *testing.T) {
	home := t.TempDir()
	away, link := filepath.Join(home, "away"), filepath.Join(home, ".vise")
	if err := errors.Join(os.Mkdir(away, 0o700), os.Symlink(away, link)); err != nil {
		t.Fatal(err)
	}
	for range 2 { // empty, then a store
		if err := closed(Open(t.Context(), Options{Dir: link, MinFree: 1})); err != nil {
			t.Fatal(err)
		}
	}
	notes := filepath.Join(home, "notes")
	if err := errors.Join(os.Mkdir(notes, 0o700), os.WriteFile(filepath.Join(notes, "owner"), nil, 0o600), os.Remove(link), os.Symlink(notes, link)); err != nil {
		t.Fatal(err)
	}
	var e *LinkError
	if err := closed(Open(t.Context(), Options{Dir: link, MinFree: 1})); !errors.As(err, &e) || e.Path != link {
		t.Errorf("a link to a folder of something else: %v", err)
	}
}

// TestAForeignOwnerFile: opening empties the file owner, but only one that an owner wrote.
func TestAForeignOwnerFile(t *testing.T) {
	for text, fine := range map[string]bool{
		"":                    true,
		"{\"pid\":4194304}\n": true, // its owner was killed
		"{\"p":                true, // cut short
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00": true,
		"Anna owns this folder.\n":                 false,
		"{\"name\":\"Anna\"}":                      false,
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "owner")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := closed(Open(t.Context(), Options{Dir: dir, MinFree: 1}))
		if (err == nil) != fine {
			t.Errorf("%q: %v", text, err)
		}
		if now, _ := os.ReadFile(file); !fine && string(now) != text {
			t.Errorf("%q became %q", text, now)
		}
	}
}
