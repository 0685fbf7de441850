package run_test

import (
	"encoding/json"
	"testing"

	"vise/engine/internal/vectors"
	"vise/engine/patch/run"
)

func TestVectorsDigests(t *testing.T) {
	type input struct {
		Kind  string          `json:"kind"`
		Value json.RawMessage `json:"value"`
		run.Plan
		RunID    string      `json:"run_id"`
		Complete bool        `json:"complete"`
		Entries  []run.Entry `json:"entries"`
		Base     string      `json:"base_digest"`
		Patch    string      `json:"patch_digest"`
		Lock     string      `json:"lock_digest"`
		Image    string      `json:"image_digest"`
		PlanSum  string      `json:"plan_digest"`
		Target   string      `json:"target"`
	}
	vectors.RunPatch(t, "digests", func(t *testing.T, in input) any {
		must := func(s string, err error) string {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		switch in.Kind {
		case "canonical":
			raw, err := run.Canonical(in.Value)
			if err != nil {
				t.Fatal(err)
			}
			return map[string]any{"json": string(raw), "sha256": run.Sum(raw)}
		case "plan":
			return map[string]any{"digest": must(in.Plan.Digest())}
		case "patch":
			m, err := run.Manifest{SchemaVersion: 1, RunID: in.RunID, Complete: in.Complete, Entries: in.Entries}.Sealed()
			return map[string]any{"digest": must(m.Digest, err), "content_digest": must(m.ContentDigest())}
		case "cache_key":
			return map[string]any{"digest": must(run.Digest(map[string]string{"base_digest": in.Base, "patch_digest": in.Patch,
				"lock_digest": in.Lock, "image_digest": in.Image, "plan_digest": in.PlanSum, "target": in.Target}))}
		}
		t.Fatalf("unknown kind %q", in.Kind)
		return nil
	})
}
