package driver

// Effects says what becomes of what an agent asks its client for: files, commands,
// and calls of tool servers that it reaches through us. Whatever it does without
// asking is none of this; the sandbox holds that.
type Effects string

// The three ways. A recorded answer is given to the very same request only, and
// once for each time that it was recorded.
const (
	// EffectsRecorded answers from the recording, and refuses what it does not hold.
	// What the run itself has written it reads back.
	EffectsRecorded Effects = "recorded"
	// EffectsConfined reads and writes files in the workspace of the run. A command is
	// answered from the recording while the run has changed nothing of its own; else it
	// runs where it can change nothing but the workspace and reach no network, or is
	// refused. Tool servers answer from the recording.
	EffectsConfined Effects = "confined"
	// EffectsLive does what is asked, in the workspace and in the agent's own sandbox.
	EffectsLive Effects = "live"
)

// Where an answer came from; the attribute "answered_by" of the span of a request.
const (
	ByWorkspace = "workspace" // the files of the run
	ByRecording = "recording"
	ByCommand   = "command" // it ran
	ByServer    = "server"  // the live tool server
	ByNobody    = "refused"
)

// Answered counts the requests of a run by who answered them.
type Answered map[string]int
