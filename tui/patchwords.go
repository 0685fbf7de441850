package tui

import (
	"strings"

	"vise/engine/event"
	"vise/engine/patch/run"
	"vise/tui/style"
)

// patchWords is what an event of the patch loop says in one line; "" for others.
func patchWords(e event.Event) string {
	d := fields(e.Data)
	id := runTag(e.RunID)
	switch e.Type {
	case event.PatchStarted:
		s := id + "  " + d.text("program") + "  " + count2(d.int("base_files"), "file")
		if d["repair_of"] != nil {
			s += "  repair " + d.int("attempt") + " of " + runTag(d.text("repair_of"))
		}
		return s
	case event.PatchDriven:
		return id + "  " + strings.ReplaceAll(d.text("status"), "_", " ") + "  " + count2(d.int("files"), "file") + " changed  policy says " + d.text("outcome")
	case event.PatchProved:
		return id + "  " + strings.ToLower(strings.ReplaceAll(d.text("verdict"), "_", " ")) + "  " + strings.ReplaceAll(d.text("class"), "_", " ")
	case event.PatchRouted:
		return id + "  " + d.text("kind") + "  " + strings.ReplaceAll(d.text("code"), "_", " ")
	case event.PatchPacket:
		return id + "  for repair " + d.int("attempt")
	case event.PatchState:
		return id + "  " + d.text("state")
	case event.PatchFinished:
		return id + "  " + d.text("status") + "  " + strings.ReplaceAll(d.text("code"), "_", " ") + "  " + count2(d.int("attempts"), "proof")
	case event.PatchApplied, event.PatchUndone:
		return id + "  " + count2(d.int("files"), "file")
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
