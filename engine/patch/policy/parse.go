package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// MaxFile bounds a policy file, in bytes.
const MaxFile = 256 << 10

// WeightNames are the names that scoring.weights may hold.
var WeightNames = []string{"review_created", "review_modified", "review_deleted", "denied_mutation", "denied_deletion", "sensitive_path",
	"dependency_change", "mode_change", "orphan_process", "opened_port", "budget_violation", "scope_drift"}

// elsewhere are keys of AgentDiff's policy files that mean nothing here, with the
// reason: a key that silently does nothing is worse than an error.
var elsewhere = map[string]string{
	"rollback":                 "the base is always kept, and vise patch apply --undo takes a patch back",
	"limits.processes_spawned": "processes are not counted",
	"proof.image":              "no container is started; the phases run in a clean workspace on this machine",
	"proof.trusted_digests":    "it never had an effect",
}

// Parse reads a policy file, TOML or, when its name ends in .json, JSON. Unknown
// keys, wrong types and empty globs are errors that name the file and the key.
func Parse(name string, raw []byte) (Policy, error) {
	fail := func(format string, a ...any) (Policy, error) {
		return Policy{}, fmt.Errorf("read policy %s: "+format, append([]any{name}, a...)...)
	}
	if len(raw) > MaxFile {
		return fail("it is longer than %d bytes", MaxFile)
	}
	var p Policy
	var tree map[string]any
	if strings.EqualFold(filepath.Ext(name), ".json") {
		if err := json.Unmarshal(raw, &tree); err != nil {
			return fail("%w", err)
		}
	} else if err := toml.Unmarshal(raw, &tree); err != nil {
		var de *toml.DecodeError
		if errors.As(err, &de) {
			row, col := de.Position()
			return fail("line %d, column %d: %w", row, col, err)
		}
		return fail("%w", err)
	}
	for key, why := range elsewhere {
		at := any(tree)
		for part := range strings.SplitSeq(key, ".") {
			m, _ := at.(map[string]any)
			at = m[part]
		}
		if at != nil {
			return fail("%s is refused: %s; remove it", key, why)
		}
	}
	// Both forms go through JSON, so that they mean exactly the same.
	plain, err := json.Marshal(tree)
	if err != nil {
		return fail("%w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(plain))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			is := "is"
			if strings.HasPrefix(wrong.Field, "proof.") && wrong.Type.Kind() != reflect.Bool {
				is = "has, or is,"
			}
			return fail("%s%s %s %s; write %s", lineOf(raw, wrong.Field), wrong.Field, is, given(wrong.Value), wanted(wrong.Field, wrong.Type))
		}
		return fail("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if p.Proof.Tests != nil && len(p.Proof.Tests) == 0 {
		return fail("%sproof.tests is empty: name a command, as in [[\"make\", \"test\"]], or leave it out, and the project's own tests are run", lineOf(raw, "proof.tests"))
	}
	p = p.filled()
	if err := p.check(); err != nil {
		return fail("%w", err)
	}
	return p, nil
}

func (p Policy) check() error {
	if p.Version != 1 && p.Version != 2 {
		return fmt.Errorf("version is %d; write version = 2", p.Version)
	}
	for key, a := range map[string]Action{"filesystem.default": p.Filesystem.Default, "process.default": p.Process.Default} {
		if !slices.Contains([]Action{Allow, Review, Deny}, a) {
			return fmt.Errorf("%s is %q; use allow, review or deny", key, a)
		}
	}
	if p.Network.Mode != "observe" && p.Network.Mode != "off" {
		return fmt.Errorf("network.mode is %q; use observe or off", p.Network.Mode)
	}
	for key, n := range map[string]*int{"files_changed": p.Limits.FilesChanged, "files_deleted": p.Limits.FilesDeleted, "duration_seconds": p.Limits.DurationSeconds} {
		if n != nil && *n < 0 {
			return fmt.Errorf("limits.%s is %d; it cannot be negative", key, *n)
		}
	}
	for name, w := range p.Scoring.Weights {
		if !slices.Contains(WeightNames, name) || w < 0 {
			return fmt.Errorf("scoring.weights.%s = %d: the names are %s, the weights 0 or more", name, w, strings.Join(WeightNames, ", "))
		}
	}
	for key, list := range map[string][]string{"filesystem.allow_write": p.Filesystem.AllowWrite, "filesystem.review": p.Filesystem.Review,
		"filesystem.deny": p.Filesystem.Deny, "process.allow": p.Process.Allow, "process.review": p.Process.Review, "process.deny": p.Process.Deny} {
		for i, g := range list {
			if slices.Contains(strings.Split(g, "/"), "") {
				return fmt.Errorf("%s[%d] = %q can never match: globs are relative and have no empty part", key, i, g)
			}
			if unclosed(g) {
				return fmt.Errorf("%s[%d] = %q has a [ that is never closed; close it, or write [[] for the character", key, i, g)
			}
		}
	}
	for key, list := range map[string][][]string{"setup": p.Proof.Setup, "build": p.Proof.Build, "tests": p.Proof.Tests} {
		for i, argv := range list {
			if len(argv) == 0 || argv[0] == "" {
				return fmt.Errorf("proof.%s[%d] has no program; write it as a list of arguments", key, i)
			}
		}
	}
	return nil
}
