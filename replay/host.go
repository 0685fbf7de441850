// Package replay runs recorded sessions through an agent, turn by turn, into the
// harness, and gives validation the Replayer it needs.
//
// It owns the outside world: agent processes (driver), the rule server, the
// formats of recorded sessions. It meets the engine only through Host.
package replay

import (
	"context"

	"vise/engine/episode"
	"vise/engine/event"
	"vise/engine/model/cassette"
	"vise/engine/trace"
)

// Host is the part of the harness a live run talks to. *engine.Harness implements it.
type Host interface {
	// Hidden draws the rules that the session does not see: they are being tested.
	Hidden(ctx context.Context, s trace.Session) ([]string, error)
	// BeginSession stores the head of a session together with its event.
	BeginSession(ctx context.Context, s trace.Session, e event.Event) error
	// EndTurn hands over one finished turn and returns at once; evaluation goes on behind it.
	EndTurn(ctx context.Context, t trace.Turn) error
	// Await waits for the evaluation of the session's turns alone; false when it is not done
	// within settle.barrier_timeout, or when the context ended.
	Await(ctx context.Context, sessionID string) (bool, error)
	// Settle waits for the evaluation of the session's turns and for one bounded repair.
	Settle(ctx context.Context, sessionID string) (episode.Settlement, error)
	// EndSession stores the final head together with its event.
	EndSession(ctx context.Context, s trace.Session, e event.Event) error
	// KeepCalls stores what the agent's model said in a turn, as the proxy recorded it.
	KeepCalls(ctx context.Context, sessionID string, turn int, calls []cassette.Exchange) error
	// Publish puts an ephemeral event on the bus.
	Publish(e event.Event)
}
