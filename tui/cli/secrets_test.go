package cli_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vise/tui/internal/screen"
)

// The workbench logs everything it can, its library traces every byte, and a key comes by
// on all its ways: referred to by the config, quoted by a server's error, printed by the
// agent. It is in no file of the project and in no trace.
func TestNoSecretIsLogged(t *testing.T) {
	const (
		key   = "sk-live-Zq83hT5vLw0aBcDeFgHiJkLmNoPq4711"
		token = "ghp_Zq83hT5vLw0aBcDeFgHiJkLmNoPq4711abcd"
	)
	asked := make(chan string, 100)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.Header.Get("Authorization"):
		default:
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"error":{"message":"Incorrect API key provided: ` + key + `. Find your key in the console.","type":"invalid_request_error","code":"invalid_api_key"}}`))
	}))
	defer model.Close()
	base := t.TempDir()
	project, trace := filepath.Join(base, "p"), filepath.Join(base, "trace")
	prepare := exec.Command("vise", "demo", "--prepare", project)
	surround(t, prepare, nil, base, base)
	if out, err := prepare.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	config := filepath.Join(project, "vise.toml")
	raw, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(project, "agent.sh")
	call := `{"type":"span","kind":"TOOL","name":"issue_refund","input":"{\"order_id\":\"A-1004\"}","error":"validation error: token ` + token + ` lacks the right"}`
	if err := os.WriteFile(script, []byte("echo '"+call+"' >>\"$VISE_TRACE\"\necho '"+call+"' >>\"$VISE_TRACE\"\necho 'I could not complete the refund with "+token+"'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(raw), `command = ["{vise}", "sample-agent"]`, `command = ["sh", "`+script+"\"]\ndriver = \"exec\"", 1)
	text = strings.Replace(text, `model = "builtin/heuristic"`, `model = "strict/one"`, 1) + "\n[providers.strict]\nbase_url = \"" + model.URL + "/v1\"\nkey = \"env:STRICT_KEY\"\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command("vise", "--log-level", "debug", "--project", project)
	surround(t, cmd, []string{"STRICT_KEY=" + key, "TEA_TRACE=" + trace, "VISE_REPAIR_HOLD=false"}, base, base)
	s := screen.Start(t, 140, 40, cmd)
	s.Wait("torn-blanket").Press("r")
	s.Wait("provided: [key]").Press("~").Wait("from debug").Wait("event agent_exited").Press("l", "l").Wait("from warn").Wait("event repair_failed").
		Press("l", "/").Wait("from error").Press("zzz").Wait("filter zzz").Wait("none of").Press("enter", "esc").Gone("from error").Press("q")
	if code := s.Exit(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if got := <-asked; got != "Bearer "+key {
		t.Fatalf("the server was given %q: the key was not used", got)
	}
	logged, err := os.ReadFile(filepath.Join(project, ".vise", "logs", "workbench.log"))
	if err != nil || !strings.Contains(string(logged), `"msg":"event repair_failed"`) || !strings.Contains(string(logged), `"msg":"act"`) {
		t.Errorf("the log: %v\n%s", err, logged)
	}
	if drawn, err := os.ReadFile(trace); err != nil || !strings.Contains(string(drawn), "provided: [key]") {
		t.Errorf("the trace of the terminal: %v", err)
	}
	for _, secret := range []string{key, token} {
		if strings.Contains(s.Raw(), secret) {
			t.Errorf("the screen shows %s", secret)
		}
		if err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || path == script {
				return err
			}
			raw, err := os.ReadFile(path)
			if strings.Contains(string(raw), secret) {
				t.Errorf("%s holds %s", path, secret)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}
