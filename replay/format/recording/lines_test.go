package recording

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"vise/engine/trace"
)

type none struct{}

func (none) Begin(trace.Session) error { return nil }
func (none) Turn(trace.Turn) error     { return nil }
func (none) End(trace.Session) error   { return nil }

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     string // the "n" of the records, in order
		damage   string // line:offset+bytes reason
	}{
		{"plain", "{\"n\":1}\n{\"n\":2}\n", "1 2", ""},
		{"no final line feed", "{\"n\":1}\n{\"n\":2}", "1 2", ""},
		{"blank lines and CR", "\n{\"n\":1}\r\n\r\n  {\"n\":2} \n", "1 2", ""},
		{"byte order mark", "\xef\xbb\xbf{\"n\":1}\n", "1", ""},
		{"glued", "{\"n\":1}{\"n\":2} {\"n\":3}\n{\"n\":4}", "1 2 3 4", ""},
		{"glued, half", "{\"n\":1}{\"n\":2\n{\"n\":3}", "1 3", "1:7+6 record is cut off"},
		{"half, glued", "{\"n\":1,\"x\":\"ab{\"n\":2}\n{\"n\":3}", "2 3", "1:0+14 record is cut off by the next one"},
		{"inner object of a half", "{\"n\":1,\"in\":{\"n\":9}\n{\"n\":2}", "2", "1:0+19 record is cut off"},
		{"cut", "{\"n\":1}\n{\"n\":2,\"x\":\"\n{\"n\":3}", "1 3", "2:8+12 record is cut off"},
		{"two cut in a row", "{\"n\":1,\n{\"n\":2,\n{\"n\":3}", "3", "1:0+7 record is cut off, 2:8+7 record is cut off"},
		{"tail", "{\"n\":1}\n{\"n\":2", "1", "2:8+6 last record is incomplete (no line end)"},
		{"tail with line feed", "{\"n\":1}\n{\"n\":2\n", "1", "2:8+6 record is cut off"},
		{"line feeds in a text", "{\"n\":1,\"x\":\"a\nb\n\nc\"}\n{\"n\":2}", "1 2", ""},
		{"line feeds, never whole", "{\"n\":1,\"x\":\"a\nb\nc\n{\"n\":2}", "2", "1:0+17 record is cut off"},
		{"printed over lines", "{\n  \"n\": 1,\n  \"a\": [\n    {\n      \"n\": 7\n    }\n  ]\n}\n{\n  \"n\": 2\n}\n{\"n\":3}", "1 2 3", ""},
		{"printed over lines, a text with brackets", "{\r\n  \"x\": \"}{\\\"[\",\r\n\r\n  \"n\": 1\r\n}", "1", ""},
		{"printed over lines, cut", "{\n  \"n\": 1,\n{\n  \"n\": 2\n}\n{\n  \"n\": 3", "2", "1:0+11 record is cut off, 6:25+10 last record is incomplete (no line end)"},
		{"printed over lines, not JSON", "{\n  \"n\": x\n}\n{\"n\":2}", "2", "1:0+12 not JSON, printed over several lines"},
		{"too deep", "{\"n\":" + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}\n{\"n\":2}", "2", "1:0+40006 nested deeper than 10000 levels"},
		{"bare values", "\"a\"\n42\n[1]\n{\"n\":1}", "1", "1:0+3 a bare value, not a record, 2:4+2 a bare value, not a record, 3:7+3 a bare value, not a record"},
		{"rubbish is one damage", "{\"n\":1}\nx\ny\nz\n{\"n\":2}\nx", "1 2", "2:8+5 not JSON, 6:22+1 not JSON"},
		{"zero bytes", "{\"n\":1}\n\x00\x00\x00\n\x00\x00{\"n\":2}\n", "1 2", "2:8+3 zero bytes instead of a record"},
		{"invalid UTF-8", "{\"n\":1,\"x\":\"\xff\"}\n", "1", "1:12+1 invalid UTF-8, replaced; the record is kept"},
		{"U+2028", "{\"n\":1,\"x\":\"\u2028\u0085\"}\n", "1", ""},
		{"wrong types", "{\"n\":\"text\"}\n{\"n\":[]}\n{\"n\":3}", "0 0 3", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				rec := NewRecorder(context.Background(), "x", "test", Options{}, none{})
				var got []string
				err := Lines(r, rec, func(r Record) error {
					var v struct{ N int }
					if err := Decode(r.Data, &v); err != nil {
						return err
					}
					if !r.Joined && c.in[r.Offset] != '{' && !strings.HasPrefix(strings.Trim(c.in[r.Offset:], " \x00\xef\xbb\xbf"), "{") {
						t.Errorf("record at %d", r.Offset)
					}
					got = append(got, fmt.Sprint(v.N))
					return nil
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if s := strings.Join(got, " "); s != c.want {
					t.Errorf("records %s, want %s", s, c.want)
				}
				var damage []string
				for _, d := range rec.Summary().Damaged {
					damage = append(damage, fmt.Sprintf("%d:%d+%d %s", d.Line, d.Offset, d.Bytes, d.Reason))
				}
				if s := strings.Join(damage, ", "); s != c.damage {
					t.Errorf("damage %s, want %s", s, c.damage)
				}
			}
		})
	}
}

// A line over the limit is damage; the lines around it are read.
func TestLinesTooLong(t *testing.T) {
	l := newLines(strings.NewReader("ab\n"+strings.Repeat("x", 1<<20)+"\ncd"), 1<<19)
	var got []string
	for {
		ln, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d@%d:%t", ln.number, ln.offset, ln.long > 0))
	}
	if want := "[1@0:false 2@3:true 3@1048580:false]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// Damage is listed up to a bound and counted beyond it.
func TestSummaryBounded(t *testing.T) {
	rec := NewRecorder(context.Background(), "x", "test", Options{}, none{})
	if err := Lines(strings.NewReader(strings.Repeat("1\n", 3*MaxDamage)), rec, func(Record) error { return nil }, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * MaxUnknown {
		rec.Unknown(fmt.Sprint("kind ", i))
		rec.Note("note %d", i)
	}
	s := rec.Summary()
	if len(s.Damaged) != MaxDamage || s.DamagedTotal != 3*MaxDamage || len(s.Unknown) != MaxUnknown+1 || s.Unknown["(others)"] != MaxUnknown || len(s.Notes) != MaxNotes {
		t.Errorf("%d of %d damages, %d kinds, %d notes", len(s.Damaged), s.DamagedTotal, len(s.Unknown), len(s.Notes))
	}
}

func TestLinesReadError(t *testing.T) {
	rec := NewRecorder(context.Background(), "x.jsonl", "test", Options{}, none{})
	boom := errors.New("boom")
	err := Lines(io.MultiReader(strings.NewReader("{}\n{}\n"), iotest.ErrReader(boom)), rec, func(Record) error { return nil }, nil)
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "x.jsonl: line 3") {
		t.Error(err)
	}
}

func TestSafeID(t *testing.T) {
	for in, want := range map[string]string{
		"a-b_c.1": "a-b_c.1", "a/b c": "a-b-c", "../etc": "..-etc", "-x-": "x",
	} {
		if got := SafeID(in); got != want {
			t.Errorf("SafeID(%q) = %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{"", ".", "..", "日本", strings.Repeat("x", 300)} {
		got := SafeID(in)
		if got == "" || got[0] == '.' || len(got) > MaxID || notInID.MatchString(got) || got != SafeID(in) {
			t.Errorf("SafeID(%q) = %q", in, got)
		}
	}
}

// Sessions of one file never share an id, whatever the file says.
func TestUniqueIDs(t *testing.T) {
	rec := NewRecorder(context.Background(), "x", "test", Options{}, none{})
	seen := map[string]bool{}
	for _, id := range []string{"a", "a", "a-2", "a", strings.Repeat("x", MaxID), strings.Repeat("x", MaxID)} {
		if err := rec.Begin(trace.Session{ID: id}); err != nil {
			t.Fatal(err)
		}
		got := rec.Head().ID
		if seen[got] || len(got) > MaxID {
			t.Errorf("id %q", got)
		}
		seen[got] = true
		if err := rec.End(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBinary(t *testing.T) {
	if got := Binary("image", "image/png", "QUJD"); got != "[image image/png 3 bytes sha256:b5d4045c3f46]" {
		t.Error(got)
	}
	if got := Binary("image", "", "[trimmed]"); !strings.Contains(got, "unknown type 9 bytes") {
		t.Error(got)
	}
	in := "see data:image/png;base64," + strings.Repeat("QUJD", 20) + " here"
	if got := Describe(in); got != "see [image image/png 60 bytes sha256:"+got[37:49]+"] here" {
		t.Error(got)
	}
	if got := Describe("data:image/png;base64,QUJD"); got != "data:image/png;base64,QUJD" {
		t.Errorf("a short one is no payload: %s", got)
	}
}

// The scanner's values are the values that the JSON decoder finds.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{`{"a":[1,"x\"]}",{}],"b":null}`, `[{"a":1},2 , "3"]`, "[1,\n2", `{"a"`, `{"a":"\\"}`, "[]", `["a\n"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		sc := NewScanner(iotest.OneByteReader(strings.NewReader(string(raw))))
		var got []string
		take := func() error {
			v, whole, err := sc.Value(1 << 20)
			if err == nil && whole {
				got = append(got, string(v))
			}
			return err
		}
		c, err := sc.Peek()
		if err != nil {
			return
		}
		if c == '{' {
			err = sc.Members(func(key string) error { return take() })
		} else {
			err = sc.Elements(take)
		}
		if _, bad := BadDocument(err); err != nil && !bad {
			t.Fatal(err)
		}
		if !json.Valid(raw) || c != '[' {
			return
		}
		var want []json.RawMessage
		if json.Unmarshal(raw, &want) != nil {
			return
		}
		if err != nil || len(got) != len(want) || !sc.AtEnd() {
			t.Fatalf("%d values, want %d, %v", len(got), len(want), err)
		}
		for i := range want {
			if got[i] != string(want[i]) {
				t.Fatalf("value %d: %q, want %q", i, got[i], want[i])
			}
		}
	})
}

func BenchmarkLines(b *testing.B) {
	data := strings.Repeat(`{"n":1,"text":"`+strings.Repeat("x", 900)+`"}`+"\n", 4096)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		rec := NewRecorder(context.Background(), "x", "test", Options{}, none{})
		if err := Lines(strings.NewReader(data), rec, func(Record) error { return nil }, nil); err != nil {
			b.Fatal(err)
		}
	}
}
