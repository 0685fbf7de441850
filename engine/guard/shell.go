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
	// Denied are commands by their words: the first is argv[0], the others must not
	// occur among the arguments in this order.
	Denied [][]string
	// DeniedFlags must not occur as a word or before its first "=".
	DeniedFlags []string
	// Resolve follows the symlinks of an absolute path as far as it exists (see
	// ResolvePath); nil resolves by the text alone.
	Resolve func(path string) string
}

// DefaultShellPolicy allows reading inside workdir and the platform's own client
// without its configuration, logins and secrets.
func DefaultShellPolicy(workdir string) ShellPolicy {
	return ShellPolicy{
		Allowed:     []string{"pandaprobe", "cat", "ls", "jq"},
		Workdir:     workdir,
		Denied:      [][]string{{"pandaprobe", "config"}, {"pandaprobe", "auth", "login"}, {"pandaprobe", "auth", "logout"}},
		DeniedFlags: []string{"--reveal-secrets"},
		Resolve:     ResolvePath,
	}
}

// Reasons for a refused command, in the order they are checked.
const (
	ShellEmpty         = "empty"
	ShellNotAllowed    = "not_allowed"
	ShellDeniedCommand = "denied_command"
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
	for _, denied := range p.Denied {
		if len(denied) > 0 && denied[0] == argv[0] && inOrder(argv[1:], denied[1:]) {
			return &ShellError{ShellDeniedCommand, strings.Join(denied, " ")}
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
		for _, path := range paths(word) {
			if !p.inside(path) {
				return &ShellError{ShellPathEscape, word}
			}
		}
	}
	return nil
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
