// Package rule is what users write: the model of Sentinel's gateway rules, their decoding from
// JSON and YAML with positions kept, and their validation. It knows nothing of how rules are
// evaluated and imports no other package of this module.
package rule

import (
	"fmt"
	"slices"
	"time"
)

// Position is a place in a rule file. Line and Column count from 1; the zero value means unknown.
type Position struct {
	File         string
	Line, Column int
}

// String formats the position as file:line:column, leaving out what is unknown.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// ResourceMode says what the resource of a gateway rule names. The numbers are Sentinel's.
type ResourceMode uint8

// The resource modes.
const (
	ModeRoute ResourceMode = 0 // a route id: the request's own resource
	ModeAPI   ResourceMode = 1 // an API group, matched by its definition
	ModeRegex ResourceMode = 2 // an expression (RE2) that the whole route id matches; said by regex, not by a number
)

// ParamSource says where a parameter value is taken from. Its numbers are ours: the numbers that
// users write in parseStrategy depend on ParamCodes and are translated while decoding.
type ParamSource uint8

// The parameter sources.
const (
	SourceClientIP ParamSource = iota
	SourceHost
	SourceHeader
	SourceURLParam
	SourceCookie
	SourcePathParam // a {name} of the Ant pattern by which the path matched
	SourceAttribute // any attribute, by its key
	SourceArgument  // a positional argument of the call
	SourceOrigin    // the caller
	SourceRoute     // the route id
)

// LimitKind says which kind of file a limit rule comes from.
type LimitKind uint8

// The kinds of limit rules, in the order of evaluation.
const (
	LimitGateway LimitKind = iota // gw-flow-rules
	LimitParam                    // param-flow-rules
	LimitFlow                     // flow-rules
)

// MatchStrategy says how a pattern is compared with a parameter value. The numbers are Sentinel's.
type MatchStrategy uint8

// The match strategies of parameter values.
const (
	MatchExact    MatchStrategy = 0
	MatchPrefix   MatchStrategy = 1
	MatchRegex    MatchStrategy = 2 // RE2, the whole value
	MatchContains MatchStrategy = 3
)

// PathMatch says how the pattern of a predicate item is compared with a path. The numbers are Sentinel's.
type PathMatch uint8

// The path match strategies.
const (
	PathExact  PathMatch = 0
	PathPrefix PathMatch = 1 // Ant style; a pattern without wildcards is a path-segment prefix
	PathRegex  PathMatch = 2 // RE2, the whole path
)

// Grade says what a rule limits. Its numbers are ours, so that its zero value is the usual grade; those
// that users write are translated while decoding.
type Grade uint8

// The grades.
const (
	GradeQPS         Grade = iota // requests per interval
	GradeConcurrency              // calls under way at a time
)

// ControlBehavior says what becomes of a request above the limit. The numbers are Sentinel's.
type ControlBehavior uint8

// The control behaviours.
const (
	BehaviorReject      ControlBehavior = 0 // refuse it
	BehaviorWarmUp      ControlBehavior = 1 // refuse it; the limit climbs to the count while requests keep coming
	BehaviorQueue       ControlBehavior = 2 // let requests through one by one at the rate, and make those that come early wait
	BehaviorWarmUpQueue ControlBehavior = 3 // queue at the rate that a warm-up allows
)

// WindowMode is the kind of window that a rule counts in.
type WindowMode uint8

// The window modes.
const (
	WindowAligned     WindowMode = iota // Sentinel's LeapArray: sampleCount slots, the current one included
	WindowStrict                        // one slot more: the bound holds in every real interval
	WindowTokenBucket                   // Sentinel's own algorithm for gateway rules: a bucket that is refilled once more than an interval has passed
	WindowNone                          // none: the rule queues, or limits concurrency
)

// OnMissing says what a parameter rule does with a request that lacks the parameter.
type OnMissing uint8

// What to do when the parameter is missing.
const (
	MissingSkip  OnMissing = iota // the rule does not apply (Sentinel's behaviour)
	MissingLimit                  // all such requests share one value that no client can send
	MissingBlock                  // refuse
)

// Overflow says what happens to a value that finds no room in the rule's key table.
type Overflow uint8

// What to do with values beyond the table.
const (
	OverflowSketch Overflow = iota // count them in a table shared by several values: some are refused early, none late
	OverflowBlock                  // refuse
	OverflowAllow                  // pass without counting
)

// MaxArguments is how many positional arguments of a call are told apart: their numbers are below it.
const MaxArguments = 64

// ParamItem names the request parameter whose values a rule limits one by one.
type ParamItem struct {
	Source    ParamSource
	FieldName string // as written; empty for SourceClientIP, SourceHost, SourceOrigin and SourceRoute
	Template  string // of SourcePathParam: the Ant pattern that has {FieldName}; empty: those of the API group's items
	Pattern   string // empty: every value
	Match     MatchStrategy
}

// LimitRule is one accepted rule of a gw-flow-rules, param-flow-rules or flow-rules file, defaults
// filled in and fractions resolved: Limit requests per Interval, exactly the rate that was written.
//
// A fractional count multiplies count and interval as written by Scale, the least that makes Limit
// whole. Burst is not multiplied:
//   - a window admits Limit + Burst per Interval, so that 2.5 per second with a burst of 3 is 5 per
//     2 s with a burst of 3, as if written so;
//   - a token bucket keeps the interval as written, Interval / Scale, and the count as written is
//     what comes back in it. It holds that count, rounded up so that no part of it is lost, and Burst;
//   - queueing knows the rate alone.
type LimitRule struct {
	Kind      LimitKind
	Pos       Position
	Domain    string // the domain its file claims; empty: every domain that no file claims
	ID        string // as written, or derived; unique in its domain and safe inside a header
	DerivedID bool
	Resource  string
	Mode      ResourceMode

	// Origin is whose calls the rule is for: empty for all, OriginOther, or the one that it names.
	Origin string
	// RefResource is the resource whose use of the budget decides, in place of the rule's own: an API
	// group if Mode is ModeAPI, else a route. Empty: the rule's own does. The rule then takes nothing.
	RefResource string

	Grade     Grade
	Count     string        // the count as written, for views
	Limit     int64         // requests per Interval, or calls under way; 0 refuses all; meaningless when Unlimited
	Burst     int64         // requests beyond Limit that may pass at once; Limit + Burst is at most MaxLimit, if Limit means something
	Unlimited bool          // the count is above MaxLimit: the rule never refuses
	Interval  time.Duration // effective, a whole number of seconds; at most 68 years; 0 for concurrency
	Scale     int64         // by what count and interval are multiplied; 1 unless the count is fractional

	Behavior ControlBehavior
	// MaxQueueing is the wait from which on a request is refused instead, or for a flow rule the longest
	// that is not; 0 unless the rule queues.
	MaxQueueing time.Duration
	WarmUp      time.Duration // how long it takes from Limit/ColdFactor to Limit; 0 unless the rule warms up
	ColdFactor  int64         // 0 unless the rule warms up

	// Lease is how long a call counts whose end nobody reports, from 1 s to 24 h; 0 unless the rule
	// limits concurrency.
	Lease time.Duration

	Window      WindowMode // WindowNone if, and only if, the rule queues or limits concurrency
	SampleCount int        // 1 to 60, dividing Interval in whole milliseconds; 0 for WindowTokenBucket and WindowNone

	Param     *ParamItem // nil: the whole resource is one budget
	OnMissing OnMissing  // of the parameter, or of the origin that Origin asks for
	MaxKeys   int        // most parameter values tracked at a time
	Overflow  Overflow

	// Exceptions are the values of Param that have a limit of their own, each value once, in file order.
	Exceptions []Exception

	Response *BlockResponse // what a refused request is answered with; nil: what the daemon answers anyway
	Shadow   bool
}

// Exception is a value of a rule's parameter with a limit of its own, over the rule's interval and beside
// its burst. Values are compared byte for byte with the text that a request has.
type Exception struct {
	Value     string
	Count     string // as written, for views
	Limit     int64  // requests per Interval, or calls under way; 0 refuses all, whatever the burst is
	Unlimited bool   // the count is above MaxLimit: the value is never refused
}

// LimitsSome says whether the rule refuses anything: it does, or one of its exceptions.
func (r *LimitRule) LimitsSome() bool {
	return !r.Unlimited || slices.ContainsFunc(r.Exceptions, func(e Exception) bool { return !e.Unlimited })
}

// BlockResponse is the answer to a refused request. Load accepts only what can neither add a header
// line nor end one early. Body and the values of headers are texts with placeholders, see Segments.
type BlockResponse struct {
	ContentType string // a media type in printable ASCII; empty: nothing is said about it
	Body        string // at most 64 KiB
	Headers     []HeaderField
}

// HeaderField is a response header.
type HeaderField struct {
	Name  string // a token in lower case, each at most once
	Value string // printable ASCII, at most 4 KiB
}

// OriginOther is the Origin of a rule for the callers that no flow rule of the resource names.
const OriginOther = "other"

// WarmsUp says whether the limit of the rule climbs while requests keep coming.
func (r *LimitRule) WarmsUp() bool {
	return r.Behavior == BehaviorWarmUp || r.Behavior == BehaviorWarmUpQueue
}

func (r *LimitRule) queues() bool {
	return r.Behavior == BehaviorQueue || r.Behavior == BehaviorWarmUpQueue
}

// MaxLimit is the largest limit that is enforced; greater counts mean unlimited.
const MaxLimit = 1<<31 - 1

// PredicateItem is one alternative of an API group. All fields that are set must hold.
type PredicateItem struct {
	Pos     Position
	Pattern string // empty: any path
	Match   PathMatch
	Host    string   // lower case, exact or *.suffix; empty: any
	Methods []string // upper case; empty: any
	Other   bool     // matches when no item of any other group does; the other fields are empty
}

// APIDefinition is an API group: a request that matches any of its items enters it.
type APIDefinition struct {
	Pos    Position
	Domain string
	Name   string
	Items  []PredicateItem
}

// Set is a whole, validated rule set. It is not changed after Load returned it.
type Set struct {
	Limits    []LimitRule // by kind, then in file order: the order of evaluation and of ties
	APIs      []APIDefinition
	Degrade   []DegradeRule   // in file order
	Authority []AuthorityRule // in file order
	System    []SystemRule    // in file order
	Claimed   []string        // the domains that files claim
	Revision  string          // hash of the files' names and contents
}

// Len returns the number of rules of all kinds.
func (s *Set) Len() int {
	return len(s.Authority) + len(s.System) + len(s.Limits) + len(s.Degrade)
}
