package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// everySecond is how many of n requests pass in each of so many seconds.
func everySecond(e *engine.Engine, from int64, seconds, n int, q engine.Request) []int {
	var passed []int
	for i := range seconds {
		passed = append(passed, passes(e, from+int64(i)*int64(time.Second), n, q))
	}
	return passed
}

// aligned is the beginning of the second after start.
const aligned = start - start%int64(time.Second) + int64(time.Second)

func TestWarmUp(t *testing.T) {
	t.Parallel()
	const rules = `{"id": "r", "resource": "a", "count": 10, "controlBehavior": 1, "warmUpPeriodSec": 10}`
	e := newEngine(t, flowSet(t, rules))
	if got, want := everySecond(e, aligned, 13, 12, from("", "a")), []int{3, 3, 3, 3, 3, 4, 4, 4, 5, 5, 6, 7, 10}; !slices.Equal(got, want) {
		t.Errorf("%v passed, want %v", got, want)
	}
	// A new count, and another period, act at once on what is as warm as before.
	for _, step := range []struct {
		rules string
		want  int
	}{
		{strings.Replace(rules, "10,", "20,", 1), 20},
		{strings.Replace(rules, "Sec\": 10", "Sec\": 60", 1), 0},
	} {
		if changes := apply(t, e, flowSet(t, step.rules)); len(changes.Fresh) > 0 {
			t.Errorf("started anew: %v", changes.Fresh)
		}
		if got := passes(e, aligned+13*int64(time.Second), 30, from("", "a")); got != step.want {
			t.Errorf("%s: %d passed, want %d", step.rules, got, step.want)
		}
	}
	// What a minute's silence has made cold says when one and several requests would pass.
	later := aligned + 100*int64(time.Second)
	passes(e, later, 3, from("", "a"))
	var c engine.Call
	for _, tt := range []struct {
		hits int64
		want time.Duration
	}{{1, time.Second}, {3, time.Second}, {4, 0}} {
		q := from("", "a")
		q.Hits = tt.hits
		if decide(e, later, &c, q) != engine.Block || c.Verdicts[0].Reset != tt.want || c.Verdicts[0].Limit != 10 {
			t.Errorf("%d hits: %v, retry after %v, limit %d; want %v", tt.hits, c.Overall, c.Verdicts[0].Reset, c.Verdicts[0].Limit, tt.want)
		}
	}
}

// TestWarmUpOfGatewayRules: Sentinel takes the behaviour of such rules for reject.
func TestWarmUpOfGatewayRules(t *testing.T) {
	t.Parallel()
	set, ps := rule.Load([]rule.File{{Name: "gw-flow-rules.json", Data: []byte(`[
		{"resource": "a", "count": 9, "controlBehavior": 1, "warmUpPeriodSec": 2},
		{"resource": "g", "resourceMode": 1, "count": 3, "controlBehavior": 1, "warmUpPeriodSec": 10}]`)},
		{Name: "gw-api-definitions.json", Data: []byte(`[{"apiName": "g", "predicateItems": [{"pattern": "/g"}]}]`)}}, rule.Options{})
	if err := ps.Err(); err != nil {
		t.Fatal(err)
	}
	e := newEngine(t, set)
	if got, want := everySecond(e, aligned, 5, 20, from("", "a")), []int{3, 3, 5, 9, 9}; !slices.Equal(got, want) {
		t.Errorf("%v passed, want %v", got, want)
	}
	g := from("", "")
	g.Path = "/g"
	if got := passes(e, aligned, 5, g); got != 1 {
		t.Errorf("%d passed in the group", got)
	}
}

func TestWarmUpQueue(t *testing.T) {
	t.Parallel()
	e := newEngine(t, flowSet(t, `{"resource": "a", "count": 10, "controlBehavior": 3, "warmUpPeriodSec": 4, "maxQueueingTimeMs": 400}`))
	c := engine.Call{MaxWait: time.Second}
	for i := range int64(5) {
		now, second := aligned+i*int64(time.Second), 300*time.Millisecond
		if i > 0 {
			second = 280 * time.Millisecond
		}
		for n, want := range []time.Duration{0, second, -1} {
			code := decide(e, now, &c, from("", "a"))
			if (code == engine.Block) != (want < 0) || code == engine.Pass && c.Wait != want {
				t.Errorf("second %d, request %d: %v, waits %v; want %v", i, n, code, c.Wait, want)
			}
		}
		retry := c.Verdicts[0].Reset
		if retry <= 0 || retry > time.Second {
			t.Errorf("second %d: retry after %v", i, retry)
		}
		q := from("", "a")
		q.Kind = engine.Peek
		if decide(e, now+int64(retry), &c, q) != engine.Pass || decide(e, now+int64(retry)-1, &c, q) != engine.Block {
			t.Errorf("second %d: %v is not the first moment at which one more passes", i, retry)
		}
	}
	decide(e, aligned+9*int64(time.Second), &c, from("", "a"))
	decide(e, aligned+9*int64(time.Second), &c, from("", "a"))
	e.Cancel(aligned+9*int64(time.Second), &c)
	if decide(e, aligned+9*int64(time.Second), &c, from("", "a")) != engine.Pass {
		t.Error("the place that was given back is taken")
	}
	c.MaxWait = 100 * time.Millisecond
	if e.Cancel(aligned+9*int64(time.Second), &c); decide(e, aligned+9*int64(time.Second), &c, from("", "a")) != engine.Block || c.Verdicts[0].Reason != engine.ReasonDeadline {
		t.Errorf("%v, %v", c.Overall, c.Verdicts[0].Reason)
	}
}

// TestRelateWarmUp: writes warm the limit up, and use it up, that reads are held to.
func TestRelateWarmUp(t *testing.T) {
	t.Parallel()
	e := newEngine(t, flowSet(t, `{"resource": "read", "count": 10, "controlBehavior": 1, "warmUpPeriodSec": 2, "strategy": 1, "refResource": "write"}`))
	reads := func(now int64) int { return passes(e, now, 20, from("", "read")) }
	second := int64(time.Second)
	passes(e, aligned, 3, from("", "write"))
	if got := reads(aligned); got != 0 {
		t.Errorf("%d reads at 3 writes while 3 are allowed", got)
	}
	for i := range int64(3) {
		passes(e, aligned+(i+1)*second, 6, from("", "write"))
	}
	if got := reads(aligned + 3*second); got != 20 {
		t.Errorf("%d reads at 6 writes while 10 are allowed", got)
	}
	passes(e, aligned+3*second, 4, from("", "write"))
	if got := reads(aligned + 3*second); got != 0 {
		t.Errorf("%d reads at 10 writes while 10 are allowed", got)
	}
}
