package gate_test

import (
	"testing"
	"time"

	"vise/engine/gate"
	"vise/engine/internal/vectors"
	"vise/engine/score"
)

type knobs struct {
	Window int     `json:"gate_window"`
	Target float64 `json:"gate_target"`
	Gain   float64 `json:"gate_gain"`
	Drop   float64 `json:"gate_drop"`
}

func (k knobs) config() gate.Config {
	return gate.Config{Window: k.Window, Target: k.Target, Gain: k.Gain, Drop: k.Drop}
}

func TestVectorsTrajectoryGate(t *testing.T) {
	type input struct {
		Config  knobs      `json:"config"`
		Initial gate.State `json:"initial"`
		Values  []*float64 `json:"values"`
	}
	vectors.Run(t, "trajectory_gate", func(t *testing.T, in input) any {
		steps := []any{}
		state := in.Initial
		for _, v := range in.Values {
			var flags gate.Flags
			state, flags = gate.Fold(in.Config.config(), state, v)
			steps = append(steps, map[string]any{"peak": state.Peak, "turns_since_gain": state.Turns,
				"stalled": flags.Stalled, "regressed": flags.Regressed})
		}
		return map[string]any{"steps": steps}
	})
}

func TestVectorsTierLadder(t *testing.T) {
	type input struct {
		Config struct {
			knobs
			Tier1       []string           `json:"tier1"`
			Tier2       []string           `json:"tier2"`
			Tier3       []string           `json:"tier3"`
			EnableTier3 bool               `json:"enable_tier3"`
			Thresholds  map[string]float64 `json:"thresholds"`
		} `json:"config"`
		PlatformThresholds map[string]float64 `json:"platform_thresholds"`
		Turns              []struct {
			NewTraces []string                       `json:"new_traces"`
			Scores    map[string]map[string]*float64 `json:"scores"`
			Verifier  any                            `json:"verifier"`
		} `json:"turns"`
	}
	vectors.Run(t, "tier_ladder", func(t *testing.T, in input) any {
		ladder := gate.Ladder{Tier1: in.Config.Tier1, Tier2: in.Config.Tier2, Tier3: in.Config.Tier3,
			EnableTier3: in.Config.EnableTier3, Gate: in.Config.config(), Thresholds: in.Config.Thresholds}
		states := gate.States{}
		turns := []any{}
		for _, turn := range in.Turns {
			requests := []any{}
			scores, after, err := ladder.Climb(states, turn.NewTraces, func(traces, metrics []string) ([]score.Score, error) {
				requests = append(requests, map[string]any{"traces": traces, "metrics": metrics})
				var out []score.Score
				for _, id := range traces {
					for _, m := range metrics {
						out = append(out, score.Score{Metric: m, TraceID: id, Value: turn.Scores[id][m], Threshold: in.PlatformThresholds[m]})
					}
				}
				return out, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			states = after
			if v := score.Outcome(turn.Verifier); v != nil {
				scores = append(scores, ladder.Outcome(*v, "verifier"))
			}
			list := []any{}
			for _, s := range scores {
				id := any(s.TraceID)
				if s.TraceID == "" {
					id = nil
				}
				list = append(list, map[string]any{"metric": s.Metric, "trace_id": id, "tier": s.Tier, "value": s.Value,
					"threshold": s.Threshold, "conditions": s.Conditions()})
			}
			turns = append(turns, map[string]any{"requests": requests, "scores": list})
		}
		return map[string]any{"turns": turns}
	})
}

func TestVectorsAdmission(t *testing.T) {
	type input struct {
		Config struct {
			MaxEvals    int     `json:"max_evals_per_run"`
			SampleEvery int     `json:"sample_every"`
			MinInterval float64 `json:"min_interval_s"`
		} `json:"config"`
		Turns []struct {
			At      float64 `json:"at"`
			Session string  `json:"session"`
		} `json:"turns"`
	}
	vectors.Run(t, "admission", func(t *testing.T, in input) any {
		a := gate.Admission{MaxEvals: in.Config.MaxEvals, SampleEvery: in.Config.SampleEvery, MinInterval: seconds(in.Config.MinInterval)}
		var run gate.RunState
		sessions := map[string]*gate.SessionState{}
		steps, skips := []any{}, 0
		for _, turn := range in.Turns {
			if sessions[turn.Session] == nil {
				sessions[turn.Session] = &gate.SessionState{}
			}
			reason, journal := a.Admit(&run, sessions[turn.Session], time.Unix(1000, 0).Add(seconds(turn.At)))
			if journal {
				skips++
			}
			step := map[string]any{"admitted": reason == "", "reason": nil}
			if reason != "" {
				step["reason"] = reason
			}
			steps = append(steps, step)
		}
		return map[string]any{"steps": steps, "journal_skips": skips}
	})
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
