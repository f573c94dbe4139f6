package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// inTenths writes a number of tenths.
func inTenths(n int64) string { return fmt.Sprintf("%d.%d", n/10, n%10) }

// exactly writes a duration to the nanosecond, in milliseconds below a second and in seconds above.
func exactly(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < time.Second:
		return decimal(int64(d), int64(time.Millisecond)) + " ms"
	}
	return decimal(int64(d), int64(time.Second)) + " s"
}

// decimal writes n/unit, for a unit that is a power of ten.
func decimal(n, unit int64) string {
	whole := strconv.FormatInt(n/unit, 10)
	part := strings.TrimRight(strconv.FormatInt(unit+n%unit, 10)[1:], "0")
	if part == "" {
		return whole
	}
	return whole + "." + part
}

// slots writes a sampleCount, or that there is none.
func (s subject) sampleCount() string {
	if s.slots == 0 {
		return ""
	}
	return strconv.Itoa(s.slots)
}

// grouped writes a number with its thousands apart.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

// rows are the lines of a table that has one for each of the modes, with and without slots, and each
// sampleCount.
func rows(slotted, smooth []mode) []row {
	var all []row
	for _, m := range slotted {
		for _, k := range sampleCounts(minute) {
			r := row{minute: subject{m, k, minute}}
			if k <= 20 {
				r.second = subject{m, k, second}
			}
			all = append(all, r)
		}
	}
	for _, m := range smooth {
		all = append(all, row{subject{m, 0, second}, subject{m, 0, minute}})
	}
	return all
}

// row is one mode and sampleCount at both intervals. If there is nothing at a second, it is the zero
// subject.
type row struct{ second, minute subject }
