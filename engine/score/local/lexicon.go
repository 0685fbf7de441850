package local

import (
	"strings"

	"vise/engine/pattern"
)

// lex compiles a pattern for folded text: lower case, one byte per rune, so no
// (?i). White space and the curly apostrophe are the bytes fold makes of them.
func lex(expr string) *pattern.Pattern {
	expr = strings.ReplaceAll(expr, `\S`, `[^\t-\r\x1c-\x1f ]`)
	expr = strings.ReplaceAll(expr, `\s`, `[\t-\r\x1c-\x1f ]`)
	return pattern.New(strings.ReplaceAll(expr, `’`, `\x02`))
}

// Names of tools.
var (
	finishName  = lex(`(^|_)(final_?answer|finalanswer|submit(_\w+)?|finish|complete_task|attempt_completion|task_complete\w*|exit|done)($|_?tool)|transfer_to|to_human|hand_?off|escalate`)
	handoffName = lex(`transfer|human|escalat|handoff|hand_off|get_user_help|ask_human`)
	readName    = lex(`^(get|list|search|find|read|view|check|show|describe|look_?up|calculate|compute|think|fetch|inspect|open|retrieve|query|count|verify|validate|compare|review|browse|web_search|visit|page|can|is|has|run_speed_test|status|help|ls|cat|grep|glob|head|tail)(_|$)|(_|^)(search|lookup|status|details?|info|query)$`)
	ruleName    = lex(`(^|[^a-z0-9])harness_(rules_\w+|rule_status)$`)
)

// Commands of shell-like tools.
var (
	finishCommand = lex(`complete_task|^\s*(submit|exit)\s*$`)
	readCommand   = lex(`^\s*(cd [^;&|]+&&\s*)?(ls|head|tail|grep|rg|find|pwd|wc|sed -n|git (diff|log|show|status|grep|blame)|which|echo [^>]*$|tree|file|stat|nl|awk|sort|diff)\b[^>]*$`)
	catCommand    = lex(`^\s*(?:cd [^;&|]+&&\s*)?cat\b([^>]*)$`)
	hereDocument  = lex(`^\s*<<`)
	writeCommand  = lex(`(^|[;&|]\s*)(sed -i|cat\s*>|cat <<|tee |mv |cp |rm |git (apply|commit|checkout|stash|reset)|patch |python3? - <<|echo .*>|touch |mkdir|pip install|apt)|str_replace|^(edit|create|insert)\b|open\([^)]*['"]w`)
)

// Results of tools.
var (
	exitStatus    = lex(`(?:returncode|return code|exit ?code|exit status|exited with code)\W{0,12}(-?\d+)`)
	headError     = lex(`^[\W_]*((unexpected |internal |runtime |tool |api |http )?[\w.]{0,60}(error|exception)|traceback|fatal|failed|failure|invalid|permission denied|command not found|timed? ?out|usage error)\b`)
	errorMember   = lex(`"(?:error|errors|exception|error_message)"\s*:\s*`)
	noErrorValue  = lex(`^(null|false|""|\[\s*\]|\{\s*\}|0\b)`)
	failureMember = lex(`"?\b(success|succeeded|ok)"?\s*:\s*"?false\b|"?\bstatus"?\s*:\s*"?(error|failed|failure)\b`)
	shellError    = lex(`(^|\n)(bash|sh|/bin/\w+): .{0,80}(not found|no such file|permission denied)|^.{0,80}no such file or directory`)
	emptyResult   = lex(`^\s*(\[\s*\]|\{\s*\}|null|none|""|''|)\s*$`)
	weakResult    = lex(`\b(not found|no (results?|match(es)?|records?|data|flights?|items?|such)\b|does not exist|could not be found|nothing found|0 results)`)
	unknownTool   = lex(`(unknown|no such|unrecognized|undefined) (tool|function|command)|(tool|function)\b.{0,60}\b(not found|does not exist|is not (available|defined|a valid))|name .{1,40} is not defined`)
	argumentError = lex(`\b(invalid|missing|unexpected|required|unrecognized|malformed|wrong|unknown|unsupported)\b.{0,40}\b(arg(ument)?s?|param(eter)?s?|field|value|key|option|type|format|json|property|input)\b|unexpected keyword|positional argument|validation error|schema|\btype ?error\b|\bvalue ?error\b|\bmust (be|match|have)\b|\bshould be\b|not add up|\bexpected .{1,30} (but )?(got|received)`)
)

// Arguments.
var (
	placeholder = lex(`^(your[_ -]?\w+|<[^>]+>|xxx+|todo|tbd|placeholder|foo|bar|abc123|test@example\.com|john_doe|user@example\.com)$`)
	dateOrTime  = lex(`^\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4})?([t ].*)?$|^\d{1,2}:\d{2}`)
)

const verbs = `(cancel+ed|updated|booked|modified|changed|processed|exchanged|returned|created|added|sent|submitted|fixed|refunded|scheduled|rescheduled|placed|removed|upgraded|enabled|disabled|applied|deleted|paid)`

// Answers and inputs.
var (
	markup      = lex(`</?(tool_call|function_call|invoke|parameter|tool_use)\b|<\|[a-z_]+\|>|^\s*\{\s*"(name|function|tool|action)"\s*:`)
	intention   = lex(`\b(?:i will|i['’]ll|i am going to|i['’]m going to|let me|allow me|we will|we['’]ll)\b`)
	noIntention = lex(`^ (need|be (happy|glad|here|able|transfer)|assist|help|transfer|know|connect|not|require)`)
	waitRequest = lex(`\b(one moment|please (hold|wait)|give me a moment|hang on|stand by)\b`)
	condition   = lex(`\?|\b(once|if|when|after|as soon as|unless|until|please (confirm|provide|let me know|share|reply|specify|review|check|try|tell|answer|choose|go)|let me know|confirm|feel free|could you|would you|can you)\b`)
	doneClaim   = lex(`\bi(['’]ve| have)( now| just| already| successfully)* ` + verbs + `\b|\b(has|have)( now| just)? been successfully ` + verbs + `\b|\bsuccessfully ` + verbs + `\b`)
	askYes      = lex(`\b(please confirm|do you confirm|confirm (that|if|whether|this|to proceed)|\(yes|yes/no|yes or no|reply ['"]?yes|would you like (me )?to (proceed|go ahead|book|cancel|update|make)|shall i|should i|may i proceed|do you want (me )?to (proceed|go|book|cancel|update)|is (this|that|everything) correct|proceed with (this|these|the))\b`)
	sayYes      = lex(`^\W*(yes|yep|yeah|sure,? (please|go|proceed)|ok(ay)?,? (please|go|proceed)|please (do|proceed|go ahead)|go ahead|confirmed|i confirm|that['’]?s correct|correct|proceed|absolutely|sounds good)\b`)
	giveUp      = lex(`\b(i give up|i was unable|i am unable|i['’]m unable|we (were|are) unable|unable to (determine|find|complete|retrieve|verify|access|locate)|could not (determine|find|complete|verify|locate)|couldn['’]t (determine|find|complete|verify|locate)|no (definitive|conclusive)|insufficient information|cannot be determined|not possible to determine)\b`)
	handoffText = lex(`(transfer(red|ring)?|connect(ed|ing)?|escalat\w+|hand(ed|ing)? (you )?(off|over)).{0,40}(human|live|representative|agent|specialist|support|supervisor)`)
)

// promises reports whether folded text announces an action: "I will", "let me",
// "one moment", but not "I will need" or "let me help".
func promises(folded string) bool {
	if waitRequest.MatchString(folded) {
		return true
	}
	for _, m := range intention.FindAllStringIndex(folded, -1) {
		if !noIntention.MatchString(folded[m[1]:]) {
			return true
		}
	}
	return false
}

// holdsError reports whether folded text has a JSON member named like an error
// with a value that says there was one, or a member that says failure.
func holdsError(folded string) bool {
	for _, m := range errorMember.FindAllStringIndex(folded, -1) {
		if rest := folded[m[1]:]; rest != "" && !noErrorValue.MatchString(rest) {
			return true
		}
	}
	return failureMember.MatchString(folded)
}
