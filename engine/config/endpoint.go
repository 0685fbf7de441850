package config

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// providerFields are the keys of [providers.NAME]; those a variable or a flag can
// set leave the prices out.
var (
	providerFields    = []string{"base_url", "key", "reasoning", "price"}
	providerVariables = []string{"base_url", "key", "reasoning"}
	providerName      = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,47}$`)
)

// MaxProviders bounds the table.
const MaxProviders = 256

// providerTable applies one [providers.NAME].
func (l *loader) providerTable(f field, at Problem) {
	at.Line, at.Column = f.at.line, f.at.column
	if f.value.shape != isTable {
		at.Key, at.Message = "providers."+bounded(f.name), "is a table: write [providers."+bounded(f.name)+"] and base_url, key, reasoning, price below"
		l.problems.add(at)
		return
	}
	if len(f.value.table) == 0 {
		l.provider(f.name, "", value{}, at)
	}
	for _, k := range f.value.table {
		at.Line, at.Column = k.at.line, k.at.column
		l.provider(f.name, k.name, k.value, at)
	}
}

// provider applies one field of a provider; "" only names it.
func (l *loader) provider(name, field string, v value, at Problem) {
	key := "providers." + bounded(name)
	if field != "" {
		key += "." + bounded(field)
	}
	p, known := l.config.Providers[name]
	ok := l.apply(key, at, func(bad fault) {
		switch {
		case !providerName.MatchString(name):
			bad(place{at.Line, at.Column}, "the name of a provider is a-z, 0-9, _ . - and at most 48 long")
		case name == Builtin:
			bad(place{at.Line, at.Column}, "%s answers in this process and cannot be changed", Builtin)
		case !known && len(l.config.Providers) >= MaxProviders:
			bad(place{at.Line, at.Column}, "there are more than %d providers", MaxProviders)
		default:
			setProvider(&p, field, v, place{at.Line, at.Column}, bad)
		}
	})
	if !ok {
		return
	}
	// The built-in table is shared; a changed copy takes its place.
	l.config.Providers[name] = p
	l.origins[key] = Setting{Key: key, File: at.File, Line: at.Line, column: at.Column, Variable: at.Variable, Flag: at.Flag}
}

func setProvider(p *Provider, field string, v value, at place, bad fault) {
	isString := v.shape == isText || v.loose
	switch field {
	case "":
	case "base_url":
		if !isString {
			bad(v.at, "must be an address, not %s", v.shape)
		} else if err := address(v.text); err != nil {
			bad(v.at, "must be an address such as \"http://127.0.0.1:8080/v1\": %v", err)
		} else {
			p.BaseURL = strings.TrimRight(v.text, "/")
		}
	case "key":
		// The value is never quoted in a message: it may be the key itself.
		if !isString {
			bad(v.at, "%s", secretRule)
		} else if err := Secret(v.text).Check(); v.text != "" && err != nil {
			bad(v.at, "%v", err)
		} else {
			p.Key = Secret(v.text)
		}
	case "reasoning":
		if b, ok := truthOf(v); ok {
			p.Reasoning = b
		} else {
			bad(v.at, "must be true or false, not %s", found(v))
		}
	case "price":
		p.Prices = prices(v, bad)
	default:
		bad(at, "there is no such key%s; there are %s", meant(field, providerFields), strings.Join(providerFields, ", "))
	}
}

// prices reads { "model" = { input = 0.25, output = 2.0, cached = 0.025 }, "*" = ... }.
func prices(v value, bad fault) map[string]Price {
	const wants = "a table of models, such as { \"*\" = { input = 0.25, output = 2.0 } }, in dollars per million tokens"
	if v.shape != isTable || len(v.table) > MaxListItems {
		bad(v.at, "must be %s, not %s", wants, found(v))
		return nil
	}
	out := map[string]Price{}
	for _, f := range v.table {
		if f.value.shape != isTable {
			bad(f.value.at, "must be %s; %s is %s", wants, quote(f.name), found(f.value))
			continue
		}
		var price Price
		given := map[string]bool{}
		for _, part := range f.value.table {
			if !slices.Contains([]string{"input", "output", "cached"}, part.name) {
				bad(part.at, "%s is unknown; a price has input, output and cached", quote(part.name))
				continue
			}
			n, ok := numberOf(part.value, 0, math.Inf(1), bad)
			if !ok {
				continue
			}
			given[part.name] = true
			switch part.name {
			case "input":
				price.Input = n
			case "output":
				price.Output = n
			case "cached":
				price.Cached = &n
			}
		}
		if !given["input"] || !given["output"] {
			bad(f.at, "the price of %s needs input and output: half a price is no price", quote(f.name))
		}
		out[f.name] = price
	}
	return out
}

func showPrices(m map[string]Price) string {
	parts := []string{}
	for _, model := range slices.Sorted(maps.Keys(m)) {
		p := m[model]
		one := []string{"input = " + tomlNumber(p.Input), "output = " + tomlNumber(p.Output)}
		if p.Cached != nil {
			one = append(one, "cached = "+tomlNumber(*p.Cached))
		}
		parts = append(parts, tomlText(model)+" = "+tomlTable(one))
	}
	return tomlTable(parts)
}
