package run

import (
	"slices"
	"strings"

	"vise/engine/patch/policy"
)

// Change types.
const (
	Created  = "created"
	Modified = "modified"
	Deleted  = "deleted"
)

// Entry is one changed path of a patch. A pointer is nil where there is nothing:
// no base for a created path, no result for a deleted one. Modes are the nine
// permission bits. A symbolic link has its target's digest and size and mode 0777.
type Entry struct {
	Path         string        `json:"path"`
	ChangeType   string        `json:"change_type"`
	Decision     policy.Action `json:"decision"`
	BaseSHA256   *string       `json:"base_sha256"`
	ResultSHA256 *string       `json:"result_sha256"`
	BaseMode     *int          `json:"base_mode"`
	ResultMode   *int          `json:"result_mode"`
	Size         *int64        `json:"size"`
	Materialized bool          `json:"materialized"`
	Reason       string        `json:"reason"`
	// BaseLink and ResultLink are the targets of symbolic links.
	BaseLink   *string `json:"base_link,omitempty"`
	ResultLink *string `json:"result_link,omitempty"`
	// RenamedFrom names a deleted path of the same patch with the same content.
	RenamedFrom string `json:"renamed_from,omitempty"`
	Binary      bool   `json:"binary,omitempty"`
}

// ModeChanged reports that a path stayed and its permission bits did not.
func (e Entry) ModeChanged() bool {
	return e.BaseMode != nil && e.ResultMode != nil && *e.BaseMode != *e.ResultMode
}

// Manifest is a patch: what changed against a base. The bytes are in the patch
// folder's objects, by digest.
type Manifest struct {
	SchemaVersion int     `json:"schema_version"` // 1
	RunID         string  `json:"run_id"`
	Complete      bool    `json:"complete"` // every entry is materialized
	Entries       []Entry `json:"entries"`  // by path
	// Digest is the canonical digest of the manifest without it.
	Digest string `json:"digest"`
}

// NewManifest makes the manifest of a run's entries.
func NewManifest(runID string, entries []Entry) (Manifest, error) {
	m := Manifest{SchemaVersion: 1, RunID: runID, Complete: true, Entries: slices.Clone(entries)}
	if m.Entries == nil {
		m.Entries = []Entry{}
	}
	slices.SortFunc(m.Entries, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	for _, e := range m.Entries {
		m.Complete = m.Complete && e.Materialized
	}
	return m.Sealed()
}

// Sealed returns the manifest with its digest.
func (m Manifest) Sealed() (Manifest, error) {
	digest, err := Digest(map[string]any{"schema_version": m.SchemaVersion, "run_id": m.RunID, "complete": m.Complete, "entries": m.Entries})
	m.Digest = digest
	return m, err
}

// ContentDigest identifies the patch whatever run made it.
func (m Manifest) ContentDigest() (string, error) {
	return Digest(map[string]any{"schema_version": m.SchemaVersion, "complete": m.Complete, "entries": m.Entries})
}

// Plan are the commands of a proof.
type Plan struct {
	Setup [][]string `json:"setup"`
	Build [][]string `json:"build"`
	Tests [][]string `json:"tests"`
}

// Digest identifies the commands: "sha256:" and the canonical digest.
func (p Plan) Digest() (string, error) {
	for _, l := range []*[][]string{&p.Setup, &p.Build, &p.Tests} {
		if *l == nil {
			*l = [][]string{}
		}
	}
	digest, err := Digest(p)
	return "sha256:" + digest, err
}
