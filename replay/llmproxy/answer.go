package llmproxy

import (
	"bytes"
	"encoding/json"
	"strings"

	"vise/engine/model"
	"vise/engine/model/cassette"
	"vise/engine/trace"
)

// answer is what an exchange's answer says, of either API.
type answer struct {
	id         string // of a response, by which a later request may name it
	model      string
	text       string
	reasoning  string
	calls      []model.Call
	usage      trace.Usage
	usageKnown bool
	finish     string
	err        string // the refusal, the failure, or that it broke off
}

// read takes an answer apart. What it does not know gives an answer without words.
func read(e cassette.Exchange) answer {
	media := e.Header["Content-Type"]
	var a answer
	switch {
	case e.Status == 0:
		a.err = e.Error
	case e.Status >= 400:
		_, err := model.ReadAnswer(e.Status, media, e.Body)
		a.err = err.Error()
	case isResponses(e.Path):
		a = readResponses(media, e.Body)
	case strings.HasSuffix(e.Path, "/chat/completions"):
		r, err := model.ReadAnswer(e.Status, media, e.Body)
		a = answer{model: r.Model, text: r.Text, reasoning: r.Reasoning, calls: r.Calls, usage: r.Usage, usageKnown: r.UsageKnown, finish: r.Finish}
		if err != nil {
			a.err = err.Error()
		}
		if a.text == "" {
			a.text = r.Refusal
		}
	}
	if a.err == "" && e.Cut {
		a.err = "the answer broke off"
	}
	return a
}

func isResponses(path string) bool { return strings.HasSuffix(path, "/responses") }

// response is the object of the Responses API, as far as it tells what was said.
type response struct {
	ID     string `json:"id"`
	Model  string `json:"model"`
	Status string `json:"status"`
	Output []item `json:"output"`
	Usage  *struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		In     struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		Out struct {
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// item is one piece of a response's output, or of a request's input.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Summary   json.RawMessage `json:"summary"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

func readResponses(media string, body []byte) answer {
	var r response
	whole := body
	if strings.HasPrefix(media, "text/event-stream") {
		whole = nil
		// The last event of a whole stream carries the response as it ended.
		for line := range bytes.Lines(body) {
			p, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
			if !ok || !bytes.Contains(p, []byte(`"response"`)) {
				continue
			}
			var event struct {
				Type     string          `json:"type"`
				Response json.RawMessage `json:"response"`
			}
			if json.Unmarshal(p, &event) != nil {
				continue
			}
			switch event.Type {
			case "response.completed", "response.incomplete", "response.failed":
				whole = event.Response
			}
		}
		if whole == nil {
			return answer{err: "the answer broke off: no response.completed came"}
		}
	}
	if json.Unmarshal(whole, &r) != nil {
		return answer{err: "the answer is no response object"}
	}
	a := answer{id: r.ID, model: r.Model, finish: r.Status}
	for _, it := range r.Output {
		switch it.Type {
		case "message":
			a.text += textOf(it.Content)
		case "reasoning":
			a.reasoning += textOf(it.Summary)
		case "function_call":
			a.calls = append(a.calls, model.Call{ID: it.CallID, Name: it.Name, Arguments: it.Arguments})
		}
	}
	if r.Usage != nil {
		a.usageKnown = true
		a.usage = trace.Usage{Input: r.Usage.Input, Output: r.Usage.Output, Cached: r.Usage.In.Cached, Reasoning: r.Usage.Out.Reasoning}
	}
	switch {
	case r.Error != nil:
		a.err = r.Error.Message
	case r.Incomplete != nil && r.Incomplete.Reason == "max_output_tokens":
		a.finish = "length"
	}
	return a
}

// textOf reads text, or a list of parts that hold text.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text + p.Refusal)
	}
	return b.String()
}
