package rule

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// indexed is a Set with postings.
type indexed struct {
	*Set
	postings *Postings
}

func (x indexed) read(ids []string) (out []Rule) {
	for _, id := range ids {
		r, _, _ := x.Rule(id)
		out = append(out, r)
	}
	return out
}

func (x indexed) Best(q Query) ([]Rule, bool, error) { return x.read(x.postings.Best(q)), true, nil }
func (x indexed) Alike(p Rule) ([]Rule, bool, error) { return x.read(x.postings.Alike(p)), true, nil }

func drawRule(t *rapid.T) Rule {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"pass", "the", "reason", "code", "refund", "stop", "ask", "first", "日本語", "Straße"}), 1, 6)
	text := func(label string) string { return fmt.Sprint(words.Draw(t, label)) }
	return Rule{
		ID: rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"}).Draw(t, "id"), CreatedAt: rapid.SampledFrom([]string{"2026-01-01", "2026-01-02", "2026"}).Draw(t, "at"),
		Text: text("text"), Rationale: text("rationale"), Metric: rapid.SampledFrom([]string{"", "coherence"}).Draw(t, "metric"),
		Status: rapid.SampledFrom([]Status{Candidate, Active, Retired, Quarantined}).Draw(t, "status"),
		Scope:  rapid.SampledFrom([]string{ScopeGlobal, "desk", "refunds"}).Draw(t, "scope"), Applicability: Topical,
		Tags:              CleanTags(rapid.SliceOfN(rapid.SampledFrom([]string{"refund", "code", "breach", "breach:coherence", "desk"}), 0, 4).Draw(t, "tags")),
		FailureSignatures: rapid.SliceOfN(rapid.SampledFrom([]string{"breach:coherence", "stall:coherence"}), 0, 2).Draw(t, "signatures"),
	}
}

// TestPostingsAgreeWithReading: whatever was put in whatever order, an index finds,
// ranks and compares exactly as reading every rule does, also through a restriction.
func TestPostingsAgreeWithReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var put []Rule
		postings := NewPostings()
		for range rapid.IntRange(0, 12).Draw(t, "rules") {
			r := drawRule(t)
			put = append(put, r)
			postings.Put(r.Normalized())
		}
		set := NewSet(put, nil)
		proposed := drawRule(t)
		shown := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 2).Draw(t, "shown")
		k := rapid.IntRange(0, 9).Draw(t, "limit")
		statuses := rapid.SliceOfNDistinct(rapid.SampledFrom([]Status{Candidate, Active, Retired}), 0, 3, rapid.ID).Draw(t, "statuses")
		for _, pair := range [][2]Reader{{set, indexed{set, postings}}, {Restrict(set, shown), Restrict(indexed{set, postings}, shown)}} {
			same := func(what string, ask func(Reader) (any, error)) {
				want, err := ask(pair[0])
				got, err2 := ask(pair[1])
				if err != nil || err2 != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%s:\n%+v, %v\nread one by one:\n%+v, %v", what, got, err2, want, err)
				}
			}
			same("search", func(r Reader) (any, error) { return Search(r, proposed.Text, k, statuses...) })
			same("relevant", func(r Reader) (any, error) {
				list, err := Relevant(r, &proposed.Text, k)
				return append([]Rule{}, list...), err
			})
			same("covering", func(r Reader) (any, error) {
				list, err := Comparable(r, proposed)
				return Covering(list, proposed), err
			})
			same("disproved", func(r Reader) (any, error) {
				list, err := Comparable(r, proposed)
				c, _ := Disproved(list, proposed)
				return c, err
			})
		}
	})
}

// BenchmarkPostingsPut adds a rule of some 30 words to an index.
func BenchmarkPostingsPut(b *testing.B) {
	p := NewPostings()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p.Put(Rule{ID: fmt.Sprint("r-", i), CreatedAt: fmt.Sprintf("2026-03-01T%09d", i), Scope: "desk", Status: Active, Metric: "coherence",
			Text:      fmt.Sprintf("Always pass the reason code %d when calling issue refund; obtain it before the call if it is not known yet.", i%977),
			Rationale: "The call failed twice because the argument was missing, and the agent repeated it without a change.",
			Tags:      []string{"breach:coherence", "coherence", "refund"}, FailureSignatures: []string{"breach:coherence"}})
	}
}

// BenchmarkPostings ranks and compares among many rules, without reading any: what
// grows of a search in the store, which then reads the ten rules found. Words by
// Zipf's law, so that some are in a third of all rules; thirty scopes.
func BenchmarkPostings(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			random := rand.New(rand.NewPCG(7, 7))
			zipf := rand.NewZipf(random, 1.1, 8, 5000)
			words := func(n int) string {
				var t strings.Builder
				for range n {
					fmt.Fprintf(&t, "word%d ", zipf.Uint64())
				}
				return t.String()
			}
			make := func(i int) Rule {
				return Rule{ID: fmt.Sprintf("r-%07d", i), CreatedAt: fmt.Sprintf("2026-03-01T%09d", i), Text: words(14), Rationale: words(12), Status: Active,
					Scope: fmt.Sprint("scope", random.IntN(30)), Tags: []string{"breach:coherence", words(1)}, FailureSignatures: []string{"breach:coherence"}}
			}
			p := NewPostings()
			for i := range n {
				p.Put(make(i))
			}
			b.Run("search", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if got := p.Best(Query{Tokens: Tokens(words(8)), Limit: 10, Statuses: []Status{Active, Candidate}}); len(got) != 10 {
						b.Fatal(got)
					}
				}
			})
			b.Run("covering", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p.Alike(make(n))
				}
			})
		})
	}
}
