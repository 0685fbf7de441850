package rule

// Covers reports why an existing rule covers a proposed one ("" when it does
// not), with similarity and containment of their tokens. Only equal wording
// counts across scopes.
func Covers(existing, proposed Rule) (reason string, similarity, containment float64) {
	return covers(measure(existing), propose(proposed))
}
