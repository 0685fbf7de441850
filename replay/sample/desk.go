package sample

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// order is an entry of the toy order book.
type order struct {
	item, customer, status, shipped, carrier string
	total                                    float64
}

// orders is the book every session starts with.
var orders = map[string]order{
	"A-1001": {"desk lamp", "Mira Holt", "delivered", "2026-03-02", "Northway", 39.90},
	"A-1002": {"coffee grinder", "Jonas Weber", "in transit", "2026-03-09", "Parcelline", 84.50},
	"A-1003": {"wool blanket", "Aisha Khan", "delivered", "2026-02-26", "Northway", 61.25},
	"A-1004": {"garden hose", "Tom Becker", "delivered", "2026-03-05", "Parcelline", 28.40},
	"A-1005": {"travel kettle", "Lena Fox", "delivered", "2026-03-01", "Northway", 45.75},
	"A-1006": {"wall clock", "Omar Diaz", "in transit", "2026-03-10", "Parcelline", 52.30},
	"A-1007": {"picture frame", "Ruth Stein", "delivered", "2026-02-20", "Northway", 33.15},
	"A-1008": {"bread knife", "Ivan Petrov", "delivered", "2026-03-03", "Parcelline", 27.60},
}

// desk is the refund desk of one session.
type desk struct {
	refunded map[string]bool
	notes    int
}

// argument names of the tools, in the order in which missing ones are reported.
var required = map[string][]string{
	"look_up_order":   {"order_id"},
	"issue_refund":    {"order_id", "amount", "reason_code"},
	"notify_customer": {"order_id", "message"},
}

// reasons are the codes issue_refund takes.
var reasons = []string{"damaged_item", "late_delivery", "wrong_item", "duplicate_charge", "other"}

// call runs one tool. The error is what the tool says when it refuses.
func (d *desk) call(tool string, args map[string]any) (map[string]any, error) {
	names, ok := required[tool]
	if !ok {
		return nil, fmt.Errorf("unknown tool %q", tool)
	}
	for _, n := range names {
		if _, ok := args[n]; !ok {
			return nil, fmt.Errorf("validation error: missing required argument '%s' for %s", n, tool)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(names, n) {
			return nil, fmt.Errorf("validation error: unexpected argument '%s' for %s", n, tool)
		}
	}
	id, _ := args["order_id"].(string)
	o, ok := orders[id]
	if !ok {
		return nil, fmt.Errorf("order %q not found", id)
	}
	switch tool {
	case "look_up_order":
		return map[string]any{"order_id": id, "item": o.item, "customer": o.customer, "status": o.status,
			"shipped": o.shipped, "carrier": o.carrier, "total": o.total}, nil
	case "issue_refund":
		reason, _ := args["reason_code"].(string)
		amount, _ := args["amount"].(float64)
		switch {
		case !slices.Contains(reasons, reason):
			return nil, fmt.Errorf("validation error: argument 'reason_code' must be one of %s", strings.Join(reasons, ", "))
		case amount <= 0 || amount > o.total:
			return nil, fmt.Errorf("validation error: argument 'amount' must be more than 0 and at most %.2f", o.total)
		case d.refunded[id]:
			return nil, fmt.Errorf("order %s has been refunded already", id)
		}
		d.refunded[id] = true
		return map[string]any{"refund_id": "RF-" + strings.TrimPrefix(id, "A-"), "order_id": id, "amount": amount, "status": "accepted"}, nil
	case "notify_customer":
		if m, _ := args["message"].(string); strings.TrimSpace(m) == "" {
			return nil, errors.New("validation error: argument 'message' must not be blank")
		}
		d.notes++
		return map[string]any{"order_id": id, "customer": o.customer, "sent": true}, nil
	}
	return nil, fmt.Errorf("unknown tool %q", tool)
}
