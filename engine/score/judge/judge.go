// Package judge scores turns by asking a language model: one question per turn and
// set of metrics, answered as JSON with a reason per metric.
//
// A judge is noisy and can be talked to by what it judges. So the recording goes
// into typed, sanitised and bounded fields and never into the instruction; a
// question may be asked several times and the median counts; and what is not
// exactly a grade (no JSON, a score out of range, not a number, two grades that
// differ, a reason that names another score) is no score: never 0, never clamped.
package judge

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"vise/engine/guard"
	"vise/engine/model"
	"vise/engine/score"
	"vise/engine/trace"
)

// Bounds of one question.
const (
	baseTokens  = 1024 // output: room for a model that thinks first,
	perMetric   = 256  // and for each grade
	moreTokens  = 4    // times that, once, when it was used up
	maxTime     = 3 * time.Minute
	closeVotes  = 5 // votes on a metric whose median is close to its threshold
	enoughVotes = 3 // with fewer nobody asked for certainty
)

// Purpose is what the ledger books questions on.
const Purpose = "judge"

// Judge grades turns. It is safe for concurrent use.
type Judge struct {
	model *model.Client

	mu    sync.Mutex
	asked map[string]int // how often each question was asked; see repeats
}

// New returns a judge that asks a model.
func New(m *model.Client) *Judge { return &Judge{model: m, asked: map[string]int{}} }

// maxAsked bounds what is remembered of asked questions.
const maxAsked = 4096

// repeats reserves n repeat numbers for a question and returns the first. A question
// that is asked again gets new ones, so that no cache between us and the model
// answers a repetition with what it said before.
func (j *Judge) repeats(q Question, metrics []string, n int) int {
	key := fmt.Sprintf("%s|%d|%s", q.Session.ID, q.Turn.Index, strings.Join(metrics, ","))
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.asked) >= maxAsked {
		clear(j.asked)
	}
	first := j.asked[key]
	j.asked[key] += n
	return first
}

// Identity names judge model, prompt and version: scores of different identities
// are never compared.
func (j *Judge) Identity() string {
	return IdentityOf(j.model.Name())
}

// IdentityOf is the identity of a judge with this model (provider/model).
func IdentityOf(model string) string {
	return fmt.Sprintf("judge/%d %s prompt=%s", version, model, promptHash())
}

// Question is what is graded.
type Question struct {
	Session trace.Session
	// Earlier turns of the session in order; the last few are shown.
	Earlier []trace.Turn
	Turn    trace.Turn
	Metrics []string
	// Votes is how often the question is asked; the median counts.
	Votes int
	// Threshold of a metric; a median within Margin of it is asked about again, up
	// to five votes, when at least three were asked for.
	Threshold func(metric string) float64
	Margin    float64
}

// Grades are the scores of one question, in the order of its metrics; a metric
// without one is pending. Faults say why, one per metric that was graded in vain.
type Grades struct {
	Scores []score.Score
	Faults []string
}

// Grade asks the judge. The error means that it could not be asked (network, key,
// budget, context): nothing is known then, and asking later may help. See
// model.KindOf.
func (j *Judge) Grade(ctx context.Context, q Question) (Grades, error) {
	if len(q.Metrics) == 0 {
		return Grades{}, nil
	}
	votes := max(1, q.Votes)
	marks := map[string][]mark{}
	if err := j.vote(ctx, q, q.Metrics, votes, marks); err != nil {
		return Grades{}, err
	}
	if votes >= enoughVotes && votes < closeVotes && q.Threshold != nil {
		var near []string
		for _, m := range q.Metrics {
			if v, ok := median(marks[m]); ok && math.Abs(v-q.Threshold(m)) <= q.Margin+1e-9 {
				near = append(near, m)
			}
		}
		if len(near) > 0 {
			// When these cannot be asked any more, the median of those before stands.
			_ = j.vote(ctx, q, near, closeVotes-votes, marks)
			if ctx.Err() != nil {
				return Grades{}, fmt.Errorf("judge: %w", context.Cause(ctx))
			}
		}
	}
	var g Grades
	for _, m := range q.Metrics {
		s := score.Score{Metric: m, TraceID: q.Turn.TraceID, By: j.Identity()}
		value, reason, fault := join(marks[m])
		s.Value = value
		if reason != "" {
			s.Reasons = []string{reason}
		}
		if len(marks[m]) > 1 {
			for _, x := range marks[m] {
				if x.value != nil {
					s.Votes = append(s.Votes, *x.value)
				}
			}
		}
		if fault != "" {
			g.Faults = append(g.Faults, m+": "+fault)
		}
		g.Scores = append(g.Scores, s)
	}
	return g, nil
}

// vote asks n times about some metrics, at the same time, and adds the marks in
// order. It fails when no majority of them could be asked.
func (j *Judge) vote(ctx context.Context, q Question, metrics []string, n int, marks map[string][]mark) error {
	q.Metrics = metrics
	from := j.repeats(q, metrics, n)
	answers := make([]map[string]mark, n)
	failed := make([]error, n)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i], failed[i] = j.ask(ctx, q, from+i) })
	}
	all.Wait()
	var lost int
	var why error
	for _, err := range failed {
		if err != nil {
			lost++
			why = err
		}
	}
	if 2*lost >= len(failed) {
		return why // the others would be no majority
	}
	for _, m := range metrics {
		for i, a := range answers {
			if failed[i] != nil {
				marks[m] = append(marks[m], mark{fault: guard.Line(failed[i].Error(), 200)})
			} else {
				marks[m] = append(marks[m], a[m])
			}
		}
	}
	return nil
}

// ask puts the question once. An answer that used up its budget is asked for once
// more with a larger one.
func (j *Judge) ask(ctx context.Context, q Question, repeat int) (map[string]mark, error) {
	x := newExhibit(q)
	x.Repeat = repeat
	shown, err := x.encode()
	if err != nil {
		return nil, fmt.Errorf("judge: write the turn: %w", err)
	}
	ctx, stop := context.WithTimeout(ctx, maxTime)
	defer stop()
	zero := 0.0
	request := model.Request{Purpose: Purpose, MaxTokens: baseTokens + perMetric*len(q.Metrics), Temperature: &zero,
		Messages: []model.Message{{Role: model.System, Content: prompt(q.Metrics)}, {Role: model.User, Content: shown}}}
	reply, err := j.model.Chat(ctx, request, nil)
	switch {
	case err == nil && reply.Finish == "length":
		request.MaxTokens *= moreTokens
		reply, err = j.model.Chat(ctx, request, nil)
	case model.KindOf(err) == model.KindTruncated:
		reply, err = j.model.Chat(ctx, request, nil)
	}
	switch kind := model.KindOf(err); {
	case kind == model.KindRequest, kind == model.KindProtocol:
		// The same question would fail again: it is this turn that cannot be graded.
		return unanswered(q.Metrics, guard.Line(err.Error(), 200)), nil
	case err != nil:
		return nil, fmt.Errorf("judge: %w", err)
	case reply.Finish == "length":
		return unanswered(q.Metrics, fmt.Sprintf("the answer did not fit into %d tokens", request.MaxTokens)), nil
	case reply.Refusal != "":
		return unanswered(q.Metrics, "the judge refused: "+guard.Line(reply.Refusal, 120)), nil
	}
	return parse(reply.Text, q.Metrics), nil
}

func unanswered(metrics []string, fault string) map[string]mark {
	out := map[string]mark{}
	for _, m := range metrics {
		out[m] = mark{fault: fault}
	}
	return out
}

// median of the values among marks; ok when a majority of them has one.
func median(marks []mark) (v float64, ok bool) {
	var values []float64
	for _, m := range marks {
		if m.value != nil {
			values = append(values, *m.value)
		}
	}
	if 2*len(values) <= len(marks) {
		return 0, false
	}
	slices.Sort(values)
	if n := len(values); n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2, true
	}
	return values[len(values)/2], true
}

// join makes one grade of the votes on a metric: the median when a majority gave a
// value, with the reason of the vote next to it; nothing when a majority saw nothing
// to grade; else a fault.
func join(marks []mark) (value *float64, reason, fault string) {
	if v, ok := median(marks); ok {
		best := math.Inf(1)
		for _, m := range marks {
			if m.value != nil && math.Abs(*m.value-v) < best {
				best, reason = math.Abs(*m.value-v), m.reason
			}
		}
		return &v, reason, ""
	}
	silent := 0
	for _, m := range marks {
		if m.fault != "" {
			fault = m.fault
		} else if m.value == nil {
			silent++
			reason = m.reason
		}
	}
	if 2*silent > len(marks) {
		return nil, reason, ""
	}
	if fault == "" {
		fault = "no majority of the votes has a score"
	} else if len(marks) > 1 {
		fault = fmt.Sprintf("no majority of %d votes has a score: %s", len(marks), fault)
	}
	return nil, "", fault
}
