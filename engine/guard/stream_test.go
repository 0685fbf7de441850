package guard

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// A stream says what Text says of the whole, however the pieces were cut.
func TestStreamMasksAcrossPieces(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEowIBAAKCAQEAx7Zk2Lw9Xc4Vb8Nm1Qz\n", 20) + "-----END RSA PRIVATE KEY-----"
	text := "started\nOPENAI_API_KEY=sk-proj-q7Zk2Lw9Xc4Vb8Nm1Qz5Rt6Yu3\n" + key + "\nghp_q7Zk2Lw9Xc4Vb8Nm1Qz5Rt6Yu3Io0PaSd12 is a token\nno line feed: sk-ant-api03-q7Zk2Lw9Xc4Vb8Nm1Qz5Rt6Yu3Io0Pa"
	want, n := DefaultRedactor().Text(text)
	if n < 4 {
		t.Fatalf("the text has %d secrets", n)
	}
	for _, size := range []int{1, 2, 7, 31, 32, 1000, len(text)} {
		var out bytes.Buffer
		s := NewStream(&out, DefaultRedactor())
		for rest := []byte(text); len(rest) > 0; {
			k := min(size, len(rest))
			if n, err := s.Write(rest[:k]); n != k || err != nil {
				t.Fatalf("Write = %d, %v", n, err)
			}
			rest = rest[k:]
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("pieces of %d:\n%s\nwant\n%s", size, out.String(), want)
		}
	}
}

// Whole lines are not held back, and nothing is held without a bound.
func TestStreamHoldsLittle(t *testing.T) {
	var out bytes.Buffer
	s := NewStream(&out, DefaultRedactor())
	_, _ = s.Write([]byte("a line\nhalf"))
	if out.String() != "a line\n" {
		t.Errorf("passed on %q", out.String())
	}
	for range 100 {
		_, _ = s.Write(bytes.Repeat([]byte("x"), 10_000))
		if len(s.held) > maxHeldLine+10_000 {
			t.Fatalf("%d bytes held", len(s.held))
		}
	}
	_, _ = s.Write([]byte("\n-----BEGIN PRIVATE KEY-----\n"))
	for range 20_000 {
		_, _ = s.Write([]byte("no end of it\n"))
		if len(s.held) > maxHeldLine+10_000 {
			t.Fatalf("%d bytes held", len(s.held))
		}
	}
	broken := NewStream(writeError{}, DefaultRedactor())
	if _, err := broken.Write([]byte("a\n")); !errors.Is(err, errFull) {
		t.Errorf("Write = %v", err)
	}
	if err := broken.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close = %v", err)
	}
}

var errFull = errors.New("full")

type writeError struct{}

func (writeError) Write([]byte) (int, error) { return 0, errFull }

// A line that is too long to be held is cut, but never between a name and its value,
// nor within a secret, wherever the bound falls.
func TestStreamCutsLongLines(t *testing.T) {
	secret := "q7Zk2Lw9Xc4Vb8Nm1Qz5Rt6Yu3"
	for _, c := range []struct{ name, filler, pair string }{
		{"name and value", "some words ", `"password": "hunter2 hunter2hunter2" `},
		{"name, blank, value", "some words ", "api_key = " + secret + " "},
		{"no blanks", "abcdefghij,", "ghp_" + secret + ","},
		{"option", "words ", "--password " + secret + " "},
	} {
		unit := strings.Repeat(c.filler, 30) + c.pair
		text := strings.Repeat(unit, 5*maxHeldLine/len(unit))
		want, n := DefaultRedactor().Text(text)
		if n < 5*maxHeldLine/len(unit) {
			t.Fatalf("%s: the text has %d secrets", c.name, n)
		}
		for shift := range 7 {
			var out bytes.Buffer
			s := NewStream(&out, DefaultRedactor())
			for rest := strings.Repeat("z", 53*shift) + " " + text; rest != ""; {
				k := min(len(rest), 1000+shift)
				_, _ = s.Write([]byte(rest[:k]))
				rest = rest[k:]
			}
			_ = s.Close()
			if got := strings.TrimLeft(out.String(), "z "); got != want {
				t.Errorf("%s, shift %d: the parts differ from the whole", c.name, shift)
			}
		}
	}
}
