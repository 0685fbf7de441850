package themes_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vise/themes"
)

// Every theme we ship parses. No text role is under 4.5:1 on the background or on any
// ground, no line under 3:1; the contrast themes keep 7:1. The numbers are computed
// here again and not taken from the loader.
func TestBuiltin(t *testing.T) {
	list, err := themes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 8 {
		t.Errorf("%d themes, at least 8 are promised", len(list))
	}
	if list[0].Name != "dark" || list[1].Name != "light" {
		t.Errorf("the first two are %s and %s; what follows the terminal must be dark and light", list[0].Name, list[1].Name)
	}
	for _, th := range list {
		if th.About == "" || th.File != "" {
			t.Errorf("%s: about %q, file %q", th.Name, th.About, th.File)
		}
		if p := themes.Named(list, th.Pair); th.Pair != "" && (p == nil || p.Pair != th.Name || p.Appearance == th.Appearance) {
			t.Errorf("%s names the pair %s, which is none", th.Name, th.Pair)
		}
		if th.Appearance == themes.Any {
			ownColours(t, th)
			continue
		}
		least := 4.5
		if strings.HasPrefix(th.Name, "contrast-") {
			least = 7
		}
		for r := range themes.RoleCount {
			role := themes.Role(r)
			if role.Ground() {
				continue
			}
			fg := *th.Roles[r].Fg
			if role.Mark() {
				if c := themes.Contrast(fg, th.Background); c < 3 {
					t.Errorf("%s: %s has %.2f:1", th.Name, role, c)
				}
				continue
			}
			for g := themes.Cursor; int(g) < themes.RoleCount; g++ {
				if c := themes.Contrast(fg, *th.Roles[g].Bg); c < least {
					t.Errorf("%s: %s has %.2f:1 on %s", th.Name, role, c, g)
				}
			}
			if c := themes.Contrast(fg, th.Background); c < least {
				t.Errorf("%s: %s has %.2f:1", th.Name, role, c)
			}
		}
	}
}

// ownColours: nothing but the terminal's sixteen colours, and reading text its own.
func ownColours(t *testing.T, th *themes.Theme) {
	t.Helper()
	for r, look := range th.Roles {
		for _, c := range []*themes.Color{look.Fg, look.Bg} {
			if c != nil && c.Known() {
				t.Errorf("%s: %s has the colour %s of its own", th.Name, themes.Role(r), c)
			}
		}
	}
	for _, r := range []themes.Role{themes.Text, themes.Dim, themes.Faint, themes.Strong, themes.Number, themes.KeyText, themes.Heading} {
		if th.Roles[r].Fg.Own != themes.Default {
			t.Errorf("%s: %s is %s, not the terminal's text", th.Name, r, th.Roles[r].Fg)
		}
	}
}

// What the safe pair tells apart stays apart for people who see no red, no green or no
// blue: colours are turned into what they see (Machado, Oliveira and Fernandes 2009,
// severity 1) and compared in CIELAB; 20 is far above a just noticeable difference.
func TestSafeForColourBlind(t *testing.T) {
	see := map[string][9]float64{
		"anybody":      {1, 0, 0, 0, 1, 0, 0, 0, 1},
		"protanopia":   {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
		"deuteranopia": {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
		"tritanopia":   {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900},
	}
	list, err := themes.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"safe-dark", "safe-light"} {
		th := themes.Named(list, name)
		for who, m := range see {
			for _, p := range [][2]themes.Role{{themes.Good, themes.Bad}, {themes.Good, themes.Warn}, {themes.Bad, themes.Warn}, {themes.Added, themes.Removed}, {themes.Bad, themes.Info}} {
				a, b := lab(*th.Roles[p[0]].Fg, m), lab(*th.Roles[p[1]].Fg, m)
				if d := math.Hypot(math.Hypot(a[0]-b[0], a[1]-b[1]), a[2]-b[2]); d < 20 {
					t.Errorf("%s, %s: %s and %s are %.1f apart", name, who, p[0], p[1], d)
				}
			}
		}
	}
}

// lab is a colour as it is seen through m (a matrix over linear sRGB), in CIELAB (D65).
func lab(c themes.Color, m [9]float64) [3]float64 {
	lin := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	r, g, b := lin(c.R), lin(c.G), lin(c.B)
	row := func(i int) float64 { return max(0, min(1, m[i]*r+m[i+1]*g+m[i+2]*b)) }
	r, g, b = row(0), row(3), row(6)
	f := func(t float64) float64 {
		if t > 216.0/24389 {
			return math.Cbrt(t)
		}
		return (24389.0/27*t + 16) / 116
	}
	x := f((0.4124*r + 0.3576*g + 0.1805*b) / 0.95047)
	y := f(0.2126*r + 0.7152*g + 0.0722*b)
	z := f((0.0193*r + 0.1192*g + 0.9505*b) / 1.08883)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
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
		{"missing role", "bad = \"red\"\n", "", "[roles]: missing: bad"},
		{"unknown role", "bad = \"red\"", "bad = \"red\"\nworse = \"red\"", "worse: unknown role"},
		{"unknown key", "appearance =", "colour = 1\nappearance =", `unknown key "colour"`},
		{"unknown colour", "bad = \"red\"", "bad = \"reddish\"", `"reddish" is neither`},
		{"no colour", "red    = \"#ff8f8a\"", "red    = \"#ff8f8\"", `"#ff8f8" is no colour`},
		{"ground without ground", "cursor = \"on raise\"", "cursor = \"red\"", "needs \"on COLOUR\""},
		{"text without colour", "bad = \"red\"", "bad = \"bold\"", "needs a text colour"},
		{"two colours", "bad = \"red\"", "bad = \"red ink\"", "a second colour"},
		{"appearance", "appearance = \"dark\"", "appearance = \"dim\"", `use "dark" or "light"`},
		{"name", "name = \"dark\"", "name = \"auto\"", "cannot be the name"},
		{"any with a ground", "appearance = \"dark\"", "appearance = \"any\"", "belongs to appearance"},
		{"terminal colour", "bad = \"red\"", "bad = \"ansi:pink\"", "is no colour of a terminal"},
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

// A theme of one's own is used as it is; what is hard to read in it is told.
func TestPoorContrastIsTold(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"faint = \"ash\"", "faint = \"#444444\"", "faint: contrast "},
		{"cursor = \"on raise\"", "cursor = \"on #707070\"", "on ground cursor"},
	} {
		dir := t.TempDir()
		text := strings.Replace(string(source(t, c.from, c.to)), `name = "dark"`, `name = "mine"`, 1)
		if err := os.WriteFile(filepath.Join(dir, "mine.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := themes.All(dir)
		mine := themes.Named(list, "mine")
		if err != nil || mine == nil {
			t.Fatalf("%s: theme %v, %v", c.to, mine, err)
		}
		if all := strings.Join(mine.Poor, "\n"); !strings.Contains(all, c.want) || !strings.Contains(all, "mine.toml:") {
			t.Errorf("%s: told %q, want %q with the line", c.to, all, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"dark", "light", "ansi"} {
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

// The workbench reads all themes before its first frame.
func BenchmarkBuiltin(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := themes.Builtin(); err != nil {
			b.Fatal(err)
		}
	}
}
