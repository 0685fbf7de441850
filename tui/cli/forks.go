package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"vise/engine"
	"vise/engine/episode"
	"vise/engine/notice"
	"vise/engine/repair"
	"vise/store"
)

// maxForkText bounds a text that is given for a message, in bytes.
const maxForkText = 1 << 20

func (a *app) episodesFork() *cobra.Command {
	var s engine.ForkSpec
	var message string
	var breaks []string
	c := &cobra.Command{
		Use:   "fork EPISODE[:TURN]",
		Short: "Let a past repair go on from one of its turns under other conditions",
		Long: "A what-if. The first TURN model turns of the episode are kept as they were stored (0: only its first prompt; without\n" +
			"TURN: those before it decided), and the repair goes on from there with another model, other bounds, fewer tools or a\n" +
			"changed message. It sees the rules of that time, and what it writes stays in its own record: no notice is closed and no\n" +
			"rule is added until vise episodes accept FORK. Its cost is real. vise episodes show EPISODE --messages numbers the messages.",
		Example: "  vise episodes fork e-900600a162bd:2 --model ollama/qwen3 --max-turns 8\n" +
			"  vise episodes fork e-900600a162bd --deny-tool rule_add\n" +
			"  vise episodes fork e-900600a162bd:3 --message @result.json\n" +
			"  vise episodes fork e-900600a162bd:4 --arguments '{\"rule\":\"…\",\"rationale\":\"…\"}'",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			var err error
			if s.Episode, s.Turn, err = forkPoint(args[0]); err != nil {
				return err
			}
			for _, n := range []struct {
				flag  string
				value int64
			}{{"max-turns", int64(s.MaxTurns)}, {"max-tokens", int64(s.MaxTokens)}, {"timeout", int64(s.Timeout)}, {"message-at", int64(s.Message)},
				{"call", int64(s.Call)}, {"attempt", int64(s.Attempt)}} {
				if cmd.Flags().Changed(n.flag) && n.value <= 0 {
					return usagef("episodes fork: --%s must be above 0", n.flag)
				}
			}
			if cmd.Flags().Changed("message") {
				if message, err = a.given(message); err != nil {
					return err
				}
				s.Text = &message
			}
			if s.Arguments, err = a.given(s.Arguments); err != nil {
				return err
			}
			if _, err := repair.ToolNames(s.Deny); err != nil {
				return usagef("episodes fork: --deny-tool: %w", err)
			}
			ctx, b, err := breakAt(ctx, breaks)
			if err != nil {
				return err
			}
			return a.withHarness(cmd.Context(), needs{repair: true, narrate: true, stepper: b.stepper()}, func(h *harness) error {
				ep, err := h.Fork(ctx, s)
				if err != nil && ep.ID == "" {
					return err
				}
				return a.broke(b, h, errors.Join(err, a.forked(h, ep)))
			})
		},
	}
	f := c.Flags()
	f.StringVar(&s.Model, "model", "", "provider/model that goes on (default: repair.model)")
	f.IntVar(&s.MaxTurns, "max-turns", 0, "model turns, those that are kept included (default: repair.max_turns)")
	f.IntVar(&s.MaxTokens, "max-tokens", 0, "output tokens of the fork (default: repair.max_tokens)")
	f.DurationVar(&s.Timeout, "timeout", 0, "time of the fork (default: repair.timeout)")
	f.StringArrayVar(&s.Deny, "deny-tool", nil, "a tool that the fork does not have, e.g. rule_add or rules_* (repeatable)")
	f.StringVar(&message, "message", "", "another text for the last kept message: TEXT, @FILE, or - for standard input")
	f.IntVar(&s.Message, "message-at", 0, "number of the message that --message replaces")
	f.StringVar(&s.Arguments, "arguments", "", "other arguments for a call of the last kept turn, which is executed again: JSON, @FILE or -")
	f.IntVar(&s.Call, "call", 0, "number of that call (default: its first)")
	f.IntVar(&s.Attempt, "attempt", 0, "attempt of the episode (default: its newest)")
	f.StringArrayVar(&breaks, "break", nil, breakHelp)
	return c
}

// forkPoint reads EPISODE[:TURN]; -1 = no turn was named.
func forkPoint(arg string) (id string, turn int, err error) {
	id, at, named := strings.Cut(arg, ":")
	if !named {
		return id, -1, nil
	}
	if turn, err = strconv.Atoi(at); err != nil || turn < 0 {
		return "", 0, usagef("episodes fork: %q: write EPISODE:TURN, with the number of model turns to keep, 0 or more", arg)
	}
	return id, turn, nil
}

// given is a text of the command line: itself, a file's behind @, or standard input's for -.
func (a *app) given(text string) (string, error) {
	var r io.Reader
	switch name, file := strings.CutPrefix(text, "@"); {
	case text == "-":
		r = a.in
	case file:
		f, err := os.Open(a.path(name))
		if err != nil {
			return "", fmt.Errorf("read the text: %w", err)
		}
		defer f.Close()
		r = f
	default:
		return text, nil
	}
	raw, err := io.ReadAll(io.LimitReader(r, maxForkText+1))
	if err != nil {
		return "", fmt.Errorf("read the text: %w", err)
	}
	if len(raw) > maxForkText {
		return "", fmt.Errorf("read the text: it is longer than 1 MB")
	}
	return strings.TrimRight(string(raw), "\n"), nil
}

// forked prints how a fork ended; one that did not end well is an error.
func (a *app) forked(h *harness, ep episode.Episode) error {
	if err := h.narrator.flush(); err != nil {
		return err
	}
	if a.json {
		if err := a.out.object("vise.episode/1", ep); err != nil {
			return err
		}
	} else {
		a.out.printf("")
		a.out.printf("%s  %s  %s", ep.ID, ep.Status, forkWords(ep))
		a.forkDecision(ep)
		a.note("vise: vise episodes diff %s %s puts them side by side", ep.Fork.Of, ep.ID)
		if ep.Fork.Candidate != nil {
			a.note("vise: vise episodes accept %s makes its rule a candidate", ep.ID)
		}
	}
	if !ep.Status.Success() {
		return fmt.Errorf("fork %s ended %s; vise episodes show %s says why", ep.ID, ep.Status, ep.ID)
	}
	return nil
}

// forkWords say what a fork goes on from and what is other about it.
func forkWords(ep episode.Episode) string {
	f := ep.Fork
	words := fmt.Sprintf("fork of %s", f.Of)
	if f.Attempt > 1 {
		words += fmt.Sprintf(" attempt %d", f.Attempt)
	}
	words += fmt.Sprintf(" after turn %d, with %s, %d turns, %d tokens, %s", f.Turn, show(f.Model, 60), f.MaxTurns, f.MaxTokens, f.Timeout)
	if len(f.Denied) > 0 {
		words += ", without " + strings.Join(f.Denied, " ")
	}
	switch e := f.Edited; {
	case e != nil && e.Message > 0:
		words += fmt.Sprintf(", message %d (%s) changed", e.Message, strings.TrimSpace(e.Role+" "+show(e.Tool, 60)))
	case e != nil:
		words += fmt.Sprintf(", arguments of call %d (%s) changed", e.Call, show(e.Tool, 60))
	}
	return words
}

// forkDecision prints what a fork decided, which is not done.
func (a *app) forkDecision(ep episode.Episode) {
	f := ep.Fork
	if r := f.Candidate; r != nil {
		state := "not accepted"
		if f.AcceptedAt != "" {
			state = "accepted by a person at " + f.AcceptedAt
		}
		a.out.printf("its rule, %s: %s  scope %s  metric %s", state, r.ID, show(r.Scope, 48), show(r.Metric, 40))
		a.out.printf("  %s", show(r.Text, 0))
	}
	if r := f.Resolution; r != nil && f.Candidate == nil {
		a.out.printf("it would have resolved the notice as %s: %s", r.Kind, show(r.Note, 300))
	}
	if len(f.Cut) > 0 {
		a.out.printf("messages %s were longer than what is stored of a message, and were kept cut", strings.Trim(fmt.Sprint(f.Cut), "[]"))
	}
}

func (a *app) episodesAccept() *cobra.Command {
	return &cobra.Command{
		Use: "accept FORK", Short: "Make the rule that a fork wrote one of the live rules, as a candidate", Args: cobra.ExactArgs(1),
		Long: "The rule passes the checks of every new rule, against the rules of now, and only validation makes it active. The notice\n" +
			"that the fork looked at stays as it is: its own repair or vise notices ack closes it. vise rules retire takes it back.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				r, err := h.AcceptFork(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if a.json {
					return a.out.object("vise.rule/1", r)
				}
				a.done("accepted", r.ID)
				a.note("vise: it is %s; vise validate --rule %s tests it", r.Status, r.ID)
				return h.store.View(func(tx *store.Tx) error {
					n, ok, err := tx.Notice(r.SourceNoticeID)
					if ok && n.Status == notice.Pending {
						a.note("vise: notice %s is pending still; vise notices ack %s closes it", n.ID, n.ID)
					}
					return err
				})
			})
		},
	}
}

func (a *app) episodesRm() *cobra.Command {
	return &cobra.Command{
		Use: "rm FORK...", Short: "Remove forks (no other episode; none whose rule was accepted)", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				var errs []error
				for _, id := range args {
					if err := h.RemoveFork(cmd.Context(), id); err != nil {
						errs = append(errs, err)
						continue
					}
					a.done("removed", id)
				}
				return errors.Join(errs...)
			})
		},
	}
}

// printMessages prints the conversation of an episode's newest run, message by message,
// with the numbers that --message-at takes.
func (a *app) printMessages(lines []repair.Line) error {
	for _, l := range lines {
		if a.json {
			if err := a.out.object("vise.message/1", l); err != nil {
				return err
			}
			continue
		}
		head := fmt.Sprintf("message %d  %s", l.N, l.Role)
		if l.Tool != "" {
			head += " " + show(l.Tool, 60)
		}
		if l.Turn > 0 {
			head += fmt.Sprintf("  turn %d", l.Turn)
		}
		if l.Cut {
			head += "  (stored cut)"
		}
		a.out.printf("%s", head)
		if l.Content != "" {
			a.out.printf("%s", block(l.Content))
		}
		for i, c := range l.Calls {
			a.out.printf("  call %d  %s %s", i+1, show(c.Name, 60), show(c.Arguments, 0))
		}
		a.out.printf("")
	}
	return a.out.err
}
