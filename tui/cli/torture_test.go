package cli_test

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/store"
)

// The long form: VISE_TORTURE=100 go test ./tui/cli -run TestTorture -v
var (
	tortures    = flag.Int("torture", tortureDefault(), "number of times TestTorture kills the program")
	tortureSeed = flag.Uint64("torture.seed", 0, "seed of TestTorture's moments; 0 takes the clock")
)

// tortureDefault is one project's life, or what VISE_TORTURE says.
func tortureDefault() int {
	if n, err := strconv.Atoi(os.Getenv("VISE_TORTURE")); err == nil {
		return n
	}
	return 8
}

// TestTorture kills the program with SIGKILL at random moments of importing,
// replaying, repairing and validating. After every kill the store is whole,
// nothing that was told is lost, no episode is closed by half or has two rules,
// and the next start goes on from there, down to the end of the demo's story.
func TestTorture(t *testing.T) {
	kills, seed := *tortures, *tortureSeed
	if testing.Short() {
		kills = min(kills, 4)
	}
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-torture.seed %d", seed)
	r := &rack{t: t, random: rand.New(rand.NewPCG(seed, 1)), left: kills, last: map[string]int{}, tells: map[string]int{}}
	for n := 0; r.left > 0; n++ {
		r.life(filepath.Join(t.TempDir(), strconv.Itoa(n)))
	}
	t.Logf("%d kills; the last event told before each: %v", kills, r.last)
}

// rack runs the program and kills it.
type rack struct {
	t      *testing.T
	random *rand.Rand
	left   int            // kills to go
	tells  map[string]int // how many events a command tells when it is let be
	last   map[string]int // kills by the last event that was told before
	dir    string
}

// life is one project from its recordings to a rule that evidence keeps, with
// kills on the way.
func (r *rack) life(dir string) {
	r.dir = dir
	root, err := filepath.Abs(repository)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Setenv("VISE_TEST_DEMO", filepath.Join(root, "testdata", "demo"))
	r.t.Setenv("HOME", filepath.Dir(dir))
	r.t.Setenv("XDG_CONFIG_HOME", filepath.Dir(dir))
	if err := os.Mkdir(dir, 0o755); err != nil {
		r.t.Fatal(err)
	}
	made := filepath.Join(dir, "p")
	r.run(dir, "demo", "--prepare", made)
	r.dir = made
	if err := os.RemoveAll(filepath.Join(made, ".vise")); err != nil {
		r.t.Fatal(err)
	}
	r.tear(1, "import", "sessions")
	// Every run of the agent fails anew until a rule is kept.
	r.tear(3, "replay", "torn-blanket", "--no-validate")
	r.tear(1, "episodes", "run")
	r.tear(3, "validate", "--until-idle")
	r.nothingRuns()
	after := r.run(made, "replay", "torn-blanket")
	r.look(after)
	for _, e := range after {
		if e.Type == event.Notice {
			r.t.Errorf("the agent still fails after the torture: %+v", e)
		}
	}
	err = r.store(func(tx *store.Tx) error {
		active, err := tx.Rules(rule.Active)
		if len(active) == 0 {
			r.t.Error("no rule was kept")
		}
		for _, x := range active {
			doc, err := os.ReadFile(filepath.Join(made, ".vise", "rules", x.Scope+".md"))
			if !strings.Contains(string(doc), x.ID) {
				r.t.Errorf("rule %s is not in its document: %v\n%s", x.ID, err, doc)
			}
		}
		for _, x := range must(tx.Episodes(store.Window{})) {
			// One that was killed as often as repair.max_attempts allows is given up.
			if !x.Status.Success() && (x.Status != episode.Dead || x.Failures < 3) {
				r.t.Errorf("episode %s is left %s after %d failures", x.ID, x.Status, x.Failures)
			}
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// tear runs a command and kills it at a random moment, up to n times, looks at
// what is left, and lets the command run to its end at last.
func (r *rack) tear(n int, args ...string) {
	r.t.Helper()
	for ; n > 0 && r.left > 0; n-- {
		told, killed := r.kill(args...)
		if killed {
			r.left--
		}
		if r.left%2 == 0 {
			r.run(r.dir, "store", "verify") // the program itself is the next to open the store
		}
		r.look(told)
	}
	told := r.run(r.dir, args...)
	r.tells[args[0]] = max(2, len(told))
	r.look(told)
}

// kill runs the program and kills it within moments of an event that it tells,
// the first or any other. It returns the events that were told and whether the
// program was still there to be killed.
func (r *rack) kill(args ...string) (told []event.Event, killed bool) {
	r.t.Helper()
	at := r.random.IntN(cmp.Or(r.tells[args[0]], 8))
	moments := time.Duration(r.random.Int64N(int64(25 * time.Millisecond)))
	cmd, out := r.command(r.dir, args...)
	kill := func() { _ = cmd.Process.Kill() }
	late := time.AfterFunc(5*time.Second, kill)
	defer late.Stop()
	if at == 0 {
		defer time.AfterFunc(8*moments, kill).Stop()
	}
	for e := range r.events(out) {
		if told = append(told, e); len(told) == at {
			defer time.AfterFunc(moments, kill).Stop()
		}
	}
	last := "nothing"
	if len(told) > 0 {
		last = string(told[len(told)-1].Type)
	}
	if err, ok := cmd.Wait().(*exec.ExitError); !ok || err.Exited() {
		return told, false
	}
	r.last[last]++
	return told, true
}

// run lets the program end by itself; it must succeed.
func (r *rack) run(dir string, args ...string) []event.Event {
	r.t.Helper()
	cmd, out := r.command(dir, args...)
	told := slices.Collect(r.events(out))
	if err := cmd.Wait(); err != nil {
		r.t.Fatalf("vise %s: %v\n%s", strings.Join(args, " "), err, cmd.Stderr)
	}
	return told
}

func (r *rack) command(dir string, args ...string) (*exec.Cmd, *bufio.Scanner) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "vise", append(args, "--json")...)
	cmd.Dir, cmd.Stderr = dir, &bytes.Buffer{}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	return cmd, lines
}

// events are the journal events of a stream; its last line may be cut.
func (r *rack) events(out *bufio.Scanner) iter.Seq[event.Event] {
	return func(yield func(event.Event) bool) {
		for out.Scan() {
			var e event.Event
			if json.Unmarshal(out.Bytes(), &e) == nil && e.Seq > 0 && !yield(e) {
				return
			}
		}
	}
}

func (r *rack) store(fn func(tx *store.Tx) error) error {
	s, err := store.Open(r.t.Context(), store.Options{Dir: filepath.Join(r.dir, ".vise"), MinFree: 1})
	if err != nil {
		return fmt.Errorf("the store does not open: %w", err)
	}
	defer s.Close()
	rep, err := s.Verify(r.t.Context())
	if err != nil {
		return err
	}
	if !rep.OK() {
		r.t.Errorf("store: %+v", rep.Problems)
	}
	return s.View(fn)
}

// look checks what must hold whenever the program has ended, however it did.
func (r *rack) look(told []event.Event) {
	r.t.Helper()
	err := r.store(func(tx *store.Tx) error {
		for _, e := range told {
			list, err := tx.Events(e.Seq-1, 1, store.EventFilter{})
			if err != nil {
				return err
			}
			if len(list) != 1 || list[0].Seq != e.Seq || list[0].Type != e.Type || !list[0].At.Equal(e.At) {
				r.t.Errorf("event %d (%s) was told and is not in the journal: %+v", e.Seq, e.Type, list)
			}
		}
		rules, err := tx.Rules()
		if err != nil {
			return err
		}
		wrote := map[string]string{}
		for _, x := range rules {
			if other := wrote[x.EpisodeID]; other != "" {
				r.t.Errorf("episode %s has two rules: %s and %s", x.EpisodeID, other, x.ID)
			}
			wrote[x.EpisodeID] = x.ID
		}
		episodes, err := tx.Episodes(store.Window{})
		if err != nil {
			return err
		}
		for _, e := range episodes {
			r.episode(tx, e, wrote[e.ID])
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// episode checks one episode: all of its notices are closed by it and it has
// ended, or none is.
func (r *rack) episode(tx *store.Tx, e episode.Episode, wrote string) {
	r.t.Helper()
	if e.CandidateID != wrote {
		r.t.Errorf("episode %s remembers rule %q, there is %q", e.ID, e.CandidateID, wrote)
	}
	for _, id := range e.NoticeIDs {
		n, ok, err := tx.Notice(id)
		if err != nil || !ok {
			r.t.Errorf("notice %s of episode %s: %v, %v", id, e.ID, ok, err)
			continue
		}
		if closed := n.Status == notice.Acknowledged; closed != e.Status.Success() {
			r.t.Errorf("episode %s is %s, its notice %s is %s", e.ID, e.Status, id, n.Status)
		}
	}
	ends := 0
	for _, x := range must(tx.Events(0, 0, store.EventFilter{EpisodeID: e.ID})) {
		switch x.Type {
		case event.RepairCompleted, event.RepairDuplicate, event.RepairAlreadyCovered, event.RepairNoProposal, event.RepairUnactionable:
			ends++
		}
	}
	if want := map[bool]int{true: 1}[e.Status.Success()]; ends != want {
		r.t.Errorf("episode %s is %s and has %d events that say so", e.ID, e.Status, ends)
	}
}

// nothingRuns checks that no agent is left, nor what was made for one.
func (r *rack) nothingRuns() {
	r.t.Helper()
	err := r.store(func(tx *store.Tx) error {
		left, err := tx.Processes()
		if len(left) > 0 {
			r.t.Errorf("processes on record: %+v", left)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	runs, err := os.ReadDir(filepath.Join(r.dir, ".vise", "runs"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	for _, d := range runs {
		r.t.Errorf("the folder of run %s is left", d.Name())
	}
	// Where the system shows it: nobody works in the project any more.
	dirs, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, d := range dirs {
		if at, err := os.Readlink(d); err == nil && strings.HasPrefix(at, r.dir+string(filepath.Separator)) {
			r.t.Errorf("process %s still works in %s", filepath.Base(filepath.Dir(d)), at)
		}
	}
}
