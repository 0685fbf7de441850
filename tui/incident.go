package tui

import (
	"slices"
	"time"
)

// Incident is an error of something that the workbench started.
type Incident struct {
	At   time.Time
	What string // "replay of torn-blanket"
	Err  error
}

// gone is a dismissed incident with its place among the others.
type gone struct {
	Incident
	place int
}

// key tells incidents apart.
func (x Incident) key() string {
	return x.At.UTC().Format(time.RFC3339Nano) + " " + x.What + " " + x.Err.Error()
}

// dismiss takes the n-th incident away, for recall.
func (c *Context) dismiss(n int) Incident {
	x := c.Incidents[n]
	c.Incidents = slices.Delete(slices.Clone(c.Incidents), n, n+1)
	c.dismissed = append(c.dismissed[max(0, len(c.dismissed)-maxIncidents+1):], gone{x, n})
	return x
}

// recall brings a dismissed incident back to its place, or dismisses it again.
func (c *Context) recall(key string, away bool) {
	if away {
		if i := slices.IndexFunc(c.Incidents, func(x Incident) bool { return x.key() == key }); i >= 0 {
			c.dismiss(i)
		}
		return
	}
	if i := slices.IndexFunc(c.dismissed, func(x gone) bool { return x.key() == key }); i >= 0 {
		x := c.dismissed[i]
		c.Incidents = slices.Insert(slices.Clone(c.Incidents), min(x.place, len(c.Incidents)), x.Incident)
		c.dismissed = slices.Delete(slices.Clone(c.dismissed), i, i+1)
	}
}
