package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// RunSeed derives the VISE_RUN_SEED of one run, 16 hex digits, from the project's base
// seed and what tells the run apart: case or session, arm, number of the run.
func RunSeed(base int64, parts ...string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d|%s", base, strings.Join(parts, "|")))
	return hex.EncodeToString(sum[:8])
}
