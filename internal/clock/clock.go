// Package clock is the daemon's one notion of now: Unix nanoseconds that never step, because the
// wall clock is read once and only monotonic time is added to it afterwards.
package clock

import "time"

// Clock tells the time. It is immutable and safe for concurrent use. Make it with New; the zero
// value counts from the year 1.
type Clock struct {
	base time.Time
	unix int64
}

// New reads the wall clock, for the last time, and starts counting.
func New() Clock {
	t := time.Now()
	return Clock{base: t, unix: t.UnixNano()}
}

// Now returns the nanoseconds since the Unix epoch at New plus the monotonic time since.
func (c Clock) Now() int64 { return c.unix + int64(time.Since(c.base)) }
