package guard

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"vise/engine/trace"
)

// Credentials of no account: the shapes are real, the characters are not.
const (
	openAI  = "sk-proj-Zz0011223344556677889900aabbccdd"
	aws     = "AKIA" + "ABCDEFGH12345678"
	gitHub  = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
	slack   = "xoxb-1234567890-abcdefghij"
	jwt     = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
	pemKey  = "-----BEGIN RSA PRIVATE KEY-----\nMIIBOgIBAAJBAK\nabc+/=\n-----END RSA PRIVATE KEY-----"
	bearing = "Bearer abcdef0123456789xyz"
)

var mark = regexp.MustCompile(`\[redacted:[a-z-]+:[0-9a-f]{6}\]`)

func TestRedactText(t *testing.T) {
	r := DefaultRedactor()
	for _, c := range []struct{ in, want string }{
		{"key " + openAI + " ends", "key [api-key] ends"},
		{"aws " + aws + ".", "aws [aws-key]."},
		{"clone with " + gitHub, "clone with [github-token]"},
		{"post as " + slack, "post as [slack-token]"},
		{"cookie " + jwt, "cookie [jwt]"},
		{"curl -H 'Authorization: " + bearing + "'", "curl -H 'Authorization: Bearer [secret]'"},
		{"Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [secret]"},
		{"postgres://bob:hunter2@db/x", "postgres://bob:[secret]@db/x"},
		{"before\n" + pemKey + "\nafter", "before\n[private-key]\nafter"},
		{"cut: -----BEGIN PRIVATE KEY-----\nMIIBOgIBAAJB", "cut: [private-key]"},
		{"export API_KEY=abc && run", "export API_KEY=[secret] && run"},
		{"?token=abcdef&page=2", "?token=[secret]&page=2"},
		{`{"password": "hunter two"}`, `{"password": "[secret] two"}`}, // text, not JSON: up to the blank
		{`client_secret: 'q1w2e3'`, `client_secret: '[secret]'`},
		{"password: hunter2x", "password: [secret]"},
		{`{\"api_key\": \"abcd\"}`, `{\"api_key\": \"[secret]\"}`},
		{"xai-" + "abcdefghij0123456789abcd, pplx-" + "abcdefghij0123456789abcd", "[api-key], [api-key]"},
		{"token 123456789:AA" + "abcdefghijklmnopqrstuvwxyz0123456 of a bot", "token [bot-token] of a bot"},
		{"ya29." + "a0Abcdefghij0123456789 and hvs." + "CAESIabcdefghij0123456789", "[oauth-token] and [vault-token]"},
		{"post https://hooks.slack.com/services/T00000000/B00000000/abcdefghijklmnopqrstuvwx", "post https://hooks.slack.com/services/[secret]"},
		{"mongodb+srv://bob:p%40ss@c.example.net/db and redis://:hunter2@cache:6379", "mongodb+srv://bob:[secret]@c.example.net/db and redis://:[secret]@cache:6379"},
		{"Server=db;Uid=sa;Pwd=hunter2;Database=x", "Server=db;Uid=sa;Pwd=[secret];Database=x"},
		{"Server=db;User Id=sa;Password=hunter2;", "Server=db;User Id=sa;Password=[secret];"},
		{"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=abcDEF0123456789==;", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=[secret];"},
		{"https://x.blob.core.windows.net/c?sv=2024&sig=abcdefghij0123456789%2Fx%3D", "https://x.blob.core.windows.net/c?sv=2024&sig=[secret]"},
		{"machine api.example.org login bob password hunter2", "machine api.example.org login bob password [secret]"},
		{"deploy --api-token abc123def --region eu", "deploy --api-token [secret] --region eu"},
		{"curl -s -u bob:hunter2 https://example.org", "curl -s -u bob:[secret] https://example.org"},
		{"log in with hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH", "log in with [api-key]"},
		{"log in with hf_" + "abcdefghijklmnopqrstuvwx12345678AB", "log in with [api-key]"},
		{"twilio SK" + "0123456789abcdef0123456789abcdef.", "twilio [api-key]."},
		{"mysql -u root -p" + "Hunter2pw shop", "mysql -u root -p[secret] shop"},
		{"mysqldump -h db -p'" + "s3cr!t' shop && ls -plain", "mysqldump -h db -p'[secret]' shop && ls -plain"},
		{"mysql -p" + "onlyletters", "mysql -p[secret]"},
		{"awssec: " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "awssec: [secret]"},
		{"AWS_SEC=" + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\nnext", "AWS_SEC=[secret]\nnext"},
		{"keys fw_" + "3ZabcdefghijklmnoP12345 tgp_v1_" + "abcdefghij0123456789abcd pcsk_" + "5abcd_efghij0123456789abcd e2b_" + "0123456789abcdef0123456789abcdef01234567", "keys [api-key] [api-key] [api-key] [api-key]"},
		{"ntn_" + "12345678901abcdefghijABCDEFGHIJ0123456789abcdef, ATATT3x" + "FfGF0abcdefghij0123456789abcdefghij=1A2B3C4D", "[api-key], [api-key]"},
		{"tailscale up --authkey tskey-auth-" + "kabcdefCNTRL-abcdefghij01234567; docker login -p dckr_pat_" + "abcdefghij01234567_-abc", "tailscale up --authkey [api-key]; docker login -p [api-key]"},
		{"NRAK-" + "ABCDEFGHIJ0123456789ABCDEFG sntrys_" + "eyJpYXQiOjE3MDAwMDAwMDB9abcd_0123456789 glsa_" + "abcdefghijABCDEFGHIJ0123456789ab_0a1b2c3d", "[api-key] [api-key] [api-key]"},
		{"dp.pt." + "abcdefghijABCDEFGHIJ0123456789abcdefghijABC PMAK-" + "0123456789abcdef01234567-0123456789abcdef0123456789abcdef01 pul-" + "0123456789abcdef0123456789abcdef01234567", "[api-key] [api-key] [api-key]"},
		{"TF_TOKEN abcdefghij1234.atlasv1." + "abcdefghijABCDEFGHIJ0123456789abcdefghijABCDEFGHIJ0123456789abcdefg", "TF_TOKEN [api-key]"},
		{"bot MTE5ODc2NTQzMjEwOTg3NjU0Mw.GaBcDe." + "abcdefghijABCDEFGHIJ0123456789abcd_-12 joined", "bot [secret] joined"},
		{"git clone https://" + "0123456789abcdef0123456789abcdef01234567@github.com/a/b", "git clone https://[secret]@github.com/a/b"},
		{"sshpass -p Hunter2 ssh root@db; sshpass -p'h2!x' scp a b:", "sshpass -p [secret] ssh root@db; sshpass -p'[secret]' scp a b:"},
		{"tvly-" + "dev-abcdefghij0123456789ABCD glrt-" + "abcdefghij0123456789 hvb." + "AAAAAQabcdefghij0123456789", "[api-key] [gitlab-token] [vault-token]"},
		// Not secrets.
		{"fw_update_interval_seconds_10 pul-request ntn_handler(sshpass -p $PASS ssh) https://a-long-user-name@host.example/x dp.st.", ""},
		{"numpy.linalg.norm MyModule.method.anotherVeryLongMethodNameThatGoesOn com.example.OrganisationServiceHandler123.create.v1", ""},
		{"mysql -u root -p shop and docker run mysql -p3306:3306 and mysql -p$PASS", ""},
		{"aws: 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567 is a commit; hf_hub_download(hf_transfer_enabled)", ""},
		{"PWD=/home/bob cd --max-tokens 4096 --token $TOKEN --secret-name prod", ""},
		{"curl -u $USER:$PASS https://a.example/b:c@d and https://[::1]:8080/x@y", ""},
		{"current_token = current_token3; http://example.org: mail me@example.org", ""},
		{"call toolu_01SV2pqw6MpP3RXkk9rYKYMu", ""},
		{"call_V2Qv5Haz9j6gtTSEN1dXeYdz of 0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f", ""},
		{"trace 4bf92f3577b34da6a3ce929d0e0e4736 sha256:9f86d081884c7d659a2feaa0c55ad015", ""},
		{"task-manager-with-a-long-name-2024 and disk-partition-0123456789", ""},
		{"max_tokens=4096 next_page_token=abc123", ""},
		{"func f(token string, password = read())", ""},
		{"api_key=$OPENAI_API_KEY password=${PASS} secret=<your secret>", ""},
		{"const token: string = null; password: true", ""},
		{"f(password=password, token=ctx.token) with password=None: nothing", ""},
		{"http://localhost:8080/path and git@host:repo", ""},
		{"payment_id credit_card_4421486 for mia_li_3668", ""},
	} {
		want := c.want
		if want == "" {
			want = c.in
		}
		got, n := r.Text(c.in)
		if short := mark.ReplaceAllStringFunc(got, func(m string) string { return "[" + strings.Split(m, ":")[1] + "]" }); short != want {
			t.Errorf("Text(%q)\n got %q\nwant %q", c.in, got, want)
		}
		if (n > 0) != (want != c.in) {
			t.Errorf("Text(%q) masked %d", c.in, n)
		}
		if again, k := r.Text(got); again != got || k != 0 {
			t.Errorf("Text(%q) is not idempotent: %q", c.in, again)
		}
	}
}

func TestRedactJSON(t *testing.T) {
	r := DefaultRedactor()
	for _, c := range []struct{ in, want string }{
		{`{"a":1.0e+2, "password":"x y z"}`, `{"a":1.0e+2, "password":"[secret]"}`},
		{`{"token":123456789012345678901,"n":123456789012345678901}`, `{"token":"[secret]","n":123456789012345678901}`},
		{`{"secrets":["a","b"],"ok":["a"]}`, `{"secrets":["[secret]","[secret]"],"ok":["a"]}`},
		{`{"password":{"type":"string","minLength":8}}`, `{"password":{"type":"string","minLength":8}}`},
		{`{"password":null,"secret":true,"token":""}`, `{"password":null,"secret":true,"token":""}`},
		{`{"authorization":"` + bearing + `"}`, `{"authorization":"Bearer [secret]"}`},
		{`{"note":"a \u003c b \"` + openAI + `\""}`, `{"note":"a < b \"[api-key]\""}`},
		{`[ "x" , {"deep":[{"api_key":"k"}]} ]`, `[ "x" , {"deep":[{"api_key":"[secret]"}]} ]`},
		{`{"` + gitHub + `":1}`, `{"[github-token]":1}`},
		{`"sk\u002dproj\u002dZz0011223344556677889900aabbccdd"`, `"[api-key]"`},
	} {
		got, _, err := r.JSON([]byte(c.in))
		if err != nil {
			t.Fatalf("JSON(%s): %v", c.in, err)
		}
		if short := mark.ReplaceAllStringFunc(string(got), func(m string) string { return "[" + strings.Split(m, ":")[1] + "]" }); short != c.want {
			t.Errorf("JSON(%s)\n got %s\nwant %s", c.in, got, c.want)
		}
		if again, k, err := r.JSON(got); string(again) != string(got) || k != 0 || err != nil {
			t.Errorf("JSON(%s) is not idempotent: %s", c.in, again)
		}
		var v any
		dec := json.NewDecoder(strings.NewReader(c.in))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		masked, _ := r.Any(v)
		var want any
		dec = json.NewDecoder(strings.NewReader(string(got)))
		dec.UseNumber()
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(masked)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("Any and JSON differ:\n%s\n%s", a, b)
		}
	}
	if _, _, err := r.JSON([]byte(`{"a":`)); err == nil {
		t.Error("JSON took a broken text")
	}
}

// The same secret becomes the same placeholder however it is found, another one
// another, and another salt gives other placeholders.
func TestRedactPlaceholder(t *testing.T) {
	r := DefaultRedactor()
	byShape, _ := r.Text("x " + openAI)
	byName, _ := r.Text("api_key=" + openAI)
	byKey, _, _ := r.JSON([]byte(`{"apiKey":"` + openAI + `"}`))
	p := mark.FindString(byShape)
	if p == "" || mark.FindString(byName) != p || mark.FindString(string(byKey)) != p {
		t.Errorf("placeholders differ: %s, %s, %s", byShape, byName, byKey)
	}
	if other, _ := r.Text("x " + openAI + "9"); mark.FindString(other) == p {
		t.Error("two secrets share a placeholder")
	}
	salted, err := NewRedactor(RedactOptions{Values: true, Salt: []byte("mine")})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := salted.Text("x " + openAI); mark.FindString(got) == p {
		t.Error("the salt does not matter")
	}
}

// Names are texts: agents put command lines into them. Ids that look like ids stay.
func TestRedactNames(t *testing.T) {
	turn := trace.Turn{StopReason: "failed with " + openAI, ScopeHints: []trace.ScopeHint{{Key: gitHub}}, Spans: []trace.Span{
		{ID: "call_V2Qv5Haz9j6gtTSEN1dXeYdz", Kind: trace.TOOL, Name: `curl -H "Authorization: ` + bearing + `"`},
		{ID: openAI, Kind: trace.LLM, Name: openAI},
		{ID: "c", Parent: openAI},
	}}
	head := trace.Session{Tools: []trace.Tool{{Name: "t " + gitHub}}}
	r := DefaultRedactor()
	if n := r.Turn(&turn) + r.Session(&head); n != 7 {
		t.Errorf("%d masked", n)
	}
	b, _ := json.Marshal([]any{turn, head})
	for _, secret := range []string{openAI, gitHub, "abcdef0123456789xyz"} {
		if strings.Contains(string(b), secret) {
			t.Errorf("%s is in %s", secret, b)
		}
	}
	if s := turn.Spans; s[0].ID != "call_V2Qv5Haz9j6gtTSEN1dXeYdz" || s[2].Parent != s[1].ID || s[1].ID == "" {
		t.Errorf("ids %q %q %q", s[0].ID, s[1].ID, s[2].Parent)
	}
}

// What was masked is told by class.
func TestRedactTally(t *testing.T) {
	got := map[string]int{}
	r := DefaultRedactor().Tally(got)
	r.Text(openAI + " and " + openAI + ", " + jwt + "\n" + pemKey)
	r.Payload(`{"password":"hunter2","url":"postgres://bob:hunter2@db/x"}`)
	if want := map[string]int{"api-key": 2, "jwt": 1, "private-key": 1, "secret": 2}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRedactOptions(t *testing.T) {
	off, err := NewRedactor(RedactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := "password=abc " + openAI; func() string { o, _ := off.Text(s); return o }() != s {
		t.Error("masked although switched off")
	}
	extra, err := NewRedactor(RedactOptions{Extra: []string{`customer-(\d+)`, `\bINT-[A-Z]+`}})
	if err != nil {
		t.Fatal(err)
	}
	got, n := extra.Text("customer-4711 asked about INT-XY")
	if n != 2 || !strings.HasPrefix(got, "customer-[redacted:secret:") || strings.Contains(got, "INT-XY") {
		t.Errorf("extra expressions: %q, %d", got, n)
	}
	if _, err := NewRedactor(RedactOptions{Extra: []string{`(`}}); err == nil || !strings.Contains(err.Error(), `"("`) {
		t.Errorf("a bad expression gives %v", err)
	}
}

func TestRedactSchema(t *testing.T) {
	in := `{"properties":{"password":{"type":"string","default":"` + gitHub + `"},"tokens":["string"]}}`
	got, n, err := DefaultRedactor().Schema([]byte(in))
	if err != nil || n != 1 || !strings.Contains(string(got), `"tokens":["string"]`) || strings.Contains(string(got), gitHub) {
		t.Errorf("schema: %s, %d, %v", got, n, err)
	}
}

// Whatever surrounds a secret, it is gone, and a second pass changes nothing.
func TestRedactProperty(t *testing.T) {
	r := DefaultRedactor()
	secrets := []string{openAI, aws, gitHub, slack, jwt, pemKey}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(1, 5).Draw(t, "n") {
			b.WriteString(rapid.SampledFrom([]string{" ", "\n", "password=", "token: ", `"api_key":"`, "https://u:", "@h ", "Bearer ", ", ", "'", "x "}).Draw(t, "glue"))
			b.WriteString(rapid.OneOf(rapid.SampledFrom(secrets), rapid.String()).Draw(t, "part"))
		}
		in := b.String()
		got, _ := r.Text(in)
		if again, n := r.Text(got); n != 0 || again != got {
			t.Fatalf("not idempotent:\n%q\n%q\n%q", in, got, again)
		}
		if strings.Contains(got, " "+openAI) || strings.Contains(got, pemKey) {
			t.Fatalf("secret left in %q", got)
		}
	})
}

// The cheap test in front of SensitiveKey never changes its answer.
func TestSensitiveKeyQuick(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Za-z_. -]{0,8}(api|next|page)?[_-]?([Kk]ey|TOKEN|pass_word|secret|auth|cookies)[0-9_]{0,3}`)).Draw(t, "key")
		if sensitiveKey(key) != SensitiveKey(key) {
			t.Fatalf("%q: quick %v, exact %v", key, sensitiveKey(key), SensitiveKey(key))
		}
	})
}

func FuzzRedact(f *testing.F) {
	for _, s := range []string{"", "password=" + openAI, `{"token":["a",{"b":1}]}`, pemKey, "https://a:b@c", `{"\ud800":"x"}`, "[redacted:secret:000000]", "token=[redacted:"} {
		f.Add(s)
	}
	r := DefaultRedactor()
	f.Fuzz(func(t *testing.T, s string) {
		got, n := r.Text(s)
		if n == 0 && got != s {
			t.Fatalf("changed without a count: %q", got)
		}
		if again, k := r.Text(got); again != got || k != 0 {
			t.Fatalf("Text is not idempotent: %q → %q → %q", s, got, again)
		}
		out, n, err := r.JSON([]byte(s))
		if err != nil {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("JSON made %q of %q", out, s)
		}
		if n == 0 && string(out) != s {
			t.Fatalf("JSON changed without a count: %q", out)
		}
		if again, k, err := r.JSON(out); err != nil || k != 0 || string(again) != string(out) {
			t.Fatalf("JSON is not idempotent: %q → %q → %q", s, out, again)
		}
	})
}

func BenchmarkRedactText(b *testing.B) {
	s := strings.Repeat("The reservation EHGLP3 of emma_kim_9957 leaves at 10:30; status: confirmed, total=312.50.\n", 4096)
	r := DefaultRedactor()
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		if _, n := r.Text(s); n != 0 {
			b.Fatal("masked something")
		}
	}
}

func BenchmarkRedactJSON(b *testing.B) {
	raw := []byte("[" + strings.Repeat(`{"reservation_id":"EHGLP3","user_id":"emma_kim_9957","flights":[{"number":"HAT136","price":52.5}],"note":"leaves at 10:30"},`, 2048) + "0]")
	r := DefaultRedactor()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, n, err := r.JSON(raw); n != 0 || err != nil {
			b.Fatal("masked something", err)
		}
	}
}

// A text with any number of kinds of credential is masked to the last one: an
// environment that was printed has dozens.
func TestRedactManyKinds(t *testing.T) {
	h := "0123456789abcdef0123456789abcdef0123"
	list := []string{
		"sk-" + h, "sk_live_" + h, "AIza" + h[:35], "hf_" + h, "SK" + h[:32], "gsk_" + h, "SG." + h + "." + h, "AKIA0123456789ABCDEF", "ghp_" + h,
		"github_pat_" + h, "glpat-" + h, "xai-" + h, "pplx-" + h, "r8_" + h, "fw_" + h, "ntn_" + h, "tvly-" + h, "ATATT3x" + h, "tskey-auth-" + h,
		"dckr_pat_" + h, "dp.pt." + h, "glrt-" + h, "dapi" + h[:32], "npm_" + h, "hvs." + h, "ya29." + h, "xoxb-" + h, "PASSWORD=hunter22", "https://u:hunter22@h",
	}
	got, n := DefaultRedactor().Text(strings.Join(list, "\n"))
	if n != len(list) || strings.Contains(got, h[:16]) || strings.Contains(got, "hunter22") {
		t.Errorf("%d of %d masked:\n%s", n, len(list), got)
	}
	// An expression that finds something in all that is left leaves nothing.
	greedy, err := NewRedactor(RedactOptions{Extra: []string{`^[^ ] ?`}})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := greedy.Text(strings.Repeat("a b c d ", 200)); strings.Contains(placeholder.ReplaceAllString(got, ""), "a") {
		t.Errorf("left: %.200s", got)
	}
}

// Any masks what JSON masks, whatever Go type says it.
func TestRedactAnySaysWhatJSONSays(t *testing.T) {
	r := DefaultRedactor()
	type login struct {
		User     string
		Password string `json:"password"`
	}
	for _, v := range []map[string]any{
		{"password": 12345678.0}, {"password": 12345678}, {"password": int64(5)}, {"password": json.Number("1e5")}, {"pin": map[string]string{"password": "hunter22"}},
		{"l": []map[string]any{{"password": "hunter22"}}}, {"raw": json.RawMessage(`{"token":"hunter22"}`)}, {"s": login{"ann", "hunter22"}}, {"p": &login{"ann", "hunter22"}},
		{"token": []int{1, 2}}, {"m": map[string][]string{"secret": {"hunter22", "hunter23"}}}, {"password": true, "n": nil, "k": []any{1.5}},
	} {
		before, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		want, n, err := r.JSON(before)
		if err != nil {
			t.Fatal(err)
		}
		got, k := r.Any(v)
		after, err := json.Marshal(got)
		if err != nil || k != n || string(after) != string(want) {
			t.Errorf("Any(%s) = %s (%d), JSON says %s (%d)", before, after, k, want, n)
		}
		if now, _ := json.Marshal(v); string(now) != string(before) {
			t.Errorf("Any changed what it was given: %s is %s", before, now)
		}
	}
}
