package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vise/engine/event"
	"vise/engine/trace"
)

// childEnv makes the test binary run one of the roles below instead of the tests.
const childEnv = "VISE_STORE_TEST_CHILD"

// child runs a part of a test in a process of its own, when it was started for that.
func child() bool {
	role, dir, _ := strings.Cut(os.Getenv(childEnv), ":")
	ctx := context.Background()
	o := Options{Dir: dir, MinFree: 1}
	fail := func(err error) {
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
	switch role {
	case "":
		return false
	case "write": // acknowledges every turn on stdout until it is killed
		s, err := Open(ctx, o)
		fail(err)
		for i := 0; ; i++ {
			staged, err := s.StageTurn(ctx, turnOf("s", i, 40))
			fail(err)
			fail(s.Update(ctx, func(tx *Tx) error {
				if err := tx.PutTurn(staged); err != nil {
					return err
				}
				return tx.Emit(event.Event{Type: event.TurnReplayed, SessionID: "s", TurnIndex: event.Turn(i)})
			}))
			fmt.Println(i)
		}
	case "stage": // leaves a large turn staged and not put
		s, err := Open(ctx, o)
		fail(err)
		_, err = s.StageTurn(ctx, bigTurn())
		fail(err)
		fmt.Println("staged")
		select {}
	case "read": // reads through the owner
		s, err := OpenRead(ctx, o)
		fail(err)
		if s.Owner() {
			fail(fmt.Errorf("became the owner beside another one"))
		}
		fail(s.View(func(tx *Tx) error {
			turn, found, err := tx.Turn("s", 0)
			fmt.Println("spans", len(turn.Spans), found)
			rules, _ := tx.Rules()
			fmt.Println("rules", len(rules))
			return err
		}))
		fmt.Println("update:", s.Update(ctx, func(*Tx) error { return nil }))
		fail(s.Follow(ctx, 0, func(e event.Event) error {
			fmt.Println("event", e.Seq, e.Type)
			if e.Type == event.Health {
				fail(s.Close())
				os.Exit(0)
			}
			return nil
		}))
	case "bar": // reads what it may not write
		s, err := OpenRead(ctx, o)
		if err != nil {
			fmt.Println("error:", err)
			return true
		}
		fail(s.View(func(tx *Tx) error {
			turn, found, err := tx.Turn("s", 0)
			fmt.Println("spans", len(turn.Spans), found, s.Owner(), s.Unwritable() != nil)
			return err
		}))
		fmt.Println("update:", s.Update(ctx, func(*Tx) error { return nil }))
		_, err = Open(ctx, o)
		fmt.Println("open:", err)
		v, err := OpenView(ctx, o)
		fmt.Println("view:", err)
		fail(v.Close())
		fail(s.Close())
	case "open": // wants to own
		s, err := Open(ctx, o)
		if err != nil {
			fmt.Println("error:", err)
			return true
		}
		fail(s.Close())
		fmt.Println("opened")
	}
	return true
}

func bigTurn() trace.Turn {
	turn := turnOf("big", 0, 3000)
	for i := range turn.Spans {
		turn.Spans[i].Output = noise(i, 1000)
	}
	return turn
}

// spawn starts the test binary in a role; it is killed at the end of the test.
func spawn(t *testing.T, role, dir string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+role+":"+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}

func TestKillLosesNothingAcknowledged(t *testing.T) {
	dir := t.TempDir()
	for round := range 3 {
		cmd, out := spawn(t, "write", dir)
		last := -1
		for out.Scan() {
			if _, err := fmt.Sscan(out.Text(), &last); err != nil {
				t.Fatalf("child says %q", out.Text())
			}
			if last >= 40*(round+1) {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				// What was acknowledged before the kill may still be in the pipe.
				for out.Scan() {
					_, _ = fmt.Sscan(out.Text(), &last)
				}
				break
			}
		}
		_ = cmd.Wait()
		s, err := Open(t.Context(), Options{Dir: dir, MinFree: 1})
		if err != nil {
			t.Fatalf("after kill -9: %v", err)
		}
		r, crashed := s.Recovery()
		if !crashed || r.PID != cmd.Process.Pid {
			t.Errorf("recovery %+v, %v: want the pid %d of the killed owner", r, crashed, cmd.Process.Pid)
		}
		view(t, s, func(tx *Tx) error {
			list, err := tx.Turns("s", 0, 0)
			if len(list) <= last {
				t.Errorf("%d turns are there, %d were acknowledged", len(list), last+1)
			}
			for i, turn := range list[:min(len(list), last+1)] {
				if turn.Index != i || len(turn.Spans) != 40 {
					t.Errorf("turn %d: index %d, %d spans", i, turn.Index, len(turn.Spans))
				}
			}
			return err
		})
		sound(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := disk(t, dir)
	if r, crashed := s.Recovery(); crashed {
		t.Errorf("recovery %+v after a clean close", r)
	}
}

func TestUnfinishedTurnIsSweptAfterKill(t *testing.T) {
	dir := t.TempDir()
	cmd, out := spawn(t, "stage", dir)
	if !out.Scan() || out.Text() != "staged" {
		t.Fatalf("child says %q", out.Text())
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	s := disk(t, dir)
	if r, _ := s.Recovery(); r.Dropped != 1 {
		t.Errorf("recovery %+v, want one dropped turn", r)
	}
	st, err := s.Stats()
	if err != nil || st.Records["spans"] != 0 {
		t.Errorf("stats %+v, %v: want no spans", st, err)
	}
	sound(t, s)
}

// TestLogsWithoutASize: a kill between the creation of a log and its growth leaves
// an empty file behind, which must not keep the store from opening.
func TestLogsWithoutASize(t *testing.T) {
	dir := t.TempDir()
	s := disk(t, dir)
	update(t, s, func(tx *Tx) error { return tx.PutRule(ruleOf(1)) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"00001.mem", "00099.mem", "000099.vlog"} {
		f, err := os.OpenFile(filepath.Join(dir, "store", name), os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	s = disk(t, dir)
	view(t, s, func(tx *Tx) error {
		rules, err := tx.Rules()
		if len(rules) != 1 {
			t.Errorf("rules: %+v", rules)
		}
		return err
	})
	sound(t, s)
}

func TestOtherProcessesReadThroughTheOwner(t *testing.T) {
	for _, name := range []string{"short", strings.Repeat("a-very-long-folder-name/", 6)} {
		t.Run(name[:5], func(t *testing.T) {
			dir := t.TempDir() + "/" + name
			s := disk(t, dir)
			staged := stage(t, s, bigTurn2())
			update(t, s, func(tx *Tx) error {
				for i := range 700 { // more than one batch of the protocol
					if err := tx.PutRule(ruleOf(i)); err != nil {
						return err
					}
				}
				return tx.PutTurn(staged)
			})
			update(t, s, func(tx *Tx) error { return tx.Emit(event.Event{Type: event.RuleAdd}) })
			_, out := spawn(t, "read", dir)
			want := []string{"spans 3000 true", "rules 700",
				fmt.Sprintf("update: store %s is owned by process %d: end it first; commands that only read work beside it", dir, os.Getpid()),
				"event 1 rule_add"}
			for _, w := range want {
				if !out.Scan() || out.Text() != w {
					t.Fatalf("reader says %q, want %q", out.Text(), w)
				}
			}
			// It waits now; what comes later reaches it.
			update(t, s, func(tx *Tx) error { return tx.Emit(event.Event{Type: event.Health}) })
			if !out.Scan() || out.Text() != "event 2 health" {
				t.Fatalf("reader says %q", out.Text())
			}
			_, out = spawn(t, "open", dir)
			if !out.Scan() || !strings.Contains(out.Text(), fmt.Sprintf("owned by process %d", os.Getpid())) {
				t.Errorf("second owner says %q", out.Text())
			}
		})
	}
}

func bigTurn2() trace.Turn {
	turn := bigTurn()
	turn.SessionID, turn.TraceID = "s", "s.0"
	turn.Input = noise(7, 3<<20)
	return turn
}
