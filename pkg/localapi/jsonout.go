package localapi

import sidecardv1 "github.com/sidecard/sidecard/api/sidecard/v1"

// decision is a Decision as HTTP clients get it. What is not known, or says nothing, is left out.
type decision struct {
	Allowed      bool   `json:"allowed"`
	Code         string `json:"code"`
	Rule         string `json:"rule,omitempty"`
	Reason       string `json:"reason,omitempty"`
	Limit        *int64 `json:"limit,omitempty"`
	Remaining    *int64 `json:"remaining,omitempty"`
	RetryAfterMs *int64 `json:"retryAfterMs,omitempty"`
	WaitMs       int64  `json:"waitMs,omitempty"`
	Token        string `json:"token,omitempty"`
	ShadowRule   string `json:"shadowRule,omitempty"`
}

func decisionJSON(d *sidecardv1.Decision) decision {
	return decision{
		Allowed: d.Allowed, Code: codeJSON(d.Code), Rule: d.Rule, Reason: d.Reason, Limit: d.Limit, Remaining: d.Remaining,
		RetryAfterMs: d.RetryAfterMs, WaitMs: d.WaitMs, Token: d.Token, ShadowRule: d.ShadowRule,
	}
}

// codeJSON returns the words in which metrics and rule tests say what was decided.
func codeJSON(c sidecardv1.Code) string {
	switch c {
	case sidecardv1.Code_CODE_WAIT:
		return "wait"
	case sidecardv1.Code_CODE_BLOCK:
		return "block"
	}
	return "pass"
}

// batch is a BatchResponse as HTTP clients get it.
type batch struct {
	Allowed bool       `json:"allowed"`
	Items   []decision `json:"items"`
}

func batchJSON(b *sidecardv1.BatchResponse) batch {
	out := batch{Allowed: b.Allowed, Items: make([]decision, len(b.Items))}
	for i, d := range b.Items {
		out.Items[i] = decisionJSON(d)
	}
	return out
}
