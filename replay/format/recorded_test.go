package format_test

import (
	"encoding/json"
	"strings"
	"testing"

	"vise/replay/format"
)

// A session that is named after its file is not named after a key in that name.
func TestSecretInFileName(t *testing.T) {
	const key = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
	path := written(t, "run "+key+".jsonl", `{"type":"user","message":{"content":"hi"}}`+"\n")
	c, sum, err := read(t, path, format.Options{})
	if err != nil || len(c.sessions) != 1 || sum.Masked == 0 {
		t.Fatalf("%d sessions, %+v, %v", len(c.sessions), sum, err)
	}
	all, err := json.Marshal(map[string]any{"heads": c.sessions, "turns": c.turns})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(all), key) || !strings.HasPrefix(c.sessions[0].ID, "run-redacted-api-key-") {
		t.Errorf("the key is kept: %s", all)
	}
}
