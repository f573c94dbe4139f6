package client

import (
	"context"
	"time"
)

// Request asks for a decision.
type Request struct {
	Domain     string // empty: that of the client
	Resource   string // empty: only API groups can match
	Attributes map[string]string
	Args       []string // positional arguments, for hot-parameter rules
	Hits       int64    // how much the request takes; 0: 1
	Peek       bool     // take nothing; not for Acquire
	// MaxWait is the longest wait that is accepted from rules that queue; 0: as long as they want, NoWait:
	// none. It is sent in whole milliseconds.
	MaxWait time.Duration
	// TellWait has the daemon answer at once and tell the wait, instead of holding its answer back.
	TellWait bool
}

// NoWait as a MaxWait has rules refuse what they would otherwise make wait.
const NoWait time.Duration = -1

// Decision answers a request.
type Decision struct {
	Allowed bool
	// Code is "pass", "wait" (after Wait, which has to be waited by the caller) or "block".
	Code   string
	Rule   string // that decides; empty: none applied
	Reason string // why it refused
	// Counted says that the rule has a Limit, and that Remaining is what is left of it.
	Counted          bool
	Limit, Remaining int64
	RetryAfter       time.Duration // until a refused request would pass; 0: nobody knows, or never
	Wait             time.Duration
	Token            string // of Acquire: to be given to Complete; empty: no rule wants to know
	ShadowRule       string // the first rule in shadow that would have refused
}

// Err returns nil for a decision that allows, and else a *Refusal.
func (d Decision) Err() error {
	if d.Allowed {
		return nil
	}
	return &Refusal{Rule: d.Rule, Reason: d.Reason, RetryAfter: d.RetryAfter}
}

// Decide asks whether a request may pass, and takes its hits if so. Nothing of it stays under way: where
// rules limit calls under way, or watch how they end, use Acquire or Do. A refusal is no error. The error is
// ErrUnavailable if nobody decided, and ErrMalformed, with the reason, if the request makes no sense.
func (c *Client) Decide(ctx context.Context, r Request) (Decision, error) {
	return c.ask(ctx, "/v1/decide", r)
}

func (c *Client) ask(ctx context.Context, path string, r Request) (Decision, error) {
	m := question{
		Domain: r.Domain, Resource: r.Resource, Attributes: r.Attributes, Args: r.Args, Hits: r.Hits, Peek: r.Peek, TellWait: r.TellWait,
	}
	if m.Domain == "" {
		m.Domain = c.domain
	}
	if r.MaxWait != 0 {
		m.MaxWaitMs = new(max(r.MaxWait, 0).Milliseconds())
	}
	var a answer
	if err := c.post(ctx, path, m, &a); err != nil {
		return Decision{}, err
	}
	return a.decision(), nil
}
