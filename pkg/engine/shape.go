package engine

import (
	"time"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// shape is the kind of memory that a rule needs.
type shape uint8

const (
	shapeWindow shape = iota
	shapeQueue
	shapeBucket
	shapeBurst
	shapeCalls
	shapeWarmUp
	shapeWarmUpQueue
)

func shapeOf(g *rule.LimitRule) shape {
	switch {
	case g.Grade == rule.GradeConcurrency:
		return shapeCalls
	case g.Behavior == rule.BehaviorQueue:
		return shapeQueue
	case g.Behavior == rule.BehaviorWarmUp:
		return shapeWarmUp
	case g.Behavior == rule.BehaviorWarmUpQueue:
		return shapeWarmUpQueue
	case g.Window == rule.WindowTokenBucket:
		return shapeBucket
	case g.Burst > 0:
		return shapeBurst
	}
	return shapeWindow
}

// rateOf returns the count as it was written, per interval as it was written.
func rateOf(g *rule.LimitRule) window.Rate {
	scale := max(g.Scale, 1)
	return window.Rate{Count: g.Limit, Denominator: scale, Interval: g.Interval / time.Duration(scale)}
}

func warmUpTerms(g *rule.LimitRule) window.WarmUpTerms {
	return window.WarmUpTerms{Limit: g.Limit, Period: g.WarmUp, ColdFactor: g.ColdFactor}
}

func windowMode(g *rule.LimitRule) window.Mode {
	if g.Window == rule.WindowStrict {
		return window.Strict
	}
	return window.Aligned
}

func overflowOf(g *rule.LimitRule) window.Overflow {
	switch g.Overflow {
	case rule.OverflowBlock:
		return window.OverflowBlock
	case rule.OverflowAllow:
		return window.OverflowAllow
	}
	return window.OverflowSketch
}

// layoutOf returns the layout that holds what any value may use.
func layoutOf(g *rule.LimitRule) window.Layout {
	most := g.Limit
	if g.Unlimited {
		most = 0
	}
	for i := range g.Exceptions {
		if e := &g.Exceptions[i]; !e.Unlimited {
			most = max(most, e.Limit)
		}
	}
	return window.LayoutFor(g.SampleCount, windowMode(g), most)
}

func keyTable(g *rule.LimitRule, b *window.KeyBudget) window.KeyTableConfig {
	return window.KeyTableConfig{
		SampleCount: g.SampleCount, Interval: g.Interval, Mode: windowMode(g),
		Layout:  layoutOf(g),
		MaxKeys: g.MaxKeys, Overflow: overflowOf(g), Budget: b,
	}
}

func keyThrottle(g *rule.LimitRule, b *window.KeyBudget) window.KeyThrottleConfig {
	return window.KeyThrottleConfig{MaxKeys: g.MaxKeys, Overflow: overflowOf(g), Budget: b}
}

func keyBucket(g *rule.LimitRule, b *window.KeyBudget) window.KeyBucketConfig {
	return window.KeyBucketConfig{Interval: g.Interval, MaxKeys: g.MaxKeys, Overflow: overflowOf(g), Budget: b}
}

func keyBurst(g *rule.LimitRule, b *window.KeyBudget) window.KeyBurstConfig {
	return window.KeyBurstConfig{
		SampleCount: g.SampleCount, Interval: g.Interval, Mode: windowMode(g),
		MaxKeys: g.MaxKeys, Overflow: overflowOf(g), Budget: b,
	}
}

func keyInflight(g *rule.LimitRule, b *window.KeyBudget) window.KeyInflightConfig {
	return window.KeyInflightConfig{MaxKeys: g.MaxKeys, Overflow: overflowOf(g), Budget: b}
}

// MaxKeyBytes returns the memory that the key table of a rule takes at full size; 0 for a rule
// without one.
func MaxKeyBytes(g *rule.LimitRule) int64 {
	if g.Param == nil || !g.LimitsSome() {
		return 0
	}
	switch shapeOf(g) {
	case shapeCalls:
		return keyInflight(g, nil).MaxBytes()
	case shapeQueue:
		return keyThrottle(g, nil).MaxBytes()
	case shapeBucket:
		return keyBucket(g, nil).MaxBytes()
	case shapeBurst:
		return keyBurst(g, nil).MaxBytes()
	}
	return keyTable(g, nil).MaxBytes()
}
