package cli

import (
	"context"
	"errors"
	"sync"

	"vise/engine/episode"
	"vise/engine/repair"
	"vise/engine/trace"
)

// breaker is the stepper of --break. Without a person nobody could step on, so the first
// breakpoint that holds ends the run: the repair is cancelled, nothing is acknowledged,
// and what is known at that point is printed.
type breaker struct {
	list []repair.Breakpoint
	stop context.CancelCauseFunc

	mu  sync.Mutex
	hit *brokenAt
}

// brokenAt is the checkpoint at which --break ended a run. The conversation up to it is
// in the stored steps: vise episodes show.
type brokenAt struct {
	Breakpoint string        `json:"breakpoint"`
	Point      repair.Point  `json:"point"`
	SessionID  string        `json:"session_id"`
	EpisodeID  string        `json:"episode_id"`
	Attempt    int           `json:"attempt"`
	Turn       int           `json:"turn"` // model turn, 1-based
	Call       *episode.Call `json:"call,omitempty"`
	Messages   int           `json:"messages"` // in the conversation so far
	Spent      trace.Usage   `json:"spent"`
}

// breakHelp is the help of --break.
const breakHelp = "end a repair where this holds, print what is known there, exit 3: tool:rule_add, arg:scope=refunds, metric:NAME<0.5, verdict:KIND, cost>0.01, tokens>N, turn>N (repeatable)"

// errBroke is why a run with --break ended.
var errBroke = errors.New("a breakpoint holds")

// breakAt reads the breakpoints of --break; nil when there are none. The context ends when
// one of them holds.
func breakAt(ctx context.Context, texts []string) (context.Context, *breaker, error) {
	if len(texts) == 0 {
		return ctx, nil, nil
	}
	b := &breaker{}
	for _, t := range texts {
		x, err := repair.ParseBreakpoint(t)
		if err != nil {
			return ctx, nil, usagef("--break: %w", err)
		}
		b.list = append(b.list, x)
	}
	ctx, b.stop = context.WithCancelCause(ctx)
	return ctx, b, nil
}

// stepper is what the harness asks; nil when there are no breakpoints.
func (b *breaker) stepper() repair.Stepper {
	if b == nil {
		return nil
	}
	return b
}

// At implements repair.Stepper.
func (b *breaker) At(ctx context.Context, c repair.Checkpoint) (repair.Action, error) {
	if err := ctx.Err(); err != nil {
		return repair.ActionCancel, err
	}
	for _, x := range b.list {
		if !x.At(c) {
			continue
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.hit == nil {
			b.hit = &brokenAt{x.String(), c.Point, c.SessionID, c.EpisodeID, c.Attempt, c.Turn, c.Call, len(c.Messages), c.Spent}
			if c.Call != nil {
				call := *c.Call
				b.hit.Call = &call
			}
			b.stop(errBroke)
		}
		return repair.ActionCancel, nil
	}
	return repair.ActionContinue, nil
}

// broke prints where a breakpoint ended the run and makes that its error; without one
// the error stays what it is.
func (a *app) broke(b *breaker, h *harness, err error) error {
	if b == nil {
		return err
	}
	defer b.stop(nil)
	b.mu.Lock()
	x := b.hit
	b.mu.Unlock()
	if x == nil {
		return err
	}
	if err := h.narrator.flush(); err != nil {
		return err
	}
	if a.json {
		if err := a.out.object("vise.checkpoint/1", x); err != nil {
			return err
		}
	} else {
		a.out.printf("")
		a.out.printf("held at breakpoint %s: episode %s attempt %d, model turn %d, %s", show(x.Breakpoint, 300), x.EpisodeID, x.Attempt, x.Turn, pointWords[x.Point])
		if x.Call != nil {
			a.out.printf("  %s %s", show(x.Call.Name, 60), show(x.Call.Arguments, 600))
		}
		a.out.printf("  %d messages so far, %d tokens in, %d out; vise episodes show %s prints the steps", x.Messages, x.Spent.Input, x.Spent.Output, x.EpisodeID)
	}
	return gatef("held at breakpoint %s; the repair is cancelled and nothing was acknowledged (--break)", show(x.Breakpoint, 300))
}

// pointWords say what has not happened yet.
var pointWords = map[repair.Point]string{
	repair.BeforeModel: "the model is not asked yet", repair.BeforeTool: "the call is not executed yet",
	repair.BeforeResolve: "nothing is acknowledged yet",
}
