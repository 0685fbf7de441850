package cli_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"vise/engine/process"
	"vise/tui/cli"
)

// repository is the root of the module, seen from this package.
const repository = "../.."

func demo() fs.FS { return os.DirFS(os.Getenv("VISE_TEST_DEMO")) }

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"vise": func() {
			code := cli.Main(demo())
			tellPeak()
			os.Exit(code)
		},
		// Stand-ins for what a project may be connected to.
		"scripted-judge": scriptedJudge,
		"pandaprobe":     fakePlatform,
		"hand-agent":     handAgent,
		"toy-model":      toyModel,
		"toy-tools":      toyTools,
	})
}

// TestScripts are the manual of the command line: each script is one thing a
// person does, with what it prints and how it ends.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Getuid() == 0, nil
			case "sandbox": // files of an agent can be held
				return process.FilesCanBeHeld(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("VISE_TEST_DEMO", filepath.Join(root, "testdata", "demo"))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("AGENTS", filepath.Join(root, "tui", "cli", "testdata", "agents"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, ".config"))
			return nil
		},
	})
}
