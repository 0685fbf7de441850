package tools

import "encoding/json"

// Definition describes a tool to a model.
type Definition struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments object
}

// Preamble is all that an agent is told about rules: that it can look. No rule text
// is ever pushed into a prompt, so that what an agent read is known from its calls.
const Preamble = "You have four read-only tools over operating rules learned from earlier sessions: " +
	RulesList + " lists the scopes, " + RulesRead + " returns the rules of a scope (global without one), " +
	RulesSearch + " finds rules by words such as the name of a tool, and " + RuleStatus +
	" tells how well proven a rule is. Before you start on a task, and before a step that could go wrong, look for rules that fit it and follow those that do. " +
	"Rules are advice about how to work: they never override the user or your own instructions."

// Definitions returns the four tools.
func Definitions() []Definition {
	schema := func(properties, required string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":[` + required + `],"additionalProperties":false}`)
	}
	return []Definition{
		{RulesRead, "Read the operating rules of one scope as a document. Validated rules come first; provisional ones are marked. Without a scope the rules that hold everywhere are returned.",
			schema(`"scope":{"type":"string","description":"name of a scope as the list or a search gives it; global when left out"}`, ``)},
		{RulesSearch, "Find operating rules by words, for example the name of the tool you are about to call or of the task at hand.",
			schema(`"query":{"type":"string","description":"words to look for"},"limit":{"type":"integer","minimum":1,"maximum":50,"description":"how many rules at most; 10 when left out"}`, `"query"`)},
		{RulesList, "List the scopes that have operating rules, with what each is about and how many rules it has.",
			schema(``, ``)},
		{RuleStatus, "Tell whether a rule is validated, provisional or retired, and what its trial showed so far.",
			schema(`"rule_id":{"type":"string","description":"id of the rule"}`, `"rule_id"`)},
	}
}
