package cli_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// TestTracesAreExported runs the demo's agent with a receiver set: its turns and the
// repair arrive; without one, or with one that is down, the run is the same.
func TestTracesAreExported(t *testing.T) {
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISE_TEST_DEMO", filepath.Join(root, "testdata", "demo"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	var mu sync.Mutex
	var names []string
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var data otlp.TracesData
		if err := proto.Unmarshal(body, &data); err != nil || r.Header.Get("X-Api-Key") != "a b" {
			t.Errorf("a request of %d bytes: %v, headers %v", len(body), err, r.Header)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range data.ResourceSpans {
			names = append(names, rs.ScopeSpans[0].Spans[0].Name)
		}
	}))
	dir := filepath.Join(t.TempDir(), "p")
	vise := func(env []string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "vise", args...)
		cmd.Env = append(cmd.Environ(), env...)
		if args[0] != "demo" {
			cmd.Dir = dir
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("vise %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	vise(nil, "demo", "--prepare", dir)
	on := []string{"VISE_EXPORT_OTLP_ENDPOINT=" + receiver.URL, "VISE_REPAIR_TRACE=true", "OTEL_EXPORTER_OTLP_HEADERS=x-api-key=a%20b"}
	vise(on, "replay", "torn-blanket", "--no-validate")
	turns := 0
	for _, n := range names {
		if strings.HasPrefix(n, "invoke_agent ") {
			turns++
		}
	}
	if turns != 3 || !slices.Contains(names, "harness") || len(names) != 4 {
		t.Errorf("traces: %q", names)
	}
	if out := vise(on, "doctor", "--settings=false"); !strings.Contains(out, receiver.URL+" takes the traces of live turns and repairs") {
		t.Errorf("doctor: %s", out)
	}
	receiver.Close()
	if out := vise(on, "replay", "quiet-morning", "--no-validate"); !strings.Contains(out, "traces cannot be exported; runs go on without") || !strings.Contains(out, "turn 2") {
		t.Errorf("with a receiver that is down: %s", out)
	}
	if out := vise(on, "doctor", "--settings=false"); !strings.Contains(out, "runs go on without") {
		t.Errorf("doctor: %s", out)
	}
}
