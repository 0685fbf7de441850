package acp

// executionStarted is the notification by which an agent says that its environment
// is up and its work begins. An agent that sends it announces that with
//
//	"agentCapabilities": {"_meta": {"vise.dev": {"execution_started": true}}}
//
// in its answer to initialize. The name follows the rule of the protocol for
// extensions: an underscore and a domain. Parameters are not looked at.
const executionStarted = "_vise.dev/execution_started"

// begin notes that execution began.
func (s *session) begin() {
	s.once.Do(func() {
		close(s.began)
		s.cfg.OnExecution()
	})
}

// didSomething takes an update or an answer in a turn for the beginning of
// execution, unless the agent announced that it says so itself: such an agent may
// well tell of the environment that it is waiting for.
func (s *session) didSomething() {
	s.mu.Lock()
	announces := s.announces
	s.mu.Unlock()
	if !announces {
		s.begin()
	}
}
