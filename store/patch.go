package store

import "vise/engine/patch/run"

var patchRuns = &table[run.Run]{
	kind: kindPatchRun, name: "patch run",
	key: func(r *run.Run) []byte { return key(kindPatchRun, r.ID) },
	index: func(r *run.Run) [][]byte {
		return [][]byte{part(at(key(kindPatchTime), r.Created), r.ID)}
	},
}

// PutPatchRun stores a run of the patch loop.
func (tx *Tx) PutPatchRun(r run.Run) error {
	if err := tx.need("put patch run", r.ID); err != nil {
		return err
	}
	return put(tx, patchRuns, &r)
}

// PatchRun returns a run of the patch loop.
func (tx *Tx) PatchRun(id string) (run.Run, bool, error) {
	return one(tx, patchRuns, key(kindPatchRun, id))
}

// PatchRuns returns a page of runs by creation, newest first unless w.Oldest.
func (tx *Tx) PatchRuns(w Window) ([]run.Run, error) {
	return page(tx, patchRuns, []byte{kindPatchTime}, w, key(kindPatchRun, w.After))
}

// DeletePatchRun removes a run.
func (tx *Tx) DeletePatchRun(id string) error { return remove(tx, patchRuns, key(kindPatchRun, id)) }

var patchLoops = &table[run.Loop]{
	kind: kindPatchLoop, name: "patch loop",
	key: func(l *run.Loop) []byte { return key(kindPatchLoop, l.RunID) },
}

// PutPatchLoop stores the repair loop of a run.
func (tx *Tx) PutPatchLoop(l run.Loop) error {
	if err := tx.need("put patch loop", l.RunID); err != nil {
		return err
	}
	return put(tx, patchLoops, &l)
}

// PatchLoop returns the repair loop that began with a run.
func (tx *Tx) PatchLoop(runID string) (run.Loop, bool, error) {
	return one(tx, patchLoops, key(kindPatchLoop, runID))
}

// PatchLoops returns all repair loops by the id of their run.
func (tx *Tx) PatchLoops() ([]run.Loop, error) {
	return records(tx, patchLoops, scan{prefix: []byte{kindPatchLoop}}, 0)
}

// DeletePatchLoop removes the repair loop of a run.
func (tx *Tx) DeletePatchLoop(runID string) error {
	return remove(tx, patchLoops, key(kindPatchLoop, runID))
}
