package themes_test

import (
	"strings"
	"testing"

	"vise/themes"
)

// Every theme we ship parses, and parsing includes the contrast of every role.
func TestBuiltin(t *testing.T) {
	list, err := themes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[themes.Appearance]bool{}
	for _, th := range list {
		seen[th.Appearance] = true
	}
	if !seen[themes.Dark] || !seen[themes.Light] {
		t.Errorf("there must be a dark and a light theme, got %v", seen)
	}
}

func source(t *testing.T, from, to string) []byte {
	t.Helper()
	list, err := themes.Source("dark")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(list), from) {
		t.Fatalf("dark.toml does not hold %q any more", from)
	}
	return []byte(strings.Replace(string(list), from, to, 1))
}

func TestParseProblems(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"missing role", "bad = \"red\"\n", "", "bad: is missing"},
		{"unknown role", "bad = \"red\"", "bad = \"red\"\nworse = \"red\"", "worse: unknown role"},
		{"unknown key", "appearance =", "colour = 1\nappearance =", `unknown key "colour"`},
		{"unknown colour", "bad = \"red\"", "bad = \"reddish\"", `"reddish" is neither`},
		{"no colour", "red    = \"#ff8f8a\"", "red    = \"#ff8f8\"", `"#ff8f8" is no colour`},
		{"contrast", "faint = \"ash\"", "faint = \"#444444\"", "faint: contrast "},
		{"contrast on a ground", "cursor = \"on raise\"", "cursor = \"on #707070\"", "on ground cursor"},
		{"ground without ground", "cursor = \"on raise\"", "cursor = \"red\"", "needs \"on COLOUR\""},
		{"text without colour", "bad = \"red\"", "bad = \"bold\"", "needs a text colour"},
		{"two colours", "bad = \"red\"", "bad = \"red ink\"", "a second colour"},
		{"appearance", "appearance = \"dark\"", "appearance = \"dim\"", `use "dark" or "light"`},
		{"syntax", "[palette]", "[palette", "theme t.toml:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := themes.Parse("t.toml", source(t, c.from, c.to))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if !strings.Contains(err.Error(), "t.toml:") {
				t.Errorf("%v does not name the line", err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"dark", "light"} {
		raw, err := themes.Source(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte("name = \"x\"\n[roles]\ntext = \"on\""))
	f.Fuzz(func(t *testing.T, raw []byte) {
		th, err := themes.Parse("f.toml", raw)
		if (th == nil) == (err == nil) {
			t.Fatalf("theme %v, error %v: exactly one is expected", th, err)
		}
	})
}
