package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"vise/engine/guard"
)

// maxReason bounds a stored reason, in code points.
const maxReason = 300

// sayDiffer is how far a score named in the reason may be from the score given.
const sayDiffer = 0.1

// mark is what one answer says about one metric. Without a value and a fault the
// judge saw nothing to grade it by.
type mark struct {
	value  *float64
	reason string
	fault  string // why there is no value
}

// parse reads one answer. Every metric gets a mark; what is not exactly a grade is
// unscored, never 0 and never bent into range.
func parse(text string, metrics []string) map[string]mark {
	out := make(map[string]mark, len(metrics))
	fail := func(format string, args ...any) map[string]mark {
		for _, m := range metrics {
			out[m] = mark{fault: fmt.Sprintf(format, args...)}
		}
		return out
	}
	// Models that think aloud put their drafts here.
	if i := strings.LastIndex(text, "</think>"); i >= 0 {
		text = text[i+len("</think>"):]
	}
	if strings.TrimSpace(text) == "" {
		return fail("the answer is empty")
	}
	start := strings.IndexByte(text, '{')
	if think := strings.Index(text, "<think>"); think >= 0 && (start < 0 || think < start) {
		return fail("the answer is thinking that never ends") // what it holds may be a draft
	}
	if start < 0 {
		return fail("the answer is no JSON object")
	}
	d := json.NewDecoder(strings.NewReader(text[start:]))
	members, err := object(d)
	if err != nil {
		return fail("the answer is no whole JSON object")
	}
	rest := text[start+int(d.InputOffset()):]
	if i := strings.IndexByte(rest, '{'); i >= 0 && json.NewDecoder(strings.NewReader(rest[i:])).Decode(&map[string]any{}) == nil {
		return fail("the answer holds more than one JSON object")
	}
	for _, m := range metrics {
		out[m] = grade(m, members)
	}
	return out
}

// member is one member of a JSON object, repeated names kept.
type member struct {
	name  string
	value json.RawMessage
}

func object(d *json.Decoder) ([]member, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if t != json.Delim('{') {
		return nil, errors.New("no object")
	}
	var out []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		var m member
		m.name, _ = name.(string)
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	_, err = d.Token()
	return out, err
}

// grade reads the mark of one metric.
func grade(metric string, members []member) mark {
	var found *mark
	for _, x := range members {
		if x.name != metric {
			continue
		}
		m := one(x.value)
		if found != nil && !same(*found, m) {
			return mark{fault: "it is graded twice, differently"}
		}
		found = &m
	}
	if found == nil {
		return mark{fault: "it is missing in the answer"}
	}
	return *found
}

func same(a, b mark) bool {
	return a.fault == b.fault && (a.value == nil) == (b.value == nil) && (a.value == nil || *a.value == *b.value)
}

// one reads {"score": S, "reason": "R"}.
func one(raw json.RawMessage) mark {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	members, err := object(d)
	if err != nil {
		return mark{fault: "its grade is no object"}
	}
	var m mark
	var given json.RawMessage
	for _, x := range members {
		switch x.name {
		case "score":
			if given != nil && string(given) != string(x.value) {
				return mark{fault: "it has two scores"}
			}
			given = x.value
		case "reason":
			var text string
			if json.Unmarshal(x.value, &text) == nil {
				m.reason = guard.Line(text, maxReason)
			}
		}
	}
	switch {
	case given == nil:
		return mark{fault: "it has no score"}
	case string(given) == "null":
		return m
	}
	v, err := strconv.ParseFloat(string(given), 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange), math.IsNaN(v):
		return mark{fault: fmt.Sprintf("its score %s is no number", guard.Line(string(given), 30))}
	case v < 0 || v > 1:
		return mark{fault: fmt.Sprintf("its score %s is not in [0,1]", guard.Line(string(given), 30))}
	}
	if said, ok := saidScore(m.reason); ok && math.Abs(said-v) > sayDiffer {
		return mark{fault: fmt.Sprintf("its score is %.2f and its reason says %.2f", v, said)}
	}
	m.value = &v
	return m
}

// spoken finds a score that the reason names itself.
var spoken = regexp.MustCompile(`(?i)\b(?:score|rating|grade)\s*(?:is|of|=|:)\s*([0-9]+(?:\.[0-9]+)?)\s*(%|/\s*([0-9]+))?`)

func saidScore(reason string) (float64, bool) {
	m := spoken.FindStringSubmatch(reason)
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	switch {
	case m[2] == "%":
		v /= 100
	case m[3] != "":
		whole, err := strconv.ParseFloat(m[3], 64)
		if err != nil || whole == 0 {
			return 0, false
		}
		v /= whole
	}
	return v, v <= 1 // beyond that it speaks of something else
}
