package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"vise/engine/rule"
)

// corpus makes rules as people and models write them: words by Zipf's law, so that
// some are in a third of all rules, in thirty scopes, with the tags of their notices.
type corpus struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newCorpus() *corpus {
	r := rand.New(rand.NewPCG(7, 7))
	return &corpus{r, rand.NewZipf(r, 1.1, 8, 5000)}
}

func (c *corpus) words(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("word%d", c.zipf.Uint64())
	}
	return strings.Join(list, " ")
}

func (c *corpus) rule(i int) rule.Rule {
	metric := []string{"tool_correctness", "argument_correctness", "task_completion", "coherence"}[c.random.IntN(4)]
	r := rule.Rule{ID: fmt.Sprintf("r-%07d", i), CreatedAt: fmt.Sprintf("2026-03-01T00:00:%02d.%09dZ", i/1_000_000_000, i), Text: c.words(14) + ".",
		Rationale: c.words(12), Metric: metric, Status: rule.Active, Scope: fmt.Sprintf("scope%d", c.random.IntN(30)), Applicability: rule.Topical,
		Tags: []string{"breach:" + metric, metric, c.words(1), c.words(1), "breach"}, FailureSignatures: []string{"breach:" + metric}}
	if i%5 == 0 {
		r.Scope, r.Applicability = rule.ScopeGlobal, rule.Global
	}
	if i%3 == 0 {
		r.Status = rule.Candidate
	}
	return r
}

// BenchmarkRules measures, among 100 to 100,000 rules: search, the ten best rules for a
// question of eight words; covering, whether a proposed rule is covered by one that
// there is; add, covering and then the rule itself, without the sync, whose time is the
// disk's; index, making the index in memory, once per process. -short leaves the
// largest number out: filling the store takes minutes.
func BenchmarkRules(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		if testing.Short() && n > 10_000 {
			continue
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, c := disk(b, b.TempDir()), newCorpus()
			fill(b, s, n, 250, func(tx *Tx, i int) error { return tx.PutRule(c.rule(i)) })
			search := func() {
				if err := s.View(func(tx *Tx) error {
					hits, err := rule.Search(tx, c.words(8), 10)
					if len(hits) != 10 {
						b.Fatalf("%d hits", len(hits))
					}
					return err
				}); err != nil {
					b.Fatal(err)
				}
			}
			covering := func(tx *Tx, p rule.Rule) error {
				list, err := rule.Comparable(tx, p)
				if err == nil {
					rule.Covering(list, p)
				}
				return err
			}
			search() // the first question makes no index
			next := 10_000_000
			for _, x := range []struct {
				name string
				do   func()
			}{
				{"index", func() {
					s.ruleIndex.mu.Lock()
					s.ruleIndex.postings = nil
					s.ruleIndex.mu.Unlock()
					search()
				}},
				{"search", search},
				{"covering", func() {
					if err := s.View(func(tx *Tx) error { return covering(tx, c.rule(5)) }); err != nil {
						b.Fatal(err)
					}
				}},
				{"add", func() {
					next++
					p := c.rule(next)
					if err := s.Bulk(context.Background(), func(tx *Tx) error {
						if err := covering(tx, p); err != nil {
							return err
						}
						return tx.PutRule(p)
					}); err != nil {
						b.Fatal(err)
					}
				}},
			} {
				b.Run(x.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						x.do()
					}
				})
			}
		})
	}
}
