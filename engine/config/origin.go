package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Setting is the effective value of a key and the layer it came from.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"` // as TOML; "" = unset; never a secret
	// Origin names the layer for people: "vise.toml:12", "HARNESS_ROOT", "flag", "default".
	Origin string `json:"origin"`
	// The same for programs: File with Line, or Variable, or Flag; none of them is the default.
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Variable string `json:"variable,omitempty"`
	Flag     string `json:"flag,omitempty"`

	column int
}

// source names the place of a value that some layer set; "" when none did.
func (s Setting) source() string {
	switch {
	case s.Variable != "":
		return s.Variable
	case s.Flag != "":
		return "flag"
	case s.File != "":
		return fmt.Sprintf("%s:%d", s.File, s.Line)
	}
	return ""
}

// Origins says where every effective value came from.
type Origins struct{ list []Setting }

// List returns one Setting per key, in the order of Keys, then those of the providers.
func (o Origins) List() []Setting { return slices.Clone(o.list) }

// Of returns the setting of one key.
func (o Origins) Of(key string) (Setting, bool) {
	i := slices.IndexFunc(o.list, func(s Setting) bool { return s.Key == key })
	if i < 0 {
		return Setting{}, false
	}
	return o.list[i], true
}

// list completes the origins with values and with those of keys nobody set.
func (l *loader) list(startPeak string) Origins {
	out := make([]Setting, 0, len(settings)+3*len(l.config.Providers))
	complete := func(key, value, def string) {
		o := l.origins[key]
		o.Key, o.Value, o.Origin = key, value, cmp.Or(o.source(), def)
		out = append(out, o)
	}
	for _, s := range settings {
		def := "default"
		if s.name == "gate.start_peak" {
			def = startPeak
		}
		complete(s.name, s.kind.show(l.config), def)
	}
	for _, name := range slices.SortedFunc(maps.Keys(l.config.Providers), cmp.Compare[string]) {
		p, key := l.config.Providers[name], "providers."+name
		complete(key+".base_url", tomlText(p.BaseURL), "default")
		complete(key+".key", tomlText(p.Key.String()), "default")
		complete(key+".reasoning", fmt.Sprint(p.Reasoning), "default")
		if len(p.Prices) > 0 {
			complete(key+".price", showPrices(p.Prices), "default")
		}
	}
	return Origins{out}
}
