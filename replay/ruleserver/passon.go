package ruleserver

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// PassOn offers a tool of another server on s, calls of it going to h. The protocol wants
// an input schema of the type object; servers that leave the type out mean that, and any
// other schema is an error which names the tool. (The library ends the program over one.)
func PassOn(s *mcp.Server, tool *mcp.Tool, h mcp.ToolHandler) (err error) {
	raw, err := json.Marshal(tool.InputSchema)
	if err != nil {
		return fmt.Errorf("tool %q: its input schema is no JSON: %w", tool.Name, err)
	}
	var schema map[string]any
	if err := json.Unmarshal(raw, &schema); err != nil {
		return fmt.Errorf("tool %q: its input schema is %.60s: it has to be an object of JSON Schema", tool.Name, raw)
	}
	switch schema["type"] {
	case "object":
	case nil:
		own := *tool
		typed := maps.Clone(schema)
		if typed == nil {
			typed = map[string]any{}
		}
		typed["type"] = "object"
		own.InputSchema = typed
		tool = &own
	default:
		return fmt.Errorf("tool %q: its input schema has the type %v: arguments of tools are an object", tool.Name, schema["type"])
	}
	// Whatever else the library refuses, in this version or a later one, is somebody
	// else's mistake and no reason to end.
	defer func() {
		if why := recover(); why != nil {
			err = fmt.Errorf("tool %q cannot be offered: %v", tool.Name, why)
		}
	}()
	s.AddTool(tool, h)
	return nil
}
