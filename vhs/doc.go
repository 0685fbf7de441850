// Package vhs plays the tapes of this folder against the real program: in a
// shell on a pseudo terminal, with a virtual terminal behind it, following what
// VHS v0.10.0 does when it records them. So each tape is a picture for the
// README and an end-to-end test at once.
//
// Tapes are read by VHS's own parser. Lint refuses what VHS would accept and
// then ignore or get wrong; Play types the keys and compares screens; Golden
// writes the screens down; Crosscheck holds them against the text output of a
// recording made by VHS itself.
//
// Only this package's tests and .ci/run use it: no part of the program imports it.
package vhs
