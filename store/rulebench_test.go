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

// sizes are the numbers of rules that the benchmarks run with; -short leaves the last out.
func sizes(b *testing.B, run func(b *testing.B, s *Store, c *corpus)) {
	for _, n := range []int{100, 10_000, 100_000} {
		if testing.Short() && n > 10_000 {
			continue
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, c := disk(b, b.TempDir()), newCorpus()
			fill(b, s, n, 250, func(tx *Tx, i int) error { return tx.PutRule(c.rule(i)) })
			b.ReportAllocs()
			run(b, s, c)
		})
	}
}

// BenchmarkRuleSearch: the ten best rules for a question of eight words.
func BenchmarkRuleSearch(b *testing.B) {
	sizes(b, func(b *testing.B, s *Store, c *corpus) {
		ask := func() {
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
		ask() // makes the index
		for b.Loop() {
			ask()
		}
	})
}

// BenchmarkRuleCovering: is a proposed rule covered by one that there is?
func BenchmarkRuleCovering(b *testing.B) {
	sizes(b, func(b *testing.B, s *Store, c *corpus) {
		ask := func() {
			p := c.rule(5)
			if err := s.View(func(tx *Tx) error {
				list, err := rule.Comparable(tx, p)
				if err == nil {
					rule.Covering(list, p)
				}
				return err
			}); err != nil {
				b.Fatal(err)
			}
		}
		ask()
		for b.Loop() {
			ask()
		}
	})
}

// BenchmarkRuleAdd: covering, then the rule itself; without the sync, whose time is the disk's.
func BenchmarkRuleAdd(b *testing.B) {
	sizes(b, func(b *testing.B, s *Store, c *corpus) {
		i := 1_000_000
		add := func() {
			i++
			p := c.rule(i)
			if err := s.Bulk(context.Background(), func(tx *Tx) error {
				list, err := rule.Comparable(tx, p)
				if err != nil {
					return err
				}
				rule.Covering(list, p)
				return tx.PutRule(p)
			}); err != nil {
				b.Fatal(err)
			}
		}
		add()
		for b.Loop() {
			add()
		}
	})
}
