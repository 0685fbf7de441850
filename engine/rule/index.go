package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// IndexEntry is one scope of the index.
type IndexEntry struct {
	Scope       string `json:"scope"`
	Path        string `json:"path"` // of the rendered document, "rules/<scope>.md"
	Description string `json:"description"`
	Active      int    `json:"active"`
	Provisional int    `json:"provisional"`
}

// Index lists the scopes with at least one live rule: global first, then by name.
func Index(r Reader) ([]IndexEntry, error) {
	rules, err := r.Rules(Candidate, Active)
	if err != nil {
		return nil, err
	}
	descriptions, err := r.ScopeDescriptions()
	if err != nil {
		return nil, err
	}
	said := described(descriptions)
	at := map[string]int{}
	entries := []IndexEntry{}
	for _, x := range rules {
		i, ok := at[x.Scope]
		if !ok {
			i = len(entries)
			at[x.Scope] = i
			entries = append(entries, IndexEntry{Scope: x.Scope, Path: "rules/" + x.Scope + ".md",
				Description: ScopeDescription(said[x.Scope], x.Scope)})
		}
		if x.Status == Active {
			entries[i].Active++
		} else {
			entries[i].Provisional++
		}
	}
	slices.SortFunc(entries, func(a, b IndexEntry) int {
		if (a.Scope == ScopeGlobal) != (b.Scope == ScopeGlobal) {
			if a.Scope == ScopeGlobal {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Scope, b.Scope)
	})
	return entries, nil
}

// described returns persisted descriptions by normalised scope. Names that are
// no scope describe nothing.
func described(persisted map[string]string) map[string]string {
	keys := make([]string, 0, len(persisted))
	for k := range persisted {
		keys = append(keys, k)
	}
	slices.Sort(keys) // two spellings of one scope: the same one always wins
	out := make(map[string]string, len(keys))
	for _, k := range keys {
		if n, ok := NormalizeScopeOrNone(k); ok {
			out[n] = persisted[k]
		}
	}
	return out
}

// RootMarkdown renders the index. It never contains rule text.
func RootMarkdown(entries []IndexEntry) string {
	var b strings.Builder
	b.WriteString(DocumentHeading + "\n\nRules learned from earlier sessions, by scope. Read global first, then the scopes that fit the task.\n\n")
	if len(entries) == 0 {
		b.WriteString("No rules yet.\n")
	}
	for _, e := range entries {
		fmt.Fprintf(&b, "- [%s](%s): %s %d validated, %d provisional.\n", e.Scope, e.Path, escapeMarkdown(e.Description), e.Active, e.Provisional)
	}
	return b.String()
}
