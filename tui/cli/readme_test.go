package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// quickStarts are the sections of the README whose commands are run, with what each
// block of them must print; a block that is not named here, or is gone, is an error.
var quickStarts = []struct {
	section string
	blocks  []string // regular expressions of the output, in the order of the blocks
}{
	{"Two commands", []string{`(?s)rule_promote.*after: none`}},
	{"Five minutes", []string{`(?s)repair_started.*candidate.*promote.*reason_code`}},
	{"Your own agent", []string{`(?s)agent_started .*turn_replayed.*turn_replayed`, // ACP
		`(?s)agent_started.*notice .*rule_add.*rule_promote`, // the OpenAI protocol
		`(?s)agent_started.*notice .*rule_add.*rule_promote`, // a shell script
		`(?s)agent_started.*turn_replayed`,                   // instrumented
		`harness_rules_read`}},                               // MCP
}

// TestReadmeQuickStarts runs every line of every block of the README's quick starts,
// as it stands there, with stand-ins for the programs that a machine may not have:
// an agent called opencode, one called claude, the model behind the OpenAI protocol.
func TestReadmeQuickStarts(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 on this machine: the README's Python agents are not run")
	}
	raw, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	t.Parallel() // each block has a folder and a store of its own
	address := toyAddress(t)
	for _, q := range quickStarts {
		_, section, found := strings.Cut(string(raw), "\n## "+q.section+"\n")
		if !found {
			t.Errorf("the README has no section %q", q.section)
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		blocks := shellBlocks(section)
		if len(blocks) != len(q.blocks) {
			t.Errorf("%q has %d blocks of commands, %d are known to this test: %q", q.section, len(blocks), len(q.blocks), blocks)
			continue
		}
		for i, block := range blocks {
			t.Run(fmt.Sprintf("%s %d", q.section, i+1), func(t *testing.T) {
				t.Parallel()
				out := runBlock(t, root, address, block)
				if !regexp.MustCompile(q.blocks[i]).MatchString(out) {
					t.Errorf("the block printed nothing that matches %s:\n%s", q.blocks[i], out)
				}
			})
		}
	}
}

// shellBlocks are the code blocks of a section that are commands: those without a language.
func shellBlocks(section string) (blocks []string) {
	var block []string
	in, shell := false, false
	for line := range strings.Lines(section) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```") && !in:
			in, shell, block = true, line == "```", nil
		case strings.HasPrefix(line, "```"):
			if in = false; shell {
				blocks = append(blocks, strings.Join(block, "\n"))
			}
		case in:
			block = append(block, line)
		}
	}
	return blocks
}

// runBlock runs the lines of a block one after the other in one shell, in a folder
// with the sample agents and recordings, and returns what they printed. What stands
// for something of the reader's is filled in: SESSION, RULE, /tmp/desk.
func runBlock(t *testing.T, root, address, block string) string {
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	agents := filepath.Join(root, "tui", "cli", "testdata", "agents")
	session := "torn-blanket"
	if strings.Contains(block, "~/.claude") {
		session = "5e0c1d2a-0001-4000-8000-00000000d35c"
	}
	for name, from := range map[string]string{
		"agent.py": filepath.Join(agents, "refund.py"), "agent.sh": filepath.Join(agents, "refund.sh"), "traced.py": filepath.Join(agents, "traced.py"),
		"recordings/torn-blanket.jsonl":               filepath.Join(root, "testdata", "demo", "torn-blanket.jsonl"),
		"home/.claude/projects/my-project/desk.jsonl": filepath.Join(root, "testdata", "sessions", "claude-code", "desk.jsonl"),
	} {
		content, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(content))
	}
	if err := os.Mkdir(filepath.Join(dir, "my-agent"), 0o755); err != nil {
		t.Fatal(err)
	}
	// go: what the two commands start is this program; that the tests pass is what runs here.
	write(t, filepath.Join(bin, "go"), `#!/bin/sh
case "$*" in
"run . "*) shift 2; exec vise "$@" ;;
"test ./..."|"install .") test -f `+root+`/go.mod ;;
*) echo "go $*: not a command of the README that this test knows" >&2; exit 1 ;;
esac
`)
	write(t, filepath.Join(bin, "opencode"), "#!/bin/sh\n[ \"$*\" = acp ] && exec vise sample-agent\n")
	// claude: adds a server and asks it for its tools, as it does when it starts.
	write(t, filepath.Join(bin, "claude"), `#!/bin/sh
[ "$1 $2 $3 $4" = "mcp add vise --" ] || exit 1
shift 4
vise init >/dev/null
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"stand-in","version":"1"}}}' \
	'{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":2,"method":"tools/list"}' | "$@"
`)
	fill := strings.NewReplacer("SESSION", session, "/tmp/desk", filepath.Join(dir, "desk"),
		"RULE", `"$(vise rules ls --json | grep -o '"id":"r-[^"]*"' | head -1 | cut -d'"' -f4)"`)
	var script strings.Builder
	for line := range strings.Lines(block) {
		if line = strings.TrimSpace(line); line != "" {
			line = fill.Replace(line)
			fmt.Fprintf(&script, "%s\nrc=$?; [ $rc = 0 ] || { echo 'README: exit status '$rc' of:' %s >&2; exit 1; }\n", line, "'"+strings.ReplaceAll(line, "'", "")+"'")
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script.String())
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "XDG_CONFIG_HOME="+filepath.Join(dir, "home", ".config"),
		"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "VISE_TEST_DEMO="+filepath.Join(root, "testdata", "demo"),
		"OPENAI_API_KEY=toy-key", "VISE_PROVIDERS_OPENAI_BASE_URL="+address)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return string(out)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// toyAddress starts the scripted model and returns where it serves.
func toyAddress(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(toyAnswers))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}
