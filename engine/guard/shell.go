package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ShellPolicy decides whether one command, already split into words, may run. No
// shell is ever involved; what looks like shell syntax is refused because somebody
// meant it to be interpreted.
type ShellPolicy struct {
	// Allowed are the names argv[0] may have, exactly as written.
	Allowed []string
	// Pipes lets shell metacharacters through (as plain text).
	Pipes bool
	// Workdir is absolute; every path of the command must lie in it.
	Workdir string
	// Known are commands by their words whose further words are arguments only: in a
	// command that begins with one, only its own words can be denied or destructive.
	// In any other command every word may be a subcommand, as what a flag takes for
	// its value is not known.
	Known [][]string
	// Denied are commands by their words: the first is argv[0], the others must not
	// occur in this order among the words that may be subcommands.
	Denied [][]string
	// Destructive are words that no subcommand may be or hold between dashes, like
	// "delete" in "delete-all". argv[0] is for Allowed to decide.
	Destructive []string
	// Plain are the names in Allowed that have no subcommands: "cat delete" reads a file.
	Plain []string
	// Names are paths, too: every word that is no flag may be a file of the workdir, and
	// a link that leads out of it.
	Names bool
	// DeniedFlags must not occur as a word or before its first "=".
	DeniedFlags []string
	// Resolve follows the symlinks of an absolute path as far as it exists (see
	// ResolvePath); nil resolves by the text alone.
	Resolve func(path string) string
}

// ReadingPolicy allows what only reads files inside workdir and ends by itself: it is
// for commands of an agent that no sandbox holds. What could write, run another program
// or wait for ever is not in it.
func ReadingPolicy(workdir string) ShellPolicy {
	names := []string{"cat", "cmp", "grep", "head", "jq", "ls", "pwd", "stat", "wc"}
	return ShellPolicy{Allowed: names, Plain: names, Names: true, Workdir: workdir, Resolve: ResolvePath}
}

// Reasons for a refused command, in the order they are checked.
const (
	ShellEmpty         = "empty"
	ShellNotAllowed    = "not_allowed"
	ShellDeniedCommand = "denied_command"
	ShellDestructive   = "destructive"
	ShellDeniedFlag    = "denied_flag"
	ShellMetachar      = "metachar"
	ShellPathEscape    = "path_escape"
)

// ShellError says why a command was refused and by which word.
type ShellError struct {
	Reason string
	Word   string
}

// Error names the reason and the word.
func (e *ShellError) Error() string {
	return fmt.Sprintf("shell policy: %s: %q", e.Reason, Line(e.Word, 80))
}

// Check returns nil when the command may run, else a *ShellError with the first
// check that failed.
func (p ShellPolicy) Check(argv []string) error {
	if len(argv) == 0 {
		return &ShellError{ShellEmpty, ""}
	}
	if !slices.Contains(p.Allowed, argv[0]) {
		return &ShellError{ShellNotAllowed, argv[0]}
	}
	words := p.subcommands(argv)
	for _, denied := range p.Denied {
		if len(denied) > 0 && denied[0] == argv[0] && inOrder(words, denied[1:]) {
			return &ShellError{ShellDeniedCommand, strings.Join(denied, " ")}
		}
	}
	if !slices.Contains(p.Plain, argv[0]) {
		for _, word := range words {
			if p.destructive(word) {
				return &ShellError{ShellDestructive, word}
			}
		}
	}
	for _, word := range argv {
		name, _, _ := strings.Cut(word, "=")
		if slices.Contains(p.DeniedFlags, word) || slices.Contains(p.DeniedFlags, name) {
			return &ShellError{ShellDeniedFlag, word}
		}
	}
	if !p.Pipes {
		for _, word := range argv {
			if strings.ContainsAny(word, ";&|><`$\n") {
				return &ShellError{ShellMetachar, word}
			}
		}
	}
	for _, word := range argv[1:] {
		if p.Names && !strings.HasPrefix(word, "-") && !p.inside(word) {
			return &ShellError{ShellPathEscape, word}
		}
		for _, path := range paths(word) {
			if !p.inside(path) {
				return &ShellError{ShellPathEscape, word}
			}
		}
	}
	return nil
}

// subcommands returns the words after argv[0] that may be subcommands: those of the
// known command that argv begins with, else all of them.
func (p ShellPolicy) subcommands(argv []string) []string {
	for _, known := range p.Known {
		if n := len(known); n > 0 && n <= len(argv) && slices.Equal(argv[:n], known) {
			return argv[1:n]
		}
	}
	return argv[1:]
}

// destructive reports whether a word would be a destructive subcommand. A flag is none.
func (p ShellPolicy) destructive(word string) bool {
	if strings.HasPrefix(word, "-") {
		return false
	}
	parts := strings.FieldsFunc(strings.ToLower(word), func(r rune) bool { return r == '-' || r == '_' || r == ':' })
	return slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(p.Destructive, part) })
}

// inOrder reports whether the words occur in the list in this order, not
// necessarily side by side.
func inOrder(list, words []string) bool {
	for _, have := range list {
		if len(words) > 0 && have == words[0] {
			words = words[1:]
		}
	}
	return len(words) == 0
}

// paths returns the parts of an argument that a program may take for a path: the
// argument itself, what follows "=" or "@", and what is glued to a flag.
func paths(word string) []string {
	var out []string
	add := func(s string) {
		if strings.Contains(s, "/") || s == "." || s == ".." {
			out = append(out, s)
		}
	}
	rest := word
	if strings.HasPrefix(word, "-") {
		rest = strings.TrimLeft(word, "-")
		if !strings.HasPrefix(word, "--") && len(rest) > 1 && !strings.Contains(rest, "=") {
			add(rest[1:]) // -f/etc/passwd
		}
	}
	add(rest)
	for i, r := range rest {
		if r == '=' || r == '@' {
			add(rest[i+1:])
		}
	}
	return out
}

// inside reports whether a path, relative to the workdir, stays in it.
func (p ShellPolicy) inside(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.Workdir, path)
	}
	path, root := filepath.Clean(path), filepath.Clean(p.Workdir)
	if p.Resolve != nil {
		path, root = p.Resolve(path), p.Resolve(root)
	}
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// ResolvePath follows the symlinks of the longest part of an absolute path that
// exists and returns the whole path with that part resolved.
func ResolvePath(path string) string {
	path = filepath.Clean(path)
	for head, tail := path, ""; ; head, tail = filepath.Dir(head), filepath.Join(filepath.Base(head), tail) {
		if resolved, err := filepath.EvalSymlinks(head); err == nil {
			return filepath.Join(resolved, tail)
		}
		// A link that leads nowhere yet could be made to lead anywhere.
		if info, err := os.Lstat(head); err == nil && info.Mode()&os.ModeSymlink != 0 {
			if target, err := os.Readlink(head); err == nil {
				if !filepath.IsAbs(target) {
					target = filepath.Join(filepath.Dir(head), target)
				}
				return filepath.Join(filepath.Clean(target), tail)
			}
		}
		if head == filepath.Dir(head) {
			return path
		}
	}
}
