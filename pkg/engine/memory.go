package engine

import (
	"fmt"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// memory is what a rule has counted, which a later snapshot may adopt. One of its fields is set, and
// keys too if the memory is one of a parameter's values.
type memory struct {
	leap   *window.LeapArray
	queue  *window.Throttle
	bucket *window.TokenBucket
	burst  *window.Burst
	calls  *window.Inflight

	warmUp      *window.WarmUp
	warmUpQueue *window.WarmUpQueue

	breaker *breaker

	keyedLeap   *window.KeyTable
	keyedQueue  *window.KeyThrottle
	keyedBucket *window.KeyBucket
	keyedBurst  *window.KeyBurst
	keyedCalls  *window.KeyInflight
	keys        keys
}

// keys is what all tables of parameter values have in common.
type keys interface {
	Hash(value string) window.Key
	HashPair(a, b string) window.Key
	MissingKey() window.Key
	Stats() window.KeyStats
	Maintain(now int64)
	Close()
}

func (m memory) maintain(now int64) {
	switch {
	case m.keys != nil:
		m.keys.Maintain(now)
	case m.leap != nil:
		m.leap.Maintain(now)
	case m.burst != nil:
		m.burst.Maintain(now)
	case m.warmUp != nil:
		m.warmUp.Maintain(now)
	}
}

// release gives back what the memory that was not adopted takes from the budget of keys. Calls that
// are still being decided by the old snapshot go on unharmed.
func (s *snapshot) release(next *snapshot) {
	for key, m := range s.memories {
		if m.keys != nil && next.memories[key] != m {
			m.keys.Close()
		}
	}
}

// memory finds the rule's memory in the snapshot in force, or makes a new one.
func (c *compiler) memory(g *rule.LimitRule) (memory, error) {
	// A burst needs another memory than a window without one, rates keep fractions of their scale,
	// and what a table is made of is part of what it is.
	key := fmt.Sprintf("%s\x00%s/%v/%d", g.Domain, g.StateKey(), g.Burst > 0, g.Scale)
	if g.Param != nil {
		layout := window.LayoutWide
		if shapeOf(g) == shapeWindow {
			layout = layoutOf(g)
		}
		key = fmt.Sprintf("%s/keys:%d/%d/%d", key, layout, g.MaxKeys, g.Overflow)
	}
	m, found := c.old.memories[key]
	if !found {
		var err error
		if m, err = c.newMemory(g); err != nil {
			return memory{}, err
		}
	}
	c.next.memories[key] = m
	return m, nil
}

func (c *compiler) newMemory(g *rule.LimitRule) (m memory, err error) {
	if g.Param != nil {
		return c.newKeyedMemory(g)
	}
	switch shapeOf(g) {
	case shapeCalls:
		m.calls = new(window.Inflight)
	case shapeQueue:
		m.queue = window.NewThrottle()
	case shapeBucket:
		m.bucket = window.NewTokenBucket()
	case shapeBurst:
		m.burst, err = window.NewBurst(c.now, g.SampleCount, g.Interval, windowMode(g))
	case shapeWarmUp:
		m.warmUp, err = window.NewWarmUp(c.now, g.SampleCount, g.Interval, windowMode(g), warmUpTerms(g))
	case shapeWarmUpQueue:
		m.warmUpQueue = window.NewWarmUpQueue(c.now, g.Interval, warmUpTerms(g))
	default:
		m.leap, err = window.NewLeapArray(c.now, g.SampleCount, g.Interval, windowMode(g))
	}
	return m, err
}

func (c *compiler) newKeyedMemory(g *rule.LimitRule) (m memory, err error) {
	switch shapeOf(g) {
	case shapeCalls:
		m.keyedCalls, err = window.NewKeyInflight(keyInflight(g, c.budget))
		m.keys = m.keyedCalls
	case shapeQueue:
		m.keyedQueue, err = window.NewKeyThrottle(c.now, keyThrottle(g, c.budget))
		m.keys = m.keyedQueue
	case shapeBucket:
		m.keyedBucket, err = window.NewKeyBucket(c.now, keyBucket(g, c.budget))
		m.keys = m.keyedBucket
	case shapeBurst:
		m.keyedBurst, err = window.NewKeyBurst(c.now, keyBurst(g, c.budget))
		m.keys = m.keyedBurst
	default:
		m.keyedLeap, err = window.NewKeyTable(c.now, keyTable(g, c.budget))
		m.keys = m.keyedLeap
	}
	return m, err
}

// allowance is a limit on the memory. A limit of 0 refuses all, whatever the burst of the rule is.
func (m memory) allowance(g *rule.LimitRule, limit int64) allowance {
	own := *g
	own.Limit = limit
	if limit == 0 {
		own.Burst = 0
	}
	return allowance{m.controller(&own), limit + own.Burst}
}

// controller returns the controller that spends the memory as the rule says.
func (m memory) controller(g *rule.LimitRule) controller {
	switch {
	case m.calls != nil:
		return &concurrencyController{f: m.calls, limit: g.Limit}
	case m.keyedCalls != nil:
		return &keyedConcurrencyController{t: m.keyedCalls, limit: g.Limit}
	case m.queue != nil:
		return &queueController{m.queue, queueOf(g)}
	case m.warmUp != nil:
		return &warmUpController{w: m.warmUp, terms: warmUpTerms(g)}
	case m.warmUpQueue != nil:
		return &warmUpQueueController{q: m.warmUpQueue, terms: warmUpTerms(g), queue: queueOf(g)}
	case m.bucket != nil:
		return &bucketController{m.bucket, rateOf(g), g.Burst}
	case m.burst != nil:
		return &burstController{m.burst, g.Limit, g.Burst}
	case m.keyedQueue != nil:
		return &keyedQueueController{m.keyedQueue, queueOf(g)}
	case m.keyedBucket != nil:
		return &keyedBucketController{m.keyedBucket, rateOf(g), g.Burst}
	case m.keyedBurst != nil:
		return &keyedBurstController{m.keyedBurst, g.Limit, g.Burst}
	case m.keyedLeap != nil:
		return &keyedWindowController{t: m.keyedLeap, limit: g.Limit}
	}
	return &windowController{w: m.leap, limit: g.Limit}
}

// countsCalls says whether the memory counts calls under way.
func (m memory) countsCalls() bool { return m.calls != nil || m.keyedCalls != nil }

// inFlight is how many calls are under way that the memory counts.
func (m memory) inFlight() int64 {
	switch {
	case m.calls != nil:
		return m.calls.Current()
	case m.keyedCalls != nil:
		return m.keyedCalls.Current()
	}
	return 0
}
