package repair

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"vise/engine/episode"
	"vise/engine/guard"
	"vise/engine/notice"
	"vise/engine/score"
	"vise/engine/trace"
)

// Bounds of an assignment, in code points and items.
const (
	maxDescriptor  = 2000
	maxTaskSummary = 600
	maxHints       = 16
	maxList        = 50
)

// labelKeys are the keys of an end state under which hosts name where the agent
// ran. Such names never become scopes.
var labelKeys = []string{"benchmark", "integration", "host"}

// Input is what an assignment is built from.
type Input struct {
	Episode episode.Episode
	// Notices of the episode; those not in Episode.NoticeIDs are left out.
	Notices []notice.Notice
	// Turn the episode is about and its session, as far as they are known.
	Turn    trace.Turn
	Session trace.Session
	// Hints of the configuration; they count after those of turn, session and notices.
	Hints        []trace.ScopeHint
	DomainPolicy string
	// Redactor masks credentials; nil masks by key and by value.
	Redactor *guard.Redactor
	// SanitizeMax caps single texts in code points; 0 takes the default of 2000.
	SanitizeMax int
}

// BuildAssignment makes what the repair agent is given: all texts sanitised,
// secrets redacted by key and by shape, everything bounded.
func BuildAssignment(in Input) episode.Assignment {
	red := in.Redactor
	if red == nil {
		red = guard.DefaultRedactor()
	}
	limit := in.SanitizeMax
	if limit <= 0 {
		limit = DefaultSanitizeMax
	}
	ep := in.Episode
	as := episode.Assignment{
		EpisodeID: ep.ID, SessionID: ep.SessionID, RepairSessionID: ep.RepairSession(), TurnIndex: ep.TurnIndex,
		Notices: []notice.Notice{}, AllowedTraces: slices.Clone(ep.AllowedTraces), RecommendedScope: ep.RecommendedScope,
		DomainPolicy: clean(red, in.DomainPolicy, limit),
	}
	if as.AllowedTraces == nil {
		as.AllowedTraces = []string{}
	}
	var hints []trace.ScopeHint
	for _, id := range ep.NoticeIDs {
		i := slices.IndexFunc(in.Notices, func(n notice.Notice) bool { return n.ID == id })
		if i < 0 {
			continue
		}
		n := cleanNotice(red, in.Notices[i], limit)
		as.Notices = append(as.Notices, n)
		hints = append(hints, n.ScopeHints...)
		if as.TaskSummary == "" {
			as.TaskSummary = n.TaskSummary
		}
	}
	for _, own := range [][]trace.ScopeHint{in.Turn.ScopeHints, in.Session.ScopeHints, hints, in.Hints} {
		if len(own) > 0 {
			as.ScopeHints = notice.CleanHints(own)
			break
		}
	}
	for _, s := range []string{in.Turn.TaskSummary, as.TaskSummary, in.Session.TaskSummary} {
		if s != "" {
			as.TaskSummary = clean(red, guard.Collapse(s), maxTaskSummary)
			break
		}
	}
	as.Descriptor, as.GenericLabels = describe(red, in.Turn.EndState, limit)
	return as
}

// describe bounds the host's end state. The labels are taken before the cut, so
// that a long end state does not switch off the guard they are for.
func describe(red *guard.Redactor, endState json.RawMessage, limit int) (descriptor string, labels []string) {
	var state map[string]any
	if json.Unmarshal(endState, &state) != nil || len(state) == 0 {
		return "", nil
	}
	delete(state, "task_summary")
	state, _ = guard.WithoutAnswers(state).(map[string]any)
	for _, key := range labelKeys {
		if s, ok := state[key].(string); ok && guard.Trim(s) != "" {
			labels = append(labels, guard.Line(s, maxDescriptor))
		}
	}
	raw, err := json.Marshal(tame(red, state, limit, maxList, 0))
	if err != nil || len(state) == 0 {
		return "", labels
	}
	text, _ := red.Text(string(raw))
	if len([]rune(text)) > maxDescriptor {
		head, err := json.Marshal(map[string]string{"summary": guard.Head(text, maxDescriptor)})
		if err != nil {
			return "", labels
		}
		text = string(head)
	}
	return text, labels
}

// tame makes a decoded JSON value safe to show: sensitive keys redacted, texts
// sanitised, lists and depth bounded.
func tame(red *guard.Redactor, v any, limit, list, depth int) any {
	if depth > 12 {
		return "[too deep]"
	}
	switch v := v.(type) {
	case string:
		return clean(red, v, limit)
	case []any:
		v = v[:min(len(v), list)]
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = tame(red, x, limit, list, depth+1)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			if guard.SensitiveKey(k) {
				out[guard.Line(k, 80)] = "[redacted]"
				continue
			}
			out[guard.Line(k, 80)] = tame(red, x, limit, list, depth+1)
		}
		return out
	}
	return v
}

// clean redacts and sanitises one text.
func clean(red *guard.Redactor, s string, limit int) string {
	s, _ = red.Text(s)
	return guard.Sanitize(s, limit)
}

// outcomeThreshold is where a summary says what the verifier asks for.
var outcomeThreshold = regexp.MustCompile(`(\b` + score.OutcomeCorrect + `=[^\[\]]*\[[^\[\]]*), threshold [0-9.]+\]`)

// cleanNotice is the notice with every text of it cleaned.
func cleanNotice(red *guard.Redactor, n notice.Notice, limit int) notice.Notice {
	n.Summary = outcomeThreshold.ReplaceAllString(clean(red, n.Summary, limit), "$1]")
	n.TaskSummary = clean(red, n.TaskSummary, maxTaskSummary)
	n.Signatures = head(n.Signatures, maxList)
	n.FlaggedTraces = head(n.FlaggedTraces, maxList)
	n.ScopeHints = notice.CleanHints(head(n.ScopeHints, maxHints))
	n.Metrics = slices.Clone(head(n.Metrics, maxList))
	for i, m := range n.Metrics {
		if m.Reasons = slices.Clone(head(m.Reasons, 8)); m.Name == score.OutcomeCorrect {
			// The developer's verifier may say what the right answer would have been.
			m.Reasons, m.Threshold = nil, 0
		}
		for j, r := range m.Reasons {
			m.Reasons[j] = clean(red, r, 300)
		}
		n.Metrics[i] = m
	}
	if n.Resolution != nil {
		r := *n.Resolution
		r.Note = clean(red, r.Note, limit)
		n.Resolution = &r
	}
	return n
}

func head[T any](list []T, n int) []T { return list[:min(len(list), n)] }

// blank reports text of whitespace only.
func blank(s string) bool { return strings.TrimFunc(s, guard.IsSpace) == "" }
