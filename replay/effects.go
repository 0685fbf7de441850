package replay

import (
	"vise/replay/driver"
)

// describe adds to a run's attributes or to its event what its agent was set to, and
// what of it stayed live.
func (a Agent) describe(info driver.Info, data map[string]any) {
	if info.Mode != "" {
		data["mode"] = info.Mode
	}
	if a.Driver == "exec" {
		return
	}
	data["effects"] = a.Effects
	data["live"] = a.Live()
}

// Live says, in a few words each, what of a run is neither recorded nor held by the
// setting agent.effects.
func (a Agent) Live() []string {
	live := []string{"what the agent does by itself"}
	if a.Driver == "exec" {
		return live
	}
	if a.Effects == string(driver.EffectsLive) {
		live = append(live, "files and commands that it asks vise for")
	}
	return live
}
