package cli_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Memory that an import, an export and scoring may take, in bytes, for a session whose
// longest record has 80 MB, and what showing its first lines may take.
const (
	maxRSS     = 300 << 20
	maxShowRSS = 120 << 20
)

// peakFile names the variable with the file into which a vise of a test writes the most
// memory that it had resident, in the words of /proc. What the system tells of a child
// that has ended (getrusage) is no measure: it begins with the memory of its parent.
const peakFile = "VISE_TEST_PEAK"

func tellPeak() {
	name := os.Getenv(peakFile)
	status, err := os.ReadFile("/proc/self/status")
	if name == "" || err != nil {
		return
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			_ = os.WriteFile(name, []byte(line), 0o600)
		}
	}
}

// toldPeak reads what tellPeak wrote, in bytes.
func toldPeak(t *testing.T, name string) int64 {
	t.Helper()
	line, err := os.ReadFile(name)
	if err != nil {
		t.Skipf("the system does not tell: %v", err)
	}
	var kb int64
	if _, err := fmt.Sscanf(string(line), "VmHWM: %d kB", &kb); err != nil || kb == 0 {
		t.Fatalf("%q: %v", line, err)
	}
	return kb << 10
}

// TestRecordMemory imports files with one record of 80 MB through the real program,
// shows, exports and scores what was imported, and asks the program each time for the most
// memory that it had. Two of the shapes and some of the commands are run by default, all
// with VISE_HUGE=1.
func TestRecordMemory(t *testing.T) {
	t.Parallel() // what is measured is the memory of another process
	const size = 80 << 20
	head := `"sessionId":"5e0c1d2a-0001-4000-8000-00000000d35c","version":"2.1.12","cwd":"/home/dev/desk","timestamp":"2026-03-01T09:00:00.000Z"`
	claude := func(w io.Writer, call, result func()) {
		fmt.Fprintf(w, `{"type":"user","uuid":"u0",%s,"message":{"role":"user","content":"read it"}}`+"\n", head)
		fmt.Fprintf(w, `{"type":"assistant","uuid":"a0",%s,"message":{"id":"m0","model":"model-a","content":[{"type":"tool_use","id":"t0","name":"Read","input":{"path":"`, head)
		call()
		io.WriteString(w, `"}}]}}`+"\n")
		fmt.Fprintf(w, `{"type":"user","uuid":"r0",%s,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t0","content":`, head)
		result()
		io.WriteString(w, `}]}}`+"\n")
		fmt.Fprintf(w, `{"type":"assistant","uuid":"a1",%s,"message":{"id":"m1","model":"model-a","content":[{"type":"text","text":"done"}]}}`+"\n", head)
	}
	line := `an ordinary \"line\" of a log, \u00e9, func (r *T) key: value\tat https://example.org/a/b?c=d\n`
	fill := func(w io.Writer, n int, s string) {
		for range n / len(s) {
			io.WriteString(w, s)
		}
	}
	none := func() {}
	codex := func(w io.Writer, output func()) {
		const at = `"timestamp":"2026-03-01T09:00:00.000Z"`
		fmt.Fprintf(w, `{%s,"type":"session_meta","payload":{"id":"5e0c1d2a-0001-4000-8000-00000000d35c"}}`+"\n", at)
		fmt.Fprintf(w, `{%s,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"read it"}]}}`+"\n", at)
		fmt.Fprintf(w, `{%s,"type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{}","call_id":"c1"}}`+"\n", at)
		fmt.Fprintf(w, `{%s,"type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"`, at)
		output()
		io.WriteString(w, `"}}`+"\n")
	}
	for _, c := range []struct {
		name  string
		quick bool
		write func(w io.Writer)
		kept  int // bytes of the result that must be in the store again
	}{
		{"a result of 80 MB", true, func(w io.Writer) {
			claude(w, none, func() { io.WriteString(w, `"`); fill(w, size, line); io.WriteString(w, `"`) })
		}, size * 9 / 10},
		{"a picture of 80 MB", true, func(w io.Writer) {
			claude(w, none, func() {
				io.WriteString(w, `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`)
				fill(w, size, "iVBORw0KGgoAAAANSUhEUgAAAAUA")
				io.WriteString(w, `"}}]`)
			})
		}, 20},
		{"many texts", false, func(w io.Writer) {
			claude(w, none, func() {
				io.WriteString(w, `[{"type":"text","text":"first"}`)
				fill(w, size, `,{"type":"text","text":"`+strings.Repeat(line, 10)+`"}`)
				io.WriteString(w, `]`)
			})
		}, size / 2},
		{"arguments of 80 MB", false, func(w io.Writer) {
			claude(w, func() { fill(w, size, line) }, func() { io.WriteString(w, `"ok"`) })
		}, 2},
		{"a secret in every line", false, func(w io.Writer) {
			claude(w, none, func() {
				io.WriteString(w, `"`)
				fill(w, size, strings.Repeat(line, 100)+`password=hunter2abc7\n`)
				io.WriteString(w, `"`)
			})
		}, size / 2},
		{"codex", false, func(w io.Writer) { codex(w, func() { fill(w, size, line) }) }, size / 2},
		{"native", false, func(w io.Writer) {
			io.WriteString(w, `{"vise":1,"type":"session","id":"big"}`+"\n"+`{"type":"turn","session_id":"big","index":0,"input":"read it"}`+"\n"+
				`{"type":"span","id":"t0","kind":"TOOL","name":"Read","output":"`)
			fill(w, size, line)
			io.WriteString(w, `"}`+"\n")
		}, size / 2},
	} {
		if !c.quick && os.Getenv("VISE_HUGE") == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "huge.jsonl")
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			w := bufio.NewWriterSize(f, 1<<20)
			c.write(w)
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			huge := os.Getenv("VISE_HUGE") != ""
			vise := func(most int64, args ...string) string {
				cmd := exec.CommandContext(t.Context(), "vise", args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), peakFile+"="+filepath.Join(dir, "peak"))
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("vise %s: %v", args, err)
				}
				peak := toldPeak(t, filepath.Join(dir, "peak"))
				t.Logf("%d MB, %.1f s of CPU: vise %s", peak>>20, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), args)
				if peak > most {
					t.Errorf("vise %s took %d MB, more than %d", args, peak>>20, most>>20)
				}
				return string(out)
			}
			vise(maxRSS, "init")
			if out := vise(maxRSS, "import", file, "--json"); !strings.Contains(out, `"damaged":0`) || !strings.Contains(out, `"calls":1`) {
				t.Errorf("the import says %.300s", out)
			}
			session := "5e0c1d2a-0001-4000-8000-00000000d35c"
			if c.name == "native" {
				session = "big"
			}
			if out := vise(maxShowRSS, "sessions", "show", session); !strings.Contains(out, "read it") || len(out) > 2000 {
				t.Errorf("sessions show: %d bytes, %.300s", len(out), out)
			}
			formats := []string{"native"}
			if c.kept > size/2 || huge {
				formats = append(formats, "otlp")
			}
			if huge {
				formats = append(formats, "openai")
				for _, how := range []string{"--full", "--json"} {
					if out := vise(maxRSS, "sessions", "show", session, how); len(out) < c.kept {
						t.Errorf("sessions show %s: %d bytes, %d were recorded", how, len(out), c.kept)
					}
				}
			}
			for _, format := range formats {
				vise(maxRSS, "sessions", "export", session, "--format", format, "-o", "back.jsonl")
				info, err := os.Stat(filepath.Join(dir, "back.jsonl"))
				if err != nil {
					t.Fatal(err)
				}
				if info.Size() < int64(c.kept) {
					t.Errorf("%s: %d bytes of the session are kept, %d were recorded", format, info.Size(), c.kept)
				}
			}
			if c.kept > size/2 || huge {
				if out := vise(maxRSS, "replay", "--recorded", session); !strings.Contains(out, "1 turn scored") {
					t.Errorf("replay --recorded says %.300s", out)
				}
			}
		})
	}
}
