package store

// child runs a part of a test in a process of its own, when the test binary was
// started for that; see the tests that set the variable.
func child() bool { return false }
