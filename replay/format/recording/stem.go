package recording

import (
	"path/filepath"
	"strings"
)

// Stem is the name of a file without its folder and its endings; it names the
// session where a recording does not.
func Stem(path string) string {
	base := filepath.Base(path)
	for _, ext := range []string{".jsonl", ".json", ".log", ".txt", ".pb", ".eval", ".traj", ".trajectory", ".trace"} {
		if len(base) > len(ext) {
			base = strings.TrimSuffix(base, ext)
		}
	}
	return base
}
