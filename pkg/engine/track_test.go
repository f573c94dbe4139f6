package engine_test

import (
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// tracked decides one request of a call that asks for a token.
func tracked(e *engine.Engine, c *engine.Call, resource string, kind engine.Kind) {
	c.Track = true
	c.Items = append(c.Items[:0], engine.Request{Resource: resource, Hits: 1, Kind: kind})
	e.Decide(start, c)
}

// A tracked call gets a token whatever its rules wait for, if any concerns it.
func TestTrackedCalls(t *testing.T) {
	t.Parallel()
	free, watched := flow("free", "free", 0), flow("watched", "watched", 0)
	free.Unlimited, watched.Shadow = true, true
	set := rule.Set{Limits: []rule.LimitRule{flow("counted", "counted", 2), flow("closed", "closed", 0), free, watched, atOnce("limited", "limited", 1)}}
	for _, tc := range []struct {
		name, resource string
		kind           engine.Kind
		want           bool
	}{
		{"a rule that counts over time", "counted", engine.Charge, true},
		{"a peek", "counted", engine.Peek, false},
		{"a refund", "counted", engine.Refund, false},
		{"refused", "closed", engine.Charge, false},
		{"no limit", "free", engine.Charge, true},
		{"in shadow", "watched", engine.Charge, true},
		{"no rule", "other", engine.Charge, false},
		{"a rule that waits for the end", "limited", engine.Charge, true},
	} {
		e := newEngine(t, set)
		var c engine.Call
		tracked(e, &c, tc.resource, tc.kind)
		if got := c.Token != (engine.Token{}); got != tc.want {
			t.Errorf("%s: a token %t, want %t", tc.name, got, tc.want)
		}
		if done := e.Complete(start+5, c.Token, engine.Outcome{}); done != tc.want || e.Complete(start+6, c.Token, engine.Outcome{}) {
			t.Errorf("%s: completed %t, want %t, and not again", tc.name, done, tc.want)
		}
		if st := e.Tokens(); st.Live != 0 {
			t.Errorf("%s: %d tokens are left", tc.name, st.Live)
		}
	}
}

// A tracked call that is not reported is forgotten after a minute, and one that has no room for a token
// passes all the same. Half of the room is left to calls that rules wait for.
func TestTrackedCallsAreBounded(t *testing.T) {
	t.Parallel()
	e := engine.New(engine.Options{MaxTokens: 2048})
	apply(t, e, rule.Set{Limits: []rule.LimitRule{flow("counted", "counted", 1<<20)}})
	var c engine.Call
	for range 1024 {
		tracked(e, &c, "counted", engine.Charge)
	}
	if st := e.Tokens(); c.Token == (engine.Token{}) || st.Live != 1024 {
		t.Fatalf("%d tokens, the last %v", st.Live, c.Token)
	}
	tracked(e, &c, "counted", engine.Charge)
	if st := e.Tokens(); c.Overall != engine.Pass || c.Token != (engine.Token{}) || st.Untold.Load() != 1 || st.Refused.Load() != 0 {
		t.Errorf("one more: %v, token %v, %d untold", c.Overall, c.Token, st.Untold.Load())
	}
	if n := e.Expire(start + int64(time.Minute) - 1); n != 0 {
		t.Errorf("%d ended before their lease", n)
	}
	if n := e.Expire(start + int64(time.Minute+time.Second)); n != 1024 {
		t.Errorf("%d ended with their lease, want all", n)
	}
}

// Not parallel: AllocsPerRun counts all goroutines.
func TestTrackingAllocatesNothing(t *testing.T) {
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{flow("counted", "counted", 1<<20)}})
	var c engine.Call
	if n := testing.AllocsPerRun(200, func() {
		tracked(e, &c, "counted", engine.Charge)
		e.Complete(start+7, c.Token, engine.Outcome{})
	}); n != 0 || e.Tokens().Completed.Load() < 200 {
		t.Errorf("%v allocations a call and its end, %d ended", n, e.Tokens().Completed.Load())
	}
}
