// Package drive knows the command lines of coding agents: where a prompt goes,
// how a session is resumed, where the answer stands in the output. It is pure.
//
// The tables follow the agents' public documentation of 2025 and 2026 (codex
// exec, claude -p, gemini -p, opencode run, goose run, aider --message).
package drive

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Request asks for the command of a repair run.
type Request struct {
	Argv   []string // of the run that failed, unmasked
	Prompt string
	// Packet is the failure packet, for programs that take it on standard input.
	Packet []byte
	// SessionID resumes the agent's own session where the program can; "", and one
	// that is not Resumable, starts afresh.
	SessionID string
}

// Command is how a repair run is started. The packet's path is in the variable
// VISE_PACKET, too.
type Command struct {
	Argv    []string
	Stdin   []byte // nil = closed at once
	Adapter string // which table was used: codex, claude, …, generic
}

// CommandBuilder makes the command of a repair run. Programs that embed the loop
// can bring their own; ErrNoCommand says that there is no way to drive the agent.
type CommandBuilder func(Request) (Command, error)

// ErrNoCommand tells that no repair command can be made.
var ErrNoCommand = errors.New("no repair command")

// Adapter is the table of one program.
type Adapter struct {
	Name string
	// Programs are base names, Packages the names under which npx and others run it.
	Programs, Packages []string
	// sub is the subcommand that takes the prompt; "" = none.
	sub string
	// promptFlags take the prompt as their value; none = it is positional.
	promptFlags []string
	// needs is put in front when the flag is missing: it makes the run headless.
	needs string
	// values are flags that take one value, lists those that take all words up to the next flag.
	values, lists []string
	// drops are flags, with a value, that bring a prompt of their own and go.
	drops []string
	// resume makes the arguments that continue a session.
	resume func(id string) []string
	// resumeSub puts the resume arguments right after the subcommand.
	resumeSub bool
}

func flags(s string) []string { return strings.Fields(s) }

// Adapters are the programs known by name.
var Adapters = []Adapter{
	{Name: "codex", Programs: []string{"codex"}, Packages: []string{"@openai/codex"}, sub: "exec",
		values: flags("-m --model -c --config -s --sandbox -p --profile -C --cd -i --image -o --output-last-message --output-schema --color --add-dir --enable --disable --local-provider -a --ask-for-approval"),
		resume: func(id string) []string { return []string{"resume", id} }, resumeSub: true},
	{Name: "claude", Programs: []string{"claude"}, Packages: []string{"@anthropic-ai/claude-code"}, needs: "-p",
		values: flags("--output-format --input-format --model --fallback-model --append-system-prompt --system-prompt --system-prompt-file --append-system-prompt-file --permission-mode --permission-prompt-tool --session-id -r --resume --max-turns --max-budget-usd --settings --setting-sources --json-schema --agents --agent --plugin-dir --effort"),
		lists:  flags("--allowedTools --allowed-tools --disallowedTools --disallowed-tools --add-dir --mcp-config --betas --tools"),
		drops:  nil, resume: func(id string) []string { return []string{"--resume", id} }},
	{Name: "gemini", Programs: []string{"gemini", "qwen"}, Packages: []string{"@google/gemini-cli", "@qwen-code/qwen-code"}, promptFlags: flags("-p --prompt"),
		values: flags("-m --model -e --extensions --approval-mode --include-directories -o --output-format --allowed-tools --allowed-mcp-server-names -r --resume"),
		drops:  flags("-i --prompt-interactive"), resume: func(id string) []string { return []string{"--resume", id} }},
	{Name: "opencode", Programs: []string{"opencode"}, Packages: []string{"opencode-ai"}, sub: "run",
		values: flags("-m --model -s --session --agent --format -f --file --title --port --attach --command --dir --variant --log-level"),
		resume: func(id string) []string { return []string{"--session", id} }},
	{Name: "goose", Programs: []string{"goose"}, sub: "run", promptFlags: flags("-t --text"),
		values: flags("-n --name --system --recipe --params --provider --model --max-turns --with-extension --with-builtin --with-remote-extension --output-format"),
		drops:  flags("-i --instructions"), resume: func(id string) []string { return []string{"--resume", "--name", id} }},
	{Name: "aider", Programs: []string{"aider"}, promptFlags: flags("--message --msg -m"), drops: flags("--message-file -f"),
		values: flags("--model --file --read --edit-format --weak-model --editor-model --test-cmd --lint-cmd --openai-api-key --anthropic-api-key --config --env-file --map-tokens"),
		resume: func(string) []string { return []string{"--restore-chat-history"} }},
	{Name: "copilot", Programs: []string{"copilot"}, Packages: []string{"@github/copilot"}, promptFlags: flags("-p --prompt"),
		values: flags("--model --add-dir --allow-tool --deny-tool --log-level --agent"), resume: func(id string) []string { return []string{"--resume", id} }},
}

// wrappers run another program; the value says which of their flags take a value.
var wrappers = map[string][]string{
	"env": flags("-u --unset -C --chdir"), "npx": flags("-p --package"), "bunx": nil, "pnpx": nil, "uvx": flags("--from --with"), "nice": flags("-n"), "ionice": flags("-c -n"),
	"timeout": flags("-k -s --signal --kill-after"), "nohup": nil, "stdbuf": flags("-i -o -e"), "time": nil, "mise": nil, "npm": nil, "pnpm": nil, "yarn": nil,
}

var wrapperWords = []string{"exec", "dlx", "x", "run", "--"}

// Find returns the adapter of a command line and the place of its program; nil
// when the program is not known by name.
func Find(argv []string) (*Adapter, int) {
	for i := 0; i < len(argv); i++ {
		name := path.Base(strings.ReplaceAll(argv[i], `\`, "/"))
		for k := range Adapters {
			if slices.Contains(Adapters[k].Programs, name) || slices.Contains(Adapters[k].Packages, packageName(argv[i])) {
				return &Adapters[k], i
			}
		}
		valued, ok := wrappers[name]
		if !ok {
			return nil, -1
		}
		for i+1 < len(argv) {
			word := argv[i+1]
			switch {
			case slices.Contains(valued, word):
				i += 2
				continue
			case strings.HasPrefix(word, "-"), assignment.MatchString(word), name == "timeout" && duration.MatchString(word),
				slices.Contains(wrapperWords, word) && name != "env":
				i++
				continue
			}
			break
		}
	}
	return nil, -1
}

var (
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
	duration   = regexp.MustCompile(`^[0-9.]+[smhd]?$`)
)

// packageName is a package without its version: @openai/codex@latest.
func packageName(s string) string {
	if i := strings.LastIndexByte(s, '@'); i > 0 {
		return s[:i]
	}
	return s
}

// Build is the command builder of vise: the prompt takes the place of the old one
// where the program is known, an unknown program runs as it was and gets the
// packet on its standard input.
func Build(r Request) (Command, error) {
	if len(r.Argv) == 0 || r.Argv[0] == "" {
		return Command{}, ErrNoCommand
	}
	a, at := Find(r.Argv)
	if a == nil {
		return Command{Argv: slices.Clone(r.Argv), Stdin: r.Packet, Adapter: "generic"}, nil
	}
	head, args := r.Argv[:at+1], r.Argv[at+1:]
	if !Resumable(r.SessionID) {
		r.SessionID = ""
	}
	argv := a.place(args, r.Prompt, r.SessionID)
	if argv == nil { // another subcommand than the one that takes a prompt
		return Command{Argv: slices.Clone(r.Argv), Stdin: r.Packet, Adapter: "generic"}, nil
	}
	return Command{Argv: append(slices.Clone(head), argv...), Adapter: a.Name}, nil
}

// place puts the prompt where the program takes it: in place of the old one.
func (a *Adapter) place(args []string, prompt, session string) []string {
	var out []string
	i := 0
	subs := []string{a.sub}
	if a.sub == "exec" {
		subs = append(subs, "e")
	}
	if a.sub != "" { // global flags, then the subcommand
		for i < len(args) && !slices.Contains(subs, args[i]) {
			w := a.width(args, i)
			if !strings.HasPrefix(args[i], "-") {
				return nil
			}
			out = append(out, args[i:min(i+w, len(args))]...)
			i += w
		}
		if i >= len(args) {
			return nil
		}
		out = append(out, args[i])
		i++
		if a.resumeSub && i+1 < len(args) && args[i] == "resume" {
			i++ // a session that the first run resumed is resumed no more
			if i < len(args) && (args[i] == "--last" || !strings.HasPrefix(args[i], "-")) {
				i++
			}
		}
	}
	if session != "" && a.resumeSub {
		out = append(out, a.resume(session)...)
	}
	done, headless := false, a.needs == ""
	put := func(words ...string) {
		if !done {
			out = append(out, words...)
		}
		done = true
	}
	for i < len(args) {
		word := args[i]
		name, _, glued := strings.Cut(word, "=")
		w := a.width(args, i)
		switch {
		case word == "--":
			i, w = i+1, 0
			for ; i < len(args); i++ {
				if len(a.promptFlags) > 0 {
					out = append(out, args[i])
				}
			}
		case slices.Contains(a.promptFlags, name) && strings.HasPrefix(word, "-"):
			if glued {
				put(name + "=" + prompt)
			} else {
				put(word, prompt)
				w = 2
			}
		case slices.Contains(a.drops, name):
			if !glued {
				w = 2
			}
		case a.needs != "" && (name == a.needs || name == "--print"):
			headless = true
			if out = append(out, name); glued {
				put(prompt) // -p=TEXT: the text was the prompt
			}
		case a.resume != nil && !a.resumeSub && slices.Contains([]string{"-r", "--resume", "-c", "--continue", "--session-id"}, name) && a.Name != "opencode":
			// The first run's session is not this one's.
		case strings.HasPrefix(word, "-") && word != "-":
			out = append(out, args[i:min(i+w, len(args))]...)
		case a.Name == "aider":
			out = append(out, word) // a file
		case len(a.promptFlags) > 0:
			put(a.promptFlags[0], prompt) // a positional prompt
		default:
			put(prompt) // further words were part of the old prompt
		}
		i += w
	}
	if !headless {
		out = append([]string{a.needs}, out...)
	}
	if session != "" && !a.resumeSub {
		out = append(out, a.resume(session)...)
	}
	if !done {
		if len(a.promptFlags) > 0 {
			put(a.promptFlags[0], prompt)
		} else if a.needs != "" { // right behind -p: list flags would swallow it at the end
			at := slices.IndexFunc(out, func(s string) bool { return s == a.needs || s == "--print" })
			out = slices.Insert(out, at+1, prompt)
		} else {
			put(prompt)
		}
	}
	return out
}

// width is how many words the flag at i takes, itself included.
func (a *Adapter) width(args []string, i int) int {
	word := args[i]
	switch {
	case !strings.HasPrefix(word, "-") || strings.Contains(word, "="):
		return 1
	case slices.Contains(a.values, word):
		return 2
	case slices.Contains(a.lists, word):
		n := 1
		for i+n < len(args) && !strings.HasPrefix(args[i+n], "-") {
			n++
		}
		return n
	}
	return 1
}
