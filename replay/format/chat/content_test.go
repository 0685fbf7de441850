package chat

import (
	"encoding/json"
	"testing"
	"time"
)

// Contents in the spellings of the providers.
func TestContent(t *testing.T) {
	for _, c := range []struct{ in, text, thought string }{
		{`null`, "", ""},
		{`"plain"`, "plain", ""},
		{`["a", {"type":"text","text":"b"}, {"type":"input_text","text":"c"}]`, "a\nb\nc", ""},
		{`[{"type":"thinking","thinking":"hm"},{"type":"text","text":"x"}]`, "x", "hm"},
		{`[{"type":"reasoning","reasoning":"hm","signature":"s"}]`, "", "hm"},
		{`[{"type":"reasoning","summary":[{"type":"summary_text","text":"sum"}]}]`, "", "sum"},
		{`[{"type":"text","content":"otel part"}]`, "otel part", ""},
		{`{"text":"object"}`, "object", ""},
		{`{"other":1}`, `{"other":1}`, ""},
		{`7`, "7", ""},
		{`[{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}}]`, "[image image/png 3 bytes sha256:b5d4045c3f46]", ""},
		{`[{"type":"input_image","image_url":"https://a.example/x.png"}]`, "[image https://a.example/x.png]", ""},
		{`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]`, "[image image/png 3 bytes sha256:b5d4045c3f46]", ""},
		{`[{"type":"refusal","refusal":"no"}]`, "no", ""},
		{`[{"type":"tool_use","id":"c","name":"n","input":{}}]`, "", ""},
		{`[1,null,{"type":"hologram"}]`, "", ""},
	} {
		var got Content
		if err := json.Unmarshal([]byte(c.in), &got); err != nil || got.Text != c.text || got.Thought != c.thought {
			t.Errorf("%s: %q, %q, %v", c.in, got.Text, got.Thought, err)
		}
	}
}

func TestCall(t *testing.T) {
	for _, c := range []struct{ in, key, name, args string }{
		{`{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}`, "c1", "f", `{"a": 1}`},
		{`{"id":"c1","function":"f","arguments":{"a":12345678901234567890}}`, "c1", "f", `{"a":12345678901234567890}`},
		{`{"call_id":"k","id":"fc","name":"f","args":{"a":1}}`, "k", "f", `{"a":1}`},
		{`{"id":"c1","type":"custom","custom":{"name":"f","input":"free text"}}`, "c1", "f", "free text"},
		{`{"id":7,"name":"f","arguments":"{broken"}`, "7", "f", "{broken"},
		{`{"name":"f","arguments":null}`, "", "f", ""},
		{"{\"name\":\"f\",\"arguments\":{\n \"a\": 1\n}}", "", "f", `{"a":1}`},
	} {
		var got Call
		if err := json.Unmarshal([]byte(c.in), &got); err != nil {
			t.Fatal(err)
		}
		if name, args := got.Target(); got.Key() != c.key || name != c.name || args != c.args {
			t.Errorf("%s: %q %q %q", c.in, got.Key(), name, args)
		}
	}
}

func TestTime(t *testing.T) {
	want := time.Date(2026, 3, 1, 9, 0, 0, 500_000_000, time.UTC)
	for _, in := range []string{"2026-03-01T09:00:00.5Z", "2026-03-01T10:00:00.5+01:00", "2026-03-01T09:00:00.500", "2026-03-01 09:00:00.5",
		"1772355600.5", "1772355600500", "1772355600500000", "1772355600500000000"} {
		if got := Time(in); !got.Equal(want) || got.Location() != time.UTC {
			t.Errorf("Time(%s) = %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{"", "0", "12", "-5", "yesterday", "1e12", "99999999999999999999", "1.2.3"} {
		if got := Time(in); !got.IsZero() {
			t.Errorf("Time(%s) = %s", in, got)
		}
	}
}
