package process

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"vise/engine/guard"
)

// Sandbox says what a started program and everything it starts may touch. The
// file system is read-only but for Write, places of secrets cannot be read, and
// the program keeps no capability and cannot gain any. On Linux the file system
// is held by Landlock and the network by a user and a network namespace; other
// systems hold nothing. What really holds is told by Process.Held.
//
// Names of files can be listed everywhere: Landlock cannot allow the listing of
// a folder without that of all folders below it.
type Sandbox struct {
	// Required refuses to start the program when its files, or its network
	// unless that is Open, cannot be held in full.
	Required bool
	// Write are existing files and folders the program may change. They win over Hide.
	Write []string
	// Hide are files and folders whose content cannot be read, beside the usual
	// places of secrets of the system and below Home.
	Hide []string
	// Home is the user's home folder; "" hides nothing of it.
	Home    string
	Network Network
}

// Network says what of the network a confined program may reach.
type Network struct {
	// Open leaves it alone: the other fields mean nothing then.
	Open bool
	// Services are addresses on the loopback interface ("127.0.0.1:8080") that it
	// reaches under the same address. At most 16.
	Services []string
	// Hosts are reached through a proxy of ours that the program is told of by
	// HTTP_PROXY, HTTPS_PROXY and their kin; loopback ones are Services.
	Hosts guard.Hosts
}

// Reach of the network, in Held.
const (
	NetworkOpen  = "open"  // not held
	NetworkPorts = "ports" // TCP only to the allowed ports, of whatever host
	NetworkHeld  = "held"  // only what was allowed
)

// Held is what of a sandbox really holds.
type Held struct {
	// Files: read-only but for Write, and Hide unreadable.
	Files   bool   `json:"files"`
	Network string `json:"network"`
	// Landlock is the kernel's version of it, 0 = none.
	Landlock int `json:"landlock"`
	// Missing are sentences about what does not hold, for people.
	Missing []string `json:"missing,omitempty"`
}

// String is the badge: "sandbox fs+net", "sandbox fs", "sandbox fs+ports",
// "sandbox net" or "no sandbox".
func (h Held) String() string {
	var parts []string
	if h.Files {
		parts = append(parts, "fs")
	}
	switch h.Network {
	case NetworkHeld:
		parts = append(parts, "net")
	case NetworkPorts:
		parts = append(parts, "ports")
	}
	if len(parts) == 0 {
		return "no sandbox"
	}
	return "sandbox " + strings.Join(parts, "+")
}

// Detail is the badge and what does not hold, in one line.
func (h Held) Detail() string {
	if len(h.Missing) == 0 {
		return h.String()
	}
	return h.String() + ": " + strings.Join(h.Missing, "; ")
}

// None is the report about a program that was started without a sandbox.
func None(why string) Held { return Held{Network: NetworkOpen, Missing: []string{why}} }

// maxServices bounds Network.Services: each is a listening socket.
const maxServices = 16

// secretFiles are places below a home folder that hold credentials, tokens or
// what was typed: keys, cloud and forge logins, package registries, browsers,
// password managers, shell histories, and our own settings.
var secretFiles = []string{
	".ssh", ".gnupg", ".netrc", "_netrc", ".git-credentials", ".config/git/credentials", ".config/gh", ".config/hub", ".config/glab-cli",
	".aws", ".azure", ".config/gcloud", ".oci", ".kube", ".docker", ".config/containers", ".terraform.d", ".vault-token", ".fly", ".config/doctl",
	".config/rclone", ".s3cfg", ".boto", ".config/heroku", ".config/op", ".config/sops", ".age", ".config/age", ".step",
	".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".config/pip", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
	".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties", ".composer/auth.json", ".config/composer/auth.json",
	".pgpass", ".my.cnf", ".mylogin.cnf", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", ".pki",
	".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
	".bash_history", ".zsh_history", ".local/share/fish", ".python_history", ".node_repl_history", ".psql_history", ".mysql_history",
	".config/vise",
	// Logins and histories of agents: one agent's are none of another's. What agent.home
	// lists is the agent's own and stays open.
	".claude", ".claude.json", ".codex", ".gemini", ".qwen", ".copilot", ".config/github-copilot", ".config/goose", ".local/share/goose",
	".config/opencode", ".local/share/opencode", ".aider.conf.yml", ".cursor", ".config/Cursor", ".continue", ".kimi", ".vibe", ".augment", ".factory",
	".cache/huggingface/token", ".huggingface", ".databrickscfg", ".config/openai", ".anthropic", ".env",
}

// secretSystem are such places of the system, and devices.
var secretSystem = []string{
	"/dev", "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private",
	"/etc/ssh", "/etc/NetworkManager/system-connections", "/etc/wireguard", "/etc/krb5.keytab", "/run/secrets", "/run/user", "/run/credentials",
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet", "/root",
}

// Probe starts and ends a program that does nothing, to learn what of a sandbox
// holds here. The error is that of Start, ErrNotHeld for a required one that does not.
func Probe(ctx context.Context, box *Sandbox) (Held, error) {
	p, err := Start(ctx, Spec{Command: []string{"true"}, Env: []string{}, Sandbox: box})
	if err != nil {
		return Held{}, err
	}
	p.Stop()
	return p.Held(), nil
}

// hidden are the places that s keeps unreadable, absolute and without links;
// those that do not exist are left out.
func (s *Sandbox) hidden() []string {
	all := slices.Clone(s.Hide)
	// The system may know another home of ours than HOME says; both hold secrets.
	homes := []string{resolved(s.Home), resolved(listedHome("/etc/passwd", os.Getuid()))}
	for _, p := range secretSystem {
		// The home folder of root is another's, unless it is ours: programs lie there.
		if p != "/root" || !slices.Contains(homes, "/root") {
			all = append(all, p)
		}
	}
	for _, h := range homes {
		if h == "" {
			continue
		}
		for _, p := range secretFiles {
			all = append(all, filepath.Join(h, p))
		}
	}
	var out []string
	for _, p := range all {
		// A link that stands there is hidden by what it leads to: rules are about files, not names.
		if r := resolved(p); r != "" && r != "/" {
			out = append(out, r)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// listedHome is the home folder that a file in the form of passwd(5) gives a
// user; "" when it does not know the user or cannot be read.
func listedHome(file string, uid int) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		// name:password:uid:gid:comment:home:shell
		if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 7 && f[2] == strconv.Itoa(uid) {
			return f[5]
		}
	}
	return ""
}

// resolved is an absolute path without links, "" for what does not exist.
func resolved(path string) string {
	if path == "" {
		return ""
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	abs, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return ""
	}
	return abs
}
