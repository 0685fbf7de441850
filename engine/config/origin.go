package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Origin says what a key's effective value is and which layer set it.
type Origin struct {
	Key   string `json:"key"`
	Value string `json:"value"` // as TOML; "" = unset; never a secret
	// Where: File with Line, or Variable, or Flag; none of them = Default.
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Variable string `json:"variable,omitempty"`
	Flag     string `json:"flag,omitempty"`
	Default  string `json:"default,omitempty"` // "default", or under which condition

	column int
}

// Source names the layer for people: "vise.toml:12", "HARNESS_ROOT", "flag", "default".
func (o Origin) Source() string {
	switch {
	case o.Variable != "":
		return o.Variable
	case o.Flag != "":
		return "flag"
	case o.File != "":
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	}
	return o.Default
}

// Origins holds one Origin per key, in the order of Keys, then those of the providers.
type Origins []Origin

// Of returns the origin of one key.
func (os Origins) Of(key string) (Origin, bool) {
	i := slices.IndexFunc(os, func(o Origin) bool { return o.Key == key })
	if i < 0 {
		return Origin{}, false
	}
	return os[i], true
}

// list completes the origins with values and with those of keys nobody set.
func (l *loader) list(startPeak string) Origins {
	out := make(Origins, 0, len(settings)+2*len(l.config.Providers))
	complete := func(key, value, def string) {
		o, set := l.origins[key]
		if !set {
			o = Origin{Default: def}
		}
		o.Key, o.Value = key, value
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
	return out
}
