package loopback

import (
	"net"
	"testing"
	"time"
)

// One connection more than there are places waits; it is served when one ends, and
// the end of the server ends the waiting.
func TestConnectionsAreBounded(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := newBounded(l)
	b.places = make(chan struct{}, 2)
	accepted, ended := make(chan net.Conn), make(chan error, 1)
	go func() {
		for {
			c, err := b.Accept()
			if err != nil {
				ended <- err
				return
			}
			accepted <- c
		}
	}()
	for range 3 {
		c, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	take := func() net.Conn {
		t.Helper()
		select {
		case c := <-accepted:
			return c
		case <-time.After(30 * time.Second):
			t.Fatal("no connection came")
			return nil
		}
	}
	first, second := take(), take()
	select {
	case <-accepted:
		t.Fatal("a third one was taken")
	case <-time.After(50 * time.Millisecond):
	}
	first.Close()
	first.Close() // once more gives no second place
	third := take()
	if len(b.places) != 2 {
		t.Errorf("%d places taken, want 2", len(b.places))
	}
	b.Close()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("it still waits for a place")
	}
	second.Close()
	third.Close()
}
