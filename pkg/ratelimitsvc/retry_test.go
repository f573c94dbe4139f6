package ratelimitsvc

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	rls "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"pgregory.net/rapid"
)

// kinds are rules of every kind that refuses for a time, with the descriptor that meets them.
var kinds = []struct {
	name, rule string
	ask        []string
}{
	{"aligned", `{"resource": "r", "count": 5, "intervalSec": 3}`, []string{"route", "r"}},
	{"aligned, one slot", `{"resource": "r", "count": 5, "intervalSec": 3, "sampleCount": 1}`, []string{"route", "r"}},
	{"strict", `{"resource": "r", "count": 5, "intervalSec": 3, "window": "strict"}`, []string{"route", "r"}},
	{"a fraction", `{"resource": "r", "count": 2.5, "intervalSec": 1}`, []string{"route", "r"}},
	{"nothing passes", `{"resource": "r", "count": 0}`, []string{"route", "r"}},
	{"aligned by value", `{"resource": "r", "count": 5, "intervalSec": 3, "paramItem": {"parseStrategy": "client_ip"}}`, []string{"route", "r", "remote_address", "::1"}},
	{"strict by value", `{"resource": "r", "count": 5, "intervalSec": 3, "window": "strict", "sampleCount": 4, "paramItem": {"parseStrategy": "client_ip"}}`, []string{"route", "r", "remote_address", "::1"}},
	{"without a value", `{"resource": "r", "count": 5, "intervalSec": 3, "onMissing": "limit", "paramItem": {"parseStrategy": "client_ip"}}`, []string{"route", "r"}},
	{"an API group", `{"resource": "admin", "resourceMode": 1, "count": 5, "intervalSec": 3}`, []string{"path", "/admin/1"}},
	{"burst", `{"resource": "r", "count": 3, "burst": 4, "intervalSec": 3}`, []string{"route", "r"}},
	{"burst, strict", `{"resource": "r", "count": 3, "burst": 4, "intervalSec": 3, "window": "strict"}`, []string{"route", "r"}},
	{"token bucket", `{"resource": "r", "count": 5, "burst": 2, "intervalSec": 3, "window": "token-bucket"}`, []string{"route", "r"}},
	{"token bucket of a fraction", `{"resource": "r", "count": 3.7, "intervalSec": 2, "window": "token-bucket"}`, []string{"route", "r"}},
	{"queue", `{"resource": "r", "count": 3, "controlBehavior": 2, "maxQueueingTimeoutMs": 900}`, []string{"route", "r"}},
	{"queue of a fraction", `{"resource": "r", "count": 0.7, "controlBehavior": 2, "maxQueueingTimeoutMs": 2500}`, []string{"route", "r"}},
	{"queue without patience", `{"resource": "r", "count": 3, "controlBehavior": 2, "maxQueueingTimeoutMs": 0}`, []string{"route", "r"}},
	{"burst by value", `{"resource": "r", "count": 3, "burst": 4, "intervalSec": 3, "paramItem": {"parseStrategy": "client_ip"}}`, []string{"route", "r", "remote_address", "::1"}},
	{"token bucket by value", `{"resource": "r", "count": 3.7, "burst": 1, "intervalSec": 2, "window": "token-bucket", "paramItem": {"parseStrategy": "client_ip"}}`, []string{"route", "r", "remote_address", "::1"}},
	{"queue by value", `{"resource": "r", "count": 0.7, "controlBehavior": 2, "maxQueueingTimeoutMs": 2500, "paramItem": {"parseStrategy": "client_ip"}}`, []string{"route", "r", "remote_address", "::1"}},
	{"several", `{"resource": "r", "id": "a", "count": 4, "burst": 1, "intervalSec": 2}, {"resource": "r", "id": "b", "count": 9, "intervalSec": 7, "window": "strict", "sampleCount": 7},
		{"resource": "r", "id": "c", "count": 2, "controlBehavior": 2}`, []string{"route", "r"}},
}

// A client that has the service to itself is told the truth. When it is refused and comes back after
// the seconds it was told, it is admitted, and a second earlier it is not; where it is told none, it
// is refused for ever. When it is admitted, one more request is admitted if any are said to remain,
// and otherwise refused; and once the time of reset has passed, the rule has forgotten something.
func TestTellsTheTruth(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				c := lone{ask: kind.ask, patience: time.Duration(rapid.SampledFrom([]int{0, 0, 7, 100, 700, 4000}).Draw(rt, "patience")) * time.Millisecond}
				for range rapid.IntRange(1, 12).Draw(rt, "n") {
					c.steps = append(c.steps, loneStep{
						pause: time.Duration(rapid.SampledFrom([]int64{0, 0, 1, 1e6, 3e8, 3e8 - 1, 1e9, 3e9 + 7}).Draw(rt, "pause")),
						hits:  rapid.Uint64Range(1, 7).Draw(rt, "hits"),
					})
				}
				synctest.Test(t, func(t *testing.T) { c.run(t, "["+kind.rule+"]") })
				if c.problem != "" {
					rt.Fatal(c.problem)
				}
			})
		})
	}
}

// lone is a client that has the service to itself.
type lone struct {
	ask      []string
	patience time.Duration // its deadline; 0: none
	steps    []loneStep
	w        *world
	began    time.Time
	problem  string
}

type loneStep struct {
	pause time.Duration
	hits  uint64
}

func (c *lone) run(t *testing.T, rules string) {
	c.w, c.began = newBubble(t, rules, 0), time.Now()
	for _, s := range c.steps {
		if c.problem != "" {
			return
		}
		time.Sleep(s.pause)
		sent := time.Now()
		m := c.send(t, s.hits)
		if m.GetOverallCode() == rls.RateLimitResponse_OK {
			c.admitted(t, m.GetStatuses()[0], time.Since(sent) > 0)
		} else {
			c.refused(t, s.hits, m.GetStatuses()[0])
		}
	}
}

func (c *lone) refused(t *testing.T, hits uint64, s *rls.RateLimitResponse_DescriptorStatus) {
	told := s.GetDurationUntilReset()
	if told == nil {
		time.Sleep(48 * time.Hour)
		if m := c.send(t, hits); m.GetOverallCode() == rls.RateLimitResponse_OK {
			c.fail("%d hits are refused without a time and pass two days later", hits)
		}
		return
	}
	if told.GetNanos() != 0 || told.GetSeconds() < 1 {
		c.fail("told to wait for %v", told.AsDuration())
	}
	time.Sleep(told.AsDuration() - time.Second)
	if m := c.send(t, hits); m.GetOverallCode() == rls.RateLimitResponse_OK {
		c.fail("told to wait for %v, %d hits pass a second earlier", told.AsDuration(), hits)
		return
	}
	time.Sleep(time.Second)
	if m := c.send(t, hits); m.GetOverallCode() != rls.RateLimitResponse_OK {
		c.fail("told to wait for %v, %d hits are then refused", told.AsDuration(), hits)
	}
}

func (c *lone) admitted(t *testing.T, s *rls.RateLimitResponse_DescriptorStatus, waited bool) {
	if s.GetCurrentLimit() == nil {
		c.fail("admitted without a limit")
		return
	}
	left := s.GetLimitRemaining()
	if told := s.GetDurationUntilReset(); told != nil && !waited {
		at := time.Now()
		time.Sleep(told.AsDuration())
		if now := c.peek(t).GetStatuses()[0]; now.GetCode() != rls.RateLimitResponse_OK || now.GetCurrentLimit().GetName() == s.GetCurrentLimit().GetName() && now.GetLimitRemaining() <= left {
			c.fail("%d were left, and %v later there are %d", left, time.Since(at), now.GetLimitRemaining())
		}
		return
	}
	if m := c.send(t, 1); (m.GetOverallCode() == rls.RateLimitResponse_OK) != (left > 0) && !(waited && left == 0) {
		c.fail("%d were left, and one more is %v", left, m.GetOverallCode())
	}
}

func (c *lone) send(t *testing.T, hits uint64) *rls.RateLimitResponse {
	ctx := t.Context()
	if c.patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.patience)
		defer cancel()
	}
	b, err := c.w.wire(ctx, marshal(t, describe(withHits(pairs(c.ask...), hits, false))))
	if err != nil {
		c.fail("got %v", err)
		return &rls.RateLimitResponse{Statuses: make([]*rls.RateLimitResponse_DescriptorStatus, 1)}
	}
	return decodeResponse(t, b)
}

func (c *lone) peek(t *testing.T) *rls.RateLimitResponse {
	return c.w.ask(t, &rls.RateLimitRequest{Domain: "sidecard", Descriptors: []*common.RateLimitDescriptor{withHits(pairs(c.ask...), 0, false)}})
}

func (c *lone) fail(format string, args ...any) {
	if c.problem == "" {
		c.problem = fmt.Sprintf("after %v: ", time.Since(c.began)) + fmt.Sprintf(format, args...)
	}
}
