// Package window holds time-windowed state: how much was admitted lately, for one budget
// (LeapArray, TokenBucket, Burst, Throttle) or for each of many keys (KeyTable, KeyBucket, KeyBurst,
// KeyThrottle). Every method takes the time as nanoseconds since the Unix epoch; nothing here reads
// a clock, logs, or knows what a rule is.
package window

import "errors"

// Mode is how many slots of a window count towards its limit.
type Mode uint8

// The window modes.
const (
	// Aligned counts the current slot and the sampleCount-1 before it, as Sentinel's LeapArray
	// does: every sampleCount consecutive slots admit at most the limit, and any real interval at
	// most twice the limit.
	Aligned Mode = iota
	// Strict counts one slot more, so that any real interval admits at most the limit.
	Strict
)

// MaxLimit is the largest limit that a window enforces.
const MaxLimit = 1<<31 - 1

// MaxSampleCount is the largest number of slots that an interval is divided into.
const MaxSampleCount = 60

// ErrShape is returned for a window whose interval or sample count is out of range, or does not
// divide in whole milliseconds.
var ErrShape = errors.New("sampleCount must be 1 to 60 and divide the interval in whole milliseconds")

// Result is the answer of a Peek or a TryAcquire.
type Result struct {
	OK        bool
	Remaining int64 // what the window would still admit now, after the charge if there was one; never negative
	Untracked bool  // keyed tables only: no room for the key, so the answer is that of the table's Overflow
}

// Snapshot is the content of a window at one moment.
type Snapshot struct {
	Total int64   // what counts towards the limit now
	Slots []int64 // per live slot, oldest first
}
