package tau

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"vise/engine/trace"
	"vise/replay/format/chat"
	"vise/replay/format/recording"
)

// simulation is one element of either format.
type simulation struct {
	ID          chat.Scalar  `json:"id"`
	TaskID      chat.Scalar  `json:"task_id"`
	Trial       *json.Number `json:"trial"`
	Seed        *json.Number `json:"seed"`
	Reward      *float64     `json:"reward"` // tau-bench
	Info        rowInfo      `json:"info"`   // tau-bench
	Traj        []message    `json:"traj"`   // tau-bench
	Messages    []message    `json:"messages"`
	Started     string       `json:"start_time"`
	Ended       string       `json:"end_time"`
	Termination string       `json:"termination_reason"`
	AgentCost   *float64     `json:"agent_cost"`
	UserCost    *float64     `json:"user_cost"`
	Policy      string       `json:"policy"`
	RewardInfo  *rewardInfo  `json:"reward_info"`
}

// rowInfo is the info of a tau-bench row, without the task and its solution.
type rowInfo struct {
	Components components `json:"components"`
	RewardInfo struct {
		Components components `json:"components"`
	} `json:"reward_info"`
}

// components of a composite reward: a base success and penalties.
type components struct {
	BaseSuccess *float64 `json:"base_success"`
}

type rewardInfo struct {
	Reward *float64 `json:"reward"`
	Basis  []string `json:"reward_basis"`
	DB     *struct {
		Match *bool `json:"db_match"`
	} `json:"db_check"`
	Actions []struct {
		Action struct {
			ID        chat.Scalar `json:"action_id"`
			Name      string      `json:"name"`
			Requestor string      `json:"requestor"`
		} `json:"action"`
		Match *bool `json:"action_match"`
	} `json:"action_checks"`
}

// maxChecks bounds the checks listed with a session.
const maxChecks = 50

// simulation reads one element. One that is cut off or not JSON is read message
// by message, as far as it goes.
func (f *file) simulation(raw []byte, whole bool, format string, at recording.Damage) error {
	var sim simulation
	lost := ""
	if !whole {
		if lost = "the simulation is cut off"; len(raw) >= recording.MaxRecord {
			lost = fmt.Sprintf("the simulation is longer than %d MB", recording.MaxRecord>>20)
		} else {
			f.cut = true
		}
	}
	if whole && raw[0] != '{' {
		f.rec.Damage(withReason(at, "a bare value, not a simulation"))
		return nil
	}
	if lost != "" || recording.Decode(raw, &sim) != nil {
		if lost == "" {
			lost = "the simulation is not JSON throughout"
		}
		sim = simulation{}
		left := salvage(raw, &sim)
		f.rec.Damage(withReason(at, fmt.Sprintf("%s; %d messages of it are kept", lost, left)))
		if left == 0 {
			return nil
		}
	} else {
		f.rec.Record()
	}
	msgs := sim.Messages
	if sim.Traj != nil {
		msgs = sim.Traj
	}
	if msgs == nil {
		f.rec.Unknown("simulation without messages")
		return nil
	}
	return f.session(&sim, msgs, raw, format, lost != "")
}

func withReason(d recording.Damage, reason string) recording.Damage {
	d.Reason = reason
	return d
}

// salvage decodes the members and messages of a broken element that are whole and
// returns how many messages there are.
func salvage(raw []byte, sim *simulation) int {
	sc := recording.NewScanner(bytes.NewReader(raw))
	var msgs []message
	// Where the element breaks off the scanner stops; what came before counts.
	_ = sc.Members(func(key string) error {
		if key != "messages" && key != "traj" {
			val, whole, err := sc.Value(recording.MaxRecord)
			if err != nil || !whole {
				return errors.Join(err, errBroken)
			}
			member, err := json.Marshal(map[string]json.RawMessage{key: val})
			if err == nil {
				_ = recording.Decode(member, sim) // a member that is no JSON is left out
			}
			return nil
		}
		return sc.Elements(func() error {
			val, whole, err := sc.Value(recording.MaxRecord)
			if err != nil || !whole {
				return errors.Join(err, errBroken)
			}
			var m message
			if recording.Decode(val, &m) == nil && m.Role != "" {
				msgs = append(msgs, m)
			}
			return nil
		})
	})
	sim.Traj, sim.Messages = nil, msgs
	return len(msgs)
}

var errBroken = errors.New("broken off")

// session hands one simulation to the recorder.
func (f *file) session(sim *simulation, msgs []message, raw []byte, format string, cut bool) error {
	domain := f.domain(format, msgs)
	trial := "0"
	if sim.Trial != nil {
		trial = sim.Trial.String()
	}
	native := string(sim.ID)
	if format == NameTau {
		native = fmt.Sprintf("task%s-trial%s", sim.TaskID, trial)
	} else if native == "" {
		native = fmt.Sprint(f.index)
	}
	head := trace.Session{Source: format, System: f.system(sim, msgs), Tools: f.tools(), Attrs: map[string]any{
		"index": f.index, "id": native, "domain": domain,
	}}
	head.ID = f.sessionID(format, domain, sim, trial, raw)
	if f.info.Agent.LLM != "" {
		head.Agent = strings.TrimSpace(f.info.Agent.Implementation + " " + f.info.Agent.LLM)
	}
	head.Started, head.Ended = chat.Time(sim.Started), chat.Time(sim.Ended)
	head.Label = label(sim, head.Attrs)
	f.attrs(sim, cut, head.Attrs)
	ticket := ""
	if domain == "telecom" && format == NameTau2 {
		ticket = f.tickets[string(sim.TaskID)]
	}
	if err := f.rec.Begin(head); err != nil {
		return err
	}
	c := newConversation(msgs, ticket, f.rec)
	if err := c.read(); err != nil {
		return err
	}
	if c.tail != "" {
		f.rec.Head().Attrs["tail"] = f.rec.Short(c.tail, 2000)
	}
	if c.userCalls > 0 {
		f.rec.Head().Attrs["user_calls"] = c.userCalls
	}
	return f.rec.End()
}

// sessionID is readable and, since tasks and trials recur from file to file, ends
// in a hash of the recording's own id or, without one, of the whole element.
func (f *file) sessionID(format, domain string, sim *simulation, trial string, raw []byte) string {
	seed := []byte(sim.ID)
	if len(seed) == 0 {
		seed = raw
	}
	sum := sha256.Sum256(seed)
	name := "tau"
	if format == NameTau2 {
		name = "tau2"
	}
	task := string(sim.TaskID)
	if task == "" {
		task = "x"
	}
	task = recording.SafeID(f.rec.Mask(task))
	return fmt.Sprintf("%s-%s-t%s-%s-%s", name, recording.SafeID(domain), task[:min(len(task), 60)], trial, hex.EncodeToString(sum[:4]))
}

// domain of the environment: as the run says, else by the name of the file, else
// by the policy the agent was given.
func (f *file) domain(format string, msgs []message) string {
	if d := f.info.Environment.Domain; d != "" {
		return f.rec.Short(d, 40)
	}
	policy := ""
	if len(msgs) > 0 && msgs[0].Role == "system" {
		policy = strings.ToLower(msgs[0].Content.Text)
		policy = policy[:min(len(policy), 400)]
	}
	for _, where := range []string{f.base, policy} {
		for _, d := range []string{"retail", "telecom", "airline"} {
			if strings.Contains(where, d) {
				return d
			}
		}
	}
	return "unknown"
}

func (f *file) system(sim *simulation, msgs []message) string {
	sys := sim.Policy
	if sys == "" {
		sys = f.info.Environment.Policy
	}
	for _, m := range msgs {
		if m.Role == "system" || m.Role == "developer" {
			sys = strings.TrimSpace(sys + "\n" + m.Content.Text)
		}
	}
	return sys
}

// tools reads the tool list of the run, if it has one.
func (f *file) tools() []trace.Tool {
	return chat.Tools(f.info.Environment.Tools)
}

// label is the outcome by the reward: 1 is success, anything between 0 and 1 is
// partial. A composite reward has penalties mixed in; there the base success counts.
func label(sim *simulation, attrs map[string]any) string {
	reward := sim.Reward
	if reward == nil && sim.RewardInfo != nil {
		reward = sim.RewardInfo.Reward
	}
	base := sim.Info.RewardInfo.Components.BaseSuccess
	if base == nil {
		base = sim.Info.Components.BaseSuccess
	}
	if reward != nil {
		attrs["reward"] = *reward
	}
	if base != nil {
		attrs["base_success"] = *base
		reward = base
	}
	switch {
	case reward == nil:
		return ""
	case math.Abs(*reward-1) < 1e-6:
		return "success"
	case *reward > 1e-6 && *reward < 1:
		return "partial"
	}
	return "failure"
}

// attrs keeps what a person asks about a run; the expected arguments of an action
// are left out, only its name and whether it was done are kept.
func (f *file) attrs(sim *simulation, cut bool, attrs map[string]any) {
	text := func(k, v string) {
		if v != "" {
			attrs[k] = f.rec.Short(v, 200)
		}
	}
	text("task_id", string(sim.TaskID))
	text("termination_reason", sim.Termination)
	text("user_model", f.info.User.LLM)
	text("git_commit", f.info.Commit)
	if sim.Trial != nil {
		attrs["trial"] = *sim.Trial
	}
	if sim.Seed != nil {
		attrs["seed"] = *sim.Seed
	}
	if sim.AgentCost != nil {
		attrs["agent_cost"] = *sim.AgentCost
	}
	if sim.UserCost != nil {
		attrs["user_cost"] = *sim.UserCost
	}
	if cut {
		attrs["cut"] = true
	}
	r := sim.RewardInfo
	if r == nil {
		return
	}
	if len(r.Basis) > 0 {
		text("reward_basis", strings.Join(r.Basis, " "))
	}
	if r.DB != nil && r.DB.Match != nil {
		attrs["db_match"] = *r.DB.Match
	}
	var checks []string
	for _, a := range r.Actions {
		if len(checks) == maxChecks {
			checks = append(checks, "…")
			break
		}
		state := "unchecked"
		if a.Match != nil {
			state = map[bool]string{true: "done", false: "not done"}[*a.Match]
		}
		checks = append(checks, f.rec.Short(a.Action.Name, 100)+": "+state)
	}
	if len(checks) > 0 {
		attrs["action_checks"] = checks
	}
}
