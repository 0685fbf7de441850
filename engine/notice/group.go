package notice

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"vise/engine/rule"
)

// Group is what one repair episode is made of: notices about one underlying
// failure of one turn.
type Group struct {
	EpisodeID string
	SessionID string
	TurnIndex int
	// NoticeIDs in the order they joined; the first is primary.
	NoticeIDs []string
	// AllowedTraces are the flagged traces of the notices, in joining order.
	AllowedTraces []string
	// RecommendedScope is the first precise recommendation, "" = none.
	RecommendedScope string
}

// EpisodeID names the episode of a set of notices, whatever their order: "e-" and
// the first 12 hex digits of the SHA-256 over the sorted ids joined by "|".
func EpisodeID(noticeIDs []string) string {
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(noticeIDs)), "|")))
	return "e-" + hex.EncodeToString(sum[:6])
}

// Groups divides the pending notices of a session into episodes, by id. Two notices
// are related when they are about the same turn and share a flagged trace or a
// signature; an episode is what the first notice is related to, directly or through
// others. Notices that ask for a person are never handed to the repair agent.
func Groups(sessionID string, pending []Notice) []Group {
	var rest []Notice
	for _, n := range pending {
		if n.SessionID == sessionID && n.Status != Acknowledged && n.Severity != NeedsHuman {
			rest = append(rest, n)
		}
	}
	slices.SortStableFunc(rest, func(a, b Notice) int { return cmp.Compare(a.ID, b.ID) })
	var groups []Group
	for len(rest) > 0 {
		members := []Notice{rest[0]}
		rest = rest[1:]
		for grown := true; grown; {
			grown = false
			kept := rest[:0:0]
			for _, n := range rest {
				if slices.ContainsFunc(members, n.related) {
					members = append(members, n)
					grown = true
				} else {
					kept = append(kept, n)
				}
			}
			rest = kept
		}
		groups = append(groups, group(members))
	}
	return groups
}

func (n Notice) related(m Notice) bool {
	return n.SessionID == m.SessionID && n.TurnIndex == m.TurnIndex &&
		(shares(n.FlaggedTraces, m.FlaggedTraces) || shares(n.Signatures, m.Signatures))
}

func shares(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

func group(members []Notice) Group {
	g := Group{SessionID: members[0].SessionID, TurnIndex: members[0].TurnIndex, AllowedTraces: []string{}}
	for _, n := range members {
		g.NoticeIDs = append(g.NoticeIDs, n.ID)
		for _, id := range n.FlaggedTraces {
			if id != "" && !slices.Contains(g.AllowedTraces, id) {
				g.AllowedTraces = append(g.AllowedTraces, id)
			}
		}
		if scope, ok := rule.NormalizeScopeOrNone(n.RecommendedScope); ok && g.RecommendedScope == "" && !rule.ReservedScope(scope) {
			g.RecommendedScope = scope
		}
	}
	g.EpisodeID = EpisodeID(g.NoticeIDs)
	return g
}
