package local

import (
	"crypto/sha256"
	"strings"
	"unicode"

	"vise/engine/trace"
)

// call is a TOOL span as the checks see it.
type call struct {
	span   *trace.Span
	args   value
	raw    string // the arguments as recorded
	object bool   // args is an object
	broken bool   // the arguments are not a JSON object
	out    string
	cmd    string // the command of a shell-like call, else ""
	name   string // folded
	finish bool
	failed bool
}

func newCall(s *trace.Span) *call {
	c := &call{span: s, raw: s.Input, out: result(s), name: fold(s.Name)}
	if blank(s.Input) {
		c.args, c.object = value{kind: object}, true
	} else if v, err := parseValue(s.Input); err == nil {
		c.args, c.object = v, v.kind == object
	}
	c.broken = !c.object
	c.cmd = c.command()
	c.finish = finishName.MatchString(c.name) || finishCommand.MatchString(fold(c.cmd))
	c.failed = !c.finish && (s.Error != "" || failure(c.out))
	return c
}

// result is the text of the result, with the error the format flagged if the
// output does not hold it already.
func result(s *trace.Span) string {
	if s.Error == "" || strings.Contains(s.Output, s.Error) {
		return s.Output
	}
	return strip(s.Output + "\n" + s.Error)
}

// command returns the command of a shell-like call: the first argument of
// command, code and cmd that is not empty. Arguments that are not an object are
// taken to be the command themselves.
func (c *call) command() string {
	if !c.object {
		return c.raw
	}
	for _, key := range []string{"command", "code", "cmd"} {
		if v := c.args.get(key); !v.empty() {
			return v.String()
		}
	}
	return ""
}

// signature identifies the call: same tool, same arguments.
func (c *call) signature() [sha256.Size]byte {
	b := append([]byte(c.span.Name), ' ')
	if c.args.kind == null {
		b = append(b, c.raw...)
	} else {
		b = c.args.appendCanonical(b)
	}
	return sha256.Sum256(b)
}

// answer is the text a finish call hands in: its scalar arguments, truth values
// left out.
func (c *call) answer() string {
	var parts []string
	c.leaves(func(_ string, v value) {
		if v.kind != boolean {
			parts = append(parts, v.String())
		}
	})
	return strings.Join(parts, " ")
}

func (c *call) leaves(f func(key string, leaf value)) {
	if c.object {
		c.args.leaves("", f)
	}
}

// failure reads a failure out of the text of a result, the surest sign first.
// An exit status settles the matter either way: a listing that holds a file
// named error.log is no error.
func failure(out string) bool {
	if blank(out) {
		return false
	}
	m := exitStatus.FindStringSubmatch(fold(first(out, 200)))
	if m == nil {
		m = exitStatus.FindStringSubmatch(fold(last(out, 200)))
	}
	if m != nil {
		return strings.Trim(m[1], "-0") != ""
	}
	if headError.MatchString(fold(first(out, 160))) {
		return true
	}
	short := shorter(out, 2000)
	var folded string
	if short {
		folded = fold(out)
		if holdsError(folded) {
			return true
		}
	}
	tail := out
	if !shorter(out, 4000) {
		tail = last(out, 1500)
	}
	if strings.Contains(tail, "Traceback (most recent call last)") {
		return true
	}
	return short && shellError.MatchString(folded)
}

// weak reports whether an answered call found nothing.
func (c *call) weak() bool {
	if c.span.Pending {
		return false
	}
	return emptyResult.MatchString(fold(first(c.out, 40))) ||
		shorter(c.out, 400) && weakResult.MatchString(fold(c.out))
}

// changes reports whether the call may have changed something. Names we do not
// know count as changing: only then is repeating a call not called redundant.
func (c *call) changes() bool {
	if c.cmd != "" {
		cmd := fold(c.cmd)
		return !reads(cmd) || writeCommand.MatchString(cmd)
	}
	return !readName.MatchString(fold(snake(c.span.Name)))
}

// reads reports whether the first line of a folded command is a plain read.
func reads(cmd string) bool {
	line, _, _ := strings.Cut(cmd, "\n")
	if readCommand.MatchString(line) {
		return true
	}
	m := catCommand.FindStringSubmatch(line)
	return m != nil && !hereDocument.MatchString(m[1])
}

// snake writes a camel-cased or dotted name with underscores.
func snake(name string) string {
	var b strings.Builder
	var prev rune
	for _, r := range name {
		if r >= 'A' && r <= 'Z' && (prev >= 'a' && prev <= 'z' || prev >= '0' && prev <= '9') {
			b.WriteByte('_')
		}
		prev = r
		if r == '-' || r == '.' {
			r = '_'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// idLike reports whether s looks like an identifier somebody must have told the
// agent: 5 to 60 word characters and # @ . - : +, with a digit and with a letter,
// #, @ or _, and not a date or time.
func idLike(s string) bool {
	s = strip(s)
	if len(s) > 60*4 {
		return false
	}
	n, digits, marks := 0, false, false
	for _, r := range s {
		n++
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '#' || r == '_' || r == '@':
			marks = true
		case unicode.IsDigit(r):
			digits = true
		case strings.ContainsRune(".-:+", r) || isWord(r):
		default:
			return false
		}
	}
	return n >= 5 && n <= 60 && digits && marks && !dateOrTime.MatchString(fold(s))
}

// ours reports whether the call went to vise's own rule server, whatever prefix
// the client put before the name.
func ours(s *trace.Span) bool { return ruleName.MatchString(fold(s.Name)) }

// clip quotes the first n runes of s.
func clip(s string, n int) string { return quote(first(s, n)) }
