package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vise/engine"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/store"
)

func (a *app) rulesCmd() *cobra.Command {
	c := &cobra.Command{Use: "rules", Short: "Rules and what evidence says of them"}
	c.AddCommand(a.rulesLs(), a.rulesShow(), a.rulesSearch(), a.rulesRetire(), a.rulesRestore(), a.rulesExport(), a.rulesAudit(), a.rulesRetest(), a.rulesEdit(), a.rulesWhy())
	return c
}

var ruleHeader = []string{"RULE", "STATUS", "SCOPE", "METRIC", "TEXT"}

func ruleRow(r rule.Rule, expired string) []string {
	status := string(r.Status)
	if r.Flagged() {
		status += " flagged"
	}
	if expired != "" {
		status += " expired"
	}
	return []string{r.ID, status, show(r.Scope, 48), r.Metric, show(r.Text, 90)}
}

// listedRule is a rule with why its verdict does not hold any more.
type listedRule struct {
	rule.Rule
	Expired string `json:"expired,omitempty"`
}

func (a *app) rulesLs() *cobra.Command {
	var status, scope string
	c := &cobra.Command{
		Use: "ls", Short: "List rules, oldest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var statuses []rule.Status
			switch rule.Status(status) {
			case "":
			case rule.Candidate, rule.Active, rule.Retired, rule.Quarantined:
				statuses = append(statuses, rule.Status(status))
			default:
				return usagef("--status %q: use candidate, active, retired or quarantined", status)
			}
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var list []listedRule
			if err := s.View(func(tx *store.Tx) error {
				var rules []rule.Rule
				if scope != "" {
					rules, err = tx.RulesInScope(rule.NormalizeScope(scope), statuses...)
				} else {
					rules, err = tx.Rules(statuses...)
				}
				if err != nil {
					return err
				}
				expired, err := a.expired(tx, rules)
				if err != nil {
					return err
				}
				for _, r := range rules {
					list = append(list, listedRule{Rule: r, Expired: expired[r.ID]})
				}
				return nil
			}); err != nil {
				return err
			}
			return a.list("vise.rule/1", len(list), func(i int) any { return list[i] }, "no rules yet", ruleHeader,
				func(i int) []string { return ruleRow(list[i].Rule, list[i].Expired) })
		},
	}
	c.Flags().StringVar(&status, "status", "", "only candidate, active, retired or quarantined")
	c.Flags().StringVar(&scope, "scope", "", "only this scope")
	return c
}

func (a *app) rulesShow() *cobra.Command {
	c := &cobra.Command{
		Use: "show RULE", Aliases: []string{"status"}, Short: "Show a rule with its trial and every verdict", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var r rule.Rule
			var verdicts []evidence.Verdict
			var uptake map[string]evidence.Uptake
			var holdback *evidence.Holdback
			var expired string
			differs := map[string][]engine.CaseDivergence{}
			if err := s.View(func(tx *store.Tx) error {
				var ok bool
				if r, ok, err = tx.Rule(args[0]); err != nil {
					return err
				}
				if !ok {
					return fmt.Errorf("no rule %q; vise rules ls lists them", args[0])
				}
				if verdicts, err = tx.Verdicts(r.ID); err != nil {
					return err
				}
				if n := len(verdicts); n > 0 { // the newest: older runs may be gone
					if differs[verdicts[n-1].ID], err = engine.Divergences(tx, verdicts[n-1]); err != nil {
						return err
					}
				}
				if !r.Live() {
					return nil
				}
				why, err := a.expired(tx, []rule.Rule{r})
				if err != nil {
					return err
				}
				expired = why[r.ID]
				if uptake, err = engine.Uptakes(tx, []rule.Rule{r}); err != nil {
					return err
				}
				hb, ok, err := engine.Holdback(tx, r.ID)
				if ok {
					holdback = &hb
				}
				return err
			}); err != nil {
				return err
			}
			if a.json {
				x := struct {
					rule.Rule
					Uptake   *evidence.Uptake   `json:"uptake,omitempty"`
					Holdback *evidence.Holdback `json:"holdback,omitempty"`
					Expired  string             `json:"expired,omitempty"`
				}{Rule: r, Holdback: holdback, Expired: expired}
				if u, ok := uptake[r.ID]; ok {
					x.Uptake = &u
				}
				if err := a.out.object("vise.rule/1", x); err != nil {
					return err
				}
				for _, v := range verdicts {
					x := told(v)
					x.Card.Next = v.NextFor(r.Status)
					x.Differs = differs[v.ID]
					if err := a.out.object("vise.verdict/1", x); err != nil {
						return err
					}
				}
				return nil
			}
			a.printRule(r, uptake, expired, verdicts, differs)
			if holdback != nil {
				a.out.printf("holdback: %s", engine.HoldbackWords(*holdback))
			}
			return a.out.err
		},
	}
	return c
}

func (a *app) printRule(r rule.Rule, uptake map[string]evidence.Uptake, expired string, verdicts []evidence.Verdict, differs map[string][]engine.CaseDivergence) {
	a.out.printf("%s  %s  scope %s  %s  metric %s", r.ID, r.Status, show(r.Scope, 48), r.Applicability, show(r.Metric, 40))
	a.out.printf("%s", show(r.Text, 0))
	a.out.printf("because: %s", show(r.Rationale, 0))
	a.out.printf("written by %s for notice %s (episode %s) at %s", show(r.Author, 60), r.SourceNoticeID, r.EpisodeID, dated(r.CreatedAt))
	if r.EditedFrom != "" {
		a.out.printf("edited from %s", r.EditedFrom)
	}
	if r.ForkOf != "" {
		a.out.printf("written in a fork of episode %s, accepted by a person", r.ForkOf)
	}
	if r.Reason != "" {
		a.out.printf("%s: %s", r.Status, show(r.Reason, 400))
	}
	if f := r.Flag; r.Flagged() {
		a.out.printf("flagged at %s: %s (runs %s)", f.At, show(f.Why, 300), show(strings.Join(f.Runs, " "), 300))
	}
	if expired != "" {
		next := "vise validate tests it again"
		if r.Status == rule.Active {
			next = "vise validate --actives tests it again"
		}
		a.out.printf("its verdict has expired: %s; %s", expired, next)
	}
	if t := r.Trial; t != nil {
		a.out.printf("forward trial: %d sessions observed, %d breached; baseline %d of %d; %d inconclusive replays",
			len(t.ObservedSessions), len(t.BreachedSessions), t.BaselineBreachedSessions, t.BaselineSessions, t.ReplayAttempts)
	}
	if u, ok := uptake[r.ID]; ok {
		a.out.printf("%s", uptakeWords(u))
	}
	for _, v := range verdicts {
		a.out.printf("")
		card := v.Card()
		card.Next = v.NextFor(r.Status)
		a.printVerdict(v, card, true)
		a.printDiffers(differs[v.ID])
	}
}

func (a *app) rulesSearch() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "search QUERY", Short: "Search active rules and candidates as the agent does", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var hits []rule.Hit
			if err := s.View(func(tx *store.Tx) (err error) {
				query := args[0]
				for _, w := range args[1:] {
					query += " " + w
				}
				hits, err = rule.Search(tx, query, limit, rule.Active, rule.Candidate)
				return err
			}); err != nil {
				return err
			}
			return a.list("vise.rule_hit/1", len(hits), func(i int) any { return hits[i] }, "nothing found",
				append([]string{"SCORE"}, ruleHeader...), func(i int) []string {
					return append([]string{strconv.FormatFloat(hits[i].Score, 'f', 2, 64)}, ruleRow(hits[i].Rule, "")...)
				})
		},
	}
	c.Flags().IntVarP(&limit, "limit", "n", 10, "at most N rules")
	return c
}

func (a *app) rulesRetire() *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: "retire RULE", Short: "Retire a rule yourself", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				if err := h.RetireRule(cmd.Context(), args[0], why); err != nil {
					return err
				}
				a.done("retired", args[0])
				return nil
			})
		},
	}
	c.Flags().StringVar(&why, "reason", "", "why, for the journal")
	return c
}

func (a *app) rulesRestore() *cobra.Command {
	var takeBack bool
	c := &cobra.Command{
		Use: "restore RULE", Short: "Make a retired rule a candidate again; validation decides", Args: cobra.ExactArgs(1),
		Long: "A retired rule becomes a candidate with a new trial. With --undo the last retire or restore of a person is taken back\n" +
			"instead: the rule is exactly what it was. It does not come back into force when another rule was promoted since.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				move := h.RestoreRule
				if takeBack {
					move = h.TakeBackMove
				}
				if err := move(cmd.Context(), args[0]); err != nil {
					return err
				}
				a.done("restored", args[0])
				return nil
			})
		},
	}
	c.Flags().BoolVar(&takeBack, "undo", false, "take back the last retire or restore of a person")
	return c
}

func (a *app) rulesWhy() *cobra.Command {
	return &cobra.Command{
		Use: "why RULE", Short: "Walk from a rule to its notice, repair, trace, cases and verdicts", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.openRead(cmd.Context())
			if err != nil {
				return err
			}
			defer s.Close()
			var list []engine.Origin
			if err := s.View(func(tx *store.Tx) error {
				var ok bool
				if list, ok, err = engine.Why(tx, args[0]); err == nil && !ok {
					err = fmt.Errorf("no rule %q; vise rules ls lists them", args[0])
				}
				return err
			}); err != nil {
				return err
			}
			return a.list("vise.origin/1", len(list), func(i int) any { return list[i] }, "", []string{"KIND", "ID", "WHAT"}, func(i int) []string {
				o := list[i]
				if o.Gone {
					return []string{o.Kind, show(o.ID, 128), "not stored any more"}
				}
				return []string{o.Kind, show(o.ID, 128), show(o.Text, 160)}
			})
		},
	}
}

func (a *app) rulesEdit() *cobra.Command {
	var text, why string
	c := &cobra.Command{
		Use: "edit RULE --text TEXT", Short: "Store your own wording of a rule as a new candidate; validation decides", Args: cobra.ExactArgs(1),
		Long: "Your wording becomes a candidate of its own, with the notice, scope and metric of the rule it comes from and\n" +
			"\"person\" as its author. It passes the checks of every rule, and only validation makes it active. The rule it comes\n" +
			"from stays what it is.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if text == "" {
				return usagef("rules edit: write the new wording: --text TEXT")
			}
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				r, err := h.EditRule(cmd.Context(), args[0], text, why)
				if err != nil {
					return err
				}
				if a.json {
					return a.out.object("vise.rule/1", r)
				}
				a.done("added", r.ID)
				a.note("vise: it is %s; vise validate --rule %s tests it", r.Status, r.ID)
				return nil
			})
		},
	}
	c.Flags().StringVar(&text, "text", "", "the new wording")
	c.Flags().StringVar(&why, "because", "", "why (default: what the rule says)")
	return c
}

func (a *app) rulesExport() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use: "export", Short: "Validate until idle, then write the rules as Markdown", Args: cobra.NoArgs,
		Long: "Settle first, so that no rule is exported as provisional that had already earned its place; then write\n" +
			"rules.md and rules/SCOPE.md, as a task agent reads them. Files of these names that are something else are refused,\n" +
			"and nothing else in the folder is touched.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return a.withHarness(ctx, needs{mayAgent: true, repair: true}, func(h *harness) error {
				if _, err := h.ValidateUntilIdle(ctx); err != nil {
					return err
				}
				to := h.cfg.Path(h.cfg.Store.Path)
				if dir != "" {
					to = a.path(dir)
					if err := os.MkdirAll(to, 0o755); err != nil {
						return fmt.Errorf("rules export: %w", err)
					}
				}
				files, err := h.RenderRules(to)
				if err != nil {
					return err
				}
				for _, f := range files {
					if a.json {
						if err := a.out.object("vise.file/1", map[string]string{"path": f}); err != nil {
							return err
						}
						continue
					}
					a.out.printf("%s", f)
				}
				return nil
			})
		},
	}
	c.Flags().StringVarP(&dir, "output", "o", "", "folder to write to (default: the project's .vise)")
	return c
}

// dated is a stored time as people read it; what is no time stands as it is.
func dated(stored string) string {
	at, err := time.Parse(time.RFC3339Nano, stored)
	if err != nil {
		return show(stored, 40)
	}
	return at.Local().Format("2006-01-02 15:04:05")
}
