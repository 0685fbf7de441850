package tui

import (
	"fmt"
	"slices"
	"testing"

	"vise/tui/action"
)

// Words come before starts of words, these before letters, and what a thing is called
// before what it says.
func TestRanking(t *testing.T) {
	texts := []sought{
		newSought("tau2-airline-15", "I gave the original of a line, later 5 of it"),
		newSought("v0-gorilla-tf-5", "predict"),
		newSought("v0-gorilla-tf-50", "predict"),
		newSought("blanket", "a gorilla with 5 legs"),
		newSought("gone", "nothing"),
	}
	for query, want := range map[string][]int{
		"gorilla 5": {1, 2, 3, 0}, // the last by its letters
		"Gorilla":   {1, 2, 3, 0},
		"tf-50":     {2},
		"lank":      {3},
		"zzz":       nil,
		" -- ":      nil,
	} {
		if got := ranked(query, texts); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", query, got, want)
		}
	}
}

// A command is found by the word that people use for it, and comes first.
func TestCommandsAreFoundByWhatPeopleCallThem(t *testing.T) {
	b := newBench(t, newDesk(t, false), 120, 40)
	for word, want := range map[string]action.ID{"stop": action.Cancel, "delete": action.Remove, "score": action.Score, "back": action.Back, "exit": action.Quit,
		"can": action.Cancel, "theme": action.Themes} {
		p := newPalette(b.app)
		p.input.SetValue(word)
		p.filter()
		if len(p.shown) == 0 || p.shown[0].ID != want {
			t.Errorf("%q finds %v first, want %s", word, fmt.Sprint(p.shown)[:min(200, len(fmt.Sprint(p.shown)))], want)
		}
	}
}
