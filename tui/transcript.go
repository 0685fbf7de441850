package tui

import (
	"fmt"
	"strings"

	"vise/engine/episode"
	"vise/engine/model"
	"vise/engine/repair"
	"vise/tui/style"
)

// repairHead is how many rows stand above the transcript.
const repairHead = 1

// Bounds of what a transcript shows of one text, in rows; the whole is copied by `y`.
const (
	shownRows  = 6
	openedRows = 60
	// what the model says in a step that is looked at or streams, and all texts while one
	// searches
	spokenRows   = 2000
	searchedRows = 2000
	liveBytes    = 256 << 10
)

// layout draws the transcript anew.
func (p *repairPane) layout() {
	p.bump()
	if p.ctx == nil {
		return
	}
	p.body.SetSize(p.w, max(0, p.h-repairHead))
	clear(p.at)
	p.label(p.state())
	if !p.data.found {
		return
	}
	p.from, p.to = p.look()
	var rows []string
	attempts := 0
	for _, s := range p.data.steps {
		if s.Attempt != attempts {
			attempts = s.Attempt
			if s.Attempt > 1 || p.data.episode.Attempts > 1 {
				rows = append(rows, p.rule(fmt.Sprintf("attempt %d", s.Attempt)))
			}
		}
		p.at[[2]int{s.Attempt, s.Turn}] = len(rows)
		rows = append(rows, p.stepRows(s)...)
	}
	if p.live.turn > 0 {
		rows = append(rows, p.liveRows()...)
	}
	if h := p.held; h != nil && h.EpisodeID == p.data.episode.ID && h.Point == repair.BeforeModel {
		rows = append(rows, p.promptRows(h)...)
	}
	if r := p.data.episode.Result; r != nil && p.data.episode.Status != episode.Running {
		rows = append(rows, p.endRows(r)...)
	}
	p.body.Set(ready(rows))
	if p.body.Following() {
		p.reading = [2]int{}
	}
	if now := [4]int{p.attempt, p.step, p.w<<16 | p.h, bit(p.open)}; p.step > 0 && p.find == "" && now != p.revealed {
		p.reveal(len(rows))
		p.revealed = now
	}
}

// reveal brings the selected step onto the screen: of an open one the call, with what it
// brought below and what was asked above.
func (p *repairPane) reveal(rows int) {
	line, ok := p.at[[2]int{p.attempt, p.step}]
	if !ok {
		return
	}
	for _, s := range p.data.steps {
		if s.Attempt == p.attempt && s.Turn == p.step {
			end := line + len(p.stepRows(s))
			if p.open {
				line += len(p.askedRows(s))
			}
			p.body.Reveal(min(rows, end) - 1)
			p.body.Reveal(line)
		}
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// state is the badge: what the episode is about and where it stands.
func (p *repairPane) state() string {
	if !p.data.found {
		return ""
	}
	e, dot := p.data.episode, " "+p.st().Glyphs.Dot+" "
	out := tag(e.ID)
	if e.Fork != nil {
		out += " fork of " + tag(e.Fork.Of) + ":" + itoa(e.Fork.Turn)
	}
	out += dot + p.sessionName() + " turn " + turnName(e.TurnIndex)
	if len(p.data.notice.Signatures) > 0 {
		out += dot + p.data.notice.Signatures[0]
		if n := len(p.data.notice.Signatures) - 1; n > 0 {
			out += fmt.Sprintf(" +%d", n)
		}
	}
	return out
}

func (p *repairPane) sessionName() string {
	if s := p.data.session; s.ReplayOf != "" && p.ctx.Names[s.ID] == "" {
		return p.ctx.Called(s.ReplayOf)
	}
	return p.ctx.Called(p.data.episode.SessionID)
}

// Rows implements Pane.
func (p *repairPane) Rows() []string { return p.cached(p.draw) }

func (p *repairPane) draw(*style.Style) []string {
	if !p.data.found {
		return p.hint("No repair of this session.",
			"A notice starts one: {run.replay} replays the session through the agent and settles every turn.", "{time.back} goes to the latest repair of any session.")
	}
	return append([]string{p.head()}, p.body.Rows()...)
}

// stepRows are the rows of one stored turn: a row per call, more when it is selected.
func (p *repairPane) stepRows(s episode.Step) []string {
	selected := s.Attempt == p.attempt && s.Turn == p.step
	limit := 1
	if selected || p.holds(s) {
		limit = shownRows
	}
	if selected && p.open {
		limit = openedRows
	}
	spoken := limit
	if limit > 1 || p.reading == [2]int{s.Attempt, s.Turn} {
		spoken = spokenRows
	}
	var rows []string
	if selected && p.open || p.find != "" {
		rows = p.askedRows(s)
	}
	if p.find != "" {
		limit, spoken = searchedRows, searchedRows
	}
	if spoken > 1 || len(s.Calls) == 0 {
		rows = append(rows, p.said("thinks", s.Reasoning, spoken)...)
		rows = append(rows, p.said("says", s.Text, spoken)...)
	}
	took := fmt.Sprintf("%d ms", s.Ended.Sub(s.Started).Milliseconds())
	if s.Kept {
		took = "kept"
	}
	for i, c := range s.Calls {
		rows = append(rows, p.callRow(s, i, took, selected && i == 0))
		took = ""
		rows = append(rows, p.callDetail(c, limit)...)
	}
	if s.Error != "" {
		rows = append(rows, p.wrapped(style.Bad, p.st().Glyphs.Fail+" "+s.Error, 4, 2, 4)...)
	}
	if len(rows) == 0 {
		rows = append(rows, p.line().Space(2).Int(style.Dim, s.Turn, 2).Put(style.Faint, " no answer").String())
	}
	return rows
}

// askedRows are what was told to the model before it answered.
func (p *repairPane) askedRows(s episode.Step) []string {
	limit := openedRows
	if p.find != "" {
		limit = searchedRows
	}
	var rows []string
	for _, m := range s.Messages {
		rows = append(rows, p.message(m.Role, m.Content, limit)...)
	}
	return rows
}

// holds reports that the held call is of this step.
func (p *repairPane) holds(s episode.Step) bool {
	return p.held != nil && p.held.EpisodeID == s.EpisodeID && p.held.Attempt == s.Attempt && p.held.Turn == s.Turn && p.held.Call != nil
}

func (p *repairPane) heldCall(s episode.Step, c episode.Call) bool {
	return p.holds(s) && p.held.Call.ID == c.ID && !c.Ran
}

func (p *repairPane) callRow(s episode.Step, i int, took string, selected bool) string {
	c := s.Calls[i]
	ground := p.ground(selected)
	row := p.st().Row(p.w, ground)
	switch {
	case selected:
		row.Put(style.Accent, p.st().Glyphs.Pointer)
	case p.broken(s, c):
		row.Put(style.Bad, p.st().Glyphs.Break)
	default:
		row.Space(1)
	}
	changed := p.changed(s, i)
	switch changed {
	case 1:
		row.Put(style.Info, p.st().Glyphs.Added)
	case -1:
		row.Put(style.Warn, "-")
	default:
		row.Space(1)
	}
	row.Int(style.Dim, s.Turn, 2).Space(1).Cell(style.Strong, verb(c.Name), 8)
	words, role := callResult(c)
	switch {
	case p.heldCall(s, c) && p.held.Point == repair.BeforeResolve:
		words, role, took = p.st().Glyphs.Held+" nothing acknowledged yet", style.Warn, ""
	case p.heldCall(s, c):
		words, role, took = p.st().Glyphs.Held+" not executed yet", style.Warn, ""
	case !c.Ran && len(c.Result) == 0 && p.here && s.Attempt == p.data.episode.Attempts: // an attempt that has ended does not change
		words, role = "waits", style.Faint
	case changed == 1:
		words = "new  " + words
	case changed == -1:
		words, role = "not yet  "+words, style.Dim
	}
	right := p.st().Width(words) + 1
	if took != "" {
		right += 8
	}
	right = min(right, max(0, row.Left()-12))
	what := c.Name
	if args := callArgs(c); args != "" {
		what += " " + args
	}
	row.Cell(style.Text, what, row.Left()-right-1).Fill(right)
	if took == "" {
		return row.Right(role, words, row.Left()).String()
	}
	return row.Right(role, words, row.Left()-8).Right(style.Dim, took, 8).String()
}

// callDetail is what stands below a call: the card of a proposal, the failures that
// an inspected trace holds, and for a selected step arguments and result in full.
func (p *repairPane) callDetail(c episode.Call, limit int) []string {
	const indent = 4
	var rows []string
	if c.Name == "harness_rule_add" {
		rows = append(rows, p.card(c.Arguments, indent)...)
	} else if limit > 1 {
		rows = append(rows, p.labelled("arguments", style.Text, outline(c.Arguments), limit)...)
	}
	for i, f := range callFailures(c) {
		if i == 3 {
			break
		}
		times := ""
		if f.n > 1 {
			times = fmt.Sprintf("  (%d identical calls)", f.n)
		}
		rows = append(rows, p.line().Space(indent).Put(style.SpanTool, f.tool+"  ").Put(style.Bad, p.st().Glyphs.Fail+" "+f.err).Put(style.Dim, times).String())
	}
	if limit > 1 && len(c.Result) > 0 {
		rows = append(rows, p.labelled("result", style.Dim, outline(string(c.Result)), limit)...)
	}
	return rows
}

// labelled is a wrapped text behind a word.
func (p *repairPane) labelled(word string, role style.Role, text string, limit int) []string {
	const indent = 14
	if p.w < 40 {
		return p.wrapped(role, word+" "+text, 4, 0, limit)
	}
	in := p.part(p.w - indent)
	rows := in.wrapped(role, text, 0, asText, limit)
	for i, r := range rows {
		if i > 0 {
			word = ""
		}
		rows[i] = p.st().Row(indent, style.Plain).Space(4).Cell(style.Heading, word, indent-4).String() + r
	}
	return rows
}

// promptRows show the question that is about to be asked.
func (p *repairPane) promptRows(h *Held) []string {
	size := 0
	for _, m := range h.Messages {
		size += len(m.Content)
	}
	rows := []string{p.line().Space(2).Int(style.Dim, h.Turn, 2).Space(1).Cell(style.Strong, "ask", 8).
		Put(style.Text, fmt.Sprintf("the model: %s, %d characters  ", count(len(h.Messages), "message"), size)).
		Put(style.Warn, p.st().Glyphs.Held+" not sent yet").String()}
	from := 0
	for i, m := range h.Messages {
		if m.Role == model.Assistant {
			from = i + 1 // what came before was sent already
		}
	}
	// The question is what the person decides about: it gets the room there is.
	limit := max(shownRows, (p.h-repairHead-len(rows))/max(1, len(h.Messages)-from)-1)
	if p.open {
		limit, from = openedRows, 0
	}
	if p.find != "" {
		limit = searchedRows
	}
	for _, m := range h.Messages[from:] {
		rows = append(rows, p.message(m.Role, m.Content, limit)...)
	}
	return rows
}

func (p *repairPane) message(role, content string, limit int) []string {
	return p.labelled(role, style.Dim, outline(content), limit)
}

// onlyCancelled reports whether an error says no more than that somebody cancelled,
// which the status says already.
func onlyCancelled(err string) bool {
	return strings.HasSuffix(err, "context canceled") || strings.HasSuffix(err, errStopped.Error())
}

// settledRepair says why a repair is not started again.
func settledRepair(ctx *Context) string {
	return ctx.Text("its notice waits no longer; {run.replay} replays the session")
}

// endRows say how the run ended.
func (p *repairPane) endRows(r *episode.Result) []string {
	e := p.data.episode
	role, words := style.Good, strings.ReplaceAll(string(r.Status), "_", " ")
	if !r.Status.Success() {
		role = style.Bad
		if why := strings.ReplaceAll(r.ErrorCategory, "_", " "); why != "" && why != words {
			words += ": " + why
		}
		if e.Status == episode.Dead {
			words += ", dead letter: it failed too often"
		}
	}
	row := p.line().Put(role, "   = "+words)
	if len(r.CandidateRuleIDs) > 0 {
		next := p.ctx.Text("  {run.validate} lets evidence decide")
		if e.Fork != nil && e.Fork.AcceptedAt == "" {
			next = p.ctx.Text("  {episode.accept} accepts it")
		}
		row.Put(style.Text, "  rule "+tag(r.CandidateRuleIDs[0])+" in "+r.SelectedScope).Put(style.Dim, next)
	}
	rows := []string{row.Put(style.Dim, fmt.Sprintf("  %s, %s, %s tokens in, %s out", count(r.Turns, "model turn"), count(r.ToolCalls, "call"), thousands(int(r.Usage.Input)), thousands(int(r.Usage.Output)))).String()}
	for _, why := range []string{r.SuppressionReason, r.Error} {
		if why != "" && !onlyCancelled(why) {
			rows = append(rows, p.wrapped(style.Text, why, 5, 0, 3)...)
		}
	}
	switch {
	case e.Fork != nil:
		rows = append(rows, p.wrapped(style.Dim, p.ctx.Text("a what-if: nothing is acknowledged; {time.diff} puts it beside ")+tag(e.Fork.Of), 5, 0, 2)...)
	case r.Status.Success() || e.Status == episode.Dead:
	case p.data.settled:
		rows = append(rows, p.wrapped(style.Dim, settledRepair(p.ctx), 5, 0, 2)...)
	case e.NotBefore.IsZero():
		rows = append(rows, p.wrapped(style.Dim, p.ctx.Text("{run.step} starts it again"), 5, 0, 1)...)
	default:
		rows = append(rows, p.wrapped(style.Dim, "the next turn of the session that ends after "+clock(e.NotBefore)+p.ctx.Text(" tries it again by itself; {run.step} starts it at once"), 5, 0, 2)...)
	}
	return rows
}
