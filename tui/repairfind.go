package tui

// Search implements Searcher: over all that was asked, said and done in the episode. While it
// is in force every step is open.
func (p *repairPane) Search(_ *Context, q string) int {
	was := p.find
	p.find = q
	if p.body == nil {
		return 0
	}
	if (was == "") != (q == "") {
		p.revealed = [4]int{}
		p.layout()
		switch {
		case q != "":
			p.body.Home()
		case p.step == 0 && p.running():
			p.body.End()
		}
	}
	p.bump()
	return searchText(p.body, p.st(), q)
}
