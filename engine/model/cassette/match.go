package cassette

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Matcher says when two requests are the same. The zero value compares contents
// alone.
type Matcher struct {
	// Places are folders of the run, by the name they go by: a run's workspace lies
	// elsewhere every time. Keys are what the placeholder says, as "workspace".
	Places map[string]string
	// Mask replaces credentials by placeholders and counts them; nil masks nothing.
	Mask func(string) (string, int)
}

// volatile are the fields of a request that do not change what is asked.
var volatile = []string{"user", "safety_identifier", "metadata", "prompt_cache_key", "prompt_cache_retention", "stream_options", "service_tier", "store"}

// temporary folders and what stands for today in a system prompt change with every run.
var (
	temporary = regexp.MustCompile(`(?:/private)?/(?:var/folders/[^/\s"']+/[^/\s"']+/T|var/tmp|tmp)/[A-Za-z0-9][A-Za-z0-9._-]*`)
	dates     = regexp.MustCompile(datePattern)
	joined    = regexp.MustCompile(beside)
	// Ambient are the dates by which harnesses tell their model of today, in whatever
	// message: within <env>, <environment_context> and <system-reminder>, and behind words
	// such as "Today's date is", "Now:" or "Current time:".
	blocks  = regexp.MustCompile(`(?s)<(?:env|environment_context|environment_details|system-reminder)>.*?</(?:env|environment_context|environment_details|system-reminder)>`)
	ambient = regexp.MustCompile(`(?i)((?:\btoday(?:'s|’s)?(?: date)?(?: is|:)|\bcurrent (?:date|time|datetime|date and time)(?: is|:)|^now:|\nnow:)[ \t]*` + weekday + `)(?:` + datePattern + `)`)
)

// datePattern finds dates and times as programs and people write them: ISO 8601, the
// order of words of English, of RFC 1123 and of date(1), with dots or slashes, and times
// of day alone.
const (
	weekday     = `(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? )?`
	month       = `(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t|tember)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)`
	zone        = `(?: ?(?-i:Z|GMT|UTC|[A-Z]{2,4}T|MSK|[+-]\d{2}:?\d{2})\b)?`
	clock       = `\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AP]M\b)?`
	datePattern = `(?i)(?:\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?\b` +
		`|\b` + weekday + month + ` {1,2}\d{1,2} (?:\d{2}:\d{2}:\d{2}(?: [AP]M)?|<date>)(?: [A-Z]{3,4})? \d{4}\b` + // date(1)
		`|\b` + weekday + month + ` \d{1,2}(?:st|nd|rd|th)?,? \d{4}\b` +
		`|\b` + weekday + `\d{1,2}(?:st|nd|rd|th)? ` + month + `,? \d{4}\b` + // RFC 1123
		`|\b\d{1,2}/\d{1,2}/\d{4}\b|\b\d{1,2}\.\d{1,2}\.\d{4}\b|\b` + clock +
		`|\b1[6-9]\d{8}(?:\d{3})?(?:\.\d+)?\b)` // seconds or milliseconds since 1970
	// beside takes the weekday, time and zone beside a <date> in: it stands for all of
	// them, however much of them an earlier version had recognised.
	beside = `(?i)(?:\b(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? )?<date>(?:(?:,|, at| at)? (?:<date>|` + clock + `))*` + zone +
		`(?: [AP]M\b)?(?: \((?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\))?`
)

// Canonical is the request body with what changes from run to run taken out and
// credentials masked: the fields of volatile, the run's places, temporary folders,
// and dates in system prompts and where a harness tells its model of today (a date that
// the user asks about stays). It
// keeps the order of lists, not of object keys. masked counts the placeholders.
func (m Matcher) Canonical(body []byte) (canonical json.RawMessage, masked int) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		text, n := m.text(string(body), false)
		quoted, _ := json.Marshal(text)
		return quoted, n
	}
	if top, ok := v.(map[string]any); ok {
		for _, k := range volatile {
			delete(top, k)
		}
	}
	v = m.walk(v, false, &masked)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return nil, masked
	}
	return bytes.TrimSpace(out.Bytes()), masked
}

// Key is what requests are matched by: method, path and canonical body.
func Key(method, path string, canonical []byte) string {
	h := sha256.New()
	h.Write([]byte(method + " " + path + "\n"))
	h.Write(canonical)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (m Matcher) walk(v any, system bool, masked *int) any {
	switch x := v.(type) {
	case map[string]any:
		role, _ := x["role"].(string)
		system = system || role == "system" || role == "developer"
		for k, inner := range x {
			x[k] = m.walk(inner, system || k == "instructions" || k == "system", masked)
		}
	case []any:
		for i := range x {
			x[i] = m.walk(x[i], system, masked)
		}
	case string:
		text, n := m.text(x, system)
		*masked += n
		return text
	}
	return v
}

func (m Matcher) text(s string, system bool) (string, int) {
	n := 0
	if m.Mask != nil {
		s, n = m.Mask(s)
	}
	if strings.ContainsRune(s, filepath.Separator) {
		for _, p := range m.places() {
			s = strings.ReplaceAll(s, p.dir, "<"+p.name+">")
		}
		s = temporary.ReplaceAllString(s, "<tmp>")
	}
	if system {
		return undated(s), n
	}
	if strings.Contains(s, "</") {
		s = blocks.ReplaceAllStringFunc(s, undated)
	}
	if s = ambient.ReplaceAllString(s, "$1<date>"); strings.Contains(s, "<date>") {
		s = joined.ReplaceAllString(s, "<date>")
	}
	return s, n
}

// undated puts <date> in the place of every date, with the weekday, time and zone beside it.
func undated(s string) string {
	return joined.ReplaceAllString(dates.ReplaceAllString(s, "<date>"), "<date>")
}

type place struct{ name, dir string }

// places are the longest first, so that a folder in another one is named itself.
func (m Matcher) places() []place {
	var out []place
	for name, dir := range m.Places {
		if len(dir) > 1 {
			out = append(out, place{name, dir})
		}
	}
	slices.SortFunc(out, func(a, b place) int {
		return cmp.Or(len(b.dir)-len(a.dir), cmp.Compare(a.name, b.name))
	})
	return out
}
