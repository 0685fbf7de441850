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
