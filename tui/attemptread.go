package tui

import (
	"slices"

	"vise/engine/patch"
	"vise/engine/patch/risk"
	"vise/engine/patch/run"
	"vise/store"
)

// attemptsMost is how many runs are listed.
const attemptsMost = 300

// attemptRow is a run in the list; depth 1 is a repair, under the run it repairs.
type attemptRow struct {
	run   run.Run
	loop  *run.Loop // of the run it belongs to
	depth int
}

// problem reports a run that is not through.
func (r attemptRow) problem() bool {
	return r.run.Route != nil && r.run.Route.Kind != risk.Auto && !r.repaired()
}

// repaired reports a run that failed and has been repaired by another one.
func (r attemptRow) repaired() bool {
	return r.loop != nil && r.loop.Status == run.Repaired && r.loop.Repaired != r.run.ID && r.run.Applied == nil && r.run.Route != nil && r.run.Route.Kind != risk.Auto
}

// attemptAt is the number of the attempt that a state of a loop is about: the loop
// counts one when its repair has been looked at.
func attemptAt(s run.State, attempt int) int {
	switch s {
	case run.StatePacket, run.StateDrive, run.StateRepair, run.StateInspect:
		return attempt + 1
	}
	return attempt
}

type attemptsData struct {
	rows   []attemptRow
	more   bool
	humans int // loops and runs that wait for a person
}

// readAttempts reads the newest runs, repairs under the run that they repair.
func readAttempts(tx *store.Tx) (d attemptsData, err error) {
	list, err := tx.PatchRuns(store.Window{Limit: attemptsMost + 1})
	if err != nil {
		return d, err
	}
	d.more = len(list) > attemptsMost
	list = list[:min(len(list), attemptsMost)]
	loops, err := tx.PatchLoops()
	if err != nil {
		return d, err
	}
	of := map[string]*run.Loop{}
	for i := range loops {
		of[loops[i].RunID] = &loops[i]
	}
	repairs := map[string][]run.Run{}
	known := map[string]bool{}
	for _, r := range list {
		known[r.ID] = true
		if r.RepairOf != "" {
			repairs[r.RepairOf] = append(repairs[r.RepairOf], r)
		}
	}
	for _, r := range list {
		if r.RepairOf != "" && known[r.RepairOf] {
			continue
		}
		origin := r.ID
		if r.RepairOf != "" {
			origin = r.RepairOf // the first run was removed
		}
		d.rows = append(d.rows, attemptRow{run: r, loop: of[origin]})
		children := repairs[r.ID]
		slices.Reverse(children) // oldest first, as they came
		for _, c := range children {
			d.rows = append(d.rows, attemptRow{run: c, loop: of[r.ID], depth: 1})
		}
		if waitsForPerson(r, of[r.ID]) != "" {
			d.humans++
		}
	}
	return d, nil
}

// waitsForPerson is what a run, or the loop that began with it, asks of a person;
// "" for nothing.
func waitsForPerson(r run.Run, l *run.Loop) string {
	if l != nil {
		if l.Status == run.NeedsHuman || l.Status == run.NeedsAgent {
			return patch.Says(*l)
		}
		return "" // it ended otherwise, or goes on
	}
	if r.Applied == nil && r.Route != nil && r.Route.Kind == risk.Human {
		if len(r.Causes) > 0 {
			return r.Causes[0].Says()
		}
		if r.Proof != nil && len(r.Proof.Reasons) > 0 {
			return r.Proof.Reasons[0]
		}
		return r.Route.Code
	}
	return ""
}

// attemptDetail is what is shown of one run.
type attemptDetail struct {
	run  run.Run
	loop *run.Loop
	diff []patch.FileDiff
	note string // why there is no diff
}

// readAttempt reads the diff of a run: its files lie beside the store.
func readAttempt(ctx *Context, row attemptRow) (attemptDetail, error) {
	d := attemptDetail{run: row.run, loop: row.loop}
	if ctx.Patch == nil || row.run.Patch == nil {
		return d, nil
	}
	diff, err := ctx.Patch.Diff(row.run.ID)
	if err != nil {
		d.note = err.Error()
	}
	d.diff = diff
	return d, nil
}

// mending adds the patch loops that wait for a person.
func mending(tx *store.Tx, out []AttentionItem) ([]AttentionItem, error) {
	d, err := readAttempts(tx)
	if err != nil {
		return nil, err
	}
	n := 0
	for _, row := range d.rows {
		if row.depth > 0 {
			continue
		}
		why := waitsForPerson(row.run, row.loop)
		if why == "" {
			continue
		}
		if n++; n > attentionEach {
			break
		}
		x := AttentionItem{Kind: "patch", RunID: row.run.ID, At: row.run.Created, Text: "patch " + runTag(row.run.ID) + ": " + why,
			Do: "{move.into} goes to it in 0 Attempts; {patch.apply} applies it once you have looked"}
		if row.loop != nil && row.loop.Status == run.NeedsAgent {
			x.Do = "give the packet to an agent: vise repair " + row.run.ID + " -- AGENT ARG..."
		}
		out = append(out, x)
	}
	return out, nil
}
