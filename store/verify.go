package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"vise/engine/trace"
)

// maxProblems bounds the list of a report; further problems are only counted.
const maxProblems = 1000

// VerifyReport is what Verify found.
type VerifyReport struct {
	// Checked counts what was looked at: records by kind, "index", "blob".
	Checked  map[string]int `json:"checked"`
	Problems []Problem      `json:"problems"`
	// Omitted counts problems beyond the list's bound.
	Omitted int    `json:"omitted,omitempty"`
	LastSeq uint64 `json:"last_seq"`
}

// OK reports that nothing is wrong.
func (r VerifyReport) OK() bool { return len(r.Problems) == 0 }

// Problem is one thing that is wrong with the store.
type Problem struct {
	Record string `json:"record"`
	What   string `json:"what"`
}

// Verify reads the whole store: every record decodes and lies under its own key,
// every index entry points to its record and every record has all its entries, the
// journal has no gap, every blob that is referred to is there and matches its digest,
// every span chunk belongs to a turn, and the counts of the sessions are the sums
// over their turns. It changes nothing; damaged records go to quarantine as with any read.
func (s *Store) Verify(ctx context.Context) (VerifyReport, error) {
	v := &verifier{ctx: ctx, report: VerifyReport{Checked: map[string]int{}, Problems: []Problem{}},
		counts: map[string]trace.Counts{}, stages: map[uint64]int{}, tables: map[byte]anyTable{}}
	for _, t := range tables {
		v.tables[t.kindByte()] = t
	}
	err := s.View(v.run)
	if err != nil {
		return v.report, fmt.Errorf("verify store: %w", err)
	}
	return v.report, nil
}

type verifier struct {
	ctx    context.Context
	tx     *Tx
	report VerifyReport
	tables map[byte]anyTable
	seq    uint64
	counts map[string]trace.Counts // sums over turns, by counts key
	stages map[uint64]int          // chunks that turns claim, by stage; less those seen
}

func (v *verifier) problem(key []byte, format string, args ...any) {
	if len(v.report.Problems) >= maxProblems {
		v.report.Omitted++
		return
	}
	v.report.Problems = append(v.report.Problems, Problem{keyText(key), fmt.Sprintf(format, args...)})
}

func (v *verifier) run(tx *Tx) error {
	v.tx = tx
	// Turns first: they claim the chunks and counts that are checked afterwards.
	if err := v.each([]byte{kindTurn}, v.turn); err != nil {
		return err
	}
	if err := v.each(nil, v.key); err != nil {
		return err
	}
	for stage, missing := range v.stages {
		if missing != 0 {
			v.problem(stageKey(stage), "%d of its span chunks are missing", missing)
		}
	}
	for k, sum := range v.counts {
		v.problem([]byte(k), "no counts stored, the turns have %+v", sum)
	}
	v.report.LastSeq = v.seq
	return nil
}

func (v *verifier) each(prefix []byte, fn func(k, val []byte) error) error {
	return v.tx.snap.scan(scan{prefix: prefix}, func(k, val []byte) (bool, error) {
		if err := v.ctx.Err(); err != nil {
			return false, context.Cause(v.ctx)
		}
		return true, fn(k, val)
	})
}

func (v *verifier) turn(k, val []byte) error {
	r, err := turns.decode(v.tx.snap, k, val)
	if err != nil {
		return notDamage(err) // reported with the other records
	}
	v.stages[r.Stage] += r.Chunks
	c := key(kindCounts, r.SessionID)
	sum := v.counts[string(c)]
	v.counts[string(c)] = trace.Counts{Turns: sum.Turns + r.Counts.Turns, Steps: sum.Steps + r.Counts.Steps,
		Calls: sum.Calls + r.Counts.Calls, Errors: sum.Errors + r.Counts.Errors}
	return nil
}

func (v *verifier) key(k, val []byte) error {
	switch k[0] {
	case kindMeta, kindStage, kindRemoving, kindBlobChunk:
		return nil
	case kindBlob:
		v.report.Checked["blob"]++
		_, err := readBlob(v.tx.snap, [32]byte(append(bytes.Clone(k[1:]), make([]byte, 32)...)))
		if err != nil && notDamage(err) == nil {
			v.problem(k, "%v", err)
			return nil
		}
		return err
	case kindCounts:
		var c trace.Counts
		if err := json.Unmarshal(val, &c); err != nil {
			v.problem(k, "%v", err)
		} else if sum := v.counts[string(k)]; c != sum {
			v.problem(k, "stored %+v, the turns have %+v", c, sum)
		}
		delete(v.counts, string(k))
		return nil
	}
	if t := v.tables[k[0]]; t != nil {
		return v.record(t, k, val)
	}
	return v.index(k, val)
}

func (v *verifier) record(t anyTable, k, val []byte) error {
	v.report.Checked[t.label()]++
	switch {
	case k[0] == kindEvent && len(k) == 9:
		seq := binary.BigEndian.Uint64(k[1:])
		if seq != v.seq+1 {
			v.problem(k, "the journal has a gap: %d follows %d", seq, v.seq)
		}
		v.seq = seq
	case k[0] == kindSpans && len(k) == 13:
		if err := v.chunk(k); err != nil {
			return err
		}
	}
	entries, err := t.entries(v.tx.snap, k, val)
	if err != nil {
		if v.tx.quarantine(k, val, err) {
			v.problem(k, "%v", err)
			return nil
		}
		return err
	}
	for _, e := range entries {
		to, found, err := v.tx.snap.get(e)
		if err != nil {
			return err
		}
		if !found || !bytes.Equal(to, k) {
			v.problem(k, "its entry in %s is missing", keyText(e))
		}
	}
	return nil
}

func (v *verifier) chunk(k []byte) error {
	stage := binary.BigEndian.Uint64(k[1:])
	if _, claimed := v.stages[stage]; claimed {
		v.stages[stage]--
		return nil
	}
	// Spans without a turn are in order while their stage is marked for the sweep.
	_, marked, err := v.tx.snap.get(stageKey(stage))
	if err == nil && !marked {
		v.problem(k, "no turn refers to these spans")
	}
	return err
}

func (v *verifier) index(k, to []byte) error {
	v.report.Checked["index"]++
	var t anyTable
	if len(to) > 0 {
		t = v.tables[to[0]]
	}
	if t == nil {
		v.problem(k, "an unknown key")
		return nil
	}
	val, found, err := v.tx.snap.get(to)
	if err != nil {
		return err
	}
	if !found {
		v.problem(k, "points to %s, which does not exist", keyText(to))
		return nil
	}
	entries, err := t.entries(v.tx.snap, to, val)
	if err != nil {
		return notDamage(err) // reported with the record
	}
	if !contains(entries, k) {
		v.problem(k, "points to %s, which does not belong there", keyText(to))
	}
	return nil
}

// notDamage drops damage and keeps real errors.
func notDamage(err error) error {
	var d *damage
	if errors.As(err, &d) {
		return nil
	}
	return err
}

// Lines is the text form of the report: what was checked, then each problem.
func (r VerifyReport) Lines() []string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(r.Checked)) {
		out = append(out, fmt.Sprintf("%8d %s checked", r.Checked[kind], kind))
	}
	for _, p := range r.Problems {
		out = append(out, p.Record+": "+p.What)
	}
	if r.Omitted > 0 {
		out = append(out, fmt.Sprintf("and %d more problems", r.Omitted))
	}
	if r.OK() {
		out = append(out, "no problems")
	}
	return out
}
