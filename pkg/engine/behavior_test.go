package engine_test

import (
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

const ms = int64(time.Millisecond)

// queueing returns a route rule that lets limit per second through one by one.
func queueing(id, resource string, limit int64, maxWait time.Duration) rule.LimitRule {
	r := flow(id, resource, limit)
	r.Behavior, r.Window, r.MaxQueueing, r.SampleCount, r.Scale = rule.BehaviorQueue, rule.WindowNone, maxWait, 0, 1
	return r
}

// decide decides one call of the given requests, with a minute's patience unless c has one.
func decide(e *engine.Engine, now int64, c *engine.Call, items ...engine.Request) engine.Code {
	c.Items = append(c.Items[:0], items...)
	e.Decide(now, c)
	return c.Overall
}

func TestQueueWaits(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{queueing("q", "r", 10, 500*time.Millisecond)}})
	c := engine.Call{MaxWait: time.Minute}
	for i, want := range []int64{0, 100, 200, 300, 400, -1, -1} {
		code := decide(e, start, &c, request("r", "", ""))
		if want < 0 {
			// The wait must be less than 500 ms, as Sentinel's gateway rules have it.
			if v := c.Verdicts[0]; code != engine.Block || v.Reason != engine.ReasonLimit || v.Reset != time.Nanosecond {
				t.Errorf("request %d: %v, %v, reset %v", i, code, v.Reason, v.Reset)
			}
			continue
		}
		if code != engine.Pass || int64(c.Wait) != want*ms || c.Verdicts[0].Wait != c.Wait {
			t.Errorf("request %d: %v, wait %v; want a pass after %d ms", i, code, c.Wait, want)
		}
	}
	if code := decide(e, start+600*ms, &c, request("r", "", "")); code != engine.Pass || c.Wait != 0 {
		t.Errorf("after the queue: %v, wait %v", code, c.Wait)
	}
}

func TestQueueKeepsToTheDeadline(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{queueing("q", "r", 10, 500*time.Millisecond)}})
	hasty := engine.Call{MaxWait: 150 * time.Millisecond}
	patient := engine.Call{MaxWait: time.Minute}
	for range 2 { // at once, and after 100 ms
		if decide(e, start, &hasty, request("r", "", "")) != engine.Pass {
			t.Fatal("refused in time")
		}
	}
	if code := decide(e, start, &hasty, request("r", "", "")); code != engine.Block || hasty.Verdicts[0].Reason != engine.ReasonDeadline {
		t.Errorf("a wait of 200 ms for a caller of 150 ms: %v, %v", code, hasty.Verdicts[0].Reason)
	}
	if code := decide(e, start, &patient, request("r", "", "")); code != engine.Pass || int64(patient.Wait) != 200*ms {
		t.Errorf("the refusal took a place: %v, wait %v", code, patient.Wait)
	}
}

func TestQueueOfSeveralRequests(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{queueing("q", "r", 10, time.Second)}})
	c := engine.Call{MaxWait: time.Minute}
	two := request("r", "", "")
	two.Hits = 2
	if code := decide(e, start, &c, request("r", "", ""), two, request("r", "", "")); code != engine.Pass || int64(c.Wait) != 300*ms {
		t.Errorf("1, 2 and 1 requests from rest: %v, wait %v; want 300 ms", code, c.Wait)
	}
	if r := e.Rules()[0].Rule; r.Waited.Load() != 2 || r.Passed.Load() != 3 {
		t.Errorf("counted %d waited of %d passed", r.Waited.Load(), r.Passed.Load())
	}
}

// A call whose requests are too many for the queue at any moment is not told to come again.
func TestQueueOfTooManyRequests(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{queueing("q", "r", 2, 400*time.Millisecond)}})
	c := engine.Call{MaxWait: time.Minute}
	if decide(e, start, &c, request("r", "", ""), request("r", "", "")) != engine.Block || c.Verdicts[1].Reset != 0 {
		t.Errorf("two requests that lie 500 ms apart in a queue of 400 ms: %+v", c.Verdicts[1])
	}
}

// A call that another rule refuses takes no place; one that is cancelled gives its place back while
// it is the newest.
func TestQueuePlacesGivenBack(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{
		queueing("q", "r", 10, time.Second), perUser("user", "r", 1),
	}})
	first, second, third := engine.Call{MaxWait: time.Minute}, engine.Call{MaxWait: time.Minute}, engine.Call{MaxWait: time.Minute}
	decide(e, start, &first, request("r", "", "ann"))
	if decide(e, start, &second, request("r", "", "ann")) != engine.Block {
		t.Fatal("ann passed twice")
	}
	decide(e, start, &second, request("r", "", "bob"))
	if int64(second.Wait) != 100*ms {
		t.Fatalf("bob waits %v: the refused call took a place", second.Wait)
	}
	e.Cancel(start, &second)
	decide(e, start, &second, request("r", "", "cid"))
	if int64(second.Wait) != 100*ms {
		t.Errorf("cid waits %v, want bob's place", second.Wait)
	}
	decide(e, start, &third, request("r", "", "bob"))
	if third.Overall != engine.Pass || int64(third.Wait) != 200*ms {
		t.Errorf("bob was charged for the cancelled call: %v, wait %v", third.Overall, third.Wait)
	}
	e.Cancel(start, &second) // not the newest any more
	if got := e.Rules()[0].Rule.UnusedPlaces.Load(); got != 1 {
		t.Errorf("%d places counted as unused, want 1", got)
	}
	decide(e, start, &first, request("r", "", "dan"))
	if int64(first.Wait) != 300*ms {
		t.Errorf("dan waits %v, want 300 ms: cid's place stays unused", first.Wait)
	}
}

func TestShadowQueueNeverWaits(t *testing.T) {
	t.Parallel()
	q := queueing("q", "r", 10, 150*time.Millisecond)
	q.Shadow = true
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{q}})
	c := engine.Call{MaxWait: time.Minute}
	for i := range 4 {
		if decide(e, start, &c, request("r", "", "")) != engine.Pass || c.Wait != 0 {
			t.Errorf("request %d: %v, wait %v", i, c.Overall, c.Wait)
		}
	}
	if got := e.Rules()[0].Rule.ShadowBlock.Load(); got != 2 {
		t.Errorf("%d would have been refused, want 2", got)
	}
}

func TestBurst(t *testing.T) {
	t.Parallel()
	r := flow("b", "r", 10)
	r.Burst, r.Scale = 5, 1
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{r}})
	if got := passes(e, start, 30, request("r", "", "")); got != 15 {
		t.Errorf("%d at once, want count + burst = 15", got)
	}
	// A client that keeps coming gets count per interval.
	passed := 0
	for i := range 5000 {
		passed += passes(e, start+int64(i)*ms, 1, request("r", "", ""))
	}
	if passed < 45 || passed > 50 {
		t.Errorf("%d in the five seconds after the burst, want 10 a second", passed)
	}
	var c engine.Call
	if decide(e, start+5000*ms, &c, request("r", "", "")); c.Verdicts[0].Limit != 15 {
		t.Errorf("limit %d, want count + burst", c.Verdicts[0].Limit)
	}
}

// Sentinel's own trace: nothing comes back within the interval, nor at its very end.
func TestTokenBucket(t *testing.T) {
	t.Parallel()
	r := flow("t", "r", 3)
	r.Window, r.SampleCount, r.Scale = rule.WindowTokenBucket, 0, 1
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{r}})
	for _, tt := range []struct{ at, want int64 }{{0, 3}, {999, 0}, {1000, 0}, {1001, 3}, {1002, 0}} {
		if got := passes(e, start+tt.at*ms, 5, request("r", "", "")); got != int(tt.want) {
			t.Errorf("at %d ms: %d passed, want %d", tt.at, got, tt.want)
		}
	}
}

// Behaviour and window are part of what a rule's memory is: a change of either starts anew.
func TestBehaviorChangeStartsAnew(t *testing.T) {
	t.Parallel()
	e := newEngine(t, rule.Set{Limits: []rule.LimitRule{flow("a", "r", 2)}})
	passes(e, start, 2, request("r", "", ""))
	for name, r := range map[string]rule.LimitRule{
		"queue": queueing("a", "r", 2, 0),
		"burst": func() rule.LimitRule { r := flow("a", "r", 2); r.Burst = 1; return r }(),
	} {
		if changes := apply(t, e, rule.Set{Limits: []rule.LimitRule{r}}); len(changes.Fresh) != 1 {
			t.Errorf("%s: %+v", name, changes)
		}
	}
}

// ofUser makes a rule count every value of x-user-id by itself.
func ofUser(r rule.LimitRule) rule.LimitRule {
	r.Param = perUser("", "", 1).Param
	return r
}

// behaviors returns one rule of five per second of each behaviour.
func behaviors() map[string]rule.LimitRule {
	bucket, burst := flow("r", "r", 5), flow("r", "r", 3)
	bucket.Window, bucket.SampleCount, bucket.Scale = rule.WindowTokenBucket, 0, 1
	burst.Burst, burst.Scale = 2, 1
	return map[string]rule.LimitRule{
		"window": flow("r", "r", 5), "burst": burst, "bucket": bucket,
		"queue": queueing("r", "r", 5, time.Second), // one at once, four within less than a second
	}
}

func TestBehaviorsPerValue(t *testing.T) {
	t.Parallel()
	for name, r := range behaviors() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, rule.Set{Limits: []rule.LimitRule{ofUser(r)}})
			c := engine.Call{MaxWait: time.Minute}
			for _, user := range []string{"ann", "bob"} {
				for i := range 7 {
					want := engine.Pass
					if i >= 5 {
						want = engine.Block
					}
					if got := decide(e, start, &c, request("r", "", user)); got != want {
						t.Errorf("request %d of %s: %v, want %v", i, user, got, want)
					}
				}
			}
			decide(e, start, &c, request("r", "", "cid"))
			e.Cancel(start, &c)
			refused := 0
			for range 6 {
				if decide(e, start, &c, request("r", "", "cid")) == engine.Block {
					refused++
				}
			}
			if refused != 1 {
				t.Errorf("after a cancelled call %d of cid's six were refused, want 1", refused)
			}
		})
	}
}

// A value that finds no room in a full table is still limited, under every behaviour.
func TestBehaviorsBeyondTheTable(t *testing.T) {
	t.Parallel()
	for name, r := range behaviors() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := engine.New(engine.Options{MaxKeysTotal: 1})
			apply(t, e, rule.Set{Limits: []rule.LimitRule{ofUser(r)}})
			c := engine.Call{MaxWait: time.Minute}
			decide(e, start, &c, request("r", "", "first"))
			passed := 0
			for range 20 {
				if decide(e, start, &c, request("r", "", "second")) == engine.Pass {
					passed++
				}
			}
			if passed < 1 || passed > 5 {
				t.Errorf("%d of an untracked value passed, want 1 to 5", passed)
			}
			if v := c.Verdicts[0]; v.Reason != engine.ReasonLimit {
				t.Errorf("reason %v", v.Reason)
			}
			if e.Rules()[0].Rule.Untracked.Load() == 0 {
				t.Error("not counted as untracked")
			}
		})
	}
}

func TestBehaviorsAllocateNothing(t *testing.T) {
	for name, r := range behaviors() {
		e := newEngine(t, rule.Set{Limits: []rule.LimitRule{r, ofUser(func() rule.LimitRule { r := r; r.ID = "u"; return r }())}})
		c := engine.Call{MaxWait: time.Minute}
		c.Items = []engine.Request{request("r", "", "ann")}
		now := start
		if got := testing.AllocsPerRun(1000, func() {
			now += 50 * ms
			e.Decide(now, &c)
		}); got != 0 {
			t.Errorf("%s: %v allocations a decision", name, got)
		}
	}
}
