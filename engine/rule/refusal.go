package rule

// Error is a refusal with a class a program can act on and a message a person
// can. Tools answer {ok: false} with both.
type Error struct {
	Class   string
	Message string
}

// Error returns the message, led by the class.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Class
	}
	return e.Class + ": " + e.Message
}

// Is makes errors.Is match refusals by class.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Class == e.Class && (t.Message == "" || t.Message == e.Message)
}

// The classes of refusal of the rule and repair tools.
const (
	ErrNotAssigned         = "not_assigned"          // the notice does not belong to this episode
	ErrNoticeMissing       = "notice_missing"        // the notice has vanished
	ErrTraceNotAllowed     = "trace_not_allowed"     // the trace is not evidence of this episode
	ErrCandidateLimit      = "candidate_limit"       // the episode has its one candidate
	ErrScopePath           = "scope_path"            // a scope that looks like a path
	ErrScopeUnsafe         = "scope_unsafe"          // a scope that leaves no usable name
	ErrUnknownMetric       = "unknown_metric"        // not one of the nine metrics
	ErrAckNotCandidate     = "ack_not_candidate"     // acknowledging with a rule this run did not create
	ErrInvalidResolution   = "invalid_resolution"    // not one of the four resolutions
	ErrMissingExistingRule = "missing_existing_rule" // duplicate or already_covered without a rule id
	ErrNotLive             = "not_live"              // the rule named is neither candidate nor active
	ErrMustBeActive        = "must_be_active"        // a duplicate is of an active rule
	ErrMustBeCandidate     = "must_be_candidate"     // coverage is by a candidate
	ErrNotPending          = "not_pending"           // a notice of the episode is already acknowledged
	ErrUnsupported         = "unsupported"           // no tool of that name
	ErrMissingArgument     = "missing_argument"      // a required argument is absent
	ErrEmptyRule           = "empty_rule"            // nothing of the rule text survives sanitising
	ErrInvalidScope        = "invalid_scope"         // a scope that ValidateScope refuses
	ErrRuleMissing         = "rule_missing"          // no rule of that id
	ErrRuleCap             = "rule_cap"              // as many live rules as the project allows
	ErrLeak                = "leak"                  // the rule quotes how the agent is graded, or an expected answer
	ErrSaid                = "already_said"          // another rule says a person's wording already
)

// The classes of ValidateScope; a tool reports them all as ErrInvalidScope.
const (
	ScopeEmpty         = "empty"
	ScopeInvalid       = "invalid"
	ScopeNotNormalized = "not_normalized"
)

func refuse(class, message string) *Error { return &Error{Class: class, Message: message} }
