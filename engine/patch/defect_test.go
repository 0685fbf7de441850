package patch_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vise/engine/patch"
	"vise/engine/patch/run"
)

// Each test here is named after a defect of AgentDiff 0.4.0, and fails on what that
// one does. (The others are beside what they are about; see TestEveryDefectHasATest.)

// A packet is named by a path that is there, wherever the agent runs.
func TestD03PacketIsWhereItIsToldToBe(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent("printf wrong > value.txt", `case "$VISE_PACKET" in /*) ;; *) exit 7;; esac
grep -q '"failed_tests"' "$VISE_PACKET" && printf right > value.txt`))
	want(t, d.repair(r.ID, nil), run.Repaired, "")
}

// Every run has a workspace of its own, and its patch is what changed there.
func TestD04EveryRepairHasAFreshWorkspace(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent("printf wrong > value.txt; mkdir .cache; touch node_modules; pwd", "[ -e node_modules ] || printf right > value.txt; pwd"))
	l := d.repair(r.ID, nil)
	want(t, l, run.Repaired, "")
	fixed, err := d.bench.Run(l.Repaired)
	if err != nil || !strings.Contains(fixed.Answer, fixed.ID) || fixed.Answer == r.Answer || len(fixed.Patch.Entries) != 1 {
		t.Errorf("it worked in %q, then in %q; its patch %+v, %v", r.Answer, fixed.Answer, fixed.Patch, err)
	}
}

// What this machine lacks is nothing that an agent could mend, and is not kept for
// good: with the compiler there the same run is proven.
func TestD06EnvironmentLaunchesNobody(t *testing.T) {
	lacking := strings.Replace(fast, `"sh", "check.sh"`, `"no-such-compiler-here"`, 1)
	t.Run("outcome", ending{first: broken, files: map[string]string{"vise-policy.toml": lacking}, status: run.NeedsHuman, code: "environment", also: "no-such-compiler-here"}.check)
	t.Run("later", func(t *testing.T) {
		d := newDesk(t, value, func(o *patch.Options) { o.Sandbox = "off" })
		tool := filepath.Join(d.root, ".vise", "tool")
		write(t, d.root, "vise-policy.toml", strings.Replace(fast, `"sh", "check.sh"`, `"`+tool+`"`, 1))
		r := d.start([]string{"sh", "-c", "printf right > value.txt"})
		r, err := d.bench.Prove(t.Context(), r.ID)
		if err != nil || r.Proof.Class != "environment" {
			t.Fatalf("%+v, %v", r.Proof, err)
		}
		write(t, d.root, ".vise/tool", "#!/bin/sh\nexit 0\n")
		if err := os.Chmod(tool, 0o755); err != nil {
			t.Fatal(err)
		}
		if r, err = d.bench.Prove(t.Context(), r.ID); err != nil || r.Proof.Verdict != run.Proven {
			t.Errorf("with its tool: %+v, %v", r.Proof, err)
		}
	})
}

// A crossing at the last attempt is a person's, not a failure.
func TestD09CrossingAtTheLimitNeedsAPerson(t *testing.T) {
	ending{first: broken + "; echo x >> go.mod", change: func(q *patch.RepairRequest) { q.MaxAttempts = 1 }, status: run.NeedsHuman, code: "boundary_before_repair"}.check(t)
}

// A patch that is proven is looked at before it succeeds, and one that never failed
// is told from one that was repaired.
func TestD10ProvenIsLookedAt(t *testing.T) {
	t.Run("crossing", ending{first: "printf right > value.txt; echo x >> go.mod", status: run.NeedsHuman, code: "boundary_before_repair", also: "go.mod"}.check)
	t.Run("nothing was broken", ending{first: "printf right > value.txt", status: run.Repaired, code: "already_proven"}.check)
}

// A repair that takes everything back repairs nothing, though the base passes.
func TestD11EmptyPatchIsNoRepair(t *testing.T) {
	files := map[string]string{"check.sh": "[ \"$(cat value.txt)\" = base ] || { echo 1 failed; exit 1; }\n"}
	ending{first: broken, again: "printf base > value.txt", files: files, change: func(q *patch.RepairRequest) { q.MaxAttempts = 9 }, status: run.GaveUp, code: "no_progress", also: "took everything back"}.check(t)
}

// A deleted or weakened test needs a person, also when everything passes then.
func TestD12LostTestsNeedAPerson(t *testing.T) {
	t.Run("deleted", ending{first: broken, again: "printf right > value.txt; rm value_test.go", status: run.NeedsHuman, code: "boundary_after_repair", also: "test file is deleted"}.check)
	t.Run("weakened", ending{first: broken, again: "printf right > value.txt; echo 'package x' > value_test.go", status: run.NeedsHuman, code: "boundary_after_repair", also: "TestA is gone"}.check)
}

// A first run that failed is not made good by a repair that does nothing, and the
// patch of a repair is the whole change against the first base.
func TestD13FailedAgentIsNotLaundered(t *testing.T) {
	t.Run("laundered", ending{first: "printf right > value.txt; exit 3", again: "true", status: run.GaveUp, code: "no_progress"}.check)
	t.Run("crossing earlier", ending{first: broken + "; echo x >> go.mod", again: "printf right > value.txt", change: func(q *patch.RepairRequest) { q.MaxAttempts = 5 },
		status: run.NeedsHuman, code: "boundary_before_repair", also: "go.mod"}.check)
}

// The decision about the program is part of the boundary.
func TestD14ProgramThatNeedsReview(t *testing.T) {
	review := map[string]string{"vise-policy.toml": strings.Replace(fast, "default = \"allow\"\n[proof]", "default = \"review\"\n[proof]", 1)}
	ending{first: "printf right > value.txt", files: review, status: run.NeedsHuman, code: "boundary_before_repair", also: "program"}.check(t)
}

// The agent gets the arguments that it had, secrets included; what is stored and
// shown is masked, and the file that has them is its owner's only.
func TestD16ArgumentsAreNotReplayedMasked(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start([]string{"sh", "-c", `if [ -z "$VISE_PACKET" ]; then printf wrong > value.txt; elif [ "$2" = hunter2 ]; then printf right > value.txt; fi`, "agent", "--api-key", "hunter2"})
	want(t, d.repair(r.ID, nil), run.Repaired, "")
	if got := r.Command[len(r.Command)-1]; got != "<redacted>" {
		t.Errorf("the stored command ends with %s", got)
	}
	info, err := os.Stat(filepath.Join(d.o.Dir, "patch", "runs", r.ID, "command.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the private command: %v %v", info, err)
	}
}

// An agent that reads its input is at its end at once, and nothing waits.
func TestD18InputIsClosed(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent(`[ "$(cat | wc -c)" -eq 0 ] && printf wrong > value.txt; echo speaks`, `[ "$(cat | wc -c)" -gt 100 ] && printf right > value.txt`))
	if r.Status != run.Passed || r.Answer != "speaks" || len(r.Patch.Entries) != 1 {
		t.Errorf("%s, it said %q", r.Status, r.Answer)
	}
	want(t, d.repair(r.ID, nil), run.Repaired, "")
}

// Workspaces go, the evidence stays: the patch, the packet, the output of every run.
func TestD19EvidenceOutlivesTheWorkspace(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent("printf wrong > value.txt", "printf right > value.txt; echo mended"))
	l := d.repair(r.ID, nil)
	for _, id := range l.Runs {
		home := filepath.Join(d.o.Dir, "patch", "runs", id)
		if _, err := os.Stat(filepath.Join(home, "work")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the workspace of %s is left behind: %v", id, err)
		}
		if _, err := os.Stat(filepath.Join(home, "agent.log")); err != nil {
			t.Errorf("its output is gone: %v", err)
		}
		if list, err := d.bench.Diff(id); err != nil || len(list) != 1 || list[0].Text == "" {
			t.Errorf("its patch is gone: %+v, %v", list, err)
		}
	}
	if _, err := patch.ReadPacket(filepath.Join(d.bench.RepairDir(r.ID), "attempt-1-packet.json")); err != nil {
		t.Error(err)
	}
}

// The policy is nothing that an agent may edit, so none gives itself permissions.
func TestD25PolicyIsNoOrdinaryPath(t *testing.T) {
	ending{first: broken, again: "printf right > value.txt; echo '# x' >> vise-policy.toml", status: run.NeedsHuman, code: "boundary_after_repair", also: "protected (policy)"}.check(t)
}

// A failure is proven anew whenever it is asked for, and a flaky one once more by
// itself: no verdict is kept for good.
func TestD29FailedProofIsNoVerdictForGood(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "runs")
	files := map[string]string{"value.txt": "base", "check.sh": "#!/bin/sh\necho x >> " + marker + "\n[ \"$(wc -l < " + marker + ")\" -gt 2 ] && exit 0\necho '1 failed'; exit 1\n", "vise-policy.toml": fast}
	d := newDesk(t, files, func(o *patch.Options) { o.Sandbox = "off" })
	r := d.start([]string{"sh", "-c", "printf x > value.txt"})
	r, err := d.bench.Prove(t.Context(), r.ID)
	if err != nil || r.Proof.Verdict != run.NotProven || !r.Proof.Repeated {
		t.Fatalf("%+v, %v", r.Proof, err)
	}
	if r, err = d.bench.Prove(t.Context(), r.ID); err != nil || r.Proof.Verdict != run.Proven {
		t.Errorf("proven again: %+v, %v", r.Proof, err)
	}
}

// A repair begins with the failed patch and knows the task; files of the first patch
// are in its own.
func TestD30RepairDoesNotStartBlind(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent("printf wrong > value.txt; mkdir -p new/deep; echo n > new/deep/file", `[ "$(cat value.txt)" = wrong ] && grep -q '"make it right"' "$VISE_PACKET" && printf right > value.txt`))
	l := d.repair(r.ID, nil)
	want(t, l, run.Repaired, "")
	fixed, err := d.bench.Run(l.Repaired)
	if err != nil || len(fixed.Patch.Entries) != 2 || fixed.Patch.Entries[0].Path != "new/deep/file" {
		t.Errorf("the repaired patch is %+v, %v", fixed.Patch, err)
	}
}

// The same patch, and the same failure, end a loop that may go on for long.
func TestD33NoProgressEndsTheLoop(t *testing.T) {
	many := func(q *patch.RepairRequest) { q.MaxAttempts = 9 }
	t.Run("same patch", ending{first: broken, again: "true", change: many, status: run.GaveUp, code: "no_progress", also: "same patch"}.check)
	t.Run("same failure", ending{first: broken, again: "printf worse > value.txt", change: many, status: run.GaveUp, code: "no_progress", also: "same failure"}.check)
}

// A repair that crosses leaves the project as it was, and the outcome tells of its
// run and of every cause.
func TestD34CrossingIsRecordedAndUndoesNothing(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent(broken, "printf right > value.txt; echo x > bun.lock; echo x >> go.mod"))
	l := d.repair(r.ID, nil)
	want(t, l, run.NeedsHuman, "boundary_after_repair")
	if b, _ := os.ReadFile(filepath.Join(d.root, "value.txt")); string(b) != "base" {
		t.Errorf("the project's value.txt is %q", b)
	}
	if o := patch.OutcomeOf(l); len(o.Runs) != 2 || len(o.Reason.Causes) < 2 || !strings.Contains(o.HumanReason, "bun.lock") || !strings.Contains(o.HumanReason, "go.mod") {
		t.Errorf("the outcome is %+v", o)
	}
}

// D27: the policy that a run was made under is bound to its loop.
func TestD27PolicyIsBound(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent("printf wrong > value.txt", "printf right > value.txt"))
	write(t, d.root, "vise-policy.toml", strings.Replace(fast, `["**"]`, `["**", "x"]`, 1))
	l := d.repair(r.ID, nil)
	want(t, l, run.NeedsHuman, "policy_moved")
}

// D32: one loop a run.
func TestD32OneLoopARun(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start(agent("printf wrong > value.txt", "printf right > value.txt"))
	inside := false
	d.repair(r.ID, func(q *patch.RepairRequest) {
		second := *q
		q.Stepper = stepper(func(run.Loop) error {
			if _, err := d.bench.Repair(t.Context(), second); err == nil || !strings.Contains(err.Error(), "being repaired already") {
				t.Errorf("a second loop: %v", err)
			}
			if err := d.bench.Remove(t.Context(), r.ID, true); err == nil {
				t.Error("the run was removed under its loop")
			}
			inside = true
			return nil
		})
	})
	if !inside {
		t.Error("the stepper was never asked")
	}
}

// D36: a limit that is reached is not exceeded.
func TestD36LimitReachedIsNotExceeded(t *testing.T) {
	files := map[string]string{"value.txt": "base", "check.sh": "exit 0\n", "vise-policy.toml": fast + "[limits]\nfiles_changed = 1\n"}
	d := newDesk(t, files, nil)
	one := d.start([]string{"sh", "-c", "echo x > a.txt"})
	two := d.start([]string{"sh", "-c", "echo x > a.txt; echo x > b.txt"})
	if len(one.Limits) != 0 || len(two.Limits) != 1 || len(two.Causes) != 1 || two.Outcome != "review" {
		t.Errorf("limits %+v and %+v, causes %+v", one.Limits, two.Limits, two.Causes)
	}
}

// D35: what is said about the sandbox is what holds: an agent that is confined
// cannot write to the project, and one that is not says so.
func TestD35SandboxIsWhatItSays(t *testing.T) {
	d := newDesk(t, value, nil)
	r := d.start([]string{"sh", "-c", "echo x > " + filepath.Join(d.root, "escaped") + "; printf right > value.txt"})
	_, err := os.Stat(filepath.Join(d.root, "escaped"))
	if held := strings.HasPrefix(r.Sandbox, "sandbox fs"); held != errors.Is(err, os.ErrNotExist) {
		t.Errorf("it says %q; the file outside: %v", r.Sandbox, err)
	}
	off := newDesk(t, value, func(o *patch.Options) { o.Sandbox = "off" })
	if r := off.start([]string{"sh", "-c", "true"}); !strings.Contains(r.Sandbox, "no sandbox") {
		t.Errorf("without one it says %q", r.Sandbox)
	}
}
