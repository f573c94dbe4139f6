package explain

import "github.com/sidecard/sidecard/pkg/engine/attr"

// The verdicts of rules, and outcomes of requests.
const (
	outcomePass    = "pass"
	outcomeWait    = "wait"
	outcomeBlock   = "block"
	outcomeSkipped = "skipped"
)

// View is a request that is explained.
type View struct {
	Revision string  `json:"revision"` // of the rules
	Domain   string  `json:"domain"`
	Request  Request `json:"request"`
	Groups   []Group `json:"groups"` // that have rules, in the order of their definition
	Rules    []Rule  `json:"rules"`  // of what the request enters, in the order in which they are asked
	Answer   Answer  `json:"answer"`
	Envoy    Envoy   `json:"envoy"`
}

// Request is what was understood of the attributes: path, method, host and address in their one spelling.
type Request struct {
	Resource     string `json:"resource,omitempty"`
	Path         string `json:"path,omitempty"`
	PathTooLarge bool   `json:"pathTooLarge,omitempty"`
	Method       string `json:"method,omitempty"`
	Host         string `json:"host,omitempty"`
	ClientIP     string `json:"clientIp,omitempty"`
	Origin       string `json:"origin,omitempty"`
	Hits         int64  `json:"hits"`
	attr.Description
}

// Group is an API group. One that nearly matched has an item of which some fields hold and others do not.
type Group struct {
	Name    string `json:"name"`
	Matched bool   `json:"matched"`
	Nearly  bool   `json:"nearly,omitempty"`
	Unknown bool   `json:"unknown,omitempty"` // the path is too large to be matched, so its rules refuse
	Items   []Item `json:"items"`
}

// Item is one item of an API group, with those of its fields (path, host, methods, other) that hold and those that do
// not. Without any that does not it matches.
type Item struct {
	Pattern string   `json:"pattern,omitempty"`
	Match   string   `json:"matchStrategy,omitempty"`
	Host    string   `json:"host,omitempty"`
	Methods []string `json:"methods,omitempty"`
	Other   bool     `json:"other,omitempty"`
	Held    []string `json:"held,omitempty"`
	Failed  []string `json:"failed,omitempty"`
}

// Rule is what a rule makes of the request.
type Rule struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"` // limit, breaker, system or authority
	Domain   string `json:"domain,omitempty"`
	Mode     string `json:"mode,omitempty"` // of the resource; absent of a system rule, which has none
	Resource string `json:"resource,omitempty"`
	Origin   string `json:"origin,omitempty"` // the caller that it is for
	// RefResource is the resource whose use decides, in place of Resource's.
	RefResource string `json:"refResource,omitempty"`
	Shadow      bool   `json:"shadow,omitempty"` // it refuses nothing, whatever its verdict is
	Param       *Param `json:"param,omitempty"`

	Verdict string `json:"verdict"`           // pass, wait, block or skipped
	Skipped string `json:"skipped,omitempty"` // why: missing, pattern or origin
	Reason  string `json:"reason,omitempty"`  // of a block
	Decides bool   `json:"decides,omitempty"`

	Unlimited   bool   `json:"unlimited,omitempty"`
	Limit       *int64 `json:"limit,omitempty"`       // its burst included
	IntervalSec int64  `json:"intervalSec,omitempty"` // absent: what is under way at a time
	// Used and Remaining are those of the budget of this request, before it. Of a queue both are absent, and of
	// a rule that warms up Used is.
	Used         *int64 `json:"used,omitempty"`
	Remaining    *int64 `json:"remaining,omitempty"`
	Breaker      string `json:"breaker,omitempty"` // closed, half_open or open
	WaitMs       int64  `json:"waitMs,omitempty"`
	RetryAfterMs int64  `json:"retryAfterMs,omitempty"` // of a block; absent: never, or nobody knows
}

// Param is what a rule found of its parameter.
type Param struct {
	Source  string `json:"source"`
	Name    string `json:"name,omitempty"`
	Found   string `json:"found"` // present, absent or too-large
	Value   string `json:"value"`
	Pattern string `json:"pattern,omitempty"`
	Match   string `json:"matchStrategy,omitempty"`
	Shared  bool   `json:"shared,omitempty"`  // absent, and all requests without it share a budget
	Special bool   `json:"special,omitempty"` // the rule has a limit of its own for the value
}

// Answer is what becomes of the request.
type Answer struct {
	Outcome      string `json:"outcome"` // pass, wait or block
	Allowed      bool   `json:"allowed"`
	Matched      bool   `json:"matched"` // some rule applied
	Rule         string `json:"rule,omitempty"`
	Reason       string `json:"reason,omitempty"`
	Limit        *int64 `json:"limit,omitempty"`
	Remaining    *int64 `json:"remaining,omitempty"` // after the request
	WaitMs       int64  `json:"waitMs,omitempty"`
	RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
	ShadowRule   string `json:"shadowRule,omitempty"` // that would have refused
}
