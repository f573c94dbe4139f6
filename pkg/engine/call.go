package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
)

// Code is the outcome of a decision. The zero value passes.
type Code uint8

// The outcomes.
const (
	Pass Code = iota
	Block
)

// Kind says what a request wants done with the budgets it touches.
type Kind uint8

// The kinds of requests.
const (
	Charge Kind = iota // take Hits if every rule of the call allows it
	Peek               // answer as a charge of Hits would; take nothing
	Refund             // give Hits back; never refused, no part of all-or-nothing
)

// Reason says why a rule refused.
type Reason uint8

// The reasons. ReasonNone is that of a verdict which passed.
const (
	ReasonNone          Reason = iota
	ReasonLimit                // the budget is used up
	ReasonMissingParam         // the rule's parameter is absent and the rule blocks that
	ReasonInputTooLarge        // the rule's input cannot be evaluated within bounds
	ReasonKeyOverflow          // no room to track one more parameter value, and the rule blocks that
	ReasonTooManyCalls         // more calls are under way than can be kept track of
	ReasonBreaker              // the rule's circuit breaker is open, or half open and waits for its probes
	ReasonAuthority            // the caller may not use the resource
	ReasonSystemQPS            // as many calls have passed in all as may
	ReasonSystemThread         // as many calls are under way in all as may
	ReasonSystemRT             // calls take too long on average
	ReasonSystemLoad           // the load is too high, and more calls are under way than the system copes with
	ReasonSystemCPU            // the processors have too much to do
	ReasonDeadline             // the queue would take the request, but not in the time that the caller has
)

// String returns the reason as it is written in metadata, logs and answers.
func (r Reason) String() string {
	switch r {
	case ReasonLimit:
		return "limit"
	case ReasonMissingParam:
		return "missing-param"
	case ReasonInputTooLarge:
		return "input-too-large"
	case ReasonKeyOverflow:
		return "key-overflow"
	case ReasonTooManyCalls:
		return "too-many-calls"
	case ReasonBreaker:
		return "breaker"
	case ReasonDeadline:
		return "deadline"
	case ReasonAuthority:
		return "authority"
	case ReasonSystemQPS:
		return "system-qps"
	case ReasonSystemThread:
		return "system-thread"
	case ReasonSystemRT:
		return "system-rt"
	case ReasonSystemLoad:
		return "system-load"
	case ReasonSystemCPU:
		return "system-cpu"
	}
	return "none"
}

// Presence says what a look-up of a parameter found.
type Presence uint8

// What was found.
const (
	Absent   Presence = iota
	Present           // the value may be empty
	TooLarge          // the place to search is beyond the bounds of evaluation
)

// Attrs gives a decision the parameters of one request. The names of headers are passed in lower
// case, those of URL parameters and cookies as the rule writes them. For rule.SourcePathParam the name is
// a piece of the request's Path, and the value what that stands for: percent-decoded, once. Values stay valid until the
// bag behind it is reused. attr.Bag implements it; the interface is there because attr imports
// this package.
type Attrs interface {
	Param(source rule.ParamSource, name string) (value string, found Presence)
}

// Request is one entry into one resource. All strings are borrowed: nothing of them is kept when
// Decide returns.
type Request struct {
	Resource string // route id; empty: only API groups can match
	Path     string // normalised, without query; empty: unknown
	// PathTooLarge is set when the path is beyond the bounds of matching: Path is then empty and
	// every API group that has rules counts as matched and refuses.
	PathTooLarge bool
	Method       string // upper case
	Host         string // lower case, without port and trailing dot
	ClientIP     string
	Origin       string // the caller, as it calls itself
	Attrs        Attrs
	Hits         int64 // at least 1
	Kind         Kind
}

// Verdict answers one request of a call.
type Verdict struct {
	Code    Code
	Reason  Reason
	Matched bool // some rule applied that is not for all calls, be it unlimited or in shadow
	// Rule is the enforced rule that decides: for Pass the one with the smallest remaining, of those
	// that have a limit, for Block the refusing one with the longest wait. Nil when no limiting rule
	// applied.
	Rule      *CompiledRule
	Limit     int64 // of Rule, or of the exception that it makes for the request's value; burst included
	Unlimited bool  // there is no such limit, and Rule refuses for another reason
	Remaining int64
	// Reset is, for Pass, how long until the oldest charge of Rule leaves its window; for Block,
	// how long until the request would fit if nobody else came, which for an open breaker is until its
	// next probe. Zero: never, or unknown.
	Reset time.Duration
	// Wait is how long the rules want a passed request held back; of a peek, how long they would.
	Wait       time.Duration
	Queue      *CompiledRule // the rule that wants the longest wait; nil if none wants any
	queueLimit int64         // as Limit, of Queue
	ShadowRule *CompiledRule // the first shadow rule that would have refused
}

// Call is one all-or-nothing decision over one or more requests. The caller owns it and reuses it
// call after call, so that its slices stop growing; it must not be shared by two calls at a time.
// Decide fills Verdicts, one per item, Overall,
// Wait and Token.
type Call struct {
	Domain  string
	Items   []Request
	MaxWait time.Duration // a queueing rule that would hold the call longer refuses; 0: none may wait
	Peer    uint32        // who asks, as EndPeer names it; 0: nobody whose going would end the call
	// Track asks for a Token if the call passes and a rule concerns it, even if none waits for its end.
	Track bool

	Verdicts []Verdict
	Overall  Code
	// Wait is how long to hold the answer of a call that passed: the longest wait of its charged
	// requests. A caller who gives up meanwhile gives the call to Cancel.
	Wait time.Duration
	// Token stands for a call that passed and that a rule counts until it ends, or that is tracked:
	// Complete ends it, and so does its lease. It is zero if there is no such rule, and may be if there is
	// no room for one more.
	Token Token

	scratch
}
