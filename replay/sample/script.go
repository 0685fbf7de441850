package sample

import (
	"context"
	"fmt"
	"regexp"
	"strings"
)

var orderID = regexp.MustCompile(`\b[A-Z]-\d{4}\b`)

// intent is what the script understands of an input.
type intent int

const (
	talk intent = iota
	lookUp
	refund
	notify
)

// read finds the intent and the order of an input. It looks for a handful of
// words: this is a script, and the demo's inputs are written for it.
func read(input, last string) (intent, string) {
	id := orderID.FindString(input)
	if id == "" {
		id = last
	}
	s := strings.ToLower(input)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(s, w) {
				return true
			}
		}
		return false
	}
	switch {
	case id == "":
		return talk, ""
	case has("refund", "money back", "reimburse", "pay back"):
		return refund, id
	case has("notify", "tell the customer", "write to", "let the customer know"):
		return notify, id
	case orderID.MatchString(input) || has("where", "status", "arrive", "ship"):
		return lookUp, id
	}
	return talk, id
}

// reasonFor picks the code that fits the user's words.
func reasonFor(input string) string {
	s := strings.ToLower(input)
	for _, r := range []struct{ word, code string }{
		{"broken", "damaged_item"}, {"crack", "damaged_item"}, {"damage", "damaged_item"}, {"torn", "damaged_item"},
		{"late", "late_delivery"}, {"weeks", "late_delivery"}, {"wrong", "wrong_item"}, {"not what", "wrong_item"},
		{"twice", "duplicate_charge"}, {"double", "duplicate_charge"},
	} {
		if strings.Contains(s, r.word) {
			return r.code
		}
	}
	return "other"
}

// turn plays one input. The answers vary with the turn, as people's do.
func (t *playing) turn(ctx context.Context, input string) error {
	if t.client(ctx, input) {
		return ctx.Err()
	}
	kind, id := read(input, t.c.order)
	t.c.order = id
	if kind == talk {
		t.say(ctx, pick(t.index,
			"This desk knows orders by their number, such as the one printed on the receipt.",
			"You are welcome. The desk stays open for any order with its number at hand.",
			"Glad to be of use; an order number is all the desk asks for."))
		return ctx.Err()
	}
	stumbles := chance(t.a.o.Seed, t.c.number, t.index, "stumble") < t.a.o.Noise
	t.think(ctx, fmt.Sprintf("The request is about order %s. The order book comes first.", id))
	t.say(ctx, "Checking the order book.")
	found, ok := t.tool(ctx, "look_up_order", "Look up order "+id, map[string]any{"order_id": id})
	if !ok {
		t.say(ctx, fmt.Sprintf("The order book holds nothing under %s.", id))
		return ctx.Err()
	}
	switch kind {
	case lookUp:
		if stumbles {
			t.say(ctx, "Sending the customer a blank note.")
			t.tool(ctx, "notify_customer", "Notify the customer", map[string]any{"order_id": id})
			t.say(ctx, "The desk turned that down and the state stays open.")
			return ctx.Err()
		}
		t.say(ctx, pick(t.index,
			fmt.Sprintf("Order %s holds a %s. It left on %s with %s and is now %s.", id, found["item"], found["shipped"], found["carrier"], found["status"]),
			fmt.Sprintf("The book shows %s for %s: one %s at $%.2f, carried by %s.", found["status"], id, found["item"], found["total"], found["carrier"]),
			fmt.Sprintf("%s bought that %s; %s took it on %s, and the entry reads %s.", found["customer"], found["item"], found["carrier"], found["shipped"], found["status"])))
	case notify:
		t.say(ctx, "Writing the note.")
		if _, ok := t.tool(ctx, "notify_customer", "Notify the customer", map[string]any{"order_id": id, "message": "A word about your " + fmt.Sprint(found["item"])}); ok {
			t.say(ctx, pick(t.index,
				fmt.Sprintf("%s has a note about the %s.", found["customer"], found["item"]),
				fmt.Sprintf("A message on %s went out to %s.", id, found["customer"]),
				fmt.Sprintf("The %s note is delivered.", found["item"])))
		} else {
			t.say(ctx, "The note was turned down.")
		}
	case refund:
		t.refund(ctx, input, id, found, stumbles)
	}
	return ctx.Err()
}

// refund is where the agent goes wrong, and where a rule helps.
func (t *playing) refund(ctx context.Context, input, id string, found map[string]any, stumbles bool) {
	t.plan(ctx, "look up the order", "issue the refund", "notify the customer")
	taught := t.consult(ctx, "issue_refund", "reason_code")
	args := map[string]any{"order_id": id, "amount": found["total"]}
	if (t.index < remembers || taught) && !stumbles {
		args["reason_code"] = reasonFor(input)
	}
	t.say(ctx, "Issuing the refund.")
	done, ok := t.tool(ctx, "issue_refund", "Issue refund for "+id, args)
	if !ok {
		t.think(ctx, "The refund was turned down. Trying it once more.")
		if done, ok = t.tool(ctx, "issue_refund", "Issue refund for "+id, args); !ok {
			t.say(ctx, pick(t.index,
				fmt.Sprintf("The refund for %s did not go through; the desk turned it down two times.", id),
				fmt.Sprintf("No money moved for %s. Both attempts were rejected and this is where it ends.", id),
				fmt.Sprintf("I could not complete the refund of the %s: the desk rejects it every time.", found["item"])))
			return
		}
	}
	t.say(ctx, "Telling the customer.")
	t.tool(ctx, "notify_customer", "Notify the customer", map[string]any{"order_id": id, "message": fmt.Sprintf("Your refund for the %s is on record.", found["item"])})
	t.say(ctx, pick(t.index,
		fmt.Sprintf("The refund of $%.2f for %s is on record as %s, and %s has a note about it.", found["total"], id, done["refund_id"], found["customer"]),
		fmt.Sprintf("Done: %s returns $%.2f to %s for the %s. The confirmation mail went out as well.", done["refund_id"], found["total"], found["customer"], found["item"]),
		fmt.Sprintf("%s gets the price of the %s back, $%.2f in all; reference %s.", found["customer"], found["item"], found["total"], done["refund_id"])))
}

func pick(i int, variants ...string) string { return variants[i%len(variants)] }
