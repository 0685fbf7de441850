package cli_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"vise/engine/episode"
	"vise/store"
)

// TestAnEpisodeThatKillsTheProgram: its model's answer is the end of the process, each
// time. After repair.max_attempts starts it is given up, and what comes after it runs.
func TestAnEpisodeThatKillsTheProgram(t *testing.T) {
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISE_TEST_DEMO", filepath.Join(root, "testdata", "demo"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	var mu sync.Mutex
	var running *os.Process
	asked := 0
	model := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		if running != nil {
			_ = running.Kill()
		}
	}))
	defer model.Close()
	dir := filepath.Join(t.TempDir(), "p")
	vise := func(args ...string) (killed bool, out string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "vise", args...)
		cmd.Env = append(cmd.Environ(), "VISE_REPAIR_MODEL=poison/one", "VISE_REPAIR_MAX_ATTEMPTS=2")
		if args[0] != "demo" {
			cmd.Dir = dir
		}
		var both bytes.Buffer
		cmd.Stdout, cmd.Stderr = &both, &both
		mu.Lock()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = cmd.Process
		mu.Unlock()
		err := cmd.Wait()
		mu.Lock()
		running = nil
		mu.Unlock()
		ended, _ := err.(*exec.ExitError)
		return ended != nil && !ended.Exited(), both.String()
	}
	cmd := exec.CommandContext(t.Context(), "vise", "demo", "--prepare", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := os.OpenFile(filepath.Join(dir, "vise.toml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("\n[providers.poison]\nbase_url = \"" + model.URL + "/v1\"\n"); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if killed, out := vise("replay", "torn-blanket", "--no-validate"); !killed {
		t.Fatalf("the first start ended by itself:\n%s", out)
	}
	if killed, out := vise("episodes", "run"); !killed {
		t.Fatalf("the second start ended by itself:\n%s", out)
	}
	before := asked
	if killed, out := vise("episodes", "run"); killed || asked != before {
		t.Errorf("a third start: killed %v\n%s", killed, out)
	}
	if killed, out := vise("store", "verify"); killed {
		t.Errorf("verify: %s", out)
	}
	s, err := store.Open(t.Context(), store.Options{Dir: filepath.Join(dir, ".vise"), MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.View(func(tx *store.Tx) error {
		list, err := tx.Episodes(store.Window{})
		if len(list) != 1 || list[0].Status != episode.Dead || list[0].Failures != 2 || list[0].Attempts != 2 {
			t.Errorf("episodes: %+v", list)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, out := vise("episodes", "ls"); !strings.Contains(out, string(episode.Dead)) {
		t.Errorf("episodes ls: %s", out)
	}
}
