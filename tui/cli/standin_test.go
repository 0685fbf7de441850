package cli_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"vise/engine/model/faults"
)

// standIn serves on a free port of the loopback, whose address as the base of an
// OpenAI-compatible API it writes into the file that is its argument. It serves until
// it is killed.
func standIn(h http.HandlerFunc) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = os.WriteFile(os.Args[1]+".new", []byte("http://"+l.Addr().String()+"/v1"), 0o600)
	}
	if err == nil {
		err = os.Rename(os.Args[1]+".new", os.Args[1]) // the file is there with its content
	}
	if err == nil {
		err = http.Serve(l, h)
	}
	panic(err)
}

// scriptedJudge is an OpenAI-compatible server on a free port of the loopback, whose
// address it writes into the file it is given. It dislikes turns in which an argument
// was missing and likes all others. It serves until it is killed.
func scriptedJudge() {
	standIn(func(w http.ResponseWriter, r *http.Request) {
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
	})
}

// fakePlatform is the program of the platform, over the folder PANDAPROBE_FAKE. The
// agent "reports" one trace each time that the traces of a session are listed; the
// third one of a session and later ones are scored badly. A file "down" in the folder
// makes the server fail.
func fakePlatform() {
	dir := os.Getenv("PANDAPROBE_FAKE")
	file := func(name string) string { return filepath.Join(dir, name) }
	say := func(v any) { _ = json.NewEncoder(os.Stdout).Encode(v) }
	fail := func(code int, text string) {
		fmt.Fprintf(os.Stderr, `{"error":{"message":%q}}`, text)
		os.Exit(code)
	}
	args := os.Args[1:]
	log, err := os.OpenFile(file("log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(log, strings.Join(args, " "))
	log.Close()
	if args[0] == "version" {
		return
	}
	if os.Getenv("PANDAPROBE_API_KEY") != "platform-key" {
		fail(2, "not logged in")
	}
	if _, err := os.Stat(file("down")); err == nil && args[0] != "auth" {
		fail(5, "maintenance")
	}
	switch strings.Join(args[:2], " ") {
	case "traces list":
		raw, _ := os.ReadFile(file(args[3]))
		n := len(raw) + 1
		if err := os.WriteFile(file(args[3]), []byte(strings.Repeat("x", n)), 0o600); err != nil {
			panic(err)
		}
		var list []map[string]string
		for i := n; i > 0; i-- {
			list = append(list, map[string]string{"trace_id": fmt.Sprintf("%s-t%d", args[3], i)})
		}
		say(map[string]any{"items": list})
	case "evals runs":
		if args[2] == "batch" {
			say(map[string]string{"run_id": strings.ReplaceAll("run|"+args[6]+"|"+args[8], ",", "+"), "status": "pending"})
			return
		}
		run := strings.Split(args[3], "|")
		var list []map[string]any
		for _, id := range strings.Split(run[1], "+") {
			_, n, _ := strings.Cut(id, "-t")
			for _, m := range strings.Split(run[2], "+") {
				value := "1.0"
				if n[len(n)-1] >= '3' && (m == "task_completion" || m == "argument_correctness") {
					value = "0.2"
				}
				list = append(list, map[string]any{"name": m, "value": value, "status": "SUCCESS", "reason": "scripted", "trace_id": id, "metadata": map[string]any{"threshold": 0.6}})
			}
		}
		say(list)
	default:
		say(map[string]any{})
	}
}
