// Package pattern has regular expressions that are compiled when they are first needed.
// The program has hundreds of them, most are for one kind of text, and compiling them all
// was a fifth of the time that `vise --help` took.
package pattern

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Pattern is a regular expression (RE2) that compiles at its first use. It may be used
// from several goroutines.
type Pattern struct {
	source string
	once   sync.Once
	regex  *regexp.Regexp
}

// inTest reports whether this is the program of a test, in which a wrong expression must
// not wait for its first use.
var inTest = len(os.Args) > 0 && strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test")

// New takes an expression that is part of the program: one that does not compile panics,
// at its first use, in tests at once.
func New(source string) *Pattern {
	p := &Pattern{source: source}
	if inTest {
		p.get()
	}
	return p
}

// Compile takes an expression that a person wrote: it is compiled now, and one that is
// wrong is an error (that of package regexp).
func Compile(source string) (*Pattern, error) {
	re, err := regexp.Compile(source)
	if err != nil {
		return nil, err
	}
	p := &Pattern{source: source, regex: re}
	p.once.Do(func() {})
	return p, nil
}

func (p *Pattern) get() *regexp.Regexp {
	p.once.Do(func() { p.regex = regexp.MustCompile(p.source) })
	return p.regex
}

// MatchString is that of regexp.Regexp, as are the others.
func (p *Pattern) MatchString(s string) bool { return p.get().MatchString(s) }

// FindStringIndex returns where the leftmost match is.
func (p *Pattern) FindStringIndex(s string) []int { return p.get().FindStringIndex(s) }

// FindStringSubmatch returns the leftmost match and its groups.
func (p *Pattern) FindStringSubmatch(s string) []string { return p.get().FindStringSubmatch(s) }

// FindAllStringIndex returns where up to n matches are.
func (p *Pattern) FindAllStringIndex(s string, n int) [][]int {
	return p.get().FindAllStringIndex(s, n)
}

// FindAllStringSubmatch returns up to n matches with their groups.
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.get().FindAllStringSubmatch(s, n)
}

// FindAllStringSubmatchIndex returns where up to n matches and their groups are.
func (p *Pattern) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return p.get().FindAllStringSubmatchIndex(s, n)
}

// ReplaceAllString replaces the matches; $1 stands for a group.
func (p *Pattern) ReplaceAllString(s, with string) string { return p.get().ReplaceAllString(s, with) }
