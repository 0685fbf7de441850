package guard

import (
	"strings"
	"unsafe"
)

// textOf is a text over bytes that nobody changes any more, without a copy.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf are the bytes of a text, to be read only, without a copy.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// window is how much of a long text is masked at once, in bytes.
const window = 256 << 10

// farEnough is how long an entry of .netrc is taken to be at most, in bytes.
const farEnough = 1 << 10

// long masks a text window by window, so that a text with many secrets is not
// copied and scanned as a whole for each of them. A window ends at a line end, which
// only key blocks and .netrc entries reach over.
func (r *Redactor) long(s string) (string, int) {
	var b strings.Builder
	total, last := 0, 0
	for at := 0; at < len(s); {
		end := at + cut(s[at:])
		if out, n := r.settle(s[at:end]); n > 0 {
			if total == 0 {
				b.Grow(len(s) + len(s)/16)
			}
			b.WriteString(s[last:at])
			b.WriteString(out)
			total, last = total+n, end
		}
		at = end
	}
	if total == 0 {
		return s, 0
	}
	b.WriteString(s[last:])
	return b.String(), total
}

// cut returns where the first window of a text ends: behind a line feed before which
// nothing began that goes on behind it. Without such a place it is the whole text.
func cut(s string) int {
	for from := window; from < len(s); {
		n := strings.IndexByte(s[from:], '\n')
		if n < 0 {
			break
		}
		end := from + n + 1
		if !reaches(s[:end]) {
			return end
		}
		from = end + farEnough/2
	}
	return len(s)
}

// reaches reports whether something may begin at the end of a text that goes on in the next line.
func reaches(s string) bool {
	tail := s[max(0, len(s)-farEnough):]
	if strings.Contains(tail, "machine") {
		return true
	}
	block := s[max(0, len(s)-maxKeyBlock):]
	begin := strings.LastIndex(block, "PRIVATE KEY")
	return begin >= 0 && !strings.HasPrefix(block[max(0, strings.LastIndex(block[:begin], "-----")):], "-----END")
}
