package patch_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vise/engine/patch/run"
)

// A path that becomes a file, a folder or a link of another kind is applied and taken
// back, like any other; what somebody put there meanwhile stays.
func TestChangesOfKindAreTakenBack(t *testing.T) {
	const fix = "printf right > value.txt; "
	for name, agent := range map[string]string{
		"file to folder": "rm src/t; mkdir src/t; echo f > src/t/f",
		"folder to file": "rm -r src/d; echo d > src/d",
		"link to folder": "rm src/l; mkdir src/l; echo f > src/l/f",
		"folder to link": "rm -r src/d; ln -s t src/d",
		"file to link":   "rm src/t; ln -s d src/t",
		"link to file":   "rm src/l; echo l > src/l",
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, value, nil)
			write(t, d.root, "src/t", "t")
			write(t, d.root, "src/d/a", "a")
			write(t, d.root, "src/d/b", "b")
			if err := os.Symlink("t", filepath.Join(d.root, "src/l")); err != nil {
				t.Fatal(err)
			}
			before := listing(t, d.root)
			r := d.start([]string{"sh", "-c", fix + agent})
			r, err := d.bench.Prove(t.Context(), r.ID)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.bench.Apply(t.Context(), r.ID, true); err != nil {
				t.Fatal(err)
			}
			if listing(t, d.root) == before {
				t.Fatal("nothing was applied")
			}
			if name == "file to folder" {
				write(t, d.root, "src/t/mine", "mine")
				if _, err := d.bench.Undo(t.Context(), r.ID); err == nil {
					t.Error("undone over a file of somebody else")
				}
				if b, _ := os.ReadFile(filepath.Join(d.root, "src/t/mine")); string(b) != "mine" {
					t.Errorf("it is %q now", b)
				}
				if err := os.Remove(filepath.Join(d.root, "src/t/mine")); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := d.bench.Undo(t.Context(), r.ID); err != nil {
				t.Fatal(err)
			}
			if after := listing(t, d.root); after != before {
				t.Errorf("after undo:\n%s\nbefore:\n%s", after, before)
			}
		})
	}
}

// listing is everything in a folder, a line each.
func listing(t *testing.T, root string) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == ".vise" {
			if d != nil && d.IsDir() && err == nil {
				return filepath.SkipDir
			}
			return err
		}
		rel, _ := filepath.Rel(root, path)
		line := rel + " " + d.Type().String()
		switch {
		case d.Type()&os.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			line += " -> " + to
		case d.Type().IsRegular():
			b, _ := os.ReadFile(path)
			line += " " + string(b)
		}
		out = append(out, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, "\n")
}

// A patch of which only the policy asks a person is written once a person has
// looked; one that the policy denies, or that fails, is not.
func TestReviewedPatchIsApplied(t *testing.T) {
	policy := `version = 2
[filesystem]
allow_write = ["value.txt"]
deny = ["no.txt"]
[process]
default = "allow"
[proof]
tests = [["sh", "check.sh"]]
`
	for name, c := range map[string]struct{ script, refused string }{
		"review":         {"printf right > value.txt; echo x > README.md", ""},
		"deny":           {"printf right > value.txt; echo x > README.md; echo x > no.txt", "the policy denies it"},
		"it fails":       {"printf wrong > value.txt; echo x > README.md", "it is not proven"},
		"the agent does": {"printf right > value.txt; echo x > README.md; exit 3", "it is not proven"},
	} {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(value)
			files["vise-policy.toml"] = policy
			d := newDesk(t, files, nil)
			r, err := d.bench.Prove(t.Context(), d.start([]string{"sh", "-c", c.script}).ID)
			if err != nil || r.Proof.Verdict != run.NotProven {
				t.Fatalf("%+v, %v", r.Proof, err)
			}
			if _, err := d.bench.Apply(t.Context(), r.ID, false); err == nil {
				t.Fatal("written though nobody has looked")
			}
			_, err = d.bench.Apply(t.Context(), r.ID, true)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("%v, want %s", err, c.refused)
				}
				d.holds("value.txt", "base")
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			d.holds("value.txt", "right")
			d.holds("README.md", "x\n")
			if _, err := d.bench.Undo(t.Context(), r.ID); err != nil {
				t.Error(err)
			}
			d.holds("value.txt", "base")
		})
	}
}
