package guard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"vise/engine/pattern"
)

// Protected is something that a rule must not quote: an agent that is told how it is
// graded, or what the answer is, passes without getting better.
type Protected struct {
	// Name says what it is, for the refusal: "a rubric of the judge".
	Name string
	// Text is the protected text. A rule may not share quoteWords words in a row with it.
	Text string
	// Whole: a rule may not contain the text at all, however short, from wholeRunes
	// letters and digits on. For expected answers and names of files.
	Whole bool
	// Number, when set, is a threshold: a rule may not name it beside a word of scoring.
	Number *float64
}

const (
	quoteWords = 8 // words in a row that are a quotation and no coincidence
	wholeRunes = 4 // shorter answers ("yes", "42") are in too many innocent sentences
)

// scoringWords make a number a threshold.
var scoringWords = pattern.New(`(?i)\b(threshold|scores?|scored|scoring|judge[ds]?|verifier|rubrics?|evaluat(or|ion|ed)|grad(e|ed|er|ing)|task_completion|coherence|tool_correctness|argument_correctness|plan_adherence|plan_quality|step_efficiency|outcome_correct)\b`)

var numbers = pattern.New(`(\d+(?:\.\d+)?|\.\d+)\s*(%|percent\b)?`)

// Leak returns the first fragment of a text that quotes something protected, and
// what it quotes. Spelling, case, punctuation and line breaks do not matter.
func Leak(text string, protected []Protected) (fragment, name string, found bool) {
	words := leakWords(text)
	for _, p := range protected {
		switch {
		case p.Number != nil:
			if f, ok := names(text, *p.Number); ok {
				return f, p.Name, true
			}
		case p.Whole:
			want := leakWords(p.Text)
			if len([]rune(strings.Join(want, ""))) < wholeRunes {
				continue
			}
			for i := 0; i+len(want) <= len(words); i++ {
				if slices.Equal(words[i:i+len(want)], want) {
					return strings.Join(want, " "), p.Name, true
				}
			}
		default:
			if f, ok := quotes(words, leakWords(p.Text)); ok {
				return f, p.Name, true
			}
		}
	}
	return "", "", false
}

// names reports whether a text names a threshold beside a word of scoring.
func names(text string, threshold float64) (string, bool) {
	if !scoringWords.MatchString(text) {
		return "", false
	}
	for _, m := range numbers.FindAllStringSubmatch(text, -1) {
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			continue
		}
		if v == threshold || m[2] != "" && fmt.Sprintf("%.6f", v/100) == fmt.Sprintf("%.6f", threshold) {
			return strings.TrimSpace(m[0]), true
		}
	}
	return "", false
}

// quotes returns the longest quotation that begins at the first one.
func quotes(words, source []string) (string, bool) {
	at := map[string][]int{}
	for i := 0; i+quoteWords <= len(source); i++ {
		k := strings.Join(source[i:i+quoteWords], " ")
		at[k] = append(at[k], i)
	}
	for i := 0; i+quoteWords <= len(words); i++ {
		longest := 0
		for _, j := range at[strings.Join(words[i:i+quoteWords], " ")] {
			n := quoteWords
			for i+n < len(words) && j+n < len(source) && words[i+n] == source[j+n] {
				n++
			}
			longest = max(longest, n)
		}
		if longest > 0 {
			return strings.Join(words[i:i+longest], " "), true
		}
	}
	return "", false
}

// leakWords are the words of a text, folded, without anything between them.
func leakWords(text string) []string {
	return strings.FieldsFunc(Fold(norm.NFKC.String(text)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// answerKeys are ends of names under which hosts and benchmarks keep the right
// answer; bareAnswerKeys are such names only when they stand alone.
var (
	answerKeys = []string{"expectedanswer", "expectedoutput", "expectedresult", "expectedactions", "groundtruth", "goldanswer", "goldpatch",
		"referenceanswer", "correctanswer", "answerkey"}
	bareAnswerKeys = []string{"expected", "gold", "solution"}
)

// AnswerKey reports whether a key names the right answer of a task: what it holds is
// for graders, never for an agent that writes rules.
func AnswerKey(key string) bool {
	k := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, Fold(key))
	return slices.Contains(bareAnswerKeys, k) || !strings.HasPrefix(k, "unexpected") && slices.ContainsFunc(answerKeys, func(end string) bool { return strings.HasSuffix(k, end) })
}

// Answers returns the texts that a decoded JSON value keeps under answer keys, at
// most max of them.
func Answers(v any, max int) []string {
	var out []string
	var walk func(v any, under bool, depth int)
	walk = func(v any, under bool, depth int) {
		if depth > 12 || len(out) >= max {
			return
		}
		switch v := v.(type) {
		case string:
			if under && strings.TrimSpace(v) != "" {
				out = append(out, v)
			}
		case float64:
			if under {
				out = append(out, strconv.FormatFloat(v, 'f', -1, 64))
			}
		case []any:
			for _, x := range v {
				walk(x, under, depth+1)
			}
		case map[string]any:
			for k, x := range v {
				walk(x, under || AnswerKey(k), depth+1)
			}
		}
	}
	walk(v, false, 0)
	slices.Sort(out)
	return out
}

// WithoutAnswers is a decoded JSON value without what answer keys hold.
func WithoutAnswers(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = WithoutAnswers(x)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			if !AnswerKey(k) {
				out[k] = WithoutAnswers(x)
			}
		}
		return out
	}
	return v
}
