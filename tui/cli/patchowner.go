package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"vise/engine/patch"
	"vise/engine/patch/run"
	"vise/store"
)

// ownerRequest is what a command asks of the process that owns the store: "at_work", or
// "cancel" of a run. Nothing is applied in this way: a coding agent may reach the
// owner's socket, and no agent approves its own patch.
type ownerRequest struct {
	Do    string `json:"do"`
	RunID string `json:"run_id,omitempty"`
}

// ownerReply is who owns the store, and on which patch runs it is at work.
type ownerReply struct {
	Who    string   `json:"who"`
	AtWork []string `json:"at_work"`
}

// answerPatch lets other commands ask about, and cancel, what a bench does.
func answerPatch(st *store.Store, b *patch.Bench, who string) {
	st.OnRequest(func(_ context.Context, raw []byte) ([]byte, error) {
		var q ownerRequest
		if err := json.Unmarshal(raw, &q); err != nil {
			return nil, err
		}
		switch q.Do {
		case "at_work":
		case "cancel":
			if err := b.Cancel(q.RunID); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("it does not know how to %q", q.Do)
		}
		return json.Marshal(ownerReply{Who: who, AtWork: b.AtWork()})
	})
}

func askOwner(ctx context.Context, dir string, q ownerRequest) (ownerReply, error) {
	var r ownerReply
	raw, err := json.Marshal(q)
	if err == nil {
		raw, err = store.Request(ctx, dir, raw)
	}
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	return r, err
}

// busyWith adds to the refusal of a busy store what its owner is doing, and what can be
// done about it.
func busyWith(ctx context.Context, err error) error {
	var busy *store.BusyError
	if !errors.As(err, &busy) {
		return err
	}
	r, asked := askOwner(ctx, busy.Dir, ownerRequest{Do: "at_work"})
	switch {
	case asked != nil:
		return err
	case len(r.AtWork) > 0:
		return fmt.Errorf("%w; it is %s, at work on patch run %s: wait for its end, or vise patch cancel %s", err, r.Who, strings.Join(r.AtWork, " and "), r.AtWork[0])
	}
	return fmt.Errorf("%w; it is %s", err, r.Who)
}

// cancelled ends what is at work on a run, here or in the process that owns the store,
// and returns the loop of the run, if it has one.
func (a *app) cancelled(ctx context.Context, name string) (id string, l run.Loop, found bool, err error) {
	err = a.withBench(ctx, true, func(b *patch.Bench, h *harness) error {
		if id, err = b.Find(name); err != nil {
			return err
		}
		l, found, err = b.Loop(id)
		switch {
		case err != nil:
			return err
		case !found:
			return fmt.Errorf("cancel %s: nothing to cancel: nothing is at work on it, and it was never repaired", id)
		case l.Status != "":
			return fmt.Errorf("cancel %s: nothing to cancel: it ended %s", id, l.Status)
		}
		l, err = b.Repair(ctx, patch.RepairRequest{RunID: id, MaxAttempts: h.cfg.Patch.MaxAttempts, MaxRuntime: h.cfg.Patch.MaxRuntime, Stepper: &stepsThen{0, patch.Cancel()}})
		return errors.Join(err, h.narrator.flush())
	})
	var busy *store.BusyError
	if !errors.As(err, &busy) {
		return id, l, found, err
	}
	err = a.readBench(ctx, func(b *patch.Bench, st *store.Store) error {
		if id, err = b.Find(name); err != nil {
			return err
		}
		r, err := b.Run(id)
		if err != nil {
			return err
		}
		at := id
		if r.RepairOf != "" { // the loop is that of its first run
			at = r.RepairOf
		}
		if _, err := askOwner(ctx, busy.Dir, ownerRequest{"cancel", at}); err != nil {
			return fmt.Errorf("cancel %s: %w", id, err)
		}
		if err := ended(ctx, busy.Dir, at); err != nil {
			return err
		}
		l, found, err = b.Loop(at)
		return err
	})
	return id, l, found, err
}

// cancelPatience is how long a cancelled run may take to end.
const cancelPatience = 2 * time.Minute

// ended waits until the owner is not at work on a run any more.
func ended(ctx context.Context, dir, id string) error {
	ctx, stop := context.WithTimeoutCause(ctx, cancelPatience, fmt.Errorf("cancel %s: it was told to end, and goes on after %s", id, cancelPatience))
	defer stop()
	for {
		r, err := askOwner(ctx, dir, ownerRequest{Do: "at_work"})
		if err != nil || !slices.Contains(r.AtWork, id) { // with an error it has ended, too: it owns nothing any more
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (a *app) patchCancel() *cobra.Command {
	return &cobra.Command{
		Use: "cancel RUN", Short: "End what is at work on a run, also in another process", Args: cobra.ExactArgs(1),
		Long: "Ends the agent of a run, its proof, or the loop that repairs it (CANCELLED), in whichever process it\n" +
			"goes on, and a loop that is held or was cut off. Nothing that was captured is lost.",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, _, _, err := a.cancelled(cmd.Context(), args[0])
			if err == nil {
				a.done("cancelled", id)
			}
			return err
		},
	}
}
