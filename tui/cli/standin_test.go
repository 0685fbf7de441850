package cli_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"

	"vise/engine/model/faults"
)

// scriptedJudge is an OpenAI-compatible server on a free port of the loopback, whose
// address it writes into the file it is given. It dislikes turns in which an argument
// was missing and likes all others. It serves until it is killed.
func scriptedJudge() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(os.Args[1]+".new", []byte("http://"+l.Addr().String()+"/v1"), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(os.Args[1]+".new", os.Args[1]); err != nil {
		panic(err)
	}
	err = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []struct{ Content string } `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) != 2 || r.Header.Get("Authorization") != "Bearer judge-key" {
			http.Error(w, `{"error":{"message":"wrong key"}}`, http.StatusUnauthorized)
			return
		}
		grade := "1"
		if strings.Contains(in.Messages[1].Content, "missing required argument") {
			grade = "0.2"
		}
		var parts []string
		for _, line := range strings.Split(in.Messages[0].Content, "\n") {
			if name, _, ok := strings.Cut(strings.TrimPrefix(line, "* "), ":"); ok && strings.HasPrefix(line, "* ") {
				parts = append(parts, fmt.Sprintf(`%q:{"score":%s,"reason":"scripted"}`, name, grade))
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, line := range []string{faults.Text("{" + strings.Join(parts, ",") + "}"), faults.Finish("stop"),
			`{"choices":[],"usage":{"prompt_tokens":900,"completion_tokens":40,"total_tokens":940}}`, "[DONE]"} {
			fmt.Fprintf(w, "data: %s\n\n", line)
		}
	}))
	panic(err)
}
