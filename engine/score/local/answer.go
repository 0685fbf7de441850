package local

import (
	"slices"
	"strings"
)

// answer runs the checks on what the turn says to the user, and on what the
// user said, and takes both into the session's state.
func (e *Evaluator) answer(w *turn, input string) {
	w.final, input = ends(w.final), ends(input)
	folded := fold(w.final)
	at := w.model
	if w.finish != nil {
		at = &w.finish.span.ID
	}
	hand := w.handoff || handoffText.MatchString(folded)

	said, asked := words(w.final), words(input)
	if len(said) >= answerWords {
		if j := e.answers.best(said); j > 0 {
			w.hit("answer_repeat", 1, at, "answer repeats an earlier one (%s of the words)", percent(j))
		}
		e.answers.add(said)
	}
	if len(asked) >= requestWords {
		if j := e.inputs.best(asked); j > 0 {
			w.hit("user_repeat", 1, nil, "user repeats an earlier request (%s of the words)", percent(j))
		}
		e.inputs.add(asked)
	}
	e.facts(w)
	if markup.MatchString(folded) {
		w.hit("markup", 1, at, "raw call markup in the answer")
	}
	if w.finish == nil && !hand {
		end := last(strip(w.final), 260)
		if f := fold(end); promises(f) && !condition.MatchString(f) {
			w.hit("promise", 1, at, "ends with a promise, no call followed: %s", quote(last(end, 60)))
		}
	}
	if e.turns > 0 && e.asked && w.calls == 0 && sayYes.MatchString(fold(first(input, 80))) {
		w.hit("confirm_no_call", 1, at, "user said yes, no call was made")
	}
	if m := doneClaim.FindStringIndex(folded); m != nil && e.epoch == 0 && !hand {
		w.hit("done_unsupported", 1, at, `says "%s", but no changing call has succeeded in this session`, between(w.final, m[0], m[1]))
	}
	if m := giveUp.FindStringIndex(folded); m != nil {
		w.hit("giveup", 1, at, `says "%s"`, between(w.final, m[0], m[1]))
	}
	if hand {
		w.hit("handoff", 1, at, "handed over to a human")
	}
	if w.final != "" {
		e.asked = askYes.MatchString(last(folded, 600))
	}
	e.seen.add(w.final)
}

// facts looks for what the agent has read nowhere: numbers in an answer, values
// of a finish call.
func (e *Evaluator) facts(w *turn) {
	if w.finish == nil {
		if e.calls == 0 {
			return
		}
		var strange []string
		eachNumber(w.final, func(n []byte) {
			if !e.seen.hasNumber(n) && telling(string(n)) {
				strange = append(strange, string(n))
			}
		})
		slices.Sort(strange)
		strange = slices.Compact(strange)
		if n := len(strange); n > 0 {
			w.hit("num_unsupported", n, w.model, "number(s) in the answer that appear in no input or result: %s",
				strings.Join(strange[:min(n, 3)], ", "))
		}
		return
	}
	if w.finish.cmd != "" || handoffName.MatchString(w.finish.name) {
		return
	}
	found := false
	w.finish.leaves(func(_ string, v value) {
		if found || v.kind != text && v.kind != number {
			return
		}
		s := v.String()
		if shorter(s, 60) && !shorter(norm(s), 2) && !e.seen.has(s) {
			found = true
			w.hit("final_unsupported", 1, &w.finish.span.ID, "final answer %s appears in nothing the agent read", clip(s, 40))
		}
	})
}

// maxJudged bounds what is looked at of one text, in bytes; of a longer one it is the
// beginning and the end: the patterns would take seconds for an answer of megabytes.
const maxJudged = 256 << 10

// ends is a text, or the two ends of a very long one.
func ends(s string) string {
	if len(s) <= maxJudged {
		return s
	}
	return strings.ToValidUTF8(s[:maxJudged/2], "") + "\n" + strings.ToValidUTF8(s[len(s)-maxJudged/2:], "")
}
