package engine

import (
	"fmt"
	"slices"
	"strings"

	"vise/engine/episode"
	"vise/engine/evidence"
	"vise/engine/trace"
	"vise/store"
)

// besideTurns bounds the turns of runs that are put side by side.
const besideTurns = 500

// SessionsBeside puts two sessions side by side, at most 500 turns of each. Reads of
// rules are left out: they are no difference in what was done.
func SessionsBeside(tx *store.Tx, a, b string) ([]evidence.Beside, error) {
	var runs [2][]trace.Turn
	for i, id := range []string{a, b} {
		if _, ok, err := tx.Session(id); err != nil || !ok {
			return nil, missing("session", id, "vise sessions ls", err)
		}
		var err error
		if runs[i], err = tx.Turns(id, 0, besideTurns); err != nil {
			return nil, fmt.Errorf("compare sessions: %w", err)
		}
	}
	return evidence.Align(runs[0], runs[1], ourTool), nil
}

// EpisodesBeside puts the newest runs of two episodes of repair side by side, model turn
// by model turn.
func EpisodesBeside(tx *store.Tx, a, b string) ([]evidence.Beside, error) {
	var runs [2][]trace.Turn
	for i, id := range []string{a, b} {
		e, ok, err := tx.Episode(id)
		if err != nil || !ok {
			return nil, missing("episode", id, "vise episodes ls", err)
		}
		steps, err := tx.Steps(id)
		if err != nil {
			return nil, fmt.Errorf("compare episodes: %w", err)
		}
		steps = slices.DeleteFunc(steps, func(s episode.Step) bool { return s.Attempt != e.Attempts })
		own := e.CandidateID
		if e.Fork != nil && e.Fork.Candidate != nil {
			own = e.Fork.Candidate.ID
		}
		for _, s := range steps[:min(len(steps), besideTurns)] {
			runs[i] = append(runs[i], stepTurn(s, ownIDs(e, own)))
		}
	}
	return evidence.Align(runs[0], runs[1], nil), nil
}

// ownRule stands for the id of the rule that a repair wrote: that two wrote rules of
// different ids is no difference in what they did.
const ownRule = "its own rule"

// ownIDs puts words for what every repair has of its own: ids of two repairs always differ, and
// say nothing of what they did.
func ownIDs(e episode.Episode, own string) *strings.Replacer {
	pairs := []string{e.ID, "its episode"}
	for i, id := range e.NoticeIDs {
		pairs = append(pairs, id, fmt.Sprintf("its notice %d", i+1))
	}
	pairs = append(pairs, e.SessionID, "its session")
	if own != "" {
		pairs = append(pairs, own, ownRule)
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == "" {
			pairs = slices.Delete(pairs, i, i+2)
			i -= 2
		}
	}
	return strings.NewReplacer(pairs...)
}

// stepTurn is a model turn of a repair as a turn of an agent.
func stepTurn(s episode.Step, own *strings.Replacer) trace.Turn {
	t := trace.Turn{Index: s.Turn}
	for _, c := range s.Calls {
		x := trace.Span{Kind: trace.TOOL, Name: c.Name, Input: own.Replace(c.Arguments), Output: own.Replace(string(c.Result))}
		if !c.OK {
			x.Error = "refused or never executed"
		}
		t.Spans = append(t.Spans, x)
	}
	if s.Text != "" {
		t.Spans = append(t.Spans, trace.Span{Kind: trace.LLM, Output: own.Replace(s.Text)})
	}
	return t
}

func missing(kind, id, list string, err error) error {
	if err != nil {
		return fmt.Errorf("compare %ss: %w", kind, err)
	}
	return fmt.Errorf("no %s %q; %s lists them", kind, id, list)
}
