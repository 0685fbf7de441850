package tui

import "testing"

// A run and the recording that it is a replay of, side by side: the cursor is on the
// first difference, n goes to the next, i to the turn, o back.
func TestBeside(t *testing.T) {
	d := worked(t)
	d.turns[2].Spans = repairedSpans(d.turns[2].Spans)
	if err := d.live(t.Context(), "s-0002"); err != nil {
		t.Fatal(err)
	}
	for _, size := range []struct{ w, h int }{{160, 50}, {80, 24}} {
		b := newBench(t, d, size.w, size.h)
		*b.app.ctx.Scope = Scope{Session: "s-0002", Turn: 0}
		b.send(nil)
		b.press("D", "2", "d")
		b.screenHas("two sessions, ", "torn-blanket", "s-0002", "recorded", "run of ", "differs: arguments; ", "A issue_refund", "B issue_refund", "n N next and previous difference")
		c := b.app.overlays[0].(*besideCard)
		first := c.at
		b.press("n")
		if c.at <= first || c.rows[c.at].What == "" {
			t.Errorf("n went from row %d to %d", first, c.at)
		}
		b.press("N", "i")
		if s := b.app.ctx.Scope; b.app.focus != PaneTrace || s.Session != "s-0002" || s.Turn != 2 {
			t.Errorf("i went to %s %s/%d", b.app.focus, s.Session, s.Turn)
		}
		b.press("o")
		if b.app.focus != PaneTurns || b.app.ctx.Scope.Turn != 0 {
			t.Errorf("o went to %s turn %d", b.app.focus, b.app.ctx.Scope.Turn)
		}
		b.press("R", "5", ":")
		b.typed("diff nothing")
		b.press("enter")
		if len(b.app.overlays) != 0 {
			t.Error("a card is open about nothing")
		}
	}
}

// What two texts have in common gives way to where they differ.
func TestFromDifference(t *testing.T) {
	same := `harness_notice_ack {"note":"written by the repairer","rule":"`
	for _, x := range []struct {
		a, b string
		room int
		want [2]string
	}{
		{same + `1"}`, same + `2"}`, 36, [2]string{`harness_notice_ack …er","rule":"1"}`, `harness_notice_ack …er","rule":"2"}`}},
		{same + `1"}`, same + `2"}`, 200, [2]string{same + `1"}`, same + `2"}`}},
		{"look up", "look down", 5, [2]string{"look up", "look down"}},
		{same, same, 10, [2]string{same, same}},
	} {
		if a, b := fromDifference(x.a, x.b, x.room); a != x.want[0] || b != x.want[1] {
			t.Errorf("%q\n%q", a, b)
		}
	}
}
