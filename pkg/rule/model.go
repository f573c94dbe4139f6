// Package rule is what users write: the model of Sentinel's gateway rules, their decoding from
// JSON and YAML with positions kept, and their validation. It knows nothing of how rules are
// evaluated and imports no other package of this module.
package rule

import (
	"fmt"
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

// WindowMode is the kind of window that a rule counts in.
type WindowMode uint8

// The window modes.
const (
	WindowAligned WindowMode = iota // Sentinel's LeapArray: sampleCount slots, the current one included
	WindowStrict                    // one slot more: the bound holds in every real interval
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
	OverflowBlock Overflow = iota // refuse
	OverflowAllow                 // pass without counting
)

// ParamItem names the request parameter whose values a rule limits one by one.
type ParamItem struct {
	Source    ParamSource
	FieldName string // as written; empty for SourceClientIP and SourceHost
	Pattern   string // empty: every value
	Match     MatchStrategy
}

// GatewayFlowRule is one accepted rule of a gw-flow-rules file, defaults filled in and fractions
// resolved: at most Limit requests per Interval.
type GatewayFlowRule struct {
	Pos       Position
	Domain    string // the domain its file claims; empty: every domain that no file claims
	ID        string // as written, or derived; unique in its domain and safe inside a header
	DerivedID bool
	Resource  string
	Mode      ResourceMode

	Count     string        // the count as written, for views
	Limit     int64         // requests per Interval, at most MaxLimit; meaningless when Unlimited
	Unlimited bool          // the count is above MaxLimit: the rule never refuses
	Interval  time.Duration // effective, a whole number of seconds

	Window      WindowMode
	SampleCount int // 1 to 60; divides Interval in whole milliseconds

	Param     *ParamItem // nil: the whole resource is one budget
	OnMissing OnMissing
	MaxKeys   int // most parameter values tracked at a time
	Overflow  Overflow

	Shadow bool
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
	GatewayFlow []GatewayFlowRule // in file order, which is the order of evaluation and of ties
	APIs        []APIDefinition
	Claimed     []string // the domains that files claim
	Revision    string   // hash of the files' names and contents
}
