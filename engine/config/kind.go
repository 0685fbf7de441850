package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fault reports what is wrong with a value, and where.
type fault func(at place, format string, args ...any)

// kind is the type of a key: how it is read, shown and described.
type kind struct {
	// wants says what may be written, for messages and for Keys.
	wants string
	// set reads a value into the configuration; it reports and leaves the
	// configuration alone when the value does not fit.
	set func(c *Config, v value, bad fault)
	// show writes the effective value as TOML; "" = unset.
	show func(c *Config) string
}

func text(at func(*Config) *string, wants string, check func(string) error) kind {
	return kind{wants, func(c *Config, v value, bad fault) {
		if v.shape != isText && !v.loose {
			bad(v.at, "must be %s, not %s", wants, v.shape)
		} else if err := checked(check, v.text); err != nil {
			bad(v.at, "must be %s: %v", wants, err)
		} else {
			*at(c) = v.text
		}
	}, func(c *Config) string { return tomlText(*at(c)) }}
}

func checked(check func(string) error, s string) error {
	if check == nil {
		return nil
	}
	return check(s)
}

func choice(at func(*Config) *string, options ...string) kind {
	wants := "one of " + strings.Join(options, ", ")
	return kind{wants, func(c *Config, v value, bad fault) {
		switch {
		case v.shape != isText && v.shape != isLoose:
			bad(v.at, "must be %s, not %s", wants, v.shape)
		case !slices.Contains(options, v.text):
			bad(v.at, "must be %s, not %s%s", wants, quote(v.text), meant(v.text, options))
		default:
			*at(c) = v.text
		}
	}, func(c *Config) string { return tomlText(*at(c)) }}
}

// truth reads a boolean; variables and flags may also say 1, 0, yes, no, on, off.
func truthOf(v value) (b, ok bool) {
	switch v.shape {
	case isTruth:
		return v.truth, true
	case isLoose:
		switch strings.ToLower(strings.TrimSpace(v.text)) {
		case "true", "1", "yes", "on":
			return true, true
		case "false", "0", "no", "off":
			return false, true
		}
	}
	return false, false
}

func truth(at func(*Config) *bool) kind {
	return kind{"true or false", func(c *Config, v value, bad fault) {
		if b, ok := truthOf(v); ok {
			*at(c) = b
		} else {
			bad(v.at, "must be true or false, not %s", found(v))
		}
	}, func(c *Config) string { return strconv.FormatBool(*at(c)) }}
}

func maybeTruth(at func(*Config) **bool) kind {
	return kind{"true or false, or \"unset\"", func(c *Config, v value, bad fault) {
		if b, ok := truthOf(v); ok {
			*at(c) = &b
		} else if unset(v) {
			*at(c) = nil
		} else {
			bad(v.at, "must be true, false or \"unset\", not %s", found(v))
		}
	}, func(c *Config) string {
		if p := *at(c); p != nil {
			return strconv.FormatBool(*p)
		}
		return ""
	}}
}

// unset is how a later layer takes an optional setting back.
func unset(v value) bool {
	return (v.shape == isText || v.shape == isLoose) && v.text == "unset"
}

// wholeOf reads a whole number within the range.
func wholeOf(v value, low, high int64, bad fault) (int64, bool) {
	n, ok := v.whole, v.shape == isWhole
	if v.shape == isLoose {
		parsed, err := strconv.ParseInt(strings.TrimSpace(v.text), 10, 64)
		n, ok = parsed, err == nil
	}
	switch {
	case !ok:
		bad(v.at, "must be %s, not %s", wholeRange(low, high), found(v))
	case n < low || n > high:
		bad(v.at, "must be %s, not %d", wholeRange(low, high), n)
	default:
		return n, true
	}
	return 0, false
}

func wholeRange(low, high int64) string {
	if high == math.MaxInt64 {
		return fmt.Sprintf("a whole number of at least %d", low)
	}
	return fmt.Sprintf("a whole number from %d to %d", low, high)
}

func whole(at func(*Config) *int, low, high int64) kind {
	return kind{wholeRange(low, high), func(c *Config, v value, bad fault) {
		if n, ok := wholeOf(v, low, high, bad); ok {
			*at(c) = int(n)
		}
	}, func(c *Config) string { return strconv.Itoa(*at(c)) }}
}

func seed(at func(*Config) *int64) kind {
	return kind{"a whole number", func(c *Config, v value, bad fault) {
		if n, ok := wholeOf(v, math.MinInt64, math.MaxInt64, bad); ok {
			*at(c) = n
		}
	}, func(c *Config) string { return strconv.FormatInt(*at(c), 10) }}
}

func maybeWhole[T int | int64](at func(*Config) **T, low, high int64) kind {
	return kind{wholeRange(low, high) + ", or \"unset\"", func(c *Config, v value, bad fault) {
		if unset(v) {
			*at(c) = nil
		} else if n, ok := wholeOf(v, low, high, bad); ok {
			t := T(n)
			*at(c) = &t
		}
	}, func(c *Config) string {
		if p := *at(c); p != nil {
			return strconv.FormatInt(int64(*p), 10)
		}
		return ""
	}}
}

// numberOf reads a number within the range; a whole number is one too.
func numberOf(v value, low, high float64, bad fault) (float64, bool) {
	n, ok := v.number, v.shape == isNumber || v.shape == isWhole
	if v.shape == isLoose {
		parsed, err := strconv.ParseFloat(strings.TrimSpace(v.text), 64)
		n, ok = parsed, err == nil
	}
	if !ok || !(n >= low && n <= high) || math.IsInf(n, 0) { // not a number is outside every range
		bad(v.at, "must be %s, not %s", numberRange(low, high), found(v))
		return 0, false
	}
	return n, true
}

func numberRange(low, high float64) string {
	if math.IsInf(high, 1) {
		return fmt.Sprintf("a number of at least %g", low)
	}
	return fmt.Sprintf("a number from %g to %g", low, high)
}

func number(at func(*Config) *float64, low, high float64) kind {
	return kind{numberRange(low, high), func(c *Config, v value, bad fault) {
		if n, ok := numberOf(v, low, high, bad); ok {
			*at(c) = n
		}
	}, func(c *Config) string { return tomlNumber(*at(c)) }}
}

func maybeNumber(at func(*Config) **float64, low, high float64) kind {
	return kind{numberRange(low, high) + ", or \"unset\"", func(c *Config, v value, bad fault) {
		if unset(v) {
			*at(c) = nil
		} else if n, ok := numberOf(v, low, high, bad); ok {
			*at(c) = &n
		}
	}, func(c *Config) string {
		if p := *at(c); p != nil {
			return tomlNumber(*p)
		}
		return ""
	}}
}

// maxSpan bounds every duration: beyond a year a bound bounds nothing.
const maxSpan = 366 * 24 * time.Hour

// span reads a duration written as Go does ("90s", "1h30m"). 0 needs no unit. A
// variable of the seed may hold bare seconds ("1.5").
func span(at func(*Config) *time.Duration, low time.Duration) kind {
	wants := "a duration such as \"60s\" or \"5m\""
	if low > 0 {
		wants += fmt.Sprintf(" of at least %s", short(low))
	}
	return kind{wants, func(c *Config, v value, bad fault) {
		d, err := time.Duration(0), error(nil)
		switch {
		case v.shape == isText || v.shape == isLoose:
			t := strings.TrimSpace(v.text)
			if s, numErr := strconv.ParseFloat(t, 64); v.seconds && numErr == nil {
				if !(math.Abs(s) <= maxSpan.Seconds()) {
					bad(v.at, "must be %s, not %s seconds", wants, quote(t))
					return
				}
				d = time.Duration(s * float64(time.Second))
			} else {
				d, err = time.ParseDuration(t)
			}
		case v.shape == isWhole && v.whole == 0:
		case v.shape == isWhole || v.shape == isNumber:
			bad(v.at, "must be %s, not a bare number; write \"%ss\" for seconds", wants, v.text)
			return
		default:
			bad(v.at, "must be %s, not %s", wants, v.shape)
			return
		}
		if err != nil || d < low || d > maxSpan {
			bad(v.at, "must be %s, not %s", wants, found(v))
			return
		}
		*at(c) = d
	}, func(c *Config) string { return tomlText(short(*at(c))) }}
}

// short writes a duration without its zero parts: 5m, not 5m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// sizes are the units of a byte count, longest first.
var sizes = []struct {
	unit  string
	bytes float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}}

func size(at func(*Config) *uint64, high float64) kind {
	wants := "a size such as \"512MB\" or \"1GiB\""
	return kind{wants, func(c *Config, v value, bad fault) {
		n, ok := v.number, v.shape == isWhole
		if v.shape == isText || v.shape == isLoose {
			digits, unit := strings.TrimSpace(v.text), 1.0
			for _, s := range sizes {
				if rest, found := strings.CutSuffix(digits, s.unit); found {
					digits, unit = strings.TrimSpace(rest), s.bytes
					break
				}
			}
			parsed, err := strconv.ParseFloat(digits, 64)
			n, ok = parsed*unit, err == nil
		}
		if !ok || !(n >= 0 && n <= high) {
			bad(v.at, "must be %s, not %s", wants, found(v))
			return
		}
		*at(c) = uint64(n)
	}, func(c *Config) string {
		n := *at(c)
		for _, unit := range []string{"GB", "MB", "KB"} {
			for _, s := range sizes {
				if s.unit == unit && n > 0 && n%uint64(s.bytes) == 0 {
					return tomlText(fmt.Sprintf("%d%s", n/uint64(s.bytes), unit))
				}
			}
		}
		return strconv.FormatUint(n, 10)
	}}
}

// found describes a value in a message, bounded.
func found(v value) string {
	switch v.shape {
	case isText, isLoose:
		return quote(v.text)
	case isWhole, isNumber:
		return v.text
	}
	return v.shape.String()
}

func tomlNumber(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// tomlText quotes a text as TOML does.
func tomlText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}
