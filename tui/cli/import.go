package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"vise/engine/guard"
	"vise/replay/format"
	records "vise/replay/format/recording"
)

func (a *app) importCmd() *cobra.Command {
	var name string
	var strict, dry, goOn bool
	c := &cobra.Command{
		Use: "import PATH...", Short: "Import recorded sessions; the format is recognised by content",
		Long: "Import files or folders of recorded sessions. Formats: " + strings.Join(format.Formats(), ", ") + ".\n" +
			"Secrets are masked before anything is stored; damaged records are counted and skipped; what has no\n" +
			"place in vise's model is kept as a span of kind CHAIN. Importing the same file again changes nothing.\n" +
			"With --follow the files and folders are watched until ctrl+c: sessions that are being written are\n" +
			"imported again as they grow, whole records at a time; the store is open only while that happens.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if name != "" && !slices.Contains(format.Formats(), name) {
				return usagef("--format %q: use one of %s", name, strings.Join(format.Formats(), ", "))
			}
			defer frugal()()
			if goOn {
				if strict || dry {
					return usagef("--follow goes with neither --strict nor --dry-run")
				}
				return a.importFollow(cmd.Context(), args, name)
			}
			return a.withHarness(cmd.Context(), needs{}, func(h *harness) error {
				_, err := a.importPaths(cmd, h, args, name, strict, dry)
				return err
			})
		},
	}
	c.Flags().StringVar(&name, "format", "", "read as this format instead of recognising it")
	c.Flags().BoolVar(&strict, "strict", false, "exit 3 when any record is damaged")
	c.Flags().BoolVarP(&goOn, "follow", "f", false, "go on importing what is new or grows, until ctrl+c")
	c.Flags().BoolVar(&dry, "dry-run", false, "read and report, store nothing")
	return c
}

// imported adds up the summaries of one import.
type imported struct {
	Files     int            `json:"files"`
	Sessions  int            `json:"sessions"`
	New       int            `json:"new"`
	Updated   int            `json:"updated"`
	Unchanged int            `json:"unchanged"`
	Turns     int            `json:"turns"`
	Steps     int            `json:"steps"`
	Calls     int            `json:"calls"`
	Errors    int            `json:"errors"`
	Records   int            `json:"records"`
	Unknown   map[string]int `json:"unknown_records"`
	Damaged   int            `json:"damaged"`
	Masked    int            `json:"masked"`
	MaskedAs  map[string]int `json:"masked_as"`
	Refused   int            `json:"refused_files"`
	Skipped   int            `json:"skipped_files"` // found in a folder and of no known format
	DryRun    bool           `json:"dry_run,omitempty"`
	IDs       []string       `json:"session_ids"`
}

func (t *imported) add(s format.Summary) {
	t.Files++
	t.Sessions += s.Sessions
	t.Turns += s.Turns
	t.Steps += s.Steps
	t.Calls += s.Calls
	t.Errors += s.Errors
	t.Records += s.Records
	t.Masked += s.Masked
	t.Damaged += s.DamagedTotal
	for k, n := range s.MaskedAs {
		t.MaskedAs[k] += n
	}
	for k, n := range s.Unknown {
		t.Unknown[k] += n
	}
}

func (a *app) importPaths(cmd *cobra.Command, h *harness, paths []string, name string, strict, dry bool) (imported, error) {
	total, failures, err := a.readPaths(cmd.Context(), h, paths, format.Options{Format: name, Strict: strict}, dry, a.printSummary)
	if err != nil {
		return total, err
	}
	if a.json {
		if err := a.out.object("vise.import/1", total); err != nil {
			return total, err
		}
	} else if total.Sessions > 0 {
		a.out.printf("%s", total.words())
		if total.Skipped > 0 {
			a.out.printf("left out %s of other kinds", counted(total.Skipped, "file"))
		}
	}
	for _, err := range failures {
		a.note("vise: %s", block(err.Error()))
	}
	switch {
	case total.Sessions == 0:
		return total, total.nothing()
	case strict && (total.Damaged > 0 || len(failures) > 0):
		return total, gatef("import: %s and %s not read (--strict)", counted(total.Damaged, "damaged record"), counted(len(failures), "file"))
	case len(failures) > 0:
		return total, errors.New("import: some files were not read, see above; the others are stored")
	}
	return total, nil
}

// words say in a line what an import brought.
func (t imported) words() string {
	verb := "imported"
	if t.DryRun {
		verb = "would import"
	}
	return fmt.Sprintf("%s %s (%d new, %d updated, %d unchanged) from %s: %s, %s, %s, %s",
		verb, counted(t.Sessions, "session"), t.New, t.Updated, t.Unchanged, counted(t.Files, "file"),
		counted(t.Turns, "turn"), counted(t.Steps, "step"), counted(t.Calls, "call"), counted(t.Errors, "error"))
}

// nothing is the error of an import that found no session.
func (t imported) nothing() error {
	return fmt.Errorf("import: recognised no session in %s; vise import --help names the formats", counted(max(t.Files, t.Refused)+t.Skipped, "file"))
}

// readPaths imports files and folders; tell gets the summary of each file. failures are
// of files that could not be read: the others are stored.
func (a *app) readPaths(ctx context.Context, h *harness, paths []string, o format.Options, dry bool, tell func(format.Summary) error) (total imported, failures []error, err error) {
	total = imported{Unknown: map[string]int{}, MaskedAs: map[string]int{}, DryRun: dry}
	o.Redactor, err = guard.NewRedactor(guard.RedactOptions{Keys: h.cfg.Redact.Keys, Values: h.cfg.Redact.Values, Extra: h.cfg.Redact.Extra})
	if err != nil {
		return total, nil, err
	}
	im := h.Import(ctx, dry)
	for _, arg := range paths {
		files, err := format.Walk(a.path(arg))
		if err != nil {
			failures = append(failures, err)
			total.Refused++
			continue
		}
		walked := len(files) != 1 || files[0] != a.path(arg)
		for _, file := range files {
			if err := ctx.Err(); err != nil {
				return total, failures, err
			}
			s, err := format.Read(ctx, file, o, im)
			if err != nil && !errors.Is(err, format.ErrDamaged) { // damage is told below, from the summary
				if ctx.Err() != nil {
					return total, failures, err
				}
				if walked && errors.Is(err, format.ErrUnrecognised) {
					total.Skipped++ // a folder may hold other things
					continue
				}
				failures = append(failures, err)
				total.Refused++
			}
			total.add(s)
			if err == nil || s.Sessions > 0 {
				if werr := tell(s); werr != nil {
					return total, failures, werr
				}
			}
		}
	}
	total.New, total.Updated, total.Unchanged, total.IDs = im.New, im.Updated, im.Unchanged, im.IDs
	if err := im.Finish(map[string]any{"files": total.Files, "sessions": total.Sessions, "turns": total.Turns,
		"damaged": total.Damaged, "masked": total.Masked, "refused": total.Refused}); err != nil {
		return total, failures, err
	}
	return total, failures, nil
}

// printSummary tells what one file held.
func (a *app) printSummary(s format.Summary) error {
	if a.json {
		return a.out.object("vise.import_file/1", s)
	}
	a.out.printf("%s: %s, %s, %s, %s, %s, %s", show(s.Path, 120), s.Format, counted(s.Sessions, "session"), counted(s.Turns, "turn"),
		counted(s.Steps, "step"), counted(s.Calls, "call"), counted(s.Errors, "error"))
	if s.Masked > 0 {
		a.out.printf("  masked %s (%s)", counted(s.Masked, "secret"), show(records.Counts(s.MaskedAs), 200))
	}
	if len(s.Unknown) > 0 {
		n := 0
		var kinds []string
		for _, k := range slices.Sorted(maps.Keys(s.Unknown)) {
			n += s.Unknown[k]
			kinds = append(kinds, fmt.Sprintf("%s ×%d", show(k, 40), s.Unknown[k]))
		}
		a.out.printf("  kept %s of %s: %s", counted(n, "record"), counted(len(kinds), "unknown type"), strings.Join(kinds, ", "))
	}
	for i, d := range s.Damaged {
		if i == 10 {
			a.out.printf("  … and %d more damaged records", len(s.Damaged)-i)
			break
		}
		a.out.printf("  damaged: line %d, byte %d: %s", d.Line, d.Offset, show(d.Reason, 100))
	}
	for _, n := range s.Notes {
		a.out.printf("  %s", show(n, 160))
	}
	return a.out.err
}
