package rule

import (
	"fmt"
	"strings"

	"vise/engine/guard"
)

// DocOptions narrow a scope document.
type DocOptions struct {
	// Query narrows the active rules to those relevant for it; nil = all.
	Query *string
	// Retrieval switches the narrowing on; TopK is how many rules outside global
	// it keeps, over all scopes together.
	Retrieval bool
	TopK      int
	// TrialMin is the number of sessions a forward trial needs.
	TrialMin int
}

// Doc is one rendered scope. Only live rules appear; what is not validated yet is
// kept apart under its own heading.
type Doc struct {
	Scope       string
	Description string
	Active      []Rule
	// Omitted counts active rules left out by the query.
	Omitted     int
	Provisional []Rule
	TrialMin    int
	// Links makes the id of each rule a link to it (package link): for files that people read.
	Links bool
}

// Empty reports that the scope has neither active nor candidate rules.
func (d Doc) Empty() bool { return len(d.Active) == 0 && d.Omitted == 0 && len(d.Provisional) == 0 }

// Document collects the document of one scope.
func Document(r Reader, scope string, o DocOptions) (Doc, error) {
	d := Doc{Scope: NormalizeScope(scope), TrialMin: o.TrialMin}
	descriptions, err := r.ScopeDescriptions()
	if err != nil {
		return Doc{}, err
	}
	d.Description = ScopeDescription(described(descriptions)[d.Scope], d.Scope)
	if d.Active, err = r.RulesInScope(d.Scope, Active); err != nil {
		return Doc{}, err
	}
	if d.Provisional, err = r.RulesInScope(d.Scope, Candidate); err != nil {
		return Doc{}, err
	}
	if o.Query == nil || !o.Retrieval || len(d.Active) == 0 {
		return d, nil
	}
	relevant, err := Relevant(r, o.Query, o.TopK)
	if err != nil {
		return Doc{}, err
	}
	wanted := make(map[string]bool, len(relevant))
	for _, x := range relevant {
		wanted[x.ID] = true
	}
	kept := make([]Rule, 0, len(d.Active))
	for _, x := range d.Active {
		if wanted[x.ID] {
			kept = append(kept, x)
		}
	}
	d.Omitted = len(d.Active) - len(kept)
	d.Active = kept
	return d, nil
}

// Progress is the trial of a candidate as "observed/needed", "" without a trial.
func (r Rule) Progress(needed int) string {
	if r.Trial == nil {
		return ""
	}
	return fmt.Sprintf("%d/%d", len(r.Trial.ObservedSessions), needed)
}

// DocumentHeading is how every rendered document of rules begins, the index too.
const DocumentHeading = "# Operating rules"

// Markdown renders the document. Each rule is one line: its text and rationale
// are untrusted, so line breaks are folded and Markdown in them is escaped, and
// no rule can forge another rule or a heading.
func (d Doc) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, DocumentHeading+": %s\n\n%s\n", d.Scope, escapeMarkdown(d.Description))
	if d.Empty() {
		b.WriteString("\nNo rules yet.\n")
		return b.String()
	}
	if len(d.Active) > 0 || d.Omitted > 0 {
		b.WriteString("\n")
	}
	for _, r := range d.Active {
		fmt.Fprintf(&b, "- **%s**: %s\n", d.name(r), r.sentence())
	}
	if d.Omitted > 0 {
		fmt.Fprintf(&b, "\n%d more validated rules are not shown for this task; search the rules to find them.\n", d.Omitted)
	}
	if len(d.Provisional) > 0 {
		b.WriteString("\n## Provisional rules (not validated yet)\n\n")
	}
	for _, r := range d.Provisional {
		fmt.Fprintf(&b, "- **%s**", d.name(r))
		if p := r.Progress(d.TrialMin); p != "" {
			fmt.Fprintf(&b, " (trial %s)", p)
		}
		fmt.Fprintf(&b, ": %s\n", r.sentence())
	}
	return b.String()
}

// name is the id of a rule as the document writes it.
func (d Doc) name(r Rule) string {
	if d.Links {
		return "[" + r.ID + "](" + r.Link() + ")"
	}
	return r.ID
}

// sentence is the rule and its reason on one line.
func (r Rule) sentence() string {
	s := escapeMarkdown(r.Text)
	if why := escapeMarkdown(r.Rationale); why != "" {
		s += " *Why:* " + why
	}
	return s
}

// escapeMarkdown returns text as one line that renders as itself. Underscores
// inside words stay as they are: they cannot open emphasis, and names of
// arguments must be readable as they are written.
func escapeMarkdown(text string) string {
	s := guard.Line(text, 0)
	if !strings.ContainsAny(s, "\\`*_<>[]~&|#") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\', '`', '*', '<', '>', '[', ']', '~', '|', '#':
			b.WriteByte('\\')
		case '_':
			if i == 0 || i == len(s)-1 || !wordByte(s[i-1]) || !wordByte(s[i+1]) {
				b.WriteByte('\\')
			}
		case '&':
			if i+1 < len(s) && (s[i+1] == '#' || wordByte(s[i+1])) {
				b.WriteByte('\\')
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// wordByte: letters and digits; underscores count so that a__b stays whole.
func wordByte(c byte) bool {
	return tokenByte(c) || c >= 'A' && c <= 'Z' || c >= 0x80
}
