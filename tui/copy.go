package tui

import (
	"context"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"vise/engine/guard"
	"vise/tui/action"
	"vise/tui/style"
)

// maxClip is the most bytes sent to the clipboard: terminals drop longer OSC 52
// sequences without a word.
const maxClip = 74_994

// copy copies what an action means.
func (a *App) copy(id action.ID) tea.Cmd {
	p := a.panes[a.focus]
	text := ""
	switch id {
	case action.Copy:
		if text = p.Copy(); a.marked.on {
			text = a.markedText()
		}
	case action.CopyCommand:
		text = p.Headless()
	case action.CopyLink:
		if l, ok := a.link(); ok {
			text = l.String()
		}
	}
	return a.clip(text)
}

// clip puts a text on the clipboard: through a program of the desktop where there is
// one, and through the terminal (OSC 52). A terminal does not tell whether it took it,
// and the message does not claim that it did.
func (a *App) clip(text string) tea.Cmd {
	// What one pastes is what one saw: a record may hold what a terminal would obey.
	text = guard.Visible(text)
	switch {
	case text == "":
		return a.say(style.Dim, "nothing to copy here")
	case len(text) > maxClip:
		return a.say(style.Warn, "too much for the clipboard: "+thousands(len(text))+" bytes, at most "+thousands(maxClip)+"; {copy.command} copies the command that prints it")
	}
	if a.cfg.linear() {
		return a.say(style.Text, text)
	}
	size, tmux := thousands(len(text))+" bytes", a.cfg.env("TMUX") != ""
	sent := "sent " + size + " to the terminal's clipboard (OSC 52)"
	if tmux {
		sent += "; tmux passes it on where set-clipboard is on"
	}
	argv := clipboardProgram(a.cfg.env, exec.LookPath)
	if argv == nil {
		return tea.Batch(a.osc52(text), a.say(style.Info, sent+": "+text))
	}
	ctx, env := a.ctx.Ctx, a.cfg.Env
	var cmds []tea.Cmd
	if !tmux { // tmux sends it on to its own terminal
		cmds = append(cmds, a.osc52(text))
	}
	return tea.Batch(append(cmds, func() tea.Msg {
		ctx, stop := context.WithTimeout(ctx, clipTime)
		defer stop()
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env, cmd.Stdin = env, strings.NewReader(text)
		if err := cmd.Run(); err != nil {
			failed := sayMsg{sent + "; " + argv[0] + " failed: " + err.Error(), style.Warn}
			if tmux {
				return notCopied{text, failed}
			}
			return failed
		}
		return sayMsg{"copied " + size + " with " + argv[0] + ": " + text, style.Info}
	})...)
}

// notCopied brings a text that the program of the multiplexer did not take.
type notCopied struct {
	text string
	said sayMsg
}

// clipTime bounds a program of the desktop.
const clipTime = 2 * time.Second

// clipboardProgram is the program that puts its input on the clipboard of the desktop,
// nil when there is none: over SSH the desktop is elsewhere. In tmux it is tmux itself
// (load-buffer -w, since 3.2), which also tells its terminal: a sequence of a program
// within it is dropped by the defaults since 3.3, wrapped (allow-passthrough off) or not
// (set-clipboard external), see tmux(1).
func clipboardProgram(env func(string) string, look func(string) (string, error)) []string {
	if _, err := look("tmux"); err == nil && env("TMUX") != "" {
		return []string{"tmux", "load-buffer", "-w", "-"}
	}
	if env("SSH_TTY") != "" || env("SSH_CONNECTION") != "" {
		return nil
	}
	var list [][]string
	switch {
	case runtime.GOOS == "darwin":
		list = [][]string{{"pbcopy"}}
	case env("WAYLAND_DISPLAY") != "":
		list = [][]string{{"wl-copy"}, {"xclip", "-selection", "clipboard"}}
	case env("DISPLAY") != "":
		list = [][]string{{"xclip", "-selection", "clipboard"}, {"xsel", "-ib"}}
	}
	for _, argv := range list {
		if _, err := look(argv[0]); err == nil {
			return argv
		}
	}
	return nil
}

// osc52 sends a text to the terminal, wrapped for a multiplexer that would swallow it.
// tmux takes either form by its settings, so it gets both.
func (a *App) osc52(text string) tea.Cmd {
	seq := ansi.SetSystemClipboard(text)
	switch {
	case a.cfg.env("TMUX") != "":
		return tea.Raw(seq + ansi.TmuxPassthrough(seq))
	case strings.HasPrefix(a.cfg.env("TERM"), "screen"):
		return tea.Raw(ansi.ScreenPassthrough(seq, 0))
	}
	return tea.SetClipboard(text)
}

func itoa(n int) string { return strconv.Itoa(n) }
