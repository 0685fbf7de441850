package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Secret refers to a secret; it never is one:
//
//	env:NAME    the value of a variable
//	file:PATH   the content of a file that only its owner can read (mode 0600)
//	cmd:ARGV    what a program prints; words split at blanks, or a JSON list
//
// Printing a Secret therefore shows where a key comes from, except that the
// arguments of a command are left out.
type Secret string

// String shows the reference, of a command only its program.
func (s Secret) String() string {
	kind, arg, ok := strings.Cut(string(s), ":")
	switch {
	case s == "":
		return ""
	case ok && (kind == "env" || kind == "file"):
		return string(s)
	case ok && kind == "cmd":
		if argv, err := commandWords(arg); err == nil && len(argv) > 1 {
			return "cmd:" + argv[0] + " …"
		}
		return string(s)
	}
	return "[refused]"
}

// GoString keeps %#v from printing more than String.
func (s Secret) GoString() string { return s.String() }

// MarshalText keeps JSON from holding more than String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// secretRule is what a reference has to look like, for messages. It never quotes
// what was written: that may be the secret itself.
const secretRule = "a secret must be a reference: env:NAME, file:PATH (mode 0600) or cmd:ARGV; a key itself is refused here, put it into a variable and write env:NAME"

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// Check reports whether the text is a reference at all.
func (s Secret) Check() error {
	kind, arg, ok := strings.Cut(string(s), ":")
	switch {
	case ok && kind == "env" && variableName.MatchString(arg):
		return nil
	case ok && kind == "file" && strings.TrimSpace(arg) != "" && !strings.ContainsAny(arg, "\x00\n\r"):
		return nil
	case ok && kind == "cmd":
		if _, err := commandWords(arg); err == nil {
			return nil
		}
	}
	return errors.New(secretRule)
}

func commandWords(arg string) ([]string, error) {
	argv := strings.Fields(arg)
	if strings.HasPrefix(strings.TrimSpace(arg), "[") {
		argv = nil
		if err := json.Unmarshal([]byte(arg), &argv); err != nil {
			return nil, errors.New("not a JSON list of words")
		}
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("no program is named")
	}
	return argv, nil
}

// maxSecret bounds what is read as a secret, in bytes.
const maxSecret = 64 << 10

// Keyring resolves references. Without Run those to commands fail.
type Keyring struct {
	// Environ holds NAME=value, as os.Environ.
	Environ []string
	// Run runs a program within the context and returns its standard output.
	Run func(ctx context.Context, argv []string) ([]byte, error)
	// Root resolves relative file references; "" = the working folder.
	Root string
	// Timeout of a command; 0 = 10 s.
	Timeout time.Duration
}

// Resolve returns the secret behind a reference, trimmed. Errors name the
// reference, never the content.
func (k Keyring) Resolve(ctx context.Context, s Secret) (string, error) {
	if s == "" {
		return "", nil
	}
	if err := s.Check(); err != nil {
		return "", fmt.Errorf("resolve secret: %w", err)
	}
	kind, arg, _ := strings.Cut(string(s), ":")
	var text string
	var err error
	switch kind {
	case "env":
		text = variables(k.Environ)[arg]
	case "file":
		text, err = k.file(k.File(s))
	case "cmd":
		text, err = k.command(ctx, arg)
	}
	if err != nil {
		return "", fmt.Errorf("resolve secret %s: %w", s, err)
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", fmt.Errorf("resolve secret %s: it is empty or not set; set it, or change the reference", s)
	}
	return text, nil
}

// File is the path of a reference to a file; "" for every other.
func (k Keyring) File(s Secret) string {
	path, ok := strings.CutPrefix(string(s), "file:")
	if !ok {
		return ""
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(variables(k.Environ)["HOME"], rest)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(k.Root, path)
	}
	return path
}

func (k Keyring) file(path string) (string, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() { // opening a pipe would block
		return "", fmt.Errorf("%s is not a plain file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	// The open file is asked, not its name: nobody can swap it in between.
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !st.Mode().IsRegular() || st.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s has mode %v; it must be a plain file that only its owner can read: chmod 600", path, st.Mode())
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret))
	return string(b), err
}

func (k Keyring) command(ctx context.Context, arg string) (string, error) {
	if k.Run == nil {
		return "", errors.New("commands cannot be run here; use an env: or a file: reference")
	}
	argv, err := commandWords(arg)
	if err != nil {
		return "", err
	}
	limit := k.Timeout
	if limit <= 0 {
		limit = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := k.Run(ctx, argv)
	return string(out[:min(len(out), maxSecret)]), err
}
