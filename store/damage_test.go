package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"vise/engine/event"
)

// twoTables leaves a store with two tables and no log, as a clean close does.
func twoTables(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := range 2 {
		s := disk(t, dir)
		put1(t, s, i)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func put1(t *testing.T, s *Store, i int) {
	t.Helper()
	staged, err := s.StageTurn(t.Context(), turnOf("s", i, 40))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), func(tx *Tx) error {
		if err := tx.PutTurn(staged); err != nil {
			return err
		}
		return tx.Emit(event.Event{Type: event.TurnReplayed, SessionID: "s", TurnIndex: event.Turn(i)})
	}); err != nil {
		t.Fatal(err)
	}
}

// TestADamagedDatabaseSaysWhatToDo: it names the file and the way out, and it never
// opens as an empty store, nor takes the program down.
func TestADamagedDatabaseSaysWhatToDo(t *testing.T) {
	for _, c := range []struct {
		what, file, says string
		harm             func(raw []byte) []byte
	}{
		{"emptied list of tables", "MANIFEST", "bad magic", func([]byte) []byte { return nil }},
		{"list of tables cut short", "MANIFEST", "cut short", func(raw []byte) []byte { return raw[:len(raw)-5] }},
		{"changed list of tables", "MANIFEST", "checksum", func(raw []byte) []byte { raw[len(raw)-3] ^= 0xff; return raw }},
		{"no list of tables", "MANIFEST", "missing", nil},
		{"a lost table", "000001.sst", "missing", nil},
		{"a table cut short", "000001.sst", "footer", func(raw []byte) []byte { return raw[:len(raw)/2] }},
		{"a changed table", "000001.sst", "footer", func(raw []byte) []byte {
			for i := range raw {
				raw[i] ^= 0xff
			}
			return raw
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := twoTables(t)
			file := filepath.Join(dir, "store", c.file)
			if c.harm == nil {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			} else {
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, c.harm(raw), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // a try to open it changes nothing
				s, err := Open(t.Context(), Options{Dir: dir, MinFree: 1})
				var d *DamageError
				if !errors.As(err, &d) {
					if err == nil {
						s.Close()
					}
					t.Fatalf("opened with %v", err)
				}
				for _, want := range []string{c.file, c.says, "store restore", "vise import", "nothing was changed"} {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%q is not in: %v", want, err)
					}
				}
			}
		})
	}
}

// TestDamageThatBadgerFinds is told in the same way. In a process of its own: Badger
// leaves goroutines behind when it does not open.
func TestDamageThatBadgerFinds(t *testing.T) {
	dir := twoTables(t)
	file := filepath.Join(dir, "store", "000001.sst")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-80] ^= 0xff // in the index of the table
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	_, out := spawn(t, "open", dir)
	if !out.Scan() || !strings.Contains(out.Text(), "checksum") || !strings.Contains(out.Text(), "store restore") {
		t.Errorf("it says %q", out.Text())
	}
}

// TestAFolderThatCannotBeWritten is read all the same, by the commands that only read.
func TestAFolderThatCannotBeWritten(t *testing.T) {
	dir := twoTables(t)
	out := asStranger(t, dir)
	for _, want := range []string{"spans 40 true false true", "update: store " + dir + " cannot be written", "open: store " + dir + " cannot be written", "view: <nil>"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
}

// TestAFolderThatCannotBeWrittenAfterACrash cannot be read: its log must be replayed first.
func TestAFolderThatCannotBeWrittenAfterACrash(t *testing.T) {
	dir := t.TempDir()
	cmd, lines := spawn(t, "write", dir)
	for range 3 {
		if !lines.Scan() {
			t.Fatal("nothing written")
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if out := asStranger(t, dir); !strings.Contains(out, "not closed cleanly") || !strings.Contains(out, "copy the folder") {
		t.Errorf("it says:\n%s", out)
	}
}

// asStranger runs the role "bar" as somebody who may read everything in dir and write
// nothing: by permissions, and for root as another user.
func asStranger(t *testing.T, dir string) string {
	t.Helper()
	self := os.Args[0]
	cmd := exec.CommandContext(t.Context(), self)
	if os.Geteuid() == 0 {
		self = filepath.Join(filepath.Dir(dir), "self")
		from, err := os.Open(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		to, err := os.OpenFile(self, os.O_CREATE|os.O_WRONLY, 0o755)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(to, from); err != nil {
			t.Fatal(err)
		}
		if err := to.Close(); err != nil {
			t.Fatal(err)
		}
		cmd = exec.CommandContext(t.Context(), self)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mode := func(folder, file os.FileMode) {
		err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err != nil || d.Type() != 0 && !d.IsDir() {
				return err
			}
			if d.IsDir() {
				return os.Chmod(p, folder)
			}
			return os.Chmod(p, file)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	mode(0o555, 0o444)
	t.Cleanup(func() { mode(0o755, 0o644) })
	cmd.Env = append(os.Environ(), childEnv+"=bar:"+dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil && context.Cause(t.Context()) != nil {
		t.Fatal(err)
	}
	return out.String()
}
