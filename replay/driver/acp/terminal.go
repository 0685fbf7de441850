package acp

import (
	"context"
	"strings"
	"sync"
	"unicode/utf8"

	sdk "github.com/coder/acp-go-sdk"

	"vise/engine/process"
)

// Bounds of the commands that an agent runs through us.
const (
	maxTerminals     = 16       // at once
	maxCommands      = 512      // of one turn
	defaultTermLimit = 1 << 20  // bytes of output kept when the agent names no bound
	maxTermLimit     = 4 << 20  // and at most
	termSlack        = 64 << 10 // bytes beyond the bound until the beginning is dropped
)

// terminal is one command, running, ended, or played from the recording.
type terminal struct {
	id   string
	span *building // nil when the turn holds no more spans
	rec  *recorder // whose span it is

	ctx  context.Context // of the command
	stop context.CancelCauseFunc
	done chan struct{} // closed when it has ended and status holds

	mu      sync.Mutex
	limit   int
	out     []byte
	dropped bool
	status  sdk.TerminalExitStatus
	ended   bool
	note    string // why it ended, when that was our doing
}

// write keeps the end of the output.
func (t *terminal) write(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out = append(t.out, b...)
	if len(t.out) > t.limit+termSlack {
		t.out = append(t.out[:0:0], t.out[len(t.out)-t.limit:]...)
		t.dropped = true
	}
}

// output is what is kept, as text: its beginning is dropped to stay within the bound,
// at a character, as the protocol wants it.
func (t *terminal) output() (text string, truncated bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, dropped := t.out, t.dropped
	if len(b) > t.limit {
		b, dropped = b[len(b)-t.limit:], true
	}
	for i := 0; dropped && i < utf8.UTFMax-1 && len(b) > 0 && !utf8.RuneStart(b[0]); i++ {
		b = b[1:]
	}
	text = string(b)
	if !t.ended { // the rest of a character may be on its way
		for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
			if c := text[len(text)-i]; utf8.RuneStart(c) {
				if !utf8.FullRuneInString(text[len(text)-i:]) {
					text = text[:len(text)-i]
				}
				break
			}
		}
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > t.limit { // replaced bytes are longer
		cut := len(text) - t.limit
		for cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut++
		}
		text, dropped = text[cut:], true
	}
	return text, dropped
}

// end says how the command ended.
func (t *terminal) end(r process.Ran, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	code, signal := r.Exit.Code, r.Exit.Signal
	switch {
	case r.TimedOut:
		t.note = "its time was up"
		signal = "SIGKILL"
	case err != nil && signal == "":
		signal = "SIGTERM"
	}
	if signal != "" {
		t.status.Signal = &signal
	} else {
		t.status.ExitCode = &code
	}
	if r.Exit.Err != nil {
		t.note = oneLine(r.Exit.Err.Error(), 200)
	}
	t.ended = true
}

// why says why a command ended, when that was our doing; "" otherwise.
func (t *terminal) why() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.note
}

// state is the exit status; nil while the command runs.
func (t *terminal) state() *sdk.TerminalExitStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		return nil
	}
	status := t.status
	return &status
}
