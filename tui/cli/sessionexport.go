package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"vise/engine/export"
	"vise/engine/guard"
	"vise/engine/score"
	"vise/engine/trace"
	"vise/replay/format/native"
	"vise/replay/format/openai"
	"vise/store"
)

// sessionWriter writes sessions, one after the other, in some format.
type sessionWriter interface {
	Session(head trace.Session) error
	Turn(t trace.Turn, r *score.Report) error
	End() error
}

// The formats that sessions are written in.
const (
	exportNative = "native"
	exportOTLP   = "otlp"
	exportOpenAI = "openai"
)

func newSessionWriter(format string, w io.Writer, red *guard.Redactor) (sessionWriter, error) {
	switch format {
	case exportNative:
		return &nativeWriter{native.NewWriter(w)}, nil
	case exportOTLP:
		return &otlpWriter{w: w, red: red}, nil
	case exportOpenAI:
		return &openaiWriter{openai.NewWriter(w)}, nil
	}
	return nil, usagef("--format %q: use %s", format, strings.Join([]string{exportNative, exportOTLP, exportOpenAI}, ", "))
}

// jsonLines writes JSON in which nothing drives the terminal that shows it. What is
// written must end with a whole character.
type jsonLines struct {
	w    io.Writer
	rest []byte // of a character that has no end yet
}

func (l *jsonLines) Write(b []byte) (int, error) {
	n := len(b)
	if len(l.rest) > 0 {
		b = append(l.rest, b...)
	}
	whole := len(b)
	for k := len(b) - 1; k >= 0 && k >= len(b)-utf8.UTFMax; k-- {
		if utf8.RuneStart(b[k]) {
			if !utf8.FullRune(b[k:]) {
				whole = k
			}
			break
		}
	}
	_, err := l.w.Write(escapeHidden(b[:whole]))
	l.rest = append([]byte(nil), b[whole:]...)
	return n, err
}

type nativeWriter struct{ *native.Writer }

func (w *nativeWriter) Turn(t trace.Turn, _ *score.Report) error { return w.Writer.Turn(t) }
func (w *nativeWriter) End() error                               { return nil }

type openaiWriter struct{ *openai.Writer }

func (w *openaiWriter) Turn(t trace.Turn, _ *score.Report) error { return w.Writer.Turn(t) }

// otlpWriter writes a request a line, a trace a turn, with the turn's scores.
type otlpWriter struct {
	w    io.Writer
	red  *guard.Redactor
	head trace.Session
}

func (w *otlpWriter) Session(head trace.Session) error {
	w.head = head
	return nil
}

func (w *otlpWriter) Turn(t trace.Turn, r *score.Report) error {
	var report score.Report
	if r != nil {
		report = *r
	}
	return export.Turn(w.w, w.head, t, report, w.red, version())
}

func (w *otlpWriter) End() error { return nil }

func (a *app) sessionsExport() *cobra.Command {
	var file, format string
	c := &cobra.Command{
		Use: "export SESSION...", Short: "Write sessions in a format that other programs read", Args: cobra.MinimumNArgs(1),
		Long: "Write sessions as JSON Lines: in vise's own format without loss (native), as OpenTelemetry traces with\n" +
			"their scores, a request a line and a trace a turn (otlp), or as chat messages, a session a line (openai:\n" +
			"clocks, usage, reasoning and the inside of sub-agents are left out).",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			cfg, _, err := a.load()
			if err != nil {
				return err
			}
			red, err := guard.NewRedactor(guard.RedactOptions{Keys: cfg.Redact.Keys, Values: cfg.Redact.Values, Extra: cfg.Redact.Extra})
			if err != nil {
				return err
			}
			var to io.Writer = a.out
			if file != "" && file != "-" {
				// Written beside its place and moved there, so that a failed export leaves no half file.
				tmp, err := os.CreateTemp(filepath.Dir(a.path(file)), ".vise-export-*")
				if err != nil {
					return fmt.Errorf("export: %w", err)
				}
				defer func() {
					if cerr := tmp.Close(); err == nil {
						err = cerr
					}
					if err == nil {
						err = os.Rename(tmp.Name(), a.path(file))
					}
					if err != nil {
						os.Remove(tmp.Name())
					}
				}()
				to = tmp
			}
			w, err := newSessionWriter(format, &jsonLines{w: to}, red)
			if err != nil {
				return err
			}
			s, err := a.openRead(cmd.Context()) // once: opening costs more than most sessions
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.Close()) }()
			for _, id := range args {
				var head trace.Session
				if err := s.View(func(tx *store.Tx) (err error) {
					head, err = findSession(tx, id)
					return err
				}); err != nil {
					return err
				}
				if err := exportSession(w, s, head); err != nil {
					return fmt.Errorf("export %s: %w", head.ID, err)
				}
			}
			return nil
		},
	}
	c.Flags().StringVarP(&file, "output", "o", "", "file to write (default: standard output)")
	c.Flags().StringVar(&format, "format", exportNative, "native, otlp or openai")
	return c
}

func exportSession(w sessionWriter, s *store.Store, head trace.Session) error {
	if err := w.Session(head); err != nil {
		return err
	}
	if err := eachTurn(s, head.ID, 0, func(t trace.Turn, r *score.Report) error {
		if err := w.Turn(t, r); err != nil {
			return fmt.Errorf("turn %d: %w", t.Index, err)
		}
		return nil
	}); err != nil {
		return err
	}
	return w.End()
}
