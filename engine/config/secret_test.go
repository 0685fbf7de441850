package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretReferences(t *testing.T) {
	for ref, ok := range map[Secret]bool{
		"env:OPENAI_API_KEY": true, "file:/run/key": true, "file:~/key": true, "cmd:pass show x": true, `cmd:["pass", "a b"]`: true,
		"": false, "sk-live-abc": false, "env:": false, "env:A B": false, "file:": false, "cmd:": false, "cmd: ": false, "cmd:[1]": false,
		"https://x": false, "ENV:A": false,
	} {
		if err := ref.Check(); (err == nil) != ok {
			t.Errorf("Check(%q) = %v", string(ref), err)
		}
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	type holder struct{ Key Secret }
	for _, s := range []Secret{"sk-hunter2", "cmd:pass show hunter2", `cmd:["pass", "hunter2"]`} {
		j, err := json.Marshal(holder{s})
		if out := fmt.Sprintf("%v %+v %#v %s %q %s", s, holder{s}, holder{s}, s, s, j); err != nil || strings.Contains(out, "hunter2") {
			t.Errorf("prints %s (%v)", out, err)
		}
	}
}

func TestKeyring(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"good": 0o600, "open": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(" from file \n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	k := Keyring{
		Environ: []string{"SET=from env", "HOME=" + dir},
		Run: func(ctx context.Context, argv []string) ([]byte, error) {
			if _, bounded := ctx.Deadline(); !bounded {
				t.Error("the command has no time limit")
			}
			if argv[0] == "false" {
				return nil, errors.New("exit status 1")
			}
			return []byte(strings.Join(argv, "+") + "\n"), nil
		},
		Root: dir,
	}
	for ref, want := range map[Secret]string{"env:SET": "from env", "file:good": "from file", "file:~/good": "from file", "cmd:a b": "a+b", `cmd:["a b"]`: "a b", "": ""} {
		if got, err := k.Resolve(t.Context(), ref); err != nil || got != want {
			t.Errorf("Resolve(%s) = %q, %v", ref, got, err)
		}
	}
	for ref, want := range map[Secret]string{
		"env:UNSET": "not set", "file:open": "chmod 600", "file:none": "no such file", "file:.": "not a plain file",
		"cmd:false": "exit status 1", "sk-hunter2": "must be a reference",
	} {
		if _, err := k.Resolve(t.Context(), ref); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Resolve(%s) = %v, want %s", ref, err, want)
		}
	}
	if _, err := (Keyring{}).Resolve(t.Context(), "cmd:a"); err == nil {
		t.Error("a keyring without Run ran something")
	}
}

func TestPrices(t *testing.T) {
	c, _, err := Load(LoadOptions{ProjectFile: write(t, "[providers.openai]\nprice = { \"gpt-x\" = { input = 1, output = 2.5, cached = 0 }, \"*\" = { input = 9, output = 9 } }\n")})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Providers["openai"]
	if price, ok := p.Price("gpt-x"); !ok || price.Output != 2.5 || price.Cached == nil || p.Key != "env:OPENAI_API_KEY" {
		t.Errorf("gpt-x = %+v, %t", price, ok)
	}
	if price, ok := p.Price("other"); !ok || price.Input != 9 {
		t.Errorf("other = %+v, %t", price, ok)
	}
	if _, ok := c.Providers["groq"].Price("other"); ok {
		t.Error("an unknown price is known")
	}
	if len(Default().Providers["openai"].Prices) != 0 {
		t.Error("loading changed the built-in table")
	}
}
