package tui

import (
	"regexp"
	"strings"
	"sync/atomic"
	"unicode"

	"vise/tui/style"
	"vise/tui/vlist"
)

// regexSwitch before a query makes it a regular expression (RE2), as \v makes it "very
// magic" in vim.
const regexSwitch = `\v`

// pattern is a query as it compares: a text or a regular expression, both cases alike
// unless the query has capitals.
type pattern struct {
	query string
	text  string
	fold  bool
	regex *regexp.Regexp // nil for a text; also for an expression that is not complete yet
	bad   error
}

// lastPattern is the query that was compiled last: all rows are put to the same one.
var lastPattern atomic.Pointer[pattern]

func compile(query string) *pattern {
	if p := lastPattern.Load(); p != nil && p.query == query {
		return p
	}
	p := &pattern{query: query, text: query}
	expr, isRegex := strings.CutPrefix(query, regexSwitch)
	p.fold = !strings.ContainsFunc(expr, unicode.IsUpper)
	if isRegex {
		p.text = ""
		if expr != "" {
			if p.fold {
				expr = "(?i)" + expr
			}
			p.regex, p.bad = regexp.Compile(expr)
		}
	}
	lastPattern.Store(p)
	return p
}

// searchTrouble says what is wrong with a query; "" when nothing is.
func searchTrouble(query string) string {
	if p := compile(query); p.bad != nil {
		return "not an expression yet: " + strings.TrimPrefix(p.bad.Error(), "error parsing regexp: ")
	}
	return ""
}

// find is the first place of the query in a text; -1 for none.
func (p *pattern) find(text string) (from, to int) {
	switch {
	case p.regex != nil:
		if at := p.regex.FindStringIndex(text); at != nil && at[1] > at[0] {
			return at[0], at[1]
		}
		return -1, -1
	case p.text == "":
		return -1, -1
	}
	low := text
	if p.fold {
		if low = strings.ToLower(text); len(low) != len(text) {
			low = text // its places would be others
		}
	}
	i := strings.Index(low, p.text)
	if i < 0 {
		return -1, -1
	}
	return i, i + len(p.text)
}

// matches reports whether a text holds the query; nothing matches an empty one.
func matches(text, query string) bool {
	p := compile(query)
	if p.regex == nil && p.fold && p.text != "" {
		return strings.Contains(strings.ToLower(text), p.text)
	}
	from, _ := p.find(text)
	return from >= 0
}

// marked puts a text into a row with the places that match on their own ground.
func marked(row *style.Row, role style.Role, text, query string) *style.Row {
	p := compile(query)
	for text != "" {
		from, to := p.find(text)
		if from < 0 {
			break
		}
		row.Put(role, text[:from]).PutOn(role, style.Match, text[from:to])
		text = text[to:]
	}
	return row.Put(role, text)
}

// placed is a searcher that knows which of the matches the cursor is on.
type placed interface {
	// MatchAt is the number of the match under the cursor, from 1; 0 when the cursor is
	// on none, or when there is more before what is loaded.
	MatchAt() int
}

// matchAt is MatchAt over a list.
func matchAt[T any](l *vlist.List[T], ok func(T) bool) int {
	v, selected := l.Selected()
	if before, _ := l.More(); before || !selected || !ok(v) {
		return 0
	}
	n := 0
	for _, v := range l.Items()[:l.Index()+1] {
		if ok(v) {
			n++
		}
	}
	return n
}

// MatchAt implements placed.
func (p *sessionsPane) MatchAt() int { return matchAt(p.list, p.match) }

// MatchAt implements placed.
func (p *turnsPane) MatchAt() int { return matchAt(p.list, p.match) }
