package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vise/engine/event"
	"vise/engine/trace"
)

// remote returns a view of a store that this very process owns: the protocol does not care.
func remote(t *testing.T, dir string) *Store {
	t.Helper()
	s := &Store{o: Options{Dir: dir, MinFree: 1}.withDefaults()}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestRemoteViewSeesOneSnapshot(t *testing.T) {
	dir := t.TempDir()
	s := disk(t, dir)
	r := remote(t, dir)
	update(t, s, func(tx *Tx) error { return tx.PutState("x", 1) })
	view(t, r, func(tx *Tx) error {
		update(t, s, func(tx *Tx) error { return tx.PutState("x", 2) })
		var x int
		if found, err := tx.State("x", &x); !found || err != nil || x != 1 {
			t.Errorf("state %d, %v, %v: want what the snapshot had", x, found, err)
		}
		return nil
	})
	view(t, r, func(tx *Tx) error {
		var x int
		if _, _ = tx.State("x", &x); x != 2 {
			t.Errorf("state %d in a later view", x)
		}
		return nil
	})
}

func TestRemoteScansAgreeWithLocalOnes(t *testing.T) {
	dir := t.TempDir()
	s := disk(t, dir)
	r := remote(t, dir)
	update(t, s, func(tx *Tx) error {
		for i := range 1300 {
			if err := tx.PutSession(trace.Session{ID: fmt.Sprintf("s%04d", i), Started: time.Unix(int64(i), 0)}); err != nil {
				return err
			}
		}
		return nil
	})
	for _, w := range []Window{{}, {Oldest: true}, {Limit: 600}, {After: "s0700", Limit: 650}, {Oldest: true, After: "s0700"}} {
		var local, far []trace.Session
		view(t, s, func(tx *Tx) (err error) { local, err = tx.Sessions(w); return err })
		view(t, r, func(tx *Tx) (err error) { far, err = tx.Sessions(w); return err })
		same(t, fmt.Sprintf("window %+v", w), far, local)
		if len(local) == 0 {
			t.Errorf("window %+v is empty", w)
		}
	}
}

func TestRemoteViewWithoutAnOwner(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error { return tx.PutState("x", 5) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := remote(t, dir)
	for range 2 { // opens the store for each call and gives it back
		view(t, r, func(tx *Tx) error {
			var x int
			if _, err := tx.State("x", &x); x != 5 {
				t.Errorf("state %d, %v", x, err)
			}
			return nil
		})
	}
	disk(t, dir) // fails when the view has kept the ownership
}

func TestFollowSurvivesAChangeOfOwner(t *testing.T) {
	dir := t.TempDir()
	r := remote(t, dir)
	got := make(chan uint64)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	open := func() *Store {
		s, err := Open(t.Context(), Options{Dir: dir, MinFree: 1})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	go func() {
		done <- r.Follow(ctx, 0, func(e event.Event) error { got <- e.Seq; return nil })
	}()
	for want := uint64(1); want <= 6; want++ {
		update(t, s, func(tx *Tx) error { return tx.Emit(event.Event{Type: event.Health}) })
		select {
		case seq := <-got:
			if seq != want {
				t.Fatalf("event %d, want %d", seq, want)
			}
		case err := <-done:
			t.Fatalf("Follow ended before event %d: %v", want, err)
		}
		if want%2 == 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = open()
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Follow returned %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFollowStopsWithTheCallersError(t *testing.T) {
	s := memory(t, Options{})
	update(t, s, func(tx *Tx) error { return tx.Emit(event.Event{Type: event.Health}) })
	enough := errors.New("enough")
	if err := s.Follow(t.Context(), 0, func(event.Event) error { return enough }); err != enough {
		t.Errorf("Follow returned %v", err)
	}
}

func TestServerRefusesNonsense(t *testing.T) {
	dir := t.TempDir()
	s := disk(t, dir)
	tests := map[string][]byte{
		"an unknown protocol":    {0, 0, 0, 2, opBegin, 99},
		"a read before begin":    {0, 0, 0, 2, opGet, 'm'},
		"a cut scan":             {0, 0, 0, 2, opScan, 0},
		"a short wait":           {0, 0, 0, 2, opWait, 0},
		"a frame without length": {0, 0, 0, 0},
		"a huge frame":           {0xff, 0xff, 0xff, 0xff, opGet},
	}
	for name, bytes := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("unix", s.server.path)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			if _, err := c.Write(bytes); err != nil {
				t.Fatal(err)
			}
			for {
				op, _, err := readFrame(c, maxAnswer)
				if err != nil {
					if errors.Is(err, os.ErrDeadlineExceeded) {
						t.Error("the server neither answers nor hangs up")
					}
					return
				}
				if op != ansError {
					t.Errorf("answer %q", rune(op))
				}
			}
		})
	}
	view(t, remote(t, dir), func(*Tx) error { return nil }) // it still serves
}

func TestSocketIsPrivate(t *testing.T) {
	s := disk(t, t.TempDir())
	info, err := os.Stat(s.server.path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket mode %v, %v", info.Mode(), err)
	}
}

func TestUnusableFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, open := range []func(context.Context, Options) (*Store, error){Open, OpenRead} {
		_, err := open(t.Context(), Options{Dir: filepath.Join(file, ".vise")})
		if err == nil || !strings.Contains(err.Error(), "cannot be written") {
			t.Errorf("error %v", err)
		}
	}
}

func TestFullDisk(t *testing.T) {
	free := uint64(DefaultMinFree)
	bus := event.NewBus()
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir, Bus: bus, Free: func(string) (uint64, error) { return free, nil }})
	if err != nil {
		t.Fatal(err)
	}
	put := func(x int) error {
		return s.Update(t.Context(), func(tx *Tx) error { return tx.PutState("x", x) })
	}
	if err := put(1); err != nil {
		t.Fatal(err)
	}
	free--
	var full *FullError
	if err := put(2); !errors.As(err, &full) || full.Free != free || full.Need != DefaultMinFree {
		t.Fatalf("Update on a full disk returned %v", err)
	}
	if _, err := s.StageTurn(t.Context(), turnOf("s", 0, 1)); !errors.As(err, &full) {
		t.Errorf("StageTurn on a full disk returned %v", err)
	}
	view(t, s, func(tx *Tx) error {
		var x int
		if _, err := tx.State("x", &x); x != 1 {
			t.Errorf("state %d, %v: reading must work on a full disk", x, err)
		}
		return nil
	})
	free++
	if err := put(3); err != nil {
		t.Errorf("the store has not recovered: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	free = openFloor - 1
	_, err = Open(t.Context(), Options{Dir: dir, Free: func(string) (uint64, error) { return free, nil }})
	if !errors.As(err, &full) {
		t.Errorf("Open on a full disk returned %v", err)
	}
	free = openFloor // enough to open for reading
	s, err = Open(t.Context(), Options{Dir: dir, Free: func(string) (uint64, error) { return free, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if err := put(4); !errors.As(err, &full) {
		t.Errorf("Update returned %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(t.Context(), Options{Dir: dir, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error { return tx.set(metaKey("schema"), u32(nil, schemaVersion+1)) })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var schema *SchemaError
	if _, err := Open(t.Context(), Options{Dir: dir, MinFree: 1}); !errors.As(err, &schema) {
		t.Errorf("Open returned %v", err)
	}
}
