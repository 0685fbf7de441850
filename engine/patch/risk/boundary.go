package risk

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"vise/engine/patch/policy"
)

// Limit is a limit of the policy that a patch is over.
type Limit struct {
	Name     string `json:"name"`
	Observed int    `json:"observed"`
	Limit    int    `json:"limit"`
}

// Evidence is what the boundary looks at: the whole patch against the first base.
type Evidence struct {
	Command policy.Decision // of the program that made it
	Changes []Change
	Texts   []Text
	Future  Future
	Limits  []Limit
	// Unseen are entries that could not be captured, with the reason.
	Unseen map[string]string
}

// Boundary returns every reason why a person must decide about a patch; none
// means that automation may go on. It is looked at before success, before the
// attempt limit and after every repair.
func Boundary(e Evidence) []Cause {
	causes := []Cause{}
	if e.Command.Action != "" && e.Command.Action != policy.Allow {
		causes = append(causes, Cause{Code: "command_action", Action: string(e.Command.Action), Detail: e.Command.Subject})
	}
	for _, c := range e.Changes {
		normal, err := policy.Normal(c.Path)
		if err != nil {
			causes = append(causes, Cause{Code: "invalid_path", Path: c.Path})
			continue
		}
		if c.Decision != policy.Allow { // an unknown decision is no permission
			causes = append(causes, Cause{Code: "policy_action", Action: string(c.Decision), Path: normal})
		}
		if kind, ok := Protected(normal); ok {
			causes = append(causes, Cause{Code: "protected_path", Path: normal, Kind: kind})
		}
	}
	for _, t := range e.Texts {
		if why := TestLoss(t); why != "" {
			causes = append(causes, Cause{Code: "tests_weakened", Path: t.Path, Detail: why})
		}
		if why := Reaches(t); why != "" {
			causes = append(causes, Cause{Code: "runner_reached", Path: t.Path, Detail: why})
		}
	}
	if l := strings.ToLower(e.Future.Level); l != "" && l != "low" && l != "moderate" {
		causes = append(causes, Cause{Code: "future_blast", Level: strings.ToUpper(l)})
	}
	for _, l := range e.Limits {
		causes = append(causes, Cause{Code: "limit", Detail: fmt.Sprintf("%s: %d, the policy allows %d", l.Name, l.Observed, l.Limit)})
	}
	for _, path := range slices.Sorted(maps.Keys(e.Unseen)) {
		causes = append(causes, Cause{Code: "not_captured", Path: path, Detail: e.Unseen[path]})
	}
	return causes
}

// Says is a cause in words.
func (c Cause) Says() string {
	switch c.Code {
	case "policy_action":
		return fmt.Sprintf("the policy says %s for %s", c.Action, c.Path)
	case "command_action":
		return fmt.Sprintf("the policy says %s for the program %s", c.Action, c.Detail)
	case "high_risk_path":
		return c.Path + " is a high-risk path"
	case "protected_path":
		return fmt.Sprintf("%s is protected (%s)", c.Path, strings.ReplaceAll(string(c.Kind), "_", " "))
	case "tests_weakened", "runner_reached":
		return fmt.Sprintf("%s: %s", c.Path, c.Detail)
	case "fewer_tests":
		return "fewer tests ran: " + c.Detail + " of the base's"
	case "no_tests":
		return c.Detail
	case "count_doubted":
		return "the count of tests cannot be trusted: " + c.Detail
	case "plan_changed":
		return c.Path + " says what the tests are, and the patch changes that: the base's were run, not the patch's"
	case "flaky":
		return "it failed at first and passed when it was proven once more: a test is flaky, or the patch made it so (" + c.Detail + ")"
	case "future_blast":
		return fmt.Sprintf("what the change can trigger later is rated %s", strings.ToLower(c.Level))
	case "limit":
		return "over a limit of the policy: " + c.Detail
	case "not_captured":
		return fmt.Sprintf("%s could not be captured: %s", c.Path, c.Detail)
	case "invalid_path":
		return fmt.Sprintf("%q is no path of the project", c.Path)
	}
	return c.Code
}
