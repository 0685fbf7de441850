package repair

import (
	"context"

	"vise/engine/episode"
	"vise/engine/model"
	"vise/engine/notice"
	"vise/engine/trace"
)

// Point is a place in a run where it can be held.
type Point string

// The checkpoints of a run.
const (
	// BeforeModel: the prompt is visible, nothing was sent.
	BeforeModel Point = "before_model"
	// BeforeTool: the call and its arguments are visible, nothing was executed.
	BeforeTool Point = "before_tool"
	// AfterTool: the result is visible, the model has not seen it.
	AfterTool Point = "after_tool"
	// BeforeResolve stands in for BeforeTool when the call would close the
	// episode's notices: nothing was acknowledged.
	BeforeResolve Point = "before_resolve"
)

// Checkpoint is what is known at a point. Its slices must not be changed.
type Checkpoint struct {
	Point     Point
	SessionID string
	EpisodeID string
	Attempt   int
	Turn      int // 1-based
	// Messages is the conversation; at BeforeModel exactly what would be sent.
	Messages []model.Message
	// Call is the tool call of the three other points.
	Call *episode.Call
	// Notices are those of the episode, as the agent is given them.
	Notices []notice.Notice
	// Spent is the usage of the run so far.
	Spent trace.Usage
}

// Action is what a stepper decides.
type Action int

// The two actions.
const (
	ActionContinue Action = iota
	// ActionCancel ends the run with status cancelled; nothing is acknowledged.
	ActionCancel
)

// Stepper is asked at every checkpoint and may wait there. The run's clock stands
// still meanwhile. An error cancels the run like ActionCancel.
type Stepper interface {
	At(ctx context.Context, c Checkpoint) (Action, error)
}

// Continue returns the stepper of headless runs: it never waits.
func Continue() Stepper { return never{} }

type never struct{}

func (never) At(ctx context.Context, _ Checkpoint) (Action, error) { return ActionContinue, ctx.Err() }
