package policy

import (
	"strings"
	"testing"
)

// A value of the wrong type is told by its line and key, with an example of what is right.
func TestWrongTypes(t *testing.T) {
	for text, want := range map[string]string{
		"version = 2\n[filesystem]\nallow_write = \"src/**\"\n":                    `line 3: filesystem.allow_write is a text; write a list of globs: ["src/**"]`,
		"version = 2\nfilesystem.default = 3\n":                                    "line 2: filesystem.default is a number; write a text in quotes",
		"version = 2\n[process]\ndefault = \"allow\"\n[filesystem]\ndefault = 3\n": "line 5: filesystem.default is a number",
		"version = \"two\"\n": "line 1: version is a text; write a whole number",
		"version = 2\n[proof]\ntests = [\"make\", \"test\"]\n": `line 3: proof.tests has, or is, a text; write a list of commands, each a list of words: [["make", "test"]]`,
		"version = 2\n[proof]\nnetwork = \"on\"\n":             "line 3: proof.network is a text; write true or false",
		"version = 2\n[proof]\ntests = []\n":                   "line 3: proof.tests is empty: name a command",
		"version = 2\nproof = 1\n":                             "line 2: proof is a number; write a table",
	} {
		_, err := Parse("p.toml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := Parse("p.json", []byte("{\n\"version\": 2,\n\"limits\": {\"files_changed\": 1},\n\"process\": {\n\"allow\": \"x\"}}")); err == nil || !strings.Contains(err.Error(), `line 5: process.allow is a text; write a list of programs`) {
		t.Errorf("JSON: %v", err)
	}
}
