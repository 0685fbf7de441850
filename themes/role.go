package themes

// Role is what a piece of the screen means. A theme gives every role its look.
type Role uint8

// Roles of text. One accent says where I am, Bad what is wrong, Good what got
// better; everything else is text, dim text and hairlines.
const (
	Text    Role = iota
	Dim          // secondary text: ids, times, units
	Faint        // what can be overlooked: hints, rulers, empty values
	Strong       // the one word of a row that matters
	Accent       // where I am
	Bad          // what is wrong
	Good         // what got better
	Warn         // what waits for somebody
	Info         // what is going on
	Heading      // column heads inside a pane
	Title        // title of a pane
	TitleOn      // title of the pane with the focus
	Key          // a key in footer and help
	KeyText      // what the key does
	Header       // the line at the top
	SpanLLM      // kinds of span
	SpanTool
	SpanAgent
	SpanChain
	Number   // a measured value
	Spark    // sparklines and bars
	MDHead   // markdown
	MDCode   // markdown: code
	MDLink   // markdown: links
	MDQuote  // markdown: quotations
	SynKey   // syntax: keywords and JSON keys
	SynText  // syntax: strings
	SynNum   // syntax: numbers and constants
	SynNote  // syntax: comments
	Added    // one side of a difference
	Removed  // the other side
	Border   // hairlines: need only be visible
	BorderOn // border of the pane with the focus
	Track    // the empty part of a bar
	// Grounds: what lies under text. They have a background and no text colour.
	Cursor     // the row under the cursor in the pane with the focus
	CursorIdle // the cursor's row elsewhere
	Match      // a search hit
	Panel      // overlays
	roleCount
)

// RoleCount is the number of roles.
const RoleCount = int(roleCount)

var roleNames = [RoleCount]string{
	Text: "text", Dim: "dim", Faint: "faint", Strong: "strong", Accent: "accent", Bad: "bad", Good: "good", Warn: "warn", Info: "info",
	Heading: "heading", Title: "title", TitleOn: "title_on", Key: "key", KeyText: "key_text", Header: "header",
	SpanLLM: "span_llm", SpanTool: "span_tool", SpanAgent: "span_agent", SpanChain: "span_chain", Number: "number", Spark: "spark",
	MDHead: "md_head", MDCode: "md_code", MDLink: "md_link", MDQuote: "md_quote",
	SynKey: "syn_key", SynText: "syn_text", SynNum: "syn_num", SynNote: "syn_note", Added: "added", Removed: "removed",
	Border: "border", BorderOn: "border_on", Track: "track",
	Cursor: "cursor", CursorIdle: "cursor_idle", Match: "match", Panel: "panel",
}

// String is the name of the role in theme files.
func (r Role) String() string {
	if int(r) < len(roleNames) {
		return roleNames[r]
	}
	return "unknown"
}

// RoleNamed returns the role of that name.
func RoleNamed(name string) (Role, bool) {
	for i, n := range roleNames {
		if n == name {
			return Role(i), true
		}
	}
	return 0, false
}

// Ground reports whether the role is a background for other roles.
func (r Role) Ground() bool { return r >= Cursor && r < roleCount }

// Mark reports whether the role draws lines rather than text; 3:1 is enough then.
func (r Role) Mark() bool { return r == Border || r == BorderOn || r == Track || r == Spark }
