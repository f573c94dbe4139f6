package localapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	sidecardv1 "github.com/sidecard/sidecard/api/sidecard/v1"
	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/pkg/engine"
)

// The reasons for which a request that is well formed is not carried out.
var (
	errNoRules = errors.New("no rules have been loaded yet")
	errWatched = fmt.Errorf("as many as %d watch already", maxWatchers)
	errLarge   = fmt.Errorf("as many as %d requests above %d bytes are being answered", maxLarge, smallBody)
	errNoCall  = errors.New("token: it stands for no call under way; the call has been completed before, its lease has ended, or it was never begun here")
)

// one decides a single query that came a certain way.
func (s *Service) one(ctx context.Context, way *calls.Answers, q *query, begin bool) (*sidecardv1.Decision, error) {
	if begin && q.peek {
		return nil, &fault{field: "peek", at: -1, message: "a look begins no call; ask decide"}
	}
	if err := q.check("", s.cfg.Mapping[q.domain]); err != nil {
		return nil, err
	}
	if err := s.ready(way); err != nil {
		return nil, err
	}
	c := s.take()
	defer s.give(c)
	queries := [1]query{*q}
	if err := s.decide(ctx, c, queries[:], how{way: way, begin: begin, tell: q.tell || q.peek, most: q.patience()}); err != nil {
		return nil, err
	}
	return c.decision(0), nil
}

// ready returns errNoRules, and counts it, before the first good rules.
func (s *Service) ready(way *calls.Answers) error {
	if s.cfg.Engine.Ready() {
		return nil
	}
	way.Unready.Add(1)
	return errNoRules
}

// several decides the queries of a batch, which tells waits.
func (s *Service) several(ctx context.Context, way *calls.Answers, queries []query, atomic bool) (*sidecardv1.BatchResponse, error) {
	if err := s.checkBatch(queries, atomic); err != nil {
		return nil, err
	}
	if err := s.ready(way); err != nil {
		return nil, err
	}
	out := &sidecardv1.BatchResponse{Items: make([]*sidecardv1.Decision, 0, len(queries)), Allowed: true}
	if atomic {
		return out, s.part(ctx, way, out, queries)
	}
	for i := range queries {
		if err := s.part(ctx, way, out, queries[i:i+1]); err != nil {
			return out, err
		}
	}
	return out, nil
}

// part decides a part of a batch, all or nothing, and adds its decisions.
func (s *Service) part(ctx context.Context, way *calls.Answers, out *sidecardv1.BatchResponse, queries []query) error {
	h := how{way: way, tell: true, most: queries[0].patience()}
	for i := range queries {
		h.most = min(h.most, queries[i].patience())
	}
	c := s.take()
	defer s.give(c)
	if err := s.decide(ctx, c, queries, h); err != nil {
		return err
	}
	for i := range queries {
		d := c.decision(i)
		out.Items = append(out.Items, d)
		out.Allowed = out.Allowed && d.Allowed
	}
	return nil
}

// checkBatch finds all faults before anything is charged.
func (s *Service) checkBatch(queries []query, atomic bool) error {
	if len(queries) == 0 {
		return &fault{field: "items", at: -1, message: "is empty; ask for at least one decision"}
	}
	for i := range queries {
		q, at := &queries[i], fmt.Sprintf("items[%d].", i)
		if atomic && q.domain != queries[0].domain {
			return &fault{field: at + "domain", at: -1, message: fmt.Sprintf(
				"is %q and that of the first item %q; an atomic batch is of one domain", q.domain, queries[0].domain)}
		}
		if err := q.check(at, s.cfg.Mapping[q.domain]); err != nil {
			return err
		}
	}
	return nil
}

// decision answers item i of a call that has been decided.
func (c *call) decision(i int) *sidecardv1.Decision {
	v := &c.engine.Verdicts[i]
	d := &sidecardv1.Decision{Code: sidecardv1.Code_CODE_PASS, Allowed: c.engine.Overall == engine.Pass}
	if r := v.Rule; r != nil {
		d.Rule = r.ID
		if !v.Unlimited && r.HasLimit() {
			d.Limit, d.Remaining = new(v.Limit), new(v.Remaining) // v is reused
		}
	}
	if r := v.ShadowRule; r != nil {
		d.ShadowRule = r.ID
	}
	if v.Code == engine.Block {
		d.Code, d.Reason = sidecardv1.Code_CODE_BLOCK, v.Reason.String()
		if v.Reset > 0 {
			d.RetryAfterMs = new(wholeMillis(v.Reset))
		}
		return d
	}
	wait := c.engine.Wait
	if c.engine.Items[i].Kind == engine.Peek {
		wait = v.Wait // what a charge would be told; nothing holds a look back
	}
	if d.Allowed && wait > 0 {
		d.Code, d.WaitMs = sidecardv1.Code_CODE_WAIT, wholeMillis(wait)
	}
	if c.engine.Token != (engine.Token{}) {
		d.Token = c.engine.Token.String()
	}
	return d
}

// wholeMillis returns a time in milliseconds, rounded up, so that whoever waits that long has waited long
// enough.
func wholeMillis(d time.Duration) int64 {
	return int64((d-1)/time.Millisecond) + 1
}
