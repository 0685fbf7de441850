package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vise/engine/event"
	"vise/engine/rule"
)

// contents are all keys and values of a store.
func contents(t *testing.T, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := s.View(func(tx *Tx) error {
		return tx.snap.scan(scan{}, func(k, v []byte) (bool, error) {
			all[string(k)] = string(v)
			return true, nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestBackupAndRestore: what was there at the moment of the backup comes back, to the
// byte, wherever the backup was made from.
func TestBackupAndRestore(t *testing.T) {
	dir, away := t.TempDir(), t.TempDir()
	s := disk(t, dir)
	for i := range 3 {
		put1(t, s, i)
	}
	if err := s.Update(t.Context(), func(tx *Tx) error { return tx.PutProcess(ProcessRecord{PID: 7, StartTime: 1}) }); err != nil {
		t.Fatal(err)
	}
	want := contents(t, s)
	for k := range want {
		if k[0] == kindProcess {
			delete(want, k)
		}
	}
	view, err := OpenRead(t.Context(), Options{Dir: dir, MinFree: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	for name, from := range map[string]*Store{"by the owner": s, "beside it": view} {
		file := filepath.Join(away, name)
		made, err := from.Backup(t.Context(), file)
		if err != nil || made.Keys != uint64(len(want)) || made.LastSeq != 3 || made.Bytes == 0 {
			t.Fatalf("%s: %+v, %v", name, made, err)
		}
		if _, err := from.Backup(t.Context(), file); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("%s: written over: %v", name, err)
		}
		to := filepath.Join(away, name+" restored")
		r, rep, err := Restore(t.Context(), Options{Dir: to, MinFree: 1}, file)
		if err != nil || !rep.OK() || r.Keys != made.Keys || r.LastSeq != 3 {
			t.Fatalf("%s: %+v, %+v, %v", name, r, rep, err)
		}
		again := disk(t, to)
		if _, crashed := again.Recovery(); crashed {
			t.Errorf("%s: it reads as left by a crash", name)
		}
		if got := contents(t, again); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %d keys came back, want %d", name, len(got), len(want))
		}
		put1(t, again, 3) // and it goes on from there
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Restore(t.Context(), Options{Dir: to, MinFree: 1}, file); err == nil || !strings.Contains(err.Error(), "nothing is overwritten") {
			t.Errorf("%s: restored over a store: %v", name, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(away, "*part*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	var busy *BusyError
	if _, _, err := Restore(t.Context(), Options{Dir: dir, MinFree: 1}, filepath.Join(away, "by the owner")); !errors.As(err, &busy) {
		t.Errorf("restored beside an owner: %v", err)
	}
}

// TestRestoreTakesWholeBackupsOnly and leaves nothing behind when it fails.
func TestRestoreTakesWholeBackupsOnly(t *testing.T) {
	s := memory(t, Options{})
	if err := s.Update(t.Context(), func(tx *Tx) error {
		for i := range 50 {
			r := ruleOf(i)
			r.Status = rule.Active
			if err := tx.PutRule(r); err != nil {
				return err
			}
		}
		return tx.Emit(event.Event{Type: event.Health})
	}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "backup")
	if _, err := s.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(raw)
	changed[len(changed)/2] ^= 1
	for name, content := range map[string][]byte{"empty": {}, "another file": []byte("hello\n"), "cut": raw[:len(raw)-20], "changed": changed} {
		dir := filepath.Join(t.TempDir(), "new")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := Restore(t.Context(), Options{Dir: dir, MinFree: 1}, file)
		if err == nil || !strings.Contains(err.Error(), "backup") {
			t.Errorf("%s: %v", name, err)
		}
		if used, _ := holdsFiles(filepath.Join(dir, "store")); used {
			t.Errorf("%s: a store is left", name)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "restore-*")); len(left) > 0 {
			t.Errorf("%s: left behind: %v", name, left)
		}
	}
}
