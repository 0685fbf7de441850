package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"vise/replay/driver"
)

// room is what the agent may ask of its client: the files of its workspace, and
// commands in it. Nothing of a room outlives its session, and no command its turn.
type room struct {
	s     *session
	files *files
	why   error // why there are no files

	ctx  context.Context
	stop context.CancelCauseFunc
	work sync.WaitGroup

	mu       sync.Mutex
	terms    map[string]*terminal
	made     int             // terminals so far
	inTurn   int             // of these in this turn
	wrote    map[string]bool // files that the run has written itself
	answered driver.Answered // counts
}

var (
	errTurnOver    = errors.New("the turn is over")
	errSessionOver = errors.New("the session is over")
	errReleased    = errors.New("released by the agent")
	errKilled      = errors.New("killed by the agent")
)

func newRoom(s *session) *room {
	r := &room{s: s, terms: map[string]*terminal{}, wrote: map[string]bool{}, answered: driver.Answered{}}
	r.ctx, r.stop = context.WithCancelCause(context.Background())
	r.files, r.why = openFiles(s.cfg.Dir, s.cfg.Hide)
	return r
}

// capabilities are what the agent is told that it can ask for.
func (r *room) capabilities() sdk.ClientCapabilities {
	if r.why != nil {
		return sdk.ClientCapabilities{}
	}
	ask := r.s.cfg.Permissions != driver.Deny
	return sdk.ClientCapabilities{Fs: sdk.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: ask}, Terminal: ask}
}

// close ends every command and waits for it.
func (r *room) close() {
	r.stop(errSessionOver)
	r.work.Wait()
	if r.files != nil {
		r.files.close()
	}
}

// endTurn ends the commands of a turn.
func (r *room) endTurn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inTurn = 0
	for _, t := range r.terms {
		t.stop(errTurnOver)
	}
}

// running reports whether a command is at work, so that the agent may be waiting for it.
func (r *room) running() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.terms {
		if t.state() == nil {
			return true
		}
	}
	return false
}

func (r *room) counts() driver.Answered {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.answered) == 0 {
		return nil
	}
	out := driver.Answered{}
	for k, n := range r.answered {
		out[k] = n
	}
	return out
}

func (r *room) count(by string) {
	r.mu.Lock()
	r.answered[by]++
	r.mu.Unlock()
}

// answer is how a request is replied to, once, from any goroutine.
type answer func(result any, err *sdk.RequestError)

// Codes of our refusals: what is not there, and what is not done.
const (
	codeNotFound = -32002
	codeRefused  = -32001
)

func refused(err error) *sdk.RequestError {
	code := codeRefused
	if errors.Is(err, fs.ErrNotExist) {
		code = codeNotFound
	}
	return &sdk.RequestError{Code: code, Message: oneLine(err.Error(), 500)}
}

// serves reports whether a method is one of the room's.
func serves(method string) bool {
	switch method {
	case sdk.ClientMethodFsReadTextFile, sdk.ClientMethodFsWriteTextFile, sdk.ClientMethodTerminalCreate, sdk.ClientMethodTerminalOutput,
		sdk.ClientMethodTerminalWaitForExit, sdk.ClientMethodTerminalKill, sdk.ClientMethodTerminalRelease:
		return true
	}
	return false
}

// serve answers a request. It does not wait for anything but the disk; what takes
// longer is answered later. session is the id that the agent must name.
func (r *room) serve(session sdk.SessionId, method string, params json.RawMessage, reply answer) {
	var q struct {
		SessionID  sdk.SessionId     `json:"sessionId"`
		Path       string            `json:"path"`
		Line       *int              `json:"line"`
		Limit      *int              `json:"limit"`
		Content    *string           `json:"content"`
		TerminalID string            `json:"terminalId"`
		Command    string            `json:"command"`
		Args       []string          `json:"args"`
		Cwd        string            `json:"cwd"`
		Env        []sdk.EnvVariable `json:"env"`
		Bytes      *int              `json:"outputByteLimit"`
	}
	if err := json.Unmarshal(params, &q); err != nil {
		reply(nil, sdk.NewInvalidParams(map[string]any{"error": oneLine(err.Error(), 200)}))
		return
	}
	if q.SessionID != session {
		reply(nil, sdk.NewInvalidParams(map[string]any{"error": "there is no session " + oneLine(string(q.SessionID), 100)}))
		return
	}
	if r.why != nil {
		reply(nil, refused(fmt.Errorf("the workspace cannot be opened: %w", plain(r.why))))
		return
	}
	switch method {
	case sdk.ClientMethodFsReadTextFile:
		r.read(q.Path, q.Line, q.Limit, reply)
	case sdk.ClientMethodFsWriteTextFile:
		if q.Content == nil {
			reply(nil, sdk.NewInvalidParams(map[string]any{"error": "no content is given"}))
			return
		}
		r.write(q.Path, *q.Content, reply)
	case sdk.ClientMethodTerminalCreate:
		r.create(command{program: q.Command, args: q.Args, cwd: q.Cwd, env: q.Env, bytes: q.Bytes}, reply)
	default:
		r.terminal(method, q.TerminalID, reply)
	}
}

// readInput and writeInput are the arguments in the trace; paths are those of the workspace.
type readInput struct {
	Path  string `json:"path"`
	Line  *int   `json:"line,omitempty"`
	Limit *int   `json:"limit,omitempty"`
}

type writeInput struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (r *room) read(path string, line, limit *int, reply answer) {
	rel, err := r.files.rel(path)
	in := readInput{rel, line, limit}
	if err != nil {
		in.Path = path
	}
	span := r.s.requested(driver.SpanRead, encode(in))
	if err == nil && span.rec == nil {
		err = errTurnOver
	}
	text, by := "", driver.ByNobody
	if err == nil {
		text, by, err = r.text(in)
	}
	r.count(by)
	r.s.replied(span, by, text, err)
	if err != nil {
		reply(nil, refused(err))
		return
	}
	reply(sdk.ReadTextFileResponse{Content: text}, nil)
}

// text finds the text of a file under the setting agent.effects.
func (r *room) text(in readInput) (text, by string, err error) {
	from, n := 1, -1
	if in.Line != nil {
		from = *in.Line
	}
	if in.Limit != nil {
		n = max(*in.Limit, 0)
	}
	r.mu.Lock()
	own := r.wrote[in.Path]
	r.mu.Unlock()
	recorded := func() (string, string, error) {
		got, ok := r.s.cfg.Tape.Take(driver.SpanRead, encode(in))
		switch {
		case !ok:
			return "", driver.ByNobody, fmt.Errorf("%s: this reading is not recorded (agent.effects = %q)", oneLine(in.Path, 200), r.s.cfg.Effects)
		case got.Error != "":
			return "", driver.ByRecording, errors.New(got.Error)
		}
		return got.Output, driver.ByRecording, nil
	}
	if r.s.cfg.Effects == driver.EffectsRecorded && !own {
		return recorded()
	}
	if text, err = r.files.read(in.Path, from, n); err == nil {
		return text, driver.ByWorkspace, nil
	}
	// A file that is not in the workspace may have been there.
	if r.s.cfg.Effects == driver.EffectsConfined && errors.Is(err, fs.ErrNotExist) && !own {
		if text, by, rerr := recorded(); rerr == nil {
			return text, by, nil
		}
	}
	by = driver.ByWorkspace
	if !errors.Is(err, fs.ErrNotExist) {
		by = driver.ByNobody
	}
	return "", by, err
}

func (r *room) write(path, content string, reply answer) {
	rel, err := r.files.rel(path)
	in := writeInput{rel, content}
	if err != nil {
		in.Path = path
	}
	span := r.s.requested(driver.SpanWrite, encode(in))
	switch {
	case err != nil:
	case span.rec == nil:
		err = errTurnOver
	case r.s.cfg.Permissions == driver.Deny:
		err = errors.New("writing is refused (agent.permissions = \"deny\")")
	case r.s.cfg.Shared && r.s.cfg.Effects != driver.EffectsLive:
		err = errors.New("writing would change the project itself (agent.workspace = \"inplace\"); agent.effects = \"live\" allows it")
	default:
		err = r.files.write(rel, content)
	}
	by := driver.ByWorkspace
	if err == nil {
		r.mu.Lock()
		r.wrote[rel] = true
		r.mu.Unlock()
		r.s.cfg.Tape.Wrote(encode(in))
	} else {
		by = driver.ByNobody
	}
	r.count(by)
	r.s.replied(span, by, "", err)
	if err != nil {
		reply(nil, refused(err))
		return
	}
	reply(sdk.WriteTextFileResponse{}, nil)
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "{}" // texts and numbers
	}
	return string(b)
}
