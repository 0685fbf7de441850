package acp

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"vise/replay/driver"
)

// What an agent may take while its environment comes up, and afterwards.
func TestExecutionStarted(t *testing.T) {
	const notice = `{"jsonrpc":"2.0","method":"_vise.dev/execution_started","params":{}}`
	chunk := func(p *peer) {
		p.tell(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"working"}}`)
	}
	for _, c := range []struct {
		name      string
		announces bool
		script    func(*peer)
		began     time.Duration // -1 = never
		ended     time.Duration
		err       error
	}{
		{"silent until it says so", true, func(p *peer) {
			m := p.next()
			time.Sleep(8 * time.Minute)
			p.say(notice)
			time.Sleep(50 * time.Second)
			p.answer(m)
		}, 8 * time.Minute, 8*time.Minute + 50*time.Second, nil},
		{"an update, where nothing is announced", false, func(p *peer) {
			m := p.next()
			time.Sleep(3 * time.Minute)
			chunk(p)
			p.answer(m)
		}, 3 * time.Minute, 3 * time.Minute, nil},
		{"an update that tells of the wait", true, func(p *peer) {
			m := p.next()
			chunk(p)
			time.Sleep(9 * time.Minute)
			p.say(notice)
			p.answer(m)
		}, 9 * time.Minute, 9 * time.Minute, nil},
		{"a setting is no work", false, func(p *peer) {
			m := p.next()
			p.tell(`{"sessionUpdate":"available_commands_update","availableCommands":[]}`)
			time.Sleep(5 * time.Minute)
			p.answer(m)
		}, 5 * time.Minute, 5 * time.Minute, nil},
		{"never", true, func(p *peer) { p.next(); p.next() }, -1, 10*time.Minute + time.Second, errIdle},
		{"silent after it began", true, func(p *peer) {
			p.next()
			time.Sleep(4 * time.Minute)
			p.say(notice)
			p.next()
		}, 4 * time.Minute, 5*time.Minute + time.Second, errIdle},
		{"too long after it began", true, func(p *peer) {
			p.next()
			time.Sleep(4 * time.Minute)
			p.say(notice)
			for range 8 {
				time.Sleep(30 * time.Second)
				chunk(p)
			}
			p.next()
		}, 4 * time.Minute, 6*time.Minute + time.Second, errTurn},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, began, times := time.Now(), time.Duration(-1), 0
				s := connected(t, driver.Config{EnvWait: 10 * time.Minute, IdleTimeout: time.Minute, TurnTimeout: 2 * time.Minute,
					CancelGrace: time.Second, OnExecution: func() { began, times = time.Since(begun), times+1 }}, c.script)
				s.announces = c.announces
				_, err := s.Prompt(t.Context(), 0, "go")
				if took := time.Since(begun); took != c.ended || !errors.Is(err, c.err) {
					t.Errorf("ended after %v with %v, want %v with %v", took, err, c.ended, c.err)
				}
				synctest.Wait()
				if began != c.began || times > 1 {
					t.Errorf("began after %v, %d times, want %v", began, times, c.began)
				}
			})
		})
	}
}

// Without a wait the signal changes no time.
func TestExecutionWithoutWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		s := connected(t, driver.Config{IdleTimeout: time.Minute, TurnTimeout: 2 * time.Minute, CancelGrace: time.Second}, func(p *peer) {
			p.next()
			time.Sleep(50 * time.Second)
			p.say(`{"jsonrpc":"2.0","method":"_vise.dev/execution_started"}`)
			time.Sleep(50 * time.Second)
			p.say(`{"jsonrpc":"2.0","method":"_vise.dev/execution_started"}`)
			p.next()
		})
		if _, err := s.Prompt(t.Context(), 0, "go"); !errors.Is(err, errTurn) || time.Since(begun) != 2*time.Minute+time.Second {
			t.Errorf("ended after %v with %v", time.Since(begun), err)
		}
	})
}
