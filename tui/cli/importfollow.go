package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"vise/engine/guard"
	"vise/replay/follow"
	"vise/replay/format"
	"vise/store"
)

// importFollow imports what is there and what comes, until ctx ends. The store is
// open only while files are read, so that other commands can work beside it.
func (a *app) importFollow(ctx context.Context, args []string, name string) error {
	cfg, _, err := a.load()
	if err != nil {
		return err
	}
	red, err := guard.NewRedactor(guard.RedactOptions{Keys: cfg.Redact.Keys, Values: cfg.Redact.Values, Extra: cfg.Redact.Extra})
	if err != nil {
		return err
	}
	paths := make([]string, len(args))
	for i, arg := range args {
		paths[i] = a.path(arg)
		if _, err := os.Stat(paths[i]); err != nil {
			return fmt.Errorf("import: %w", err)
		}
	}
	f := &following{app: a, format: name, red: red, files: map[string]format.Summary{}, skipped: map[string]bool{}}
	if !a.json {
		a.out.printf("following %s; ctrl+c ends", counted(len(paths), "path"))
	}
	err = follow.Run(ctx, paths, follow.Options{Note: func(text string) { a.note("vise: %s", block(text)) }}, func(files []string) ([]string, error) {
		return f.read(ctx, files)
	})
	if terr := f.tell(); terr != nil {
		return errors.Join(err, terr)
	}
	return err
}

// following is what a watching import knows so far.
type following struct {
	*app
	format  string
	red     *guard.Redactor
	files   map[string]format.Summary // the last reading of each file
	skipped map[string]bool           // files of no known format
	waits   bool                      // the store has been busy since the last reading

	isNew, updated, unchanged, refused int

	ids []string
}

// maxFollowed bounds the files that the summary at the end adds up.
const maxFollowed = 100_000

// read imports files; all of them come again when the store is busy.
func (f *following) read(ctx context.Context, files []string) (again []string, err error) {
	err = f.withHarness(ctx, needs{}, func(h *harness) error {
		f.waits = false
		im := h.Import(ctx, false)
		for _, file := range files {
			before := im.New + im.Updated
			s, err := format.Read(ctx, file, format.Options{Format: f.format, Redactor: f.red}, im)
			if ctx.Err() != nil {
				return err // what was read of it is not part of any session
			}
			if err != nil {
				if errors.Is(err, format.ErrUnrecognised) {
					f.skipped[file] = true
					continue // it may grow into something
				}
				f.refused++
				f.note("vise: %s", block(err.Error()))
			}
			delete(f.skipped, file)
			if len(f.files) < maxFollowed || f.files[file].Path != "" {
				f.files[file] = s
			}
			if im.New+im.Updated > before {
				if err := f.printSummary(s); err != nil {
					return err
				}
			}
		}
		f.isNew += im.New
		f.updated += im.Updated
		f.unchanged += im.Unchanged
		if len(f.ids) < 1000 {
			f.ids = append(f.ids, im.IDs[:min(len(im.IDs), 1000-len(f.ids))]...)
		}
		if im.New+im.Updated == 0 {
			return nil
		}
		return im.Finish(map[string]any{"files": len(files), "follow": true})
	})
	var busy *store.BusyError
	if errors.As(err, &busy) {
		if !f.waits {
			f.waits = true
			f.note("vise: %s; what is new waits until it is free", block(busy.Error()))
		}
		return files, nil
	}
	if ctx.Err() != nil {
		return nil, nil // the end that was asked for
	}
	return nil, err
}

// tell writes the summary at the end.
func (f *following) tell() error {
	total := imported{Unknown: map[string]int{}, MaskedAs: map[string]int{}, New: f.isNew, Updated: f.updated, Unchanged: f.unchanged, Refused: f.refused, Skipped: len(f.skipped), IDs: unique(f.ids)}
	for _, s := range f.files {
		total.add(s)
	}
	if f.json {
		return f.out.object("vise.import/1", total)
	}
	f.out.printf("followed %s: %s (%d new, %d times updated), %s, %s, %s, %s", counted(total.Files, "file"), counted(total.Sessions, "session"), total.New, total.Updated,
		counted(total.Turns, "turn"), counted(total.Steps, "step"), counted(total.Calls, "call"), counted(total.Errors, "error"))
	if total.Damaged > 0 {
		f.out.printf("  %s at the end", counted(total.Damaged, "damaged record"))
	}
	if total.Skipped > 0 {
		f.out.printf("left out %s of other kinds", counted(total.Skipped, "file"))
	}
	return f.out.err
}

// unique removes repetitions, keeping the first of each.
func unique(list []string) []string {
	seen := map[string]bool{}
	out := list[:0]
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
