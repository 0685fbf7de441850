package tui

import (
	"strings"
	"unicode"

	"vise/tui/style"
)

// fold is how a search compares: a query without capitals matches both cases.
func fold(query string) func(string) string {
	if strings.ContainsFunc(query, unicode.IsUpper) {
		return func(s string) string { return s }
	}
	return strings.ToLower
}

// matches reports whether a text holds the query; nothing matches an empty one.
func matches(text, query string) bool {
	return query != "" && strings.Contains(fold(query)(text), query)
}

// marked puts a text into a row with the places that match on their own ground.
func marked(row *style.Row, role style.Role, text, query string) *style.Row {
	low := fold(query)(text)
	if query == "" || len(low) != len(text) {
		return row.Put(role, text)
	}
	for text != "" {
		i := strings.Index(low, query)
		if i < 0 {
			break
		}
		row.Put(role, text[:i]).PutOn(role, style.Match, text[i:i+len(query)])
		text, low = text[i+len(query):], low[i+len(query):]
	}
	return row.Put(role, text)
}
