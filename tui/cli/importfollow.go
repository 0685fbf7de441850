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
	f := &following{app: a, format: name, red: red, files: map[string]format.Summary{}, skipped: map[string]bool{}, refused: map[string]string{}}
	if !a.json {
		a.out.printf("following %s; ctrl+c ends", counted(len(paths), "path"))
	}
	err = follow.Run(ctx, paths, follow.Options{Note: func(text string) { a.note("vise: %s", block(text)) }}, func(files []string, done func(string)) ([]string, error) {
		return f.read(ctx, files, done)
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
	refused map[string]string         // files that could not be read, and why
	waits   bool                      // the store has been busy since the last reading

	isNew, updated, unchanged int

	ids []string
}

// maxFollowed bounds the files that the summary at the end adds up.
const maxFollowed = 100_000

// read imports files; all of them come again when the store is busy.
func (f *following) read(ctx context.Context, files []string, done func(file string)) (again []string, err error) {
	err = f.withHarness(ctx, needs{}, func(h *harness) error {
		f.waits = false
		im := h.Import(ctx, false)
		done("") // opening the store is no file's
		for _, file := range files {
			before := im.New + im.Updated
			s, err := format.Read(ctx, file, format.Options{Format: f.format, Redactor: f.red}, im)
			done(file)
			if ctx.Err() != nil {
				return err // what was read of it is not part of any session
			}
			if err != nil {
				if errors.Is(err, format.ErrUnrecognised) {
					f.skipped[file] = true
					f.refuse(file, nil)
					continue // it may grow into something
				}
			}
			f.refuse(file, err)
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

// refuse keeps why a file could not be read, and tells it once: a file that grows is
// read again and again. Without an error it is refused no more.
func (f *following) refuse(file string, err error) {
	if err == nil {
		delete(f.refused, file)
		return
	}
	before, known := f.refused[file]
	if known && before == err.Error() {
		return
	}
	if !known && len(f.refused) == maxFollowed {
		return
	}
	f.refused[file] = err.Error()
	f.note("vise: %s", block(err.Error()))
}

// tell writes the summary at the end.
func (f *following) tell() error {
	total := imported{Unknown: map[string]int{}, MaskedAs: map[string]int{}, New: f.isNew, Updated: f.updated, Unchanged: f.unchanged, Refused: len(f.refused), Skipped: len(f.skipped), IDs: unique(f.ids)}
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
