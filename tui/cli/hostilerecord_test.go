package cli_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/notice"
	"vise/engine/patch/run"
	"vise/engine/rule"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/store"
	"vise/tui/cli"
)

// forged stands in every text of every record: it would drive the terminal and begin a
// line that vise seems to have printed.
var forged = strings.Join(hostile, "") + "\u202e\x7f\nFORGED\r\nFORGED\t"

// fill puts a text into every string that a value holds, and one element into whatever
// can have some.
func fill(v reflect.Value, text string, depth int) {
	if depth > 12 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth+1)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			raw, _ := json.Marshal(map[string]string{text: text})
			v.SetBytes(raw)
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text, depth+1)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), text, depth+1)
		}
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String {
			return
		}
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text, depth+1)
		fill(value, text, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Interface:
		if v.NumMethod() == 0 {
			v.Set(reflect.ValueOf(text))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), text, depth+1)
		}
	}
}

func filled[T any](set func(*T)) T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), forged, 0)
	if set != nil {
		set(&v)
	}
	return v
}

// datum finds the names of the data that the sentences of events are made of.
var datum = regexp.MustCompile(`(?:d\[|text\(|words\(|Data\[|[Ww]ords\(d, )"([a-z_]+)"`)

// everyEvent are events of all types with all data that any sentence speaks of, once as
// texts and once as numbers.
func everyEvent(t *testing.T, ids event.Event) (list []event.Event) {
	t.Helper()
	names := map[string]bool{}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sources {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range datum.FindAllSubmatch(raw, -1) {
			names[string(m[1])] = true
		}
	}
	if len(names) < 40 {
		t.Fatalf("found only %d names of data", len(names))
	}
	kinds, err := filepath.Glob(filepath.Join(repository, "engine", "event", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`\n\t[A-Z]\w+ +Type = "([a-z_]+)"`)
	types := map[string]bool{}
	for _, f := range kinds {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllSubmatch(raw, -1) {
			types[string(m[1])] = true
		}
	}
	if len(types) < 40 {
		t.Fatalf("found only %d types of events", len(types))
	}
	for _, typ := range slices.Sorted(maps.Keys(types)) {
		for _, v := range []any{forged, 2.0, []any{forged}, map[string]any{forged: 1.0}} {
			e := ids
			e.Type, e.Data = event.Type(typ), map[string]any{}
			for name := range names {
				e.Data[name] = v
			}
			list = append(list, e)
		}
	}
	return list
}

// Whatever a text of any record holds, no command that prints it lets it drive the
// terminal, or begin a line of its own outside of a block of text.
func TestHostileRecords(t *testing.T) {
	dir := t.TempDir()
	vise := func(args ...string) (code int, stdout, stderr string) {
		var out, errs strings.Builder
		code = cli.Run(t.Context(), args, cli.Surroundings{In: strings.NewReader(""), Out: &out, Err: &errs, Dir: dir, Self: "vise", Env: []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir}})
		return code, out.String(), errs.String()
	}
	if code, out, errs := vise("init"); code != 0 {
		t.Fatalf("init: %d\n%s%s", code, out, errs)
	}
	s, err := store.Open(t.Context(), store.Options{Dir: filepath.Join(dir, ".vise"), MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	id := func(name string) string { return name + forged }
	sessions := map[trace.Origin]string{trace.Recorded: id("s-recorded"), trace.Live: id("s-live"), trace.Replay: id("s-replay")}
	ids := event.Event{SessionID: sessions[trace.Live], TurnIndex: event.Turn(0), NoticeID: id("n"), EpisodeID: id("e"), RuleID: id("r-active"), CaseID: id("c-failure"), RunID: id("run")}
	put := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var staged []store.Staged
	for _, session := range sessions {
		st, err := s.StageTurn(t.Context(), filled(func(x *trace.Turn) {
			x.SessionID, x.Index, x.Synthetic = session, 0, false
			one := x.Spans[0]
			x.Spans = nil
			for i, kind := range []trace.Kind{trace.LLM, trace.TOOL, trace.AGENT, trace.CHAIN, trace.TOOL} {
				one.ID, one.Kind, one.Parent = fmt.Sprint(i, forged), kind, ""
				if i == 4 {
					one.Output = ""
				}
				x.Spans = append(x.Spans, one)
			}
		}))
		put(err)
		staged = append(staged, st)
	}
	err = s.Update(t.Context(), func(tx *store.Tx) error {
		for origin, session := range sessions {
			put(tx.PutSession(filled(func(x *trace.Session) { x.ID, x.Origin = session, origin })))
			put(tx.PutReport(filled(func(x *score.Report) { x.SessionID, x.TurnIndex = session, 0 })))
		}
		for _, st := range staged {
			put(tx.PutTurn(st))
		}
		if _, err := tx.NameSession(sessions[trace.Live], forged); err != nil {
			t.Logf("a session cannot be named so: %v", err)
		}
		put(tx.PutNotice(filled(func(x *notice.Notice) {
			x.ID, x.SessionID, x.TurnIndex, x.Status = id("n"), sessions[trace.Live], 0, notice.Pending
		})))
		for _, status := range []episode.Status{episode.CandidateAdded, episode.Failed, episode.Dead} {
			name := id("e")
			if status != episode.CandidateAdded {
				name = id("e-" + string(status))
			}
			put(tx.PutEpisode(filled(func(x *episode.Episode) {
				x.ID, x.SessionID, x.TurnIndex, x.Status = name, sessions[trace.Live], 0, status
				if status == episode.CandidateAdded {
					x.Fork = nil
				}
			})))
			put(tx.PutStep(filled(func(x *episode.Step) { x.EpisodeID = name })))
		}
		for _, status := range []rule.Status{rule.Candidate, rule.Active, rule.Retired} {
			put(tx.PutRule(filled(func(x *rule.Rule) { x.ID, x.Status, x.Scope = id("r-"+string(status)), status, "refunds" })))
			put(tx.PutVerdict(filled(func(x *evidence.Verdict) { x.ID, x.RuleID = id("v-"+string(status)), id("r-"+string(status)) })))
			put(tx.PutTest(filled(func(x *evidence.Test) { x.ID, x.RuleID = id("t-"+string(status)), id("r-"+string(status)) })))
		}
		put(tx.PutScopeDescription(forged, forged))
		for _, kind := range []evidence.Kind{evidence.Failure, evidence.Win} {
			put(tx.PutCase(filled(func(x *evidence.Case) {
				x.ID, x.Kind, x.SessionID, x.TurnIndex = id("c-"+string(kind)), kind, sessions[trace.Live], 0
			})))
		}
		put(tx.PutPair(filled(func(x *evidence.Pair) { x.TestID = id("t-active") })))
		put(tx.PutPatchRun(filled(func(x *run.Run) { x.ID = id("run") })))
		put(tx.PutPatchLoop(filled(func(x *run.Loop) { x.RunID = id("run") })))
		put(tx.PutNoise(filled[evidence.Measured](nil)))
		for _, e := range everyEvent(t, ids) {
			if e.Ephemeral() {
				continue
			}
			if err := tx.Emit(e); err != nil {
				t.Logf("%s is refused: %v", e.Type, err)
			}
		}
		return nil
	})
	put(err)
	put(s.Close())

	commands := [][]string{
		{"sessions", "ls"}, {"sessions", "ls", "--origin", "replay"}, {"sessions", "ls", "--removed"}, {"sessions", "show", sessions[trace.Live]}, {"sessions", "show", sessions[trace.Recorded], "--full"},
		{"sessions", "diff", sessions[trace.Live], sessions[trace.Recorded]}, {"sessions", "diff", sessions[trace.Live], sessions[trace.Live]}, {"sessions", "export", sessions[trace.Live]},
		{"sessions", "rename", sessions[trace.Replay], forged}, {"sessions", "pin", sessions[trace.Live]}, {"sessions", "rm", sessions[trace.Replay]}, {"sessions", "ls", "--removed"}, {"sessions", "restore", sessions[trace.Replay]},
		{"notices", "ls"}, {"notices", "show", id("n")}, {"episodes", "ls"}, {"episodes", "show", id("e")}, {"episodes", "show", id("e-failed")}, {"episodes", "diff", id("e"), id("e-dead_letter")},
		{"rules", "ls"}, {"rules", "show", id("r-active")}, {"rules", "show", id("r-candidate")}, {"rules", "show", id("r-retired")}, {"rules", "search", "FORGED"}, {"rules", "status", id("r-active")},
		{"rules", "audit"}, {"rules", "why", id("r-active")}, {"rules", "export"}, {"cases", "ls"}, {"cases", "show", id("c-failure")}, {"cases", "show", id("c-win")}, {"cases", "offers"},
		{"journal"}, {"attention"}, {"patch", "ls"}, {"patch", "show", id("run")}, {"patch", "diff", id("run")}, {"noise"}, {"store", "stats"}, {"store", "verify"}, {"doctor"},
		{"validate"}, {"open", "vise://" + forged}, {"sessions", "show", "nobody" + forged}, {"notices", "ack", id("n")}, {"cases", "rm", id("c-win")}, {"rules", "retire", id("r-active"), "--reason", forged}, {forged}, {"keys", "--" + forged},
	}
	for _, args := range commands {
		for _, form := range []string{"", "--plain", "--json"} {
			if form != "" && slices.Contains([]string{"rename", "pin", "rm", "restore", "ack", "retire", "resume", "why"}, args[min(1, len(args)-1)]) {
				continue
			}
			line := slices.Clone(args)
			if form != "" {
				line = append(line, form)
			}
			code, out, errs := vise(line...)
			name := strings.ReplaceAll(strings.Join(line, " "), forged, "…")
			if testing.Verbose() {
				t.Logf("%s: exit %d, %d bytes, %.150q", name, code, len(out), errs)
			}
			for stream, text := range map[string]string{"output": out, "error output": errs} {
				for _, r := range text {
					if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r == 0x202e {
						t.Errorf("vise %s: %U in its %s: %.300q", name, r, stream, text)
						break
					}
				}
				if at := strings.Index("\n"+text, "\nFORGED"); at >= 0 && stream == "output" { // errors may have lines
					t.Errorf("vise %s: a text begins a line of its %s: %.300q", name, stream, text[max(0, at-200):])
				}
			}
		}
	}
}
