package style

// Glyphs are the marks the program draws. Every mark has a word beside it
// somewhere: a state is never only a colour or only a sign.
type Glyphs struct {
	Ellipsis string
	Dot      string // separator within a line
	Pointer  string // the row that is selected
	Pass     string
	Fail     string
	Neutral  string
	Busy     string // something is going on
	Held     string // waits for a step
	Break    string // a breakpoint holds here
	Alert    string
	Stall    string // gate marks
	Regress  string
	Fired    string // a notice fired here
	Up, Down string
	Open     string // folded and unfolded parts of a tree
	Shut     string
	Arrow    string // leads to
	Again    string // a run of a recording
	Added    string // came since the last look
	Pin      string // stays at the top
	Active   string // rule states
	Trial    string
	Retired  string
	BarFull  string
	BarEmpty string
	BarEnds  [2]string
	Sparks   []string // lowest to highest
	Box      Box
	Tree     [3]string // branch, last branch, line
}

// Box are the lines of pane borders.
type Box struct {
	H, V                       string
	TopLeft, TopRight          string
	BottomLeft, BottomRight    string
	TeeLeft, TeeRight, TeeDown string
	Thumb                      string // the scroll bar's handle on the right border
	Hit                        string // a match of the search, there
}

// Unicode is the set for terminals with UTF-8. All of them are one cell wide in
// every width method.
var Unicode = Glyphs{
	Ellipsis: "…", Dot: "·", Pointer: "▸", Pass: "✓", Fail: "✕", Neutral: "–", Busy: "●", Held: "◼", Break: "●", Alert: "!",
	Stall: "▼", Regress: "◆", Fired: "!", Up: "▲", Down: "▼", Open: "▾", Shut: "▸", Arrow: "→", Again: "↻", Added: "+", Pin: "•",
	Active: "●", Trial: "○", Retired: "×", BarFull: "█", BarEmpty: " ", BarEnds: [2]string{"▕", "▏"},
	Sparks: []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇"}, // a full block would run into the row above
	Box: Box{H: "─", V: "│", TopLeft: "╭", TopRight: "╮", BottomLeft: "╰", BottomRight: "╯",
		TeeLeft: "├", TeeRight: "┤", TeeDown: "┬", Thumb: "┃", Hit: "◆"},
	Tree: [3]string{"├ ", "└ ", "│ "},
}

// ASCII is the set for everything else.
var ASCII = Glyphs{
	Ellipsis: "~", Dot: "-", Pointer: ">", Pass: "+", Fail: "x", Neutral: "-", Busy: "*", Held: "#", Break: "*", Alert: "!",
	Stall: "v", Regress: "<", Fired: "!", Up: "^", Down: "v", Open: "v", Shut: ">", Arrow: ">", Again: "@", Added: "+", Pin: "^",
	Active: "*", Trial: "o", Retired: "x", BarFull: "#", BarEmpty: " ", BarEnds: [2]string{"[", "]"},
	Sparks: []string{"_", ".", "-", "=", "+", "*", "#", "#"},
	Box: Box{H: "-", V: "|", TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+",
		TeeLeft: "+", TeeRight: "+", TeeDown: "+", Thumb: "#", Hit: "="},
	Tree: [3]string{"|-", "`-", "| "},
}

// Words are for people who listen: every mark is a word, and there are no lines.
var Words = Glyphs{
	Ellipsis: "...", Dot: "-", Pointer: ">", Pass: "ok", Fail: "failed", Neutral: "none", Busy: "[busy]", Held: "waiting", Break: "breakpoint", Alert: "alert",
	Stall: "stall", Regress: "regressed", Fired: "notice", Up: "better", Down: "worse", Open: "unfolded", Shut: "folded", Arrow: "to", Again: "run", Pin: "pinned", Added: "", // "new" is beside it
	Active: "", Trial: "", Retired: "", // the word of the state is beside them
	BarFull: "", BarEmpty: "", BarEnds: [2]string{" ", " "},
	Sparks: []string{"1", "2", "3", "4", "5", "6", "7", "8"},
	Box: Box{H: " ", V: " ", TopLeft: " ", TopRight: " ", BottomLeft: " ", BottomRight: " ",
		TeeLeft: " ", TeeRight: " ", TeeDown: " ", Thumb: " ", Hit: " "},
	Tree: [3]string{"  ", "  ", "  "},
}

// Sparkline draws values of [0,1], one cell each; nil is a gap.
func (g Glyphs) Sparkline(values []*float64) string {
	var b []byte
	for _, v := range values {
		if v == nil {
			b = append(b, ' ')
			continue
		}
		i := int(*v * float64(len(g.Sparks)))
		b = append(b, g.Sparks[max(0, min(i, len(g.Sparks)-1))]...)
	}
	return string(b)
}

// Bar draws a fraction of [0,1] in w cells without its ends.
func (g Glyphs) Bar(fraction float64, w int) (full, empty string) {
	n := max(0, min(int(fraction*float64(w)+0.5), w))
	for range n {
		full += g.BarFull
	}
	for range w - n {
		empty += g.BarEmpty
	}
	return full, empty
}
