package policy_test

import (
	"path"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"vise/engine/patch/policy"
)

func TestParse(t *testing.T) {
	toml := "version = 2\n[filesystem]\nallow_write = [\"src/**\"]\n[limits]\nfiles_changed = 0\n[proof]\ntests = [[\"make\", \"test\"]]\n"
	json := `{"version": 2, "filesystem": {"allow_write": ["src/**"]}, "limits": {"files_changed": 0}, "proof": {"tests": [["make", "test"]]}}`
	a, err := policy.Parse("p.toml", []byte(toml))
	if err != nil {
		t.Fatal(err)
	}
	b, err := policy.Parse("p.json", []byte(json))
	if err != nil {
		t.Fatal(err)
	}
	if a.Filesystem.AllowWrite[0] != b.Filesystem.AllowWrite[0] || *a.Limits.FilesChanged != 0 || a.Filesystem.Default != policy.Review || a.Process.Default != policy.Review || b.Proof.Tests[0][1] != "test" {
		t.Errorf("%+v\n%+v", a, b)
	}
	if _, err := policy.Parse("p.toml", []byte("version = 2\n[filesystem]\ndeny = [\"[[]a[!]b]/[x-z]*\"]\n")); err != nil {
		t.Errorf("closed sets: %v", err)
	}
	for text, why := range map[string]string{
		"version = 3":               "version is 3",
		"[filesystem]":              "version is 0",
		"version = 2\nsurprise = 1": "surprise",
		"version = \"2\"":           "version",
		"version = 2\n[filesystem]\ndeny = [\"/etc/**\"]":       "can never match",
		"version = 2\n[filesystem]\nallow_write = [\"src/[a\"]": "allow_write[0] = \"src/[a\" has a [ that is never closed",
		"version = 2\n[filesystem]\ndeny = [\"[!]/x]\"]":        "never closed",
		"version = 2\n[filesystem]\ndefault = \"maybe\"":        "allow, review or deny",
		"version = 2\n[rollback]\nenabled = true":               "rollback is refused",
		"version = 2\n[proof]\nimage = \"x\"":                   "proof.image is refused",
		"version = 2\n[proof]\ntests = [[]]":                    "has no program",
		"version = 2\n[limits]\nfiles_deleted = -1":             "negative",
		"version = 2\n[scoring]\nweights = {luck = 1}":          "the names are",
		"version = 2\n[network]\nmode = \"on\"":                 "observe or off",
		"version = ":                                            "line 1",
	} {
		if _, err := policy.Parse("p.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), why) || !strings.Contains(err.Error(), "p.toml") {
			t.Errorf("%q: %v, want %q in it", text, err, why)
		}
	}
}

func TestCommand(t *testing.T) {
	p := policy.Policy{Process: policy.Process{Deny: []string{"rm"}, Allow: []string{"claude", "c*x"}}}
	for argv, want := range map[string]policy.Action{"/usr/bin/claude -p x": policy.Allow, "codex exec": policy.Allow, "rm -rf x": policy.Deny, "other": policy.Review} {
		if d := p.Command(strings.Fields(argv)); d.Action != want {
			t.Errorf("%s: %+v", argv, d)
		}
	}
	if d := p.Command(nil); d.Action != policy.Deny {
		t.Errorf("no command: %+v", d)
	}
}

// A pattern that would make a simple matcher try everything is fast.
func TestMatchIsNotExponential(t *testing.T) {
	begun := time.Now()
	policy.Match(strings.Repeat("**/a*a*a*/", 12)+"x", strings.Repeat("aaaaaaaaaaaaaaaa/", 40)+"y")
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("it took %s", took)
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("src/**/a[!b-d]*.go", "src/x/ax.go")
	f.Add("[", "[")
	f.Add("\xf2", "\x8d") // bytes that are no text are not all the same
	f.Add("[\xf2]", "\xf2")
	f.Fuzz(func(t *testing.T, pattern, subject string) {
		got := policy.Match(pattern, subject)
		// Where the two syntaxes agree, so must the results.
		if strings.ContainsAny(pattern, `[\`) || strings.Contains(pattern, "**") || pattern == "" || strings.Contains("/"+pattern+"/", "//") {
			return
		}
		// The standard library tries a star within a character too.
		if strings.IndexFunc(subject, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
			return
		}
		if want, err := path.Match(pattern, subject); err == nil && want != got {
			t.Errorf("Match(%q, %q) = %v", pattern, subject, got)
		}
	})
}
