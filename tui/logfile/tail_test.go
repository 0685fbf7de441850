package logfile

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A log is read as it grows; a line that is half written waits for its end, and a new
// start of the workbench, which replaces the file, begins anew.
func TestTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "workbench.log")
	tail := Tail{File: file}
	next := func(wantRestart bool, want ...string) {
		t.Helper()
		list, restarted, err := tail.Next()
		if err != nil || restarted != wantRestart {
			t.Fatalf("restarted %v, %v", restarted, err)
		}
		var got []string
		for _, r := range list {
			got = append(got, r.Level.String()+" "+r.Text)
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("read %q, want %q", got, want)
		}
	}
	write := func(flag int, text string) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|flag, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	next(false)
	write(os.O_APPEND, `{"time":"2026-03-16T09:00:00Z","level":"WARN","msg":"late","turn":2,"session":"s-1"}`+"\n"+`{"level":"INFO",`)
	next(false, "WARN late session=s-1 turn=2")
	next(false)
	write(os.O_APPEND, `"msg":"evil \u001b[2J"}`+"\n")
	if list, _, _ := tail.Next(); len(list) != 1 || strings.Contains(list[0].Text, "\x1b") || list[0].N != 2 {
		t.Errorf("read %+v", list)
	}
	write(os.O_APPEND, "{\"level\":\"ER\n")
	next(false, `ERROR {"level":"ER`)
	write(os.O_TRUNC, `{"level":"DEBUG","msg":"new"}`+"\n")
	next(true, "DEBUG new")

	var long strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&long, `{"level":"INFO","msg":"line %06d of many"}`+"\n", i)
	}
	write(os.O_TRUNC, long.String())
	list, _, err := tail.Next()
	if err != nil || len(list) == 0 || len(list) > MaxRead/40 || list[len(list)-1].Text != "line 039999 of many" {
		t.Errorf("of a long file %d records were read, %v", len(list), err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"time":"2026-03-16T09:00:00Z","level":"WARN","msg":"late","a":{"b":[1]}}`))
	f.Add([]byte(`{"level":3,"msg":null}`))
	f.Add([]byte("\x1b]0;x\x07"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := Parse(raw)
		if strings.ContainsAny(r.Text, "\x1b\n\x07") || len([]rune(r.Text)) > maxText+20 {
			t.Errorf("%q is %q", raw, r.Text)
		}
		_ = r.Level >= slog.LevelDebug
	})
}
