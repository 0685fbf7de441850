package acp

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"vise/replay/driver"
)

// permissionRequest is read with a type of our own, as updates are.
type permissionRequest struct {
	Options  []sdk.PermissionOption `json:"options"`
	ToolCall struct {
		update
		Content []block `json:"content"`
	} `json:"toolCall"`
}

type permissionAnswer struct {
	callID   string
	response sdk.RequestPermissionResponse
}

// pathKeys are the argument names under which agents pass files.
var pathKeys = []string{"path", "file_path", "filepath", "filename", "abs_path", "absolute_path", "notebook_path", "directory", "dir", "cwd", "source", "destination", "old_path", "new_path"}

// commandKeys are the argument names under which agents pass what is to be run.
var commandKeys = []string{"command", "cmd", "script", "argv"}

// harmless are the kinds of call a read-only tool of ours may claim to be.
var harmless = []string{"", "read", "search", "fetch", "think", "other"}

// permit decides a request under the policy. Agents ask before they call our
// own read-only tools too; these need no path.
func permit(p driver.Policy, dir string, params json.RawMessage) (a permissionAnswer, granted bool, reason string, err error) {
	var req permissionRequest
	if err := json.Unmarshal(params, &req); err != nil {
		return a, false, "", errors.New("permission request cannot be read")
	}
	call := req.ToolCall
	a.callID = call.ToolCallID
	var paths []string
	for _, l := range call.Locations {
		paths = append(paths, l.Path)
	}
	for _, b := range call.Content {
		if b.Path != "" {
			paths = append(paths, b.Path)
		}
	}
	command := call.ToolKind == "execute"
	var args map[string]json.RawMessage
	if json.Unmarshal(call.RawInput, &args) == nil {
		for k, v := range args {
			var s string
			command = command || slices.Contains(commandKeys, strings.ToLower(k))
			if slices.Contains(pathKeys, strings.ToLower(k)) && json.Unmarshal(v, &s) == nil && s != "" {
				paths = append(paths, s)
			}
		}
	}
	slices.Sort(paths)
	name := metaString(call.Meta, "toolName", "tool_name")
	if name == "" {
		name = call.Title
	}
	if len(paths) == 0 && p != driver.Deny && ownTool(name) && slices.Contains(harmless, call.ToolKind) {
		granted, reason = true, "read-only rule tool"
	} else if granted, reason = driver.Permit(p, dir, paths); granted && command && p != driver.Allow {
		// Where it starts and which files it names say nothing of what it does.
		granted, reason = false, "a command may do more than its folder and files say"
	}
	kinds := []sdk.PermissionOptionKind{sdk.PermissionOptionKindRejectOnce, sdk.PermissionOptionKindRejectAlways}
	if granted {
		kinds = []sdk.PermissionOptionKind{sdk.PermissionOptionKindAllowOnce, sdk.PermissionOptionKindAllowAlways}
	}
	for _, k := range kinds {
		for _, o := range req.Options {
			if o.Kind == k {
				a.response.Outcome = sdk.NewRequestPermissionOutcomeSelected(o.OptionId)
				return a, granted, reason, nil
			}
		}
	}
	a.response.Outcome = sdk.NewRequestPermissionOutcomeCancelled()
	return a, false, reason + "; no such option offered", nil
}

// ownTool recognises the four tools under the prefixes agents give them.
func ownTool(name string) bool {
	for _, own := range []string{"harness_rules_read", "harness_rules_search", "harness_rules_list", "harness_rule_status"} {
		if prefix, ok := strings.CutSuffix(name, own); ok && (prefix == "" || strings.HasSuffix(prefix, "_")) && !strings.ContainsAny(prefix, " /(") {
			return true
		}
	}
	return false
}
