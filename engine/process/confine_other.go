//go:build !linux

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// FilesCanBeHeld reports whether a sandbox would hold files on this system.
func FilesCanBeHeld() bool { return false }

// ErrNotHeld is found in the error of a required sandbox that the system cannot give.
var ErrNotHeld = errors.New("the required sandbox cannot be held here")

var errNamespace = errors.New("no namespace")

// box is never made here: this system has nothing that holds.
type box struct{ held Held }

func newBox(spec Spec, _ *exec.Cmd) (*box, Held, error) {
	held := None("this system has no sandbox that we know")
	if spec.Sandbox.Required {
		return nil, held, fmt.Errorf("start %s: %w: %s", spec.Name, ErrNotHeld, held.Detail())
	}
	return nil, held, nil
}

func (b *box) withoutNamespace(error)                 {}
func (b *box) refusal(string) error                   { return ErrNotHeld }
func (b *box) command() (*exec.Cmd, *os.File, error)  { return nil, nil, ErrNotHeld }
func (b *box) enter(context.Context, io.Writer) error { return ErrNotHeld }
func (b *box) close()                                 {}
func (b *box) namespaced() bool                       { return false }
