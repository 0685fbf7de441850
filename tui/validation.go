package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"vise/engine/event"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/tui/action"
	"vise/tui/style"
	"vise/tui/vtext"
)

// validationPast is how many past verdicts the pane lists.
const validationPast = 50

// validationPane shows one verdict and what it rests on: the one that is being
// reached, or a past one.
type validationPane struct {
	sheet
	q    query[validationData]
	data validationData
	live liveTrial
	body *vtext.Text
	past int // cursor in the past verdicts
	// numbers shows what the verdict was computed from in the place of its cases.
	numbers bool
	asked   string
	find    string
}

// liveTrial is the validation of one candidate while it runs.
type liveTrial struct {
	rule      string
	validator string
	planned   []string
	cases     map[string]liveCase
	round     int
	// Of a paired test: where it stands after its newest pair.
	pairs, counted, cap        int
	gain, harm, guard, decides float64
}

// liveCase is a case of it.
type liveCase struct {
	result evidence.CaseResult
	turn   int
	state  caseState
	arm    string // of the run under way
	// Pairs of it so far, and of them better, worse, left out.
	pairs, better, worse, lost int
}

type caseState int

const (
	caseQueued caseState = iota
	caseRunning
	caseReplayed // its scores are there, the verdict is not
)

func newValidation() *validationPane {
	return &validationPane{sheet: newSheet(PaneValidation, "Validation"), q: query[validationData]{pane: PaneValidation, name: "verdict"}}
}

// SetSize implements Pane.
func (p *validationPane) SetSize(w, h int) {
	if p.resize(w, h) {
		p.layout()
	}
}

// Apply implements Pane.
func (p *validationPane) Apply(ctx *Context, c Change) tea.Cmd {
	dirty := c.Running
	if p.see(ctx, c) {
		p.body = vtext.New(p.st().Width)
		dirty = true
	}
	dirty = dirty || c.Names
	again := c.Reload
	for _, e := range c.Events {
		d, a := p.take(e)
		dirty, again = dirty || d, again || a
	}
	if c.Running && ctx.Running.Kind != Validating && p.live.rule != "" {
		p.live = liveTrial{} // it was cancelled or is over
		again = true
	}
	if key := ctx.Scope.Rule + "|" + ctx.Scope.Verdict; c.Scope && p.live.rule == "" && key != p.asked {
		again = true
	}
	if dirty {
		p.layout()
	}
	if again {
		return p.ask(ctx)
	}
	return nil
}

// take folds one event into the trial that runs.
func (p *validationPane) take(e event.Event) (dirty, again bool) {
	switch e.Type {
	case event.ValidationRoundStarted:
		p.live.round++
		return true, false
	case event.ValidationCandidate:
		validator, _ := e.Data["validator"].(string)
		if p.live.rule == e.RuleID && validator == "forward_trial" {
			p.live.validator = validator
			return true, false
		}
		p.live = liveTrial{rule: e.RuleID, validator: validator, cases: map[string]liveCase{}, round: p.live.round}
		return true, true
	case event.ValidationProgress:
		if e.RuleID != p.live.rule {
			return false, false
		}
		if ids, ok := e.Data["cases"].([]string); ok {
			p.live.planned = ids
			return true, true
		}
		x := p.live.cases[e.CaseID]
		x.state = caseReplayed
		x.result = evidence.CaseResult{CaseID: e.CaseID, RunID: e.RunID}
		x.result.Baseline, _ = e.Data["baseline"].(map[string]float64)
		x.result.Scores, _ = e.Data["scores"].(map[string]float64)
		x.result.Deltas, _ = e.Data["deltas"].(map[string]float64)
		x.result.Read, _ = e.Data["read"].(bool)
		x.result.Reason, _ = e.Data["error"].(string)
		p.live.cases[e.CaseID] = x
		return true, false
	case event.ValidationPair:
		return p.live.take(e), false
	case event.SpanProgress:
		if e.CaseID == "" || e.RuleID != p.live.rule || e.TurnIndex == nil || p.live.rule == "" {
			return false, false
		}
		x := p.live.cases[e.CaseID]
		arm, _ := e.Data["arm"].(string)
		if x.state == caseReplayed || x.state == caseRunning && x.turn == *e.TurnIndex && x.arm == arm {
			return false, false
		}
		x.state, x.turn, x.arm = caseRunning, *e.TurnIndex, arm
		p.live.cases[e.CaseID] = x
		return true, false
	case event.ValidationVerdict:
		if e.RuleID == p.live.rule {
			p.live = liveTrial{round: p.live.round}
		}
		if id, ok := e.Data["verdict_id"].(string); ok && p.ctx.during(e.At).Kind == Validating {
			p.ctx.Scope.Rule, p.ctx.Scope.Verdict = e.RuleID, id
		}
		return true, true
	case event.ValidationRoundEnded:
		return true, true
	case event.CaseProtected, event.CaseRemoved, event.RuleRetire, event.RuleRestore:
		return false, true
	}
	return false, false
}

// Take implements Pane.
func (p *validationPane) Take(ctx *Context, msg any) (bool, tea.Cmd) {
	d, fresh, mine, err := p.q.take(msg)
	if !mine || !fresh || err != nil {
		return mine, failed(err, "read the verdict")
	}
	p.data = d
	if i := slices.IndexFunc(d.past, func(v pastVerdict) bool { return d.decided && v.id == d.verdict.ID }); i >= 0 {
		p.past = i
	}
	p.past = max(0, min(p.past, len(d.past)-1))
	p.layout()
	return true, nil
}

// running reports that a trial is under way.
func (p *validationPane) running() bool { return p.live.rule != "" }

// results are the cases to show, in order.
func (p *validationPane) results() []liveCase {
	var out []liveCase
	if p.running() {
		for _, id := range p.live.planned {
			x := p.live.cases[id]
			x.result.CaseID = id
			c := p.data.cases[id]
			x.result.Kind = c.Kind
			if x.result.Baseline == nil {
				x.result.Baseline = c.Baseline
			}
			out = append(out, x)
		}
		return out
	}
	for _, c := range p.data.verdict.Cases {
		out = append(out, liveCase{result: c, state: caseReplayed})
	}
	return out
}

// Do implements Pane: the cursor goes through past verdicts, newest first.
func (p *validationPane) Do(ctx *Context, id action.ID) (tea.Cmd, bool) {
	switch id {
	case action.Up, action.Forward:
		p.choose(ctx, p.past-1)
	case action.Down, action.Back:
		p.choose(ctx, p.past+1)
	case action.Home:
		p.choose(ctx, 0)
	case action.End:
		p.choose(ctx, len(p.data.past)-1)
	case action.PageUp, action.PageDown:
		p.body.Page(map[action.ID]int{action.PageUp: -1, action.PageDown: 1}[id])
		p.bump()
	case action.Toggle:
		if !p.data.decided || p.running() {
			return nil, false
		}
		p.numbers = !p.numbers
		p.layout()
	case action.Into:
		if !p.data.decided || p.running() {
			return nil, false
		}
		return why(ctx, p.data.verdict.RuleID, "case"), true
	default:
		return nil, false
	}
	return nil, true
}

func (p *validationPane) choose(ctx *Context, i int) {
	if p.running() || len(p.data.past) == 0 {
		return
	}
	p.past = max(0, min(i, len(p.data.past)-1))
	v := p.data.past[p.past]
	ctx.Scope.Rule, ctx.Scope.Verdict = v.rule, v.id
	p.bump()
}

// Mouse implements Pane.
func (p *validationPane) Mouse(ctx *Context, x, y int, m tea.MouseMsg) tea.Cmd {
	switch m := m.(type) {
	case Wheel:
		if p.body != nil {
			p.body.Scroll(m.N)
			p.bump()
		}
	case tea.MouseClickMsg:
		if first := p.h - p.pastRows(); y >= first && p.pastRows() > 0 {
			p.choose(ctx, p.pastTop()+y-first)
		}
	}
	return nil
}

// Copy implements Pane.
func (p *validationPane) Copy() string {
	if !p.data.decided {
		return ""
	}
	v := p.data.verdict
	s := fmt.Sprintf("rule %s: %s\n%s\n", v.RuleID, verdictWords(v), evidenceWords(v, p.data.rule.Trial))
	for _, c := range v.Cases {
		word, _ := caseWord(c.Status)
		s += fmt.Sprintf("%s %s %s", c.CaseID, c.Kind, word)
		for _, m := range metricsOf(c) {
			s += fmt.Sprintf("  %s %s", m, signed(c.Deltas[m]))
		}
		s += "\n"
	}
	return s
}

// Headless implements Pane.
func (p *validationPane) Headless() string {
	switch {
	case p.running():
		return "vise validate --rule " + p.live.rule
	case p.data.found:
		return "vise rules show " + p.data.rule.ID
	}
	return "vise validate --until-idle"
}

// JSON implements Pane: the verdict that is shown, nil while it is being reached.
func (p *validationPane) JSON() any {
	if !p.data.decided || p.running() {
		return nil
	}
	return p.data.verdict
}

// next is what a person can do about the verdict now, in the keys that do it here: beside
// the workbench no other process can write.
func (p *validationPane) next(v evidence.Verdict) string {
	next := v.Card().Next
	if p.data.found {
		next = v.NextFor(p.data.rule.Status)
	}
	id := v.RuleID
	return strings.NewReplacer(
		"vise replay --recorded SESSION", p.ctx.Text("{run.score} in 1 Sessions"),
		"vise rules retire "+id, p.ctx.Text("{rule.retire} in 6 Rules"),
		"vise rules restore "+id, p.ctx.Text("{rule.restore} in 6 Rules"),
		"vise rules retest "+id, p.ctx.Text("{rule.retest} in 6 Rules"),
		"vise rules retire RULE", p.ctx.Text("{rule.retire} in 6 Rules"),
		"vise validate --rule "+id+" tests", p.ctx.Text("{run.validate_rule} tests"),
		"vise validate --rule "+id+" --own-case", "vise validate --rule "+id+" --own-case, once the workbench is closed",
		"vise noise", "vise noise, once the workbench is closed",
	).Replace(next)
}

// pastRows is how many rows the past verdicts get; they give way first.
func (p *validationPane) pastRows() int {
	if p.h < 14 || len(p.data.past) < 2 || p.running() || p.find != "" {
		return 0
	}
	return min(len(p.data.past), p.h/4)
}

func (p *validationPane) pastTop() int {
	return max(0, min(p.past-p.pastRows()/2, len(p.data.past)-p.pastRows()))
}

func (p *validationPane) draw(*style.Style) []string {
	if !p.running() && !p.data.decided {
		return append(p.stopped(), p.empty()...)
	}
	foot := p.foot()
	if p.find != "" {
		foot = nil // it is in the text
	}
	past := p.pastRows()
	head := p.columns().head(p)
	if p.numbers && !p.running() {
		head = p.line().Space(1).Put(style.Heading, "what the verdict was computed from").String()
	}
	rows := append([]string{head}, p.body.Rows()...)
	rows = append(rows, foot...)
	if past > 0 {
		rows = append(rows, p.rule("verdicts"))
		top := p.pastTop()
		for i, v := range p.data.past[top : top+past] {
			rows = append(rows, p.pastRow(v, top+i == p.past))
		}
	}
	return rows
}

// stopped says that a person ended the last round before it was through.
func (p *validationPane) stopped() []string {
	if p.running() || p.data.stopped == "" {
		return nil
	}
	return []string{p.line().Space(1).Put(style.Warn, p.st().Glyphs.Held+" "+p.data.stopped).Put(style.Dim, p.ctx.Text("; {run.validate} goes on")).String()}
}

func (p *validationPane) empty() []string {
	if p.data.found && p.data.rule.Status == rule.Candidate {
		return p.hint(fmt.Sprintf("Rule %s was not validated yet.", tag(p.data.rule.ID)),
			"{run.validate_rule} validates it: failure cases are replayed through the agent with only this candidate visible. {run.validate} validates all until idle.")
	}
	return p.hint("No verdict yet.", "{run.validate} lets evidence decide all candidates; without one there is nothing to validate: {run.replay} replays a session.")
}

func (p *validationPane) pastRow(v pastVerdict, selected bool) string {
	row := p.st().Row(p.w, p.ground(selected))
	o := evidence.Outcome(v.outcome)
	word := outcomeWord(o)
	if v.result != "" {
		word = v.result // of a rule in force
	}
	return row.Put(style.Dim, " "+v.at+"  ").Cell(style.Text, tag(v.rule), 10).Cell(outcomeRole(o), word, 13).Put(style.Text, v.reason).String()
}
