package engine

import (
	"fmt"
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// memory is what a rule has counted, which a later snapshot may adopt. One field is set.
type memory struct {
	leap   *window.LeapArray
	queue  *window.Throttle
	bucket *window.TokenBucket
	burst  *window.Burst
	table  *window.KeyTable
}

func (m memory) maintain(now int64) {
	switch {
	case m.leap != nil:
		m.leap.Maintain(now)
	case m.burst != nil:
		m.burst.Maintain(now)
	case m.table != nil:
		m.table.Maintain(now)
	}
}

// release gives back what the memory that was not adopted takes from the budget of keys. Calls that
// are still being decided by the old snapshot go on unharmed.
func (s *snapshot) release(next *snapshot) {
	for key, m := range s.memories {
		if m.table != nil && next.memories[key] != m {
			m.table.Close()
		}
	}
}

// memory finds the rule's memory in the snapshot in force, or makes a new one.
func (c *compiler) memory(g *rule.GatewayFlowRule) (memory, error) {
	key := g.Domain + "\x00" + g.StateKey()
	switch {
	case g.Param != nil:
		// What the table is made of is part of what a rule's memory is.
		t := keyTable(g)
		key = fmt.Sprintf("%s/keys:%d/%d/%d", key, t.Layout, t.MaxKeys, t.Overflow)
	case g.Burst > 0:
		key += "/burst"
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

func (c *compiler) newMemory(g *rule.GatewayFlowRule) (m memory, err error) {
	switch {
	case g.Param != nil:
		config := keyTable(g)
		config.Budget = c.budget
		m.table, err = window.NewKeyTable(c.now, config)
	case g.Behavior == rule.BehaviorQueue:
		m.queue = window.NewThrottle()
	case g.Window == rule.WindowTokenBucket:
		m.bucket = window.NewTokenBucket()
	case g.Burst > 0:
		m.burst, err = window.NewBurst(c.now, g.SampleCount, g.Interval, windowMode(g))
	default:
		m.leap, err = window.NewLeapArray(c.now, g.SampleCount, g.Interval, windowMode(g))
	}
	return m, err
}

// controller returns the controller that spends the memory as the rule says.
func (m memory) controller(g *rule.GatewayFlowRule) controller {
	switch {
	case m.table != nil:
		return &keyedWindowController{t: m.table, limit: g.Limit}
	case m.queue != nil:
		return &queueController{m.queue, queue{rateOf(g), g.MaxQueueing}}
	case m.bucket != nil:
		return &bucketController{m.bucket, rateOf(g), g.Burst}
	case m.burst != nil:
		return &burstController{m.burst, g.Limit, g.Burst}
	}
	return &windowController{w: m.leap, limit: g.Limit}
}

// rateOf returns the count as it was written, per interval as it was written.
func rateOf(g *rule.GatewayFlowRule) window.Rate {
	scale := max(g.Scale, 1)
	return window.Rate{Count: g.Limit, Denominator: scale, Interval: g.Interval / time.Duration(scale)}
}

// keyTable returns the table that a rule with a parameter counts in, but for the shared budget.
func keyTable(g *rule.GatewayFlowRule) window.KeyTableConfig {
	c := window.KeyTableConfig{
		SampleCount: g.SampleCount, Interval: g.Interval, Mode: windowMode(g),
		Layout:  window.LayoutFor(g.SampleCount, windowMode(g), g.Limit),
		MaxKeys: g.MaxKeys, Overflow: window.OverflowBlock,
	}
	if g.Overflow == rule.OverflowAllow {
		c.Overflow = window.OverflowAllow
	}
	return c
}

func windowMode(g *rule.GatewayFlowRule) window.Mode {
	if g.Window == rule.WindowStrict {
		return window.Strict
	}
	return window.Aligned
}

// MaxKeyBytes returns the memory that the key table of a rule takes at full size; 0 for a rule
// without one.
func MaxKeyBytes(g *rule.GatewayFlowRule) int64 {
	if g.Param == nil || g.Unlimited {
		return 0
	}
	return keyTable(g).MaxBytes()
}
