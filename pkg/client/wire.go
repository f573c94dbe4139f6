package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxAnswer bounds what is read of an answer; a decision takes a few hundred bytes.
const maxAnswer = 1 << 20

// question is the request of decide and acquire.
type question struct {
	Domain     string            `json:"domain,omitempty"`
	Resource   string            `json:"resource,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	Args       []string          `json:"args,omitempty"`
	Hits       int64             `json:"hits,omitempty"`
	Peek       bool              `json:"peek,omitempty"`
	MaxWaitMs  *int64            `json:"maxWaitMs,omitempty"`
	TellWait   bool              `json:"tellWait,omitempty"`
}

// answer is the answer to both.
type answer struct {
	Allowed      bool   `json:"allowed"`
	Code         string `json:"code"`
	Rule         string `json:"rule,omitempty"`
	Reason       string `json:"reason,omitempty"`
	Limit        *int64 `json:"limit,omitempty"`
	Remaining    *int64 `json:"remaining,omitempty"`
	RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
	WaitMs       int64  `json:"waitMs,omitempty"`
	Token        string `json:"token,omitempty"`
	ShadowRule   string `json:"shadowRule,omitempty"`
}

func (a *answer) decision() Decision {
	d := Decision{
		Allowed: a.Allowed, Code: a.Code, Rule: a.Rule, Reason: a.Reason, Token: a.Token, ShadowRule: a.ShadowRule,
		RetryAfter: time.Duration(a.RetryAfterMs) * time.Millisecond, Wait: time.Duration(a.WaitMs) * time.Millisecond,
	}
	if a.Limit != nil && a.Remaining != nil {
		d.Counted, d.Limit, d.Remaining = true, *a.Limit, *a.Remaining
	}
	return d
}

// MarshalJSON writes a decision as the daemon does.
func (d Decision) MarshalJSON() ([]byte, error) {
	a := answer{
		Allowed: d.Allowed, Code: d.Code, Rule: d.Rule, Reason: d.Reason, Token: d.Token, ShadowRule: d.ShadowRule,
		RetryAfterMs: d.RetryAfter.Milliseconds(), WaitMs: d.Wait.Milliseconds(),
	}
	if d.Counted {
		a.Limit, a.Remaining = &d.Limit, &d.Remaining
	}
	return json.Marshal(a)
}

// completion is the request of complete.
type completion struct {
	Token   string `json:"token"`
	Error   bool   `json:"error,omitempty"`
	Aborted bool   `json:"aborted,omitempty"`
	RTMs    *int64 `json:"rtMs,omitempty"`
}

// post sends a request and reads the answer into out, which may be nil.
func (c *Client) post(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("sidecard: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("sidecard: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	// Nothing is sent for this, but lets net/http try once more on a new connection if a kept one turns out to be
	// closed. A daemon closes those when it ends, and what it may have counted of the first try ends with it.
	req.Header["Idempotency-Key"] = []string{}
	response, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return givenUp(ctx)
		}
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer)) // to its end, so that the connection is kept
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return read(response.StatusCode, text, out)
}

func read(status int, text []byte, out any) error {
	if status == http.StatusOK {
		if out == nil {
			return nil
		}
		if err := json.Unmarshal(text, out); err != nil {
			return fmt.Errorf("%w: its answer is no decision: %w", ErrUnavailable, err)
		}
		return nil
	}
	var problem struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(text, &problem) != nil || problem.Error == "" {
		problem.Error = strings.TrimSpace(string(text[:min(len(text), 200)]))
	}
	switch status {
	case http.StatusConflict:
		return ErrNoCall
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w: %s", ErrMalformed, problem.Error)
	}
	return fmt.Errorf("%w: %d %s", ErrUnavailable, status, problem.Error)
}
