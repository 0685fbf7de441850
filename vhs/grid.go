package vhs

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/charmbracelet/vhs/parser"
)

// Settings are what a tape's Set commands say. Lengths are in CSS pixels.
type Settings struct {
	Shell, FontFamily, Theme, WindowBar      string
	FontSize, Width, Height, Padding, Margin int
	WindowBarSize, Framerate                 int
	LetterSpacing, LineHeight                float64
	TypingSpeed, WaitTimeout                 time.Duration
	WaitPattern                              *regexp.Regexp
}

// defaultSettings are VHS's own.
func defaultSettings() Settings {
	return Settings{
		Shell: "bash", FontFamily: "JetBrains Mono",
		FontSize: 22, Width: 1200, Height: 600, Padding: 60, WindowBarSize: 30, Framerate: 50,
		LetterSpacing: 1, LineHeight: 1,
		TypingSpeed: 50 * time.Millisecond, WaitTimeout: 15 * time.Second, WaitPattern: regexp.MustCompile(">$"),
	}
}

// set applies one Set command. Settings that change only the picture are accepted and ignored.
func (s *Settings) set(c parser.Command) (err error) {
	switch c.Options {
	case "Shell":
		if s.Shell = c.Args; c.Args != "bash" {
			err = fmt.Errorf("this player knows bash only")
		}
	case "FontFamily":
		s.FontFamily = c.Args
	case "Theme":
		s.Theme = c.Args
	case "WindowBar":
		s.WindowBar = c.Args
	case "FontSize":
		s.FontSize, err = strconv.Atoi(c.Args)
	case "Width":
		s.Width, err = strconv.Atoi(c.Args)
	case "Height":
		s.Height, err = strconv.Atoi(c.Args)
	case "Padding":
		s.Padding, err = strconv.Atoi(c.Args)
	case "Margin":
		s.Margin, err = strconv.Atoi(c.Args)
	case "WindowBarSize":
		s.WindowBarSize, err = strconv.Atoi(c.Args)
	case "Framerate":
		s.Framerate, err = strconv.Atoi(c.Args)
	case "LetterSpacing":
		s.LetterSpacing, err = strconv.ParseFloat(c.Args, 64)
	case "LineHeight":
		s.LineHeight, err = strconv.ParseFloat(c.Args, 64)
	case "TypingSpeed":
		s.TypingSpeed, err = time.ParseDuration(c.Args)
	case "WaitTimeout":
		s.WaitTimeout, err = time.ParseDuration(c.Args)
	case "WaitPattern":
		s.WaitPattern, err = regexp.Compile(c.Args)
	}
	if err != nil {
		return fmt.Errorf("command Set %s %s: %w", c.Options, c.Args, err)
	}
	return nil
}

// font holds what Chromium measures of a font, in em.
type font struct{ advance, ascent, descent float64 }

// fonts are those whose measures are known; a tape names one of them.
var fonts = map[string]font{
	"JetBrains Mono":   {0.6, 1.02, 0.3},
	"DejaVu Sans Mono": {0.602051, 0.928223, 0.236328},
}

// Grid is the size in cells of the terminal that VHS gives the tape: the page
// less padding, margin and window bar, less the 5 px a side by which ttyd pads
// the terminal and the 15 px that xterm.js keeps for its scrollbar. Measured with
// VHS v0.10.0, ttyd 1.7.7 and Chromium 156. An unknown font counts as JetBrains Mono.
func (s Settings) Grid() (cols, rows int) {
	f, ok := fonts[s.FontFamily]
	if !ok {
		f = fonts["JetBrains Mono"]
	}
	size := float64(s.FontSize)
	advance := math.Floor(f.advance * size)
	if s.FontSize == 20 && s.FontFamily != "DejaVu Sans Mono" { // Chromium measures 11.99
		advance = 11
	}
	cellW := advance + math.Round(s.LetterSpacing)
	cellH := math.Floor((math.Round(f.ascent*size) + math.Round(f.descent*size)) * s.LineHeight)
	bar := 0
	if s.WindowBar != "" {
		bar = s.WindowBarSize
	}
	frame := 2*s.Padding + 2*s.Margin
	return int(float64(s.Width-frame-10-15) / cellW), int(float64(s.Height-frame-bar-10) / cellH)
}
