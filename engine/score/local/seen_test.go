package local

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestSeenAgreesWithScan compares the paged, filtered index with a plain scan.
func TestSeenAgreesWithScan(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var c seen
	var texts []string
	for range 200 {
		var b strings.Builder
		for range rng.IntN(300) {
			fmt.Fprintf(&b, "w%d-%c ", rng.IntN(5000), 'a'+rune(rng.IntN(26)))
		}
		c.add(b.String())
		texts = append(texts, norm(b.String()))
	}
	if len(c.sealed) < 2 {
		t.Fatalf("%d sealed pages: the test does not reach the filter", len(c.sealed))
	}
	found := 0
	for range 1000 {
		v := fmt.Sprintf("w%d-%c", rng.IntN(20000), 'a'+rune(rng.IntN(26)))
		want := false
		for _, s := range texts {
			want = want || strings.Contains(s, norm(v))
		}
		if want {
			found++
		}
		if got := c.has(v); got != want {
			t.Fatalf("has(%q) = %t, want %t", v, got, want)
		}
	}
	if found == 0 || found == 1000 {
		t.Fatalf("%d of 1000 values found: the test decides nothing", found)
	}
}

func TestSeenBounds(t *testing.T) {
	var c seen
	c.add("alpha")
	c.add("beta 17")
	if c.has("alpha beta") {
		t.Error("a value was found across two texts")
	}
	if !c.has("ALPHA") || !c.has("a") || !c.has("") {
		t.Error("a value that was read is not found")
	}
	if !c.hasNumber([]byte("17")) || c.hasNumber([]byte("18")) {
		t.Error("numbers are not compared as numbers")
	}
	c.add(strings.Repeat("é", seenRunes) + " tail-99 98")
	if c.has("tail-99") || c.hasNumber([]byte("98")) {
		t.Error("a text is kept beyond 40,000 characters")
	}
}
