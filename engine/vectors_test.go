package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/event"
	"vise/engine/internal/vectors"
	"vise/engine/model"
	"vise/engine/model/faults"
	"vise/engine/notice"
	"vise/engine/repair"
	"vise/engine/trace"
	"vise/store"
)

type settlementInput struct {
	Config struct {
		Timeout  float64 `json:"repair_timeout_s"`
		MaxTurns int     `json:"max_turns"`
	} `json:"config"`
	Notices     []settlementNotice `json:"notices"`
	Completions []completion       `json:"completions"`
	Steps       []struct {
		Op      string            `json:"op"`
		Session string            `json:"session"`
		Timeout float64           `json:"timeout_s"`
		Notice  *settlementNotice `json:"notice"`
	} `json:"steps"`
}

type settlementNotice struct {
	ID               string            `json:"id"`
	SessionID        string            `json:"session_id"`
	TurnIndex        int               `json:"turn_index"`
	Severity         string            `json:"severity"`
	Signatures       []string          `json:"signatures"`
	FlaggedTraces    []string          `json:"flagged_traces"`
	RecommendedScope string            `json:"recommended_scope"`
	ScopeHints       []trace.ScopeHint `json:"scope_hints"`
}

type completion struct {
	Latency   float64          `json:"latency_s"`
	ToolCalls []completionCall `json:"tool_calls"`
}

type completionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// scripted answers questions with the completions of a case, over the whole
// client: what is settled went through the wire format, on the bubble's clock.
type scripted struct {
	store *store.Store
	left  []completion
	asked int
	// primary notice of the episode that is being repaired.
	primary string
	// during runs while a question is being answered; nil does nothing.
	during func()
}

// settling is a project whose repair model answers with the completions.
func settling(t *testing.T, set func(*config.Repair), answers ...completion) (*project, *scripted) {
	script := &scripted{left: answers}
	p := open(t, func(c *config.Config, o *engine.Options) {
		client, err := model.New(model.Options{Model: "script/one", Retries: -1, Transport: script,
			Providers: map[string]model.Provider{"script": {BaseURL: "http://script.invalid/v1"}}})
		if err != nil {
			t.Fatal(err)
		}
		o.Model, o.Stepper = client, script
		c.Repair.Backoff = 0
		set(&c.Repair)
	})
	script.store = p.store
	return p, script
}

// resolved is an answer that closes the episode without a rule.
func resolved() (c completion) {
	c.ToolCalls = append(c.ToolCalls, completionCall{"harness_notice_resolve", `{"notice_id":"@primary","resolution":"no_proposal","note":"x"}`})
	return c
}

// At makes it the repair's stepper: that is where the episode is named.
func (s *scripted) At(_ context.Context, c repair.Checkpoint) (repair.Action, error) {
	return repair.ActionContinue, s.store.View(func(tx *store.Tx) error {
		e, _, err := tx.Episode(c.EpisodeID)
		if err == nil {
			s.primary = e.NoticeIDs[0]
		}
		return err
	})
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	if len(s.left) == 0 {
		return nil, faults.ErrScriptEnded
	}
	c := s.left[0]
	s.left = s.left[1:]
	if s.during != nil {
		s.during()
	}
	select {
	case <-time.After(seconds(c.Latency)):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	var body bytes.Buffer
	for i, call := range c.ToolCalls {
		fmt.Fprintf(&body, "data: %s\n\n", faults.Call(fmt.Sprint(i), fmt.Sprint("c", i), call.Name, strings.ReplaceAll(call.Arguments, "@primary", s.primary)))
	}
	fmt.Fprintf(&body, "data: %s\n\ndata: [DONE]\n\n", faults.Finish("tool_calls"))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(&body), Request: r}, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// TestVectorsSettlement settles sessions with scripted answers on a virtual
// clock: store, harness, repair agent and model client run whole in one bubble.
func TestVectorsSettlement(t *testing.T) {
	outsideBubbles(t)
	vectors.Run(t, "settlement", func(t *testing.T, in settlementInput) (got any) {
		synctest.Test(t, func(t *testing.T) { got = settle(t, in) })
		return got
	})
}

// outsideBubbles makes what the store makes once per process, at first use: its
// compressors have channels that may belong to no bubble.
func outsideBubbles(t *testing.T) {
	p := open(t, nil)
	long := make([]string, 2000)
	if err := p.store.Update(t.Context(), func(tx *store.Tx) error { return tx.PutState("long", long) }); err != nil {
		t.Fatal(err)
	}
	p.view(func(tx *store.Tx) error {
		var back []string
		_, err := tx.State("long", &back)
		return err
	})
}

// settle runs the steps of one case.
func settle(t *testing.T, in settlementInput) any {
	p, script := settling(t, func(c *config.Repair) {
		c.Timeout, c.MaxTurns = seconds(in.Config.Timeout), in.Config.MaxTurns
	}, in.Completions...)
	p.bubble = true
	for _, n := range in.Notices {
		p.post(n)
	}
	results := []any{}
	for _, step := range in.Steps {
		if step.Op == "post" {
			p.post(*step.Notice)
			continue
		}
		asked := script.asked
		ctx, stop := context.WithTimeout(t.Context(), max(0, seconds(step.Timeout)))
		s, err := p.Settle(ctx, step.Session)
		stop()
		if err != nil {
			t.Fatal(err)
		}
		if s.Repair == nil {
			results = append(results, nil)
			continue
		}
		var category any
		if s.Repair.ErrorCategory != "" {
			category = s.Repair.ErrorCategory
		}
		if s.Cached != (script.asked == asked) {
			t.Errorf("cached is %v, but %d questions were asked", s.Cached, script.asked-asked)
		}
		results = append(results, map[string]any{"status": string(s.Repair.Status), "error_category": category,
			"notice_ids": s.Repair.NoticeIDs, "turns": s.Repair.Turns, "cached": s.Cached})
	}
	pending, terminal := []string{}, []string{}
	for _, n := range p.notices() {
		if n.Status == notice.Pending {
			pending = append(pending, n.ID)
		}
	}
	p.view(func(tx *store.Tx) error {
		events, err := tx.Events(0, 0, store.EventFilter{Types: []event.Type{event.RepairCompleted, event.RepairDuplicate,
			event.RepairAlreadyCovered, event.RepairNoProposal, event.RepairUnactionable, event.RepairTimedOut, event.RepairFailed}})
		for _, e := range events {
			terminal = append(terminal, string(e.Type))
		}
		return err
	})
	return map[string]any{"results": results, "pending": pending, "terminal_events": terminal}
}

// post stores a pending notice.
func (p *project) post(n settlementNotice) {
	p.t.Helper()
	if err := p.store.Update(p.t.Context(), func(tx *store.Tx) error {
		return tx.PutNotice(notice.Notice{ID: n.ID, CreatedAt: p.store.Now().UTC().Format(time.RFC3339Nano), SessionID: n.SessionID, TurnIndex: n.TurnIndex,
			Severity: notice.Severity(n.Severity), Signatures: n.Signatures, FlaggedTraces: n.FlaggedTraces,
			RecommendedScope: n.RecommendedScope, ScopeHints: n.ScopeHints, Status: notice.Pending})
	}); err != nil {
		p.t.Fatal(err)
	}
}
