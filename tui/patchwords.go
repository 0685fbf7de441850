package tui

import (
	"slices"
	"strings"

	"vise/engine/event"
	"vise/engine/patch/run"
	"vise/tui/style"
)

// patchWords is what an event of the patch loop says in one line; "" for others.
func patchWords(e event.Event) string {
	d := fields(e.Data)
	id := runTag(e.RunID)
	about := func(parts ...string) string {
		return strings.Join(slices.DeleteFunc(append(parts, id), func(s string) bool { return s == "" }), "  ")
	}
	plain := func(name string) string { return strings.ReplaceAll(d.text(name), "_", " ") }
	switch e.Type {
	case event.PatchStarted:
		repair := ""
		if d["repair_of"] != nil {
			repair = "repair " + d.int("attempt") + " of " + runTag(d.text("repair_of"))
		}
		return about(d.text("program"), repair, "on "+count2(d.int("base_files"), "file"))
	case event.PatchDriven:
		return about(plain("status"), count2(d.int("files"), "file")+" changed", "policy says "+d.text("outcome"))
	case event.PatchProved:
		again := ""
		if d["again"] == true {
			again = "proven once more"
		}
		return about(strings.ToLower(plain("verdict")), plain("class"), again)
	case event.PatchRouted:
		return about(d.text("kind"), plain("code"))
	case event.PatchPacket:
		return about("for repair " + d.int("attempt"))
	case event.PatchState:
		return about(d.text("state"))
	case event.PatchFinished:
		return about(d.text("status"), plain("code"), count2(d.int("attempts"), "proof"))
	case event.PatchApplied, event.PatchUndone:
		return about(count2(d.int("files"), "file"))
	case event.PatchRemoved:
		return id
	}
	return ""
}

// patchRole is the colour of an event of the patch loop.
func patchRole(e event.Event) (style.Role, bool) {
	switch e.Type {
	case event.PatchState:
		return style.Dim, true
	case event.PatchProved:
		if e.Data["verdict"] != run.Proven {
			return style.Bad, true
		}
		return style.Good, true
	case event.PatchFinished:
		switch e.Data["status"] {
		case run.Repaired:
			return style.Good, true
		case run.NeedsHuman, run.NeedsAgent:
			return style.Warn, true
		}
		return style.Bad, true
	}
	return style.Plain, false
}
