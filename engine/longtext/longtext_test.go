package longtext

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var kinds = []string{"a plain word ", `"quoted" \ `, "line\nfeed\t", "é ü ☃ ", "😀", "\u2028", "\x00\x01", "<html>&"}

func long(t *rapid.T) string {
	return strings.Repeat(strings.Join(rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 9).Draw(t, "kinds"), ""), rapid.IntRange(1, 9000).Draw(t, "times"))
}

// A document with texts set aside is the document that encoding/json writes, at the
// depth of a text and of a text of JSON in a text.
func TestAside(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type inner struct{ Text, Other string }
		type doc struct{ A, B, Inner string }
		encode := func(a, b string) []byte {
			in, _ := json.Marshal([]inner{{b, "other"}})
			raw, _ := json.Marshal(doc{a, "short", string(in)})
			return raw
		}
		a, b := long(t), long(t)
		var aside Aside
		var got bytes.Buffer
		if err := aside.Write(&got, encode(aside.Mark(a), aside.Mark(b))); err != nil {
			t.Fatal(err)
		}
		var have, want doc
		if err := json.Unmarshal(got.Bytes(), &have); err != nil {
			t.Fatal(err)
		}
		_ = json.Unmarshal(encode(a, b), &want)
		var haveIn, wantIn []inner
		if err := json.Unmarshal([]byte(have.Inner), &haveIn); err != nil {
			t.Fatal(err)
		}
		_ = json.Unmarshal([]byte(want.Inner), &wantIn)
		if have.A != want.A || have.B != want.B || len(haveIn) != 1 || haveIn[0] != wantIn[0] {
			t.Fatal("the document is another one")
		}
	})
}

func TestTake(t *testing.T) {
	t.Parallel()
	var aside Aside
	short, big := "short", strings.Repeat("x", Over+1)
	aside.Take(&short, &big)
	if short != "short" || len(big) > 100 {
		t.Fatalf("%q, %d bytes", short, len(big))
	}
	raw, _ := json.Marshal([]string{short, big})
	var b bytes.Buffer
	if err := aside.Write(&b, raw); err != nil {
		t.Fatal(err)
	}
	var back []string
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || len(back) != 2 || back[0] != short || back[1] != strings.Repeat("x", Over+1) {
		t.Fatalf("%v, %.60q", err, b.Bytes())
	}
}

// A text that was spelled and cut anywhere decodes piece by piece.
func TestWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(strings.Join(rapid.SliceOfN(rapid.SampledFrom(kinds), 1, 9).Draw(t, "kinds"), ""), 3)
		raw, _ := json.Marshal(text)
		spelled := bytes.ReplaceAll(raw[1:len(raw)-1], []byte("😀"), []byte(`\ud83d\ude00`))
		var back strings.Builder
		var rest []byte
		for len(spelled) > 0 {
			n := min(rapid.IntRange(1, 7).Draw(t, "piece"), len(spelled))
			rest = append(rest, spelled[:n]...)
			spelled = spelled[n:]
			whole := Whole(rest)
			if len(rest)-whole > 15 {
				t.Fatalf("%q is kept", rest[whole:])
			}
			var s string
			if err := json.Unmarshal([]byte(`"`+string(rest[:whole])+`"`), &s); err != nil {
				t.Fatalf("%q: %v", rest[:whole], err)
			}
			back.WriteString(s)
			rest = append(rest[:0], rest[whole:]...)
		}
		if len(rest) > 0 || back.String() != text {
			t.Fatalf("%q, %q left of %q", back.String(), rest, text)
		}
	})
}
