package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"vise/engine"
	"vise/engine/config"
	"vise/engine/evidence"
	"vise/engine/rule"
	"vise/store"
)

// audited is an audit as --json shows it.
type audited struct {
	evidence.Audit
	Uptake map[string]evidence.Uptake `json:"uptake"` // by rule id
}

// audit looks at the live rules as the project's agent and settings are now.
func (a *app) audit(tx *store.Tx, cfg *config.Config) (evidence.Audit, map[string]evidence.Uptake, error) {
	return engine.Audit(tx, cfg.Rules.MaxActive, func(rules []rule.Rule) (map[string]string, error) { return a.expired(tx, rules) })
}

func (a *app) rulesAudit() *cobra.Command {
	return &cobra.Command{
		Use: "audit", Short: "Find rules that are never read, never followed, repeat or contradict each other", Args: cobra.NoArgs,
		Long: "Look at the live rules for what speaks against keeping them as they are: flagged by a regression run, often\n" +
			"offered and never read, read while what they are about went wrong every time, pairs that repeat or seem to\n" +
			"contradict each other, scopes with more than an agent is shown. It changes nothing.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, _, err := a.load()
			if err != nil {
				return err
			}
			s, err := store.OpenRead(cmd.Context(), a.storeOptions(cfg, nil))
			if err != nil {
				return err
			}
			defer s.Close()
			var out audited
			var rules []rule.Rule
			if err := s.View(func(tx *store.Tx) (err error) {
				if out.Audit, out.Uptake, err = a.audit(tx, cfg); err != nil {
					return err
				}
				rules, err = tx.Rules(rule.Candidate, rule.Active)
				return err
			}); err != nil {
				return err
			}
			if a.json {
				return a.out.object("vise.rule_audit/1", out)
			}
			if len(rules) == 0 {
				a.out.printf("no live rules to audit")
				return a.out.err
			}
			rows := make([][]string, len(rules))
			for i, r := range rules {
				x := out.Uptake[r.ID]
				rows[i] = []string{r.ID, ruleRow(r, "")[1], share(x.Live), share(x.Replay), show(r.Text, 60)}
			}
			if err := a.out.table([]string{"RULE", "STATUS", "READ LIVE", "READ IN REPLAYS", "TEXT"}, rows); err != nil {
				return err
			}
			a.out.printf("")
			if out.Compared < out.Rules {
				a.out.printf("%d of %d rules were compared with each other", out.Compared, out.Rules)
			}
			for _, f := range out.Findings {
				a.out.printf("%-15s %s", strings.ReplaceAll(f.Kind, "_", " "), strings.Join(f.Rules, " "))
				a.out.printf("    %s", show(f.Text, 300))
				a.out.printf("    %s", show(f.Do, 200))
			}
			if len(out.Findings) == 0 {
				a.out.printf("nothing found")
			}
			return a.out.err
		},
	}
}

func share(x evidence.Exposed) string { return fmt.Sprintf("%d of %d", x.Read, x.Offered) }

// uptakeWords says what became of a rule in the runs since it exists.
func uptakeWords(u evidence.Uptake) string {
	s := fmt.Sprintf("live runs: read in %s", share(u.Live))
	if u.Live.Read > 0 {
		s += fmt.Sprintf(", what it is about went wrong all the same in %d", u.Live.Recurred)
	}
	return s + fmt.Sprintf("; replays: read in %s", share(u.Replay))
}

func (a *app) rulesRetest() *cobra.Command {
	var drop bool
	c := &cobra.Command{
		Use: "retest RULE...", Short: "Queue rules in force for a new test; validate --until-idle makes it", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				queue, said := h.QueueRetest, "queued"
				if drop {
					queue, said = h.DropRetest, "dropped"
				}
				for _, id := range args {
					if err := queue(cmd.Context(), id); err != nil {
						return err
					}
					a.done(said, id)
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&drop, "drop", false, "take them off the queue")
	return c
}
