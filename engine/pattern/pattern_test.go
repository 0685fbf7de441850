package pattern

import "testing"

// A pattern is compiled once it is needed and not before; one of a person at once.
func TestPattern(t *testing.T) {
	p := &Pattern{source: `(\w+)=(\d+)`}
	if p.regex != nil {
		t.Error("it is compiled already")
	}
	if got := p.FindStringSubmatch("a retry=3 b"); len(got) != 3 || got[2] != "3" || p.regex == nil {
		t.Errorf("the groups are %q", got)
	}
	q, err := Compile(`x+`)
	if err != nil || !q.MatchString("axx") {
		t.Errorf("Compile: %v", err)
	}
	if _, err := Compile(`x(`); err == nil {
		t.Error("a wrong expression is no error")
	}
}
