package process

import (
	"errors"
	"testing"
)

// What a required sandbox accepts: held in full, and nothing less.
func TestRequired(t *testing.T) {
	for _, c := range []struct {
		abi     int
		open    bool
		network string
		ok      bool
	}{
		{7, false, NetworkHeld, true},
		{3, false, NetworkHeld, true},
		{7, true, NetworkOpen, true}, // it was not asked for
		{7, false, NetworkPorts, false},
		{3, false, NetworkOpen, false},
		{2, false, NetworkHeld, false}, // files can be emptied
		{0, false, NetworkHeld, false},
		{0, true, NetworkOpen, false},
	} {
		b := &box{required: true, open: c.open, order: order{ABI: c.abi}, held: Held{Files: c.abi > 0, Network: c.network, Landlock: c.abi}}
		if err := b.refusal("agent"); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrNotHeld) {
			t.Errorf("Landlock %d, open %v, network %s: %v", c.abi, c.open, c.network, err)
		}
		b.required = false
		if err := b.refusal("agent"); err != nil {
			t.Errorf("not required: %v", err)
		}
	}
}
