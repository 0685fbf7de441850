package themes

// contrast checks a role on the background and on every ground text can lie on.
func (p *parser) contrast(t *Theme, role Role) {
	if role.Ground() {
		return
	}
	least := textContrast
	if role.Mark() {
		least = markContrast
	}
	for _, g := range t.Grounds(role) {
		switch {
		case g.Ratio > 0 && g.Ratio < least:
			p.fail("roles", role.String(), "contrast %.2f:1 on %s; at least %.1f:1 is needed", g.Ratio, g.On, least)
		case g.Ratio == 0 && role == Text && t.Roles[role].Fg.Own != Default:
			p.fail("roles", role.String(), "is %s; where the background is the terminal's, text is \"default\"", t.Roles[role].Fg)
		}
	}
}

// OnGround is the contrast of a role on one ground; Ratio is 0 when a colour is the
// terminal's own and nobody can tell.
type OnGround struct {
	On    string
	Ratio float64
}

// Grounds are the contrasts of a role of text on everything it is drawn on.
func (t *Theme) Grounds(role Role) []OnGround {
	look, bg := t.Roles[role], t.Background
	if look.Bg != nil {
		bg = *look.Bg
	}
	ratio := func(fg, bg Color) float64 {
		if !fg.Known() || !bg.Known() {
			return 0
		}
		return Contrast(fg, bg)
	}
	out := []OnGround{{"the background", ratio(*look.Fg, bg)}}
	if role.Mark() {
		return out
	}
	for g := Cursor; g < roleCount; g++ {
		ground := t.Roles[g]
		fg, bg := *look.Fg, t.Background
		if ground.Fg != nil {
			fg = *ground.Fg
		}
		if ground.Bg != nil {
			bg = *ground.Bg
		}
		out = append(out, OnGround{"ground " + g.String(), ratio(fg, bg)})
	}
	return out
}

// Least is the lowest contrast of text that the theme has, 0 when colours of the
// terminal make it unknown.
func (t *Theme) Least() float64 {
	least := 0.0
	for r := range RoleCount {
		role := Role(r)
		if role.Ground() || role.Mark() {
			continue
		}
		for _, g := range t.Grounds(role) {
			if g.Ratio == 0 {
				return 0
			}
			if least == 0 || g.Ratio < least {
				least = g.Ratio
			}
		}
	}
	return least
}
