package recording

import (
	"strings"
	"testing"
)

// trap is a line in which each of many places begins an object that is broken at the very
// end of the line only.
func trap(size int) string {
	return `{"k":"` + strings.Repeat(`{"x":`, 250) + "[" + strings.Repeat("1,", size/2) + "1]x}"
}

// Looking for a whole record at the end of a broken line reads a bounded number of bytes,
// however the line is made, and still finds one.
func TestSalvageIsBounded(t *testing.T) {
	line := trap(1 << 20)
	read := 0
	for at := range 250 {
		n, whole := wellFormed([]byte(line[6+5*at:]))
		if read += n; whole {
			t.Fatal("the trap is a record")
		}
		if read > maxSalvageRead {
			break
		}
	}
	if read <= maxSalvageRead {
		t.Fatalf("the trap costs %d bytes only: it shows nothing", read)
	}
	// Behind the places that may be read stands a record: it is not looked for any more.
	if at := wholeSuffix([]byte(line + `"{"vise":1}`)); at != 0 {
		t.Errorf("a record at %d behind the trap", at)
	}
	line = strings.Repeat(`{"broken":"`, 100) + `{"vise":1,"text":"whole"}`
	if at := wholeSuffix([]byte(line)); line[at:] != `{"vise":1,"text":"whole"}` {
		t.Errorf("found %q", line[at:])
	}
}

// The cost of the worst line: 8 MB in which every place has to be read to its end.
func BenchmarkSalvageTrap(b *testing.B) {
	line := []byte(trap(8 << 20))
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		wholeSuffix(line)
	}
}
