// Package engine turns a rule set into an immutable snapshot and decides calls against it.
//
// A decision takes the time as an argument and does no I/O: no clock, no log, no channel, no
// timer, no allocation. Its only locks are those that package window takes for a rotation, a key
// insert or a wide key state. Applying a rule set compiles a new snapshot aside, adopts the window
// state of rules whose meaning is unchanged, and swaps one pointer.
package engine
