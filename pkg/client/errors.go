package client

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrUnavailable says that nobody decided: no daemon serves the address, it has no rules yet, or it answered
// something else. Whether requests pass then is for the caller to say.
var ErrUnavailable = errors.New("sidecard does not decide")

// ErrMalformed says that the request makes no sense to the daemon, which says where and why.
var ErrMalformed = errors.New("sidecard takes the request for malformed")

// ErrNoCall says that a token stands for no call under way.
var ErrNoCall = errors.New("sidecard: the call has ended before, by its end or with its lease")

// Refusal is the error for a call that a rule refused. It is returned as a *Refusal.
type Refusal struct {
	Rule       string        // that refused
	Reason     string        // why: limit, deadline, breaker, missing-param and so on
	RetryAfter time.Duration // until the call would pass if nobody else came; 0: nobody knows, or never
}

// Error returns what refused and when to come again.
func (r *Refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "refused by rule %q (%s)", r.Rule, r.Reason)
	if r.RetryAfter > 0 {
		fmt.Fprintf(&b, ", retry after %v", r.RetryAfter)
	}
	return b.String()
}
