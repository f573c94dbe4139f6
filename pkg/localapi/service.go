// Package localapi answers code that runs beside the daemon, by the engine and the budgets that also
// answer Envoy: over gRPC (sidecard.v1.DecisionService) and over HTTP and JSON. Both ways read a query,
// let one core decide it and write a decision; what a query means does not depend on the way it came. A
// refusal is an answer and no error. The package knows neither where rules come from nor how they are
// evaluated.
package localapi

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/internal/histogram"
	"github.com/sidecard/sidecard/internal/tracing"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/engine/attr"
)

// DefaultDomain is the domain of a query that names none.
const DefaultDomain = "sidecard"

// Config is what the service works with.
type Config struct {
	Engine *engine.Engine // required
	// Now is the time in Unix nanoseconds, which must advance as the monotonic clock does; required.
	Now      func() int64
	Room     *calls.Room                  // where calls wait; required
	Counters *calls.Counters              // nil: nobody reads them
	Mapping  map[string]map[string]string // per domain: other names of attributes; not changed after New
	// TrackAll gives every call that Acquire lets pass and that some rule concerns a token, whether or
	// not the rule waits for its end.
	TrackAll bool
	// Tracer makes a span of each decision whose caller asks for one; nil: of none.
	Tracer *tracing.Tracer
}

// Service decides queries. Make it with New. Its methods are safe for concurrent use.
type Service struct {
	cfg      Config
	calls    sync.Pool // of *call
	watchers atomic.Int64
	large    atomic.Int64 // HTTP requests above smallBody that are being read or answered
}

// New returns a service, which Register and Handler put on the network. It starts nothing.
func New(cfg Config) *Service {
	if cfg.Counters == nil {
		cfg.Counters = new(calls.Counters)
	}
	s := &Service{cfg: cfg}
	s.calls.New = func() any { return new(call) }
	return s
}

// call is the state of one all-or-nothing decision, reused call after call.
type call struct {
	engine engine.Call
	turn   histogram.Turn // of the decisions made with it
	bags   []attr.Bag     // one for each item, or more
}

// take returns a call at rest; give makes it one again.
func (s *Service) take() *call { return s.calls.Get().(*call) }

func (s *Service) give(c *call) {
	for i := range c.engine.Items {
		c.bags[i].Reset()
	}
	clear(c.engine.Items)
	c.engine.Items = c.engine.Items[:0]
	c.engine.Domain = ""
	s.calls.Put(c)
}

// how is in which way a call is decided.
type how struct {
	way   *calls.Answers // which way it came
	begin bool           // the caller tells the end of the call, so that it stays under way until then
	tell  bool           // the answer tells the wait, instead of coming late
	most  time.Duration  // the longest wait that the caller accepts
}

// api is what metrics and spans call the way that a call came.
func (h *how) api(s *Service) string {
	if h.way == &s.cfg.Counters.HTTP {
		return "http"
	}
	return "grpc"
}

// decide decides queries of one domain, which have been checked, as one call, all or nothing. Afterwards c
// holds the verdicts, and in c.engine.Wait how long the caller has to wait on his own account. The error is
// why ctx ended meanwhile; then nothing stays charged.
func (s *Service) decide(ctx context.Context, c *call, queries []query, h how) error {
	c.collect(queries, s.cfg.Mapping)
	c.engine.Track = h.begin && s.cfg.TrackAll
	now := s.cfg.Now()
	span := s.cfg.Tracer.Begin(ctx, now, h.api(s), c.engine.Domain)
	if h.tell {
		c.engine.MaxWait = h.most
		s.cfg.Engine.Decide(now, &c.engine)
	} else {
		s.cfg.Room.Decide(ctx, now, h.most, &c.engine)
	}
	if c.turn.Next() {
		s.cfg.Counters.Durations.Observe(time.Duration(s.cfg.Now() - now))
	}
	s.countUnmatched(c)
	if !h.begin {
		s.cfg.Engine.Withdraw(now, &c.engine)
	}
	if c.engine.Wait > 0 && !h.tell {
		now = s.cfg.Room.Hold(ctx, now, &c.engine)
		c.engine.Wait = 0
	}
	if err := ctx.Err(); err != nil {
		s.cfg.Engine.Cancel(now, &c.engine)
		s.cfg.Counters.Cancelled.Add(1)
		span.GivenUp()
		return err
	}
	span.End(&c.engine)
	h.way.Count(c.engine.Overall)
	return nil
}

// collect turns queries into the items of the call, which was at rest.
func (c *call) collect(queries []query, mapping map[string]map[string]string) {
	if n := len(queries); n > len(c.bags) {
		c.bags = make([]attr.Bag, n) // those at rest hold nothing
	}
	c.engine.Domain = queries[0].domain
	names := mapping[c.engine.Domain]
	for i := range queries {
		q := &queries[i]
		r := engine.Request{Kind: engine.Charge, Hits: q.hits}
		if q.peek {
			r.Kind = engine.Peek
		}
		q.fill(&c.bags[i], names)
		c.bags[i].Request(&r)
		c.engine.Items = append(c.engine.Items, r)
	}
}

// complete ends a call. It returns false for a token that stands for none.
func (s *Service) complete(e end) bool {
	token, _ := engine.ParseToken(e.token) // what is no token stands for no call
	return s.cfg.Engine.Complete(s.cfg.Now(), token, engine.Outcome{Error: e.failed, Aborted: e.aborted, RT: e.rt})
}

// withdraw ends a call whose token nobody was told, as one that never began.
func (s *Service) withdraw(token string) {
	var c engine.Call
	c.Token, _ = engine.ParseToken(token)
	s.cfg.Engine.Withdraw(s.cfg.Now(), &c)
}

// countUnmatched counts the items that no rule applied to.
func (s *Service) countUnmatched(c *call) {
	var n int64
	for i := range c.engine.Verdicts {
		if !c.engine.Verdicts[i].Matched {
			n++
		}
	}
	if n > 0 {
		s.cfg.Counters.AddUnmatched(c.engine.Domain, n, n == int64(len(c.engine.Verdicts)))
	}
}

// patience returns the longest wait that the caller of a query accepts.
func (q *query) patience() time.Duration {
	if q.maxWait < 0 {
		return math.MaxInt64
	}
	return q.maxWait
}
