package acp_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"vise/engine/process"
	"vise/engine/trace"
	"vise/replay/driver"
	"vise/replay/driver/acp"
	"vise/replay/sample"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault    sample.Fault
		turn     time.Duration
		idle     time.Duration
		kind     driver.Kind
		message  string
		usable   bool // the session goes on
		leftover bool
	}{
		{fault: sample.Hang, turn: patience, kind: driver.Timeout, message: "agent.turn_timeout", usable: true},
		{fault: sample.Hang, idle: patience, kind: driver.IdleTimeout, message: "agent.idle_timeout", usable: true},
		{fault: sample.Deaf, turn: patience, kind: driver.Timeout, message: "agent.turn_timeout"},
		{fault: sample.Flood, usable: true},
		{fault: sample.LongLine, usable: true, kind: "", turn: time.Minute, idle: time.Minute},
		{fault: sample.HugeLine, kind: driver.LineTooLong, message: "33554432 bytes"},
		{fault: sample.Noise, usable: true},
		{fault: sample.Exit, kind: driver.AgentExited, message: "exit status 3"},
		{fault: sample.Detach, kind: driver.AgentExited, message: "1 detached descendant(s) killed", leftover: true},
	} {
		t.Run(fmt.Sprintf("%s %s", c.fault, c.kind), func(t *testing.T) {
			t.Parallel() // they wait more than they work
			cfg := agentConfig(t, sample.Options{Fault: c.fault, FaultTurn: 1})
			cfg.TurnTimeout, cfg.IdleTimeout = c.turn, c.idle
			if c.fault == sample.Deaf { // it will not answer, however long one waits
				cfg.CancelGrace = 300 * time.Millisecond
			}
			var log bytes.Buffer
			cfg.Log = &log
			var rec process.Record
			cfg.OnProcess = func(r process.Record) { rec = r }
			s := start(t, cfg)
			play(t, s, failing[0])
			begun := time.Now()
			turn, err := s.Prompt(t.Context(), 1, failing[1])
			if took := time.Since(begun); took > 3*time.Minute {
				t.Errorf("took %v", took)
			}
			if driver.KindOf(err) != c.kind {
				t.Fatalf("error is %v (kind %q), want kind %q", err, driver.KindOf(err), c.kind)
			}
			if err != nil && (!strings.Contains(err.Error(), c.message) || strings.Contains(err.Error(), "\n")) {
				t.Errorf("message is %q, want one line with %q", err, c.message)
			}
			if len(turn.Spans) == 0 && c.fault != sample.HugeLine {
				t.Error("what came before the fault is lost")
			}
			switch c.fault {
			case sample.Flood:
				if n := strings.Count(turn.Spans[0].Output, "x"); n != 5000 {
					t.Errorf("%d of 5000 updates arrived", n)
				}
			case sample.LongLine:
				if n := strings.Count(turn.Spans[0].Output, "y"); n != 12<<20 {
					t.Errorf("%d of %d bytes arrived", n, 12<<20)
				}
			case sample.Noise:
				if s.Info().Stray != 2 || !strings.Contains(log.String(), "[stdout] DEBUG refund desk warmed up") {
					t.Errorf("stray lines: %d, log %q", s.Info().Stray, log.String())
				}
				if turn.Spans[0].Name != "stray output" || turn.Spans[0].Attrs["lines"] != 2 {
					t.Errorf("first span = %+v", turn.Spans[0])
				}
			}
			if _, err := s.Prompt(t.Context(), 2, failing[2]); (err == nil) != c.usable {
				t.Errorf("next turn: %v, usable should be %v", err, c.usable)
			}
			exit := s.Close(context.Background())
			if (len(exit.Leftover) > 0) != c.leftover {
				t.Errorf("exit = %+v", exit)
			}
			if rec.Alive() || syscall.Kill(-rec.PGID, 0) == nil {
				t.Error("the group lives on")
			}
		})
	}
}

func TestAgentKilledInMidTurn(t *testing.T) {
	cfg := agentConfig(t, sample.Options{Fault: sample.Hang})
	var pid int
	cfg.OnProcess = func(r process.Record) { pid = r.PID }
	cfg.OnSpan = func(_ int, s trace.Span) { // it has begun to answer
		if s.Output == "Still thinking." {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	s := start(t, cfg)
	turn, err := s.Prompt(t.Context(), 0, failing[0])
	if driver.KindOf(err) != driver.AgentExited || !strings.Contains(err.Error(), "ended by signal: killed") {
		t.Errorf("error is %v", err)
	}
	if len(turn.Spans) != 1 || turn.Spans[0].Output != "Still thinking." {
		t.Errorf("spans = %+v", turn.Spans)
	}
}

func TestCallerCancels(t *testing.T) {
	t.Parallel()
	for _, fault := range []sample.Fault{sample.Hang, sample.Deaf} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			cfg := agentConfig(t, sample.Options{Fault: fault})
			cfg.OnSpan = func(int, trace.Span) { cancel() } // it has begun to answer
			if fault == sample.Deaf {
				cfg.CancelGrace = 300 * time.Millisecond
			}
			s := start(t, cfg)
			turn, err := s.Prompt(ctx, 0, failing[0])
			if driver.KindOf(err) != driver.Cancelled || len(turn.Spans) != 1 {
				t.Errorf("error is %v, spans %+v", err, turn.Spans)
			}
			if polite := turn.StopReason == "cancelled"; polite != (fault == sample.Hang) {
				t.Errorf("stop reason = %q", turn.StopReason)
			}
		})
	}
	// Start's own context ends the agent, whoever forgets to close it.
	ctx, cancel := context.WithCancel(t.Context())
	cfg := agentConfig(t, sample.Options{})
	var rec process.Record
	cfg.OnProcess = func(r process.Record) { rec = r }
	s, err := acp.Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for deadline := time.Now().Add(time.Minute); rec.Alive(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("agent outlives its context")
		}
	}
	s.Close(context.Background())
}
