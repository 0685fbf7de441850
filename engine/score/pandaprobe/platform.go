// Package pandaprobe scores turns on the PandaProbe platform, for people who use it:
// always through its command-line program, never over a connection of our own.
//
// The agent reports to the platform itself, under our session id (VISE_SESSION_ID in
// its environment); the traces found there are those of the platform, with ids of
// its own. Which of them have been scored is the caller's to remember: a trace
// counts as seen only once its scores are stored.
package pandaprobe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"vise/engine/guard"
	"vise/engine/process"
	"vise/engine/score"
)

// Identity is what scores of the platform carry in Score.By.
const Identity = "pandaprobe/1"

// maxListed bounds how many traces one listing may ask for.
const maxListed = 2000

// slack is how far a value may lie outside of [0,1] to be taken for the bound: more
// than a rounding error is another scale, and no score.
const slack = 0.01

// Options say how the program is run; the defaults are those of the settings evaluate.*.
type Options struct {
	Binary string
	Dir    string
	// Env is the program's whole environment; its credentials PANDAPROBE_* are in it and nowhere else.
	Env []string
	// Sandbox holds the program; nil does not.
	Sandbox *process.Sandbox
	Timeout time.Duration // of one call
	// Poll is the wait between two looks at a run, PollMax how often it is looked at.
	Poll    time.Duration
	PollMax int
	// Retries is how often what may do better later is tried, after Backoff × the number of the try.
	Retries int
	Backoff time.Duration
	List    int  // traces per listing
	Health  bool // ask for health before the first evaluation
}

// Platform is the platform as seen through its program. It is safe for concurrent use.
type Platform struct {
	options Options

	health sync.Mutex // one asks, the others wait
	asked  bool
	sick   error
}

// New returns the platform.
func New(o Options) *Platform { return &Platform{options: o} }

// Healthy asks once whether the platform can be used; later calls return the first
// answer. It fails when the program does not run or is not logged in; what says
// neither counts as healthy. A call that the context cut off is no answer.
func (p *Platform) Healthy(ctx context.Context) error {
	if !p.options.Health {
		return nil
	}
	p.health.Lock()
	defer p.health.Unlock()
	if p.asked {
		return p.sick
	}
	err := p.CheckHealth(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.asked, p.sick = true, err
	return err
}

// CheckHealth asks now.
func (p *Platform) CheckHealth(ctx context.Context) error {
	if _, err := p.run(ctx, "version"); err != nil {
		return err
	}
	_, err := p.run(ctx, "auth", "status")
	var e *CallError
	if errors.As(err, &e) && e.Err == nil && e.Code == exitAuth {
		return err
	}
	return nil // anything else says nothing about later calls
}

// NewTraces returns the completed traces of a session that are not seen, oldest
// first. While there is none, or the platform fails in a way that may pass, it asks
// again. No trace after that is no error.
func (p *Platform) NewTraces(ctx context.Context, session string, seen func(id string) bool) ([]string, error) {
	var last error
	for try := 1; ; try++ {
		ids, err := p.list(ctx, session, seen)
		if len(ids) > 0 || err != nil && !transient(err) {
			return ids, err
		}
		last = err
		if try >= max(1, p.options.Retries) {
			break
		}
		if err := pause(ctx, time.Duration(try)*p.options.Backoff); err != nil {
			return nil, err
		}
	}
	var e *CallError
	if errors.As(last, &e) && e.Err == nil && e.class() != exitServer {
		return nil, nil // there is nothing, in the words of the platform
	}
	return nil, last
}

// list asks for the newest traces, for more when all of them are new.
func (p *Platform) list(ctx context.Context, session string, seen func(id string) bool) ([]string, error) {
	for limit := max(1, p.options.List); ; limit = min(2*limit, maxListed) {
		v, err := p.call(ctx, "traces", "list", "--session-id", session, "--status", "COMPLETED", "--sort-by", "started_at", "--sort-order", "desc", "--limit", strconv.Itoa(limit))
		if err != nil {
			return nil, err
		}
		records := items(v, "items", "traces")
		var fresh []string
		for _, r := range records {
			if id := text(r, "trace_id", "id"); plain(id) == nil && !seen(id) && !slices.Contains(fresh, id) {
				fresh = append(fresh, id)
			}
		}
		if len(records) < limit || len(fresh) < len(records) || limit >= maxListed {
			slices.Reverse(fresh)
			return fresh, nil
		}
	}
}

// Grades are the scores of a request. A metric without one is pending; Faults say
// why, where more than "not yet" is known.
type Grades struct {
	Scores []score.Score
	Faults []string
}

// Score has traces scored on some metrics. It fails when the scores did not come:
// nothing is known then, and asking later may help, unless Permanent says otherwise.
func (p *Platform) Score(ctx context.Context, traces, metrics []string) (Grades, error) {
	if len(traces) == 0 || len(metrics) == 0 {
		return Grades{}, nil
	}
	var last error
	for try := 1; try <= max(1, p.options.Retries); try++ {
		if try > 1 {
			if err := pause(ctx, time.Duration(try-1)*p.options.Backoff); err != nil {
				return Grades{}, err
			}
		}
		records, err := p.runBatch(ctx, traces, metrics)
		if err == nil {
			return grades(records, traces, metrics), nil
		}
		if ctx.Err() != nil {
			return Grades{}, context.Cause(ctx)
		}
		if last = err; !transient(err) && !errors.Is(err, errUnfinished) {
			break
		}
	}
	return Grades{}, last
}

// Permanent reports whether a failure of Score will not pass by itself.
func Permanent(err error) bool { return permanent(err) }

var errUnfinished = errors.New("pandaprobe: the run has not ended")

// runBatch starts one run and polls its scores until every one has ended.
func (p *Platform) runBatch(ctx context.Context, traces, metrics []string) ([]map[string]any, error) {
	v, err := p.call(ctx, "evals", "runs", "batch", "--target", "trace", "--trace-ids", strings.Join(traces, ","), "--metrics", strings.Join(metrics, ","))
	if err != nil {
		return nil, err
	}
	object, _ := v.(map[string]any)
	run := text(object, "run_id", "id")
	if run == "" {
		return nil, &CallError{Call: "evals runs", Err: errors.New("its answer names no run")}
	}
	if plain(run) != nil { // it is an argument of the next calls
		return nil, &CallError{Call: "evals runs", Err: fmt.Errorf("its answer names the run %q, which is no id", guard.Line(run, 60))}
	}
	var last error
	for poll := range max(1, p.options.PollMax) {
		if poll > 0 {
			if err := pause(ctx, p.options.Poll); err != nil {
				return nil, err
			}
		}
		v, err := p.call(ctx, "evals", "runs", "scores", run, "--target", "trace")
		switch {
		case err != nil && !transient(err):
			return nil, err
		case err != nil:
			last = err
			continue
		}
		last = nil
		if records := items(v, "scores", "items"); len(records) > 0 && !slices.ContainsFunc(records, open) {
			return records, nil
		}
	}
	if last != nil {
		return nil, last
	}
	return nil, fmt.Errorf("%w after %d looks (evaluate.poll_max_attempts)", errUnfinished, max(1, p.options.PollMax))
}

// open reports a score that has not ended.
func open(r map[string]any) bool {
	switch strings.ToLower(text(r, "status")) {
	case "success", "completed", "complete", "succeeded", "failed", "error":
		return false
	}
	return true
}

// grades looks up each metric of each trace: by name and trace, else by name among
// the records that name no trace.
func grades(records []map[string]any, traces, metrics []string) Grades {
	var g Grades
	for _, trace := range traces {
		for _, m := range metrics {
			s := score.Score{Metric: m, TraceID: trace, By: Identity}
			r := find(records, m, trace)
			if r == nil {
				g.Faults = append(g.Faults, fmt.Sprintf("%s of trace %s: no score came", m, guard.Line(trace, 60)))
				g.Scores = append(g.Scores, s)
				continue
			}
			var why string
			if s.Value, why = value(r["value"]); why != "" {
				g.Faults = append(g.Faults, fmt.Sprintf("%s of trace %s: %s", m, guard.Line(trace, 60), why))
			}
			if reason := text(r, "reason"); reason != "" {
				s.Reasons = []string{guard.Line(reason, 300)}
			}
			if meta, ok := r["metadata"].(map[string]any); ok {
				if t, why := value(meta["threshold"]); why == "" && t != nil {
					s.Threshold = *t
				}
			}
			g.Scores = append(g.Scores, s)
		}
	}
	return g
}

func find(records []map[string]any, metric, trace string) map[string]any {
	var any map[string]any
	for _, r := range records {
		if text(r, "name") != metric {
			continue
		}
		switch text(r, "trace_id", "target_id") {
		case trace:
			return r
		case "":
			any = r
		}
	}
	return any
}

// value reads a score: a number or its text. What is no number is pending; so is
// what lies outside of [0,1] by more than a rounding error, with the reason.
func value(v any) (*float64, string) {
	var s string
	switch v := v.(type) {
	case nil:
		return nil, ""
	case json.Number:
		s = v.String()
	case string:
		s = strings.TrimSpace(v)
	default:
		return nil, "its value is no number"
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(f) {
		return nil, fmt.Sprintf("its value %q is no number", guard.Line(s, 30))
	}
	if f < -slack || f > 1+slack {
		return nil, fmt.Sprintf("its value %q is not in [0,1]", guard.Line(s, 30))
	}
	f = min(max(f, 0), 1)
	return &f, ""
}

// Evidence is what the platform knows of one trace. A part that could not be had is
// nil, and its error says why.
type Evidence struct {
	Trace, Spans, Scores any
	Errs                 [3]error
}

// Inspect fetches one trace, its tool spans and its scores. Nothing of it is
// sanitised or bounded but in bytes: that is the caller's.
func (p *Platform) Inspect(ctx context.Context, id string) Evidence {
	var e Evidence
	if err := plain(id); err != nil {
		return Evidence{Errs: [3]error{err, err, err}}
	}
	e.Trace, e.Errs[0] = p.call(ctx, "traces", "get", id)
	e.Spans, e.Errs[1] = p.call(ctx, "traces", "spans", id, "--kind", "TOOL")
	e.Scores, e.Errs[2] = p.call(ctx, "evals", "scores", "get", id, "--target", "trace")
	return e
}

// plain refuses an id that the program would take for an option, or for two.
func plain(id string) error {
	if id == "" || strings.HasPrefix(id, "-") || strings.Contains(id, ",") {
		return fmt.Errorf("pandaprobe: %q is no trace id", guard.Line(id, 60))
	}
	return nil
}

// items are the records of an answer: a list, or the first list among its members.
func items(v any, names ...string) []map[string]any {
	if object, ok := v.(map[string]any); ok {
		v = nil
		for _, n := range names {
			if list, ok := object[n].([]any); ok {
				v = list
				break
			}
		}
	}
	list, _ := v.([]any)
	var out []map[string]any
	for _, x := range list {
		if r, ok := x.(map[string]any); ok {
			out = append(out, r)
		}
	}
	return out
}

// text is the first non-empty text among members of a record.
func text(r map[string]any, names ...string) string {
	for _, n := range names {
		if s, ok := r[n].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
