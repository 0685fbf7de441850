package cli

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// The printed file is one that an engine can read: known instructions, whole
// continuations, lists that are JSON.
func TestContainerfile(t *testing.T) {
	known := regexp.MustCompile(`^(FROM|RUN|COPY|USER|WORKDIR|ENV|ENTRYPOINT)\s+\S`)
	seen := map[string]bool{}
	line := ""
	for i, raw := range strings.Split(containerfile, "\n") {
		if strings.HasPrefix(strings.TrimSpace(raw), "#") || line == "" && raw == "" {
			continue
		}
		part, more := strings.CutSuffix(raw, "\\")
		line += part
		if more {
			continue
		}
		m := known.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("line %d: %q is no instruction", i+1, line)
		}
		if len(seen) == 0 && m[1] != "FROM" {
			t.Errorf("it begins with %s", m[1])
		}
		seen[m[1]] = true
		if rest := strings.TrimSpace(strings.TrimPrefix(line, m[1])); strings.HasPrefix(rest, "[") {
			var list []string
			if err := json.Unmarshal([]byte(rest), &list); err != nil {
				t.Errorf("line %d: %v", i+1, err)
			}
		}
		line = ""
	}
	if line != "" {
		t.Errorf("the last line goes on: %q", line)
	}
	if !seen["USER"] || !seen["ENTRYPOINT"] {
		t.Errorf("instructions %v: it has to run vise, and not as root", seen)
	}
}
