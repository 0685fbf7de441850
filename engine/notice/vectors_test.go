package notice_test

import (
	"testing"
	"time"

	"vise/engine/episode"
	"vise/engine/internal/vectors"
	"vise/engine/notice"
	"vise/engine/rule"
	"vise/engine/score"
)

func TestVectorsNoticeDedup(t *testing.T) {
	type input struct {
		Cooldown int `json:"cooldown_turns"`
		Reports  []struct {
			Session    string   `json:"session"`
			Signatures []string `json:"signatures"`
		} `json:"reports"`
	}
	vectors.Run(t, "notice_dedup", func(t *testing.T, in input) any {
		sessions := map[string]notice.Dedup{}
		steps := []any{}
		for _, r := range in.Reports {
			next, post, recovered := sessions[r.Session].Step(r.Signatures, in.Cooldown)
			sessions[r.Session] = next
			steps = append(steps, map[string]any{"post": post, "recovered": recovered})
		}
		return map[string]any{"steps": steps}
	})
}

func TestVectorsCircuitBreaker(t *testing.T) {
	type input struct {
		Config struct {
			MaxNotices  int     `json:"max_notices"`
			Window      float64 `json:"window_s"`
			Cooldown    int     `json:"cooldown_turns"`
			ObserveOnly bool    `json:"observe_only"`
		} `json:"config"`
		Reports []struct {
			At         float64  `json:"at"`
			Session    string   `json:"session"`
			Signatures []string `json:"signatures"`
		} `json:"reports"`
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	vectors.Run(t, "circuit_breaker", func(t *testing.T, in input) any {
		c := notice.Config{Cooldown: in.Config.Cooldown, MaxNotices: in.Config.MaxNotices, Window: seconds(in.Config.Window), ObserveOnly: in.Config.ObserveOnly}
		sessions := map[string]notice.Dedup{}
		var breaker notice.Breaker
		steps, journal, pending := []any{}, []string{}, 0
		for _, r := range in.Reports {
			var d notice.Decision
			sessions[r.Session], breaker, d = c.Step(sessions[r.Session], breaker, r.Session, r.Signatures, time.Unix(1000, 0).Add(seconds(r.At)))
			step := map[string]any{"result": d.Result, "severity": nil, "in_mailbox": false, "recovered": d.Recovered, "breaker_open": breaker.Open}
			if d.Recovered {
				journal = append(journal, "recovery")
			}
			severity := notice.Trend
			for _, s := range r.Signatures {
				if len(s) > 7 && s[:7] == "breach:" {
					severity = notice.Breach
				}
			}
			switch d.Result {
			case notice.Human:
				severity = notice.NeedsHuman
				fallthrough
			case notice.Post:
				pending++
				step["in_mailbox"] = true
				fallthrough
			case notice.Shadow:
				step["severity"] = severity
				journal = append(journal, "notice")
			}
			steps = append(steps, step)
		}
		return map[string]any{"steps": steps, "pending": pending, "journal": journal}
	})
}

func TestVectorsEpisodes(t *testing.T) {
	type input struct {
		Session string `json:"session"`
		Notices []struct {
			ID            string          `json:"id"`
			SessionID     string          `json:"session_id"`
			TurnIndex     int             `json:"turn_index"`
			Severity      notice.Severity `json:"severity"`
			Signatures    []string        `json:"signatures"`
			FlaggedTraces []string        `json:"flagged_traces"`
			Recommended   *string         `json:"recommended_scope"`
		} `json:"notices"`
	}
	vectors.Run(t, "episodes", func(t *testing.T, in input) any {
		var pending []notice.Notice
		for _, n := range in.Notices {
			p := notice.Notice{ID: n.ID, SessionID: n.SessionID, TurnIndex: n.TurnIndex, Severity: n.Severity,
				Signatures: n.Signatures, FlaggedTraces: n.FlaggedTraces, Status: notice.Pending}
			if n.Recommended != nil {
				p.RecommendedScope = *n.Recommended
			}
			pending = append(pending, p)
		}
		episodes := []any{}
		for _, g := range notice.Groups(in.Session, pending) {
			scope := any(g.RecommendedScope)
			if scope == "" {
				scope = nil
			}
			e := episode.Episode{ID: g.EpisodeID, SessionID: g.SessionID}
			episodes = append(episodes, map[string]any{"notice_ids": g.NoticeIDs, "episode_id": g.EpisodeID,
				"repair_session_id": e.RepairSession(), "allowed_trace_ids": g.AllowedTraces, "recommended_scope": scope})
		}
		return map[string]any{"episodes": episodes}
	})
}

func TestVectorsTags(t *testing.T) {
	type input struct {
		Op     string   `json:"op"`
		Tags   []string `json:"tags"`
		Notice struct {
			Signatures []string            `json:"signatures"`
			Metrics    []string            `json:"metrics"`
			Signals    map[string][]string `json:"signal_breakdown"`
			Severity   notice.Severity     `json:"severity"`
		} `json:"notice"`
	}
	vectors.Run(t, "tags", func(t *testing.T, in input) any {
		if in.Op == "clean" {
			return map[string]any{"tags": rule.CleanTags(in.Tags)}
		}
		n := notice.Notice{Signatures: in.Notice.Signatures, Severity: in.Notice.Severity, Signals: map[string]map[string]float64{}}
		for _, m := range in.Notice.Metrics {
			n.Metrics = append(n.Metrics, notice.Metric{Name: m})
		}
		for id, names := range in.Notice.Signals {
			n.Signals[id] = map[string]float64{}
			for _, name := range names {
				n.Signals[id][name] = 0.5
			}
		}
		return map[string]any{"tags": notice.DeriveTags(n)}
	})
}

// reportOf builds the report used by several tests.
func reportOf(scores ...score.Score) score.Report {
	return score.Report{SessionID: "s", TurnIndex: 3, Scores: scores}
}
