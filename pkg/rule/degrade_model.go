package rule

import "time"

// DegradeGrade is what a circuit breaker judges calls by. The numbers up to GradeErrorCount are
// Sentinel's.
type DegradeGrade uint8

// The grades of degrade rules.
const (
	GradeSlowRatio  DegradeGrade = 0 // the share of calls that took longer than RTLimit
	GradeErrorRatio DegradeGrade = 1 // the share of calls that failed
	GradeErrorCount DegradeGrade = 2 // how many calls failed
	GradeAverageRT  DegradeGrade = 3 // how long calls took on average; written by name only
)

// OpenAt says how a breaker compares with its threshold, and how it ends being half open.
type OpenAt uint8

// The comparisons.
const (
	// OpenAbove is Sentinel's: the breaker opens above the threshold (at a share of exactly 1 too, if
	// that is the threshold), lets probes through from exactly TimeWindow on, closes when all of them
	// were good, and opens again at the first bad one.
	OpenAbove OpenAt = iota
	// OpenReached is resilience4j's: it opens at the threshold, lets probes through once more than
	// TimeWindow has passed, and judges them together, by the same threshold.
	OpenReached
)

// Ratio is a share of calls, from 0 to 1, in lowest terms. The zero value is not a share.
type Ratio struct{ Num, Den int64 } // Den is at most 10^9

// DegradeRule is one accepted rule of a degrade-rules file: a circuit breaker, defaults filled in.
// Either StatInterval and SampleCount are set, or Size is.
type DegradeRule struct {
	Pos       Position
	Domain    string // the domain its file claims; empty: every domain that no file claims
	ID        string // as written, or derived; unique in its domain and safe inside a header
	DerivedID bool
	Resource  string
	Mode      ResourceMode

	Grade   DegradeGrade
	Count   string        // the count as written, for views
	RTLimit time.Duration // GradeSlowRatio: longer calls are slow; GradeAverageRT: the threshold; at most an hour
	Ratio   Ratio         // GradeSlowRatio, GradeErrorRatio: the threshold
	Errors  int64         // GradeErrorCount: the threshold
	OpenAt  OpenAt

	MinRequestAmount int64         // with fewer calls nothing is judged, but see MaxWait; at least 1, at most Size
	StatInterval     time.Duration // the calls of this last time are judged; whole milliseconds
	SampleCount      int           // 1 to 60, dividing StatInterval in whole milliseconds
	Size             int           // this many last calls are judged
	MaxWait          time.Duration // with Size: fewer than MinRequestAmount are judged once the first of them ended so long ago; 0: never

	TimeWindow       time.Duration // from opening until the first probe
	HalfOpenRequests int           // probes at a time; 1 to MaxHalfOpenRequests
	HalfOpenTimeout  time.Duration // a probe that has not ended by then has failed
	Lease            time.Duration // a call that has not ended by then is forgotten

	Response *BlockResponse // what a refused request is answered with; nil: what the daemon answers anyway
	Shadow   bool
}

// MaxHalfOpenRequests is the largest number of probes.
const MaxHalfOpenRequests = 10_000

// String returns the name that grade takes.
func (g DegradeGrade) String() string {
	if g == GradeAverageRT {
		return degradeGrades.nameOf(noNumber)
	}
	return degradeGrades.nameOf(int64(g))
}

// String returns the name that openAt takes.
func (o OpenAt) String() string { return openAtChoices.nameOf(int64(o)) }
