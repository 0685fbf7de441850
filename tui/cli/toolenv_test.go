package cli

import (
	"slices"
	"strings"
	"testing"

	"vise/replay/driver"
)

// A coding agent and the code of its patch see where the tools are, and nobody's keys.
func TestToolsCarryNoCredential(t *testing.T) {
	env := []string{"GOFLAGS=-mod=mod", "GOCACHE=/c", "GOPRIVATE=example.org", "CARGO_HOME=/cargo", "NODE_OPTIONS=--x", "UV_CACHE_DIR=/uv", "PYTHONPATH=/lib",
		"UV_INDEX_URL=https://index.example.org/simple",
		"GOOGLE_API_KEY=1", "GOOGLE_APPLICATION_CREDENTIALS=/k.json", "GOAUTH=git 2", "CARGO_REGISTRY_TOKEN=3", "CARGO_REGISTRIES_MINE_TOKEN=4", "NODE_AUTH_TOKEN=5",
		"UV_PUBLISH_TOKEN=6", "UV_INDEX_MINE_PASSWORD=7", "PYTHON_KEYRING_BACKEND=8", "GOPROXY=https://me:secret@proxy.example.org,direct",
		"UV_EXTRA_INDEX_URL=https://token@index.example.org/simple", "LD_PRELOAD=/x.so"}
	kept := []string{"GOFLAGS", "GOCACHE", "GOPRIVATE", "CARGO_HOME", "NODE_OPTIONS", "UV_CACHE_DIR", "PYTHONPATH", "UV_INDEX_URL"}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if got, ok := toolchain(env)[name]; ok != slices.Contains(kept, name) || ok && got != value {
			t.Errorf("%s: passed %t", name, ok)
		}
	}
	if got := driver.Environ([]string{"NODE_AUTH_TOKEN"}, toolchain(env), env); !slices.Contains(got, "NODE_AUTH_TOKEN=5") {
		t.Errorf("a credential that agent.env names is not there: %q", got)
	}
}
