package tui

// command is the headless command that prints what waits.
func (x AttentionItem) command() string {
	switch x.Kind {
	case "incident":
		return "vise logs --level error"
	case "held", "failed", "dead_letter":
		return "vise episodes show " + shellWord(x.EpisodeID)
	case "needs_human", "notice":
		if x.NoticeID != "" {
			return "vise notices show " + shellWord(x.NoticeID)
		}
		return "vise notices ls --pending"
	case "quarantine":
		return "vise store verify"
	case "budget":
		return "vise journal --type budget_stopped --last 1"
	case "flagged", "candidates":
		return "vise rules show " + shellWord(x.RuleID)
	case "win_offered", "wins_offered":
		return "vise cases offers"
	case "patch":
		if x.RunID != "" {
			return "vise patch show " + shellWord(x.RunID)
		}
		return "vise patch ls"
	}
	return "vise attention"
}
