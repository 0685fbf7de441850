package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"vise/engine/config"
	"vise/engine/model"
	"vise/replay"
	"vise/store"
	"vise/tui/action"
)

// check is one finding of the doctor.
type check struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ok, warning, failed
	Detail string `json:"detail"`
}

func (a *app) doctorCmd() *cobra.Command {
	var settings, ask bool
	c := &cobra.Command{
		Use: "doctor", Short: "Check the project and print every effective setting with its origin", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, origins, err := a.load()
			if err != nil {
				return err
			}
			if settings {
				for _, s := range origins.List() {
					if a.json {
						if err := a.out.object("vise.setting/1", s); err != nil {
							return err
						}
						continue
					}
					a.out.printf("%-32s %-28s %s", s.Key, show(s.Value, 60), show(s.Origin, 100))
				}
			}
			failed := 0
			checks := a.examine(cmd.Context(), cfg, ask)
			if _, err := action.Default().Bind(cfg.UI.Keys, keyPlace(cfg, origins)); err != nil {
				checks = append(checks, check{"keys", "failed", err.Error()})
			}
			for _, k := range checks {
				if k.State == "failed" {
					failed++
				}
				if a.json {
					if err := a.out.object("vise.check/1", k); err != nil {
						return err
					}
					continue
				}
				a.out.printf("%-8s %-10s %s", k.State, k.Name, show(k.Detail, 600))
			}
			if failed > 0 {
				return gatef("doctor: %s failed", counted(failed, "check"))
			}
			return a.out.err
		},
	}
	c.Flags().BoolVar(&ask, "ask", false, "put one small question to the repair model and the judge (this may cost money)")
	c.Flags().BoolVar(&settings, "settings", true, "print every effective setting and where it came from")
	return c
}

// examine looks at everything a run needs.
func (a *app) examine(ctx context.Context, cfg *config.Config, ask bool) []check {
	checks := []check{a.examineStore(ctx, cfg)}
	checks = append(checks, a.examineAgent(ctx, cfg)...)
	checks = append(checks, a.examineModel(ctx, cfg, ask))
	checks = append(checks, a.examineEvaluators(ctx, cfg, ask)...)
	if cfg.Export.OTLPEndpoint != "" {
		checks = append(checks, a.examineExport(ctx, cfg))
	}
	if cfg.Agent.Workspace == "copy" {
		from := cfg.Path(cfg.Agent.WorkspaceFrom)
		if info, err := os.Stat(from); err != nil || !info.IsDir() {
			checks = append(checks, check{"workspace", "failed", fmt.Sprintf("agent.workspace_from %s is not a folder", from)})
		} else {
			checks = append(checks, check{"workspace", "ok", "every run gets a fresh copy of " + from})
		}
	}
	return checks
}

// accessWrite is W_OK of access(2).
const accessWrite = 2

func (a *app) examineStore(ctx context.Context, cfg *config.Config) check {
	dir := cfg.Path(cfg.Store.Path)
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		// Look, do not create: a doctor changes nothing.
		parent, err := os.Stat(filepath.Dir(dir))
		if err != nil || !parent.IsDir() {
			return check{"store", "failed", filepath.Dir(dir) + " is not a folder"}
		}
		if err := syscall.Access(filepath.Dir(dir), accessWrite); err != nil {
			return check{"store", "failed", filepath.Dir(dir) + " cannot be written: " + err.Error()}
		}
		return check{"store", "ok", dir + " will be made by the first import"}
	}
	s, err := store.OpenRead(ctx, a.storeOptions(cfg, nil))
	if err != nil {
		return check{"store", "failed", err.Error()}
	}
	defer s.Close()
	if why := s.Unwritable(); why != nil {
		return check{"store", "warning", "only the commands that read work: " + why.Error()}
	}
	_, err = os.Stat(envFile(cfg))
	switch serves := err == nil; {
	case serves && !s.Owner():
		return check{"store", "ok", dir + " is open in vise serve, to which " + envFile(cfg) + " leads agents; reading through it"}
	case serves:
		return check{"store", "warning", envFile(cfg) + " is left of a vise serve that was killed: an agent started with it reaches nobody; the next vise serve writes it anew"}
	case !s.Owner():
		return check{"store", "ok", dir + " is open in another vise; reading through it"}
	}
	return check{"store", "ok", dir}
}

func (a *app) examineAgent(ctx context.Context, cfg *config.Config) []check {
	if cfg.Agent.Driver == "none" || len(cfg.Agent.Command) == 0 {
		return []check{{"agent", "warning", "none configured: vise replay works with --recorded only, vise serve without validation by replays; set agent.command"}}
	}
	agent, err := a.agentOf(cfg)
	if err == nil {
		_, err = exec.LookPath(agent.Command[0])
	}
	if err != nil {
		return []check{{"agent", "failed", fmt.Sprintf("agent.command: %v", err)}}
	}
	checks := a.greetAgent(ctx, cfg, agent)
	if name := cfg.Agent.Provider; name != "" {
		p := cfg.Providers[name]
		c := check{"provider", "ok", fmt.Sprintf("the agent's model calls go to %s (%s) through the recording proxy", name, p.BaseURL)}
		if p.Key != "" {
			ring := a.keyring(cfg)
			if _, err := ring.Resolve(ctx, p.Key); err != nil {
				c = check{"provider", "failed", fmt.Sprintf("agent.provider %s: %v", name, err)}
			}
		}
		checks = append(checks, c)
	}
	return checks
}

func (a *app) examineModel(ctx context.Context, cfg *config.Config, ask bool) check {
	id := cfg.Repair.Model
	if id == "" {
		return check{"repair", "warning", "off: no repair.model; \"builtin/heuristic\" is free and needs no network"}
	}
	if err := a.checkModel(ctx, cfg, id); err != nil {
		return check{"repair", "failed", err.Error()}
	}
	if strings.HasPrefix(id, config.Builtin+"/") {
		return check{"repair", "ok", id + " (deterministic, free, no network)"}
	}
	if !ask {
		return check{"repair", "ok", id + " (not asked; --ask does)"}
	}
	if err := a.askModel(ctx, cfg, id); err != nil {
		return check{"repair", "failed", err.Error()}
	}
	return check{"repair", "ok", id + " answers"}
}

// askModel puts one small question to a model. Any answer will do.
func (a *app) askModel(ctx context.Context, cfg *config.Config, id string) error {
	client, err := a.newModel(ctx, cfg, id, newLedger(cfg))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	_, err = client.Chat(ctx, model.Request{Purpose: "doctor", MaxTokens: 32, Messages: []model.Message{{Role: model.User, Content: "Answer with the word ready."}}}, nil)
	return err
}

// checkModel looks whether a model could be asked, without asking it.
func (a *app) checkModel(ctx context.Context, cfg *config.Config, id string) error {
	provider, _, _ := config.SplitModel(id)
	if p, ok := cfg.Providers[provider]; ok && p.Key != "" {
		if _, err := a.keyring(cfg).Resolve(ctx, p.Key); err != nil {
			return fmt.Errorf("%s: key of provider %s: %w", id, provider, err)
		}
	}
	client, err := a.newModel(ctx, cfg, id, nil)
	if err != nil {
		return err
	}
	client.Close()
	return nil
}

// greetAgent starts the agent in its sandbox, says hello and ends it again.
func (a *app) greetAgent(ctx context.Context, cfg *config.Config, agent replay.Agent) []check {
	ctx, stop := context.WithTimeout(ctx, cfg.Agent.StartTimeout+5*time.Second)
	defer stop()
	scratch, err := os.MkdirTemp("", "vise-doctor-*")
	if err != nil {
		return []check{{"agent", "failed", err.Error()}}
	}
	defer os.RemoveAll(scratch)
	info, err := replay.Greet(ctx, agent, a.env, scratch)
	if err != nil {
		return []check{{"agent", "failed", err.Error()}}
	}
	state := "ok"
	if len(info.Held.Missing) > 0 {
		state = "warning"
	}
	said := fmt.Sprintf("%s answers (ACP %d)", info.Name(), info.Protocol)
	if agent.Driver == "exec" {
		said = info.Name() + " is there; it is run once for every turn"
	}
	if info.Mode != "" {
		said += ", mode " + info.Mode
	}
	checks := []check{{"agent", "ok", said}, {"sandbox", state, info.Held.Detail()}}
	if agent.Driver != "exec" {
		checks = append(checks, examineEffects(cfg, agent))
	}
	return checks
}
