package engine

import (
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/sidecard/sidecard/pkg/rule"
	"github.com/sidecard/sidecard/pkg/window"
)

// Three errors open it, for a second; two probes at a time close it.
const twoProbes = `"grade": 2, "count": 2, "minRequestAmount": 1, "timeWindow": 1, "halfOpenRequests": 2, "halfOpenTimeoutMs": 5000`

// opening is three calls that fail, the last at 20 ms.
var opening = []step{
	{0, "call", 0, true, "pass", BreakerClosed},
	{10, "call", 0, true, "pass", BreakerClosed},
	{20, "call", 0, true, "pass", BreakerOpen},
}

func TestBreakerProbes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, rule string
		steps      []step
	}{
		{"from exactly the wait on", twoProbes, []step{
			{1019, "", 0, false, "", BreakerOpen},
			{1019, "acquire", 0, false, "block", BreakerOpen},
			{1020, "", 0, false, "", BreakerOpen}, // nothing happens by itself
			{1020, "acquire", 0, false, "pass", BreakerHalfOpen},
		}},
		{"after the wait, where the threshold is to be reached", twoProbes + `, "openAt": "reached"`, []step{
			{10, "", 0, false, "", BreakerOpen},
			{1010, "acquire", 0, false, "block", BreakerOpen},
			{1011, "acquire", 0, false, "pass", BreakerHalfOpen},
		}},
		{"all good", twoProbes, []step{
			{1020, "acquire", 0, false, "pass", BreakerHalfOpen},
			{1030, "acquire", 0, false, "pass", BreakerHalfOpen},
			{1040, "acquire", 0, false, "block", BreakerHalfOpen},
			{1050, "end", 5000, false, "ok", BreakerHalfOpen}, // slowness is nothing to a count of errors
			{1060, "acquire", 0, false, "block", BreakerHalfOpen},
			{1070, "end", 0, false, "ok", BreakerClosed},
			{1080, "call", 0, true, "pass", BreakerClosed}, // the errors from before are forgotten
			{1090, "call", 0, true, "pass", BreakerClosed},
			{1100, "call", 0, true, "pass", BreakerOpen},
		}},
		{"the first bad one", twoProbes, []step{
			{1020, "acquire", 0, false, "pass", BreakerHalfOpen},
			{1030, "acquire", 0, false, "pass", BreakerHalfOpen},
			{1040, "end", 0, true, "ok", BreakerOpen},
			{1050, "end", 0, false, "late", BreakerOpen},
			{2039, "acquire", 0, false, "block", BreakerOpen},
			{2040, "acquire", 0, false, "pass", BreakerHalfOpen},
		}},
		{"given back", twoProbes, []step{
			{1020, "acquire", 0, false, "pass", BreakerHalfOpen},
			{1030, "acquire", 0, false, "pass", BreakerHalfOpen},
			{1031, "acquire", 0, false, "block", BreakerHalfOpen},
			{1040, "give back", 0, false, "", BreakerHalfOpen},
			{1050, "acquire", 0, false, "pass", BreakerHalfOpen},
			{1051, "acquire", 0, false, "block", BreakerHalfOpen},
			{1052, "end", 0, false, "ok", BreakerHalfOpen},
			{1053, "end", 0, false, "ok", BreakerClosed},
		}},
		{"all given back, and then nobody for long", twoProbes, []step{
			{1020, "acquire", 0, false, "pass", BreakerHalfOpen},
			{1040, "give back", 0, false, "", BreakerHalfOpen},
			{99_000, "", 0, false, "", BreakerHalfOpen},
			{99_000, "acquire", 0, false, "pass", BreakerHalfOpen},
		}},
		{"one good, and then nobody for long", twoProbes, []step{
			{1020, "acquire", 0, false, "pass", BreakerHalfOpen},
			{1040, "end", 0, false, "ok", BreakerHalfOpen},
			{99_000, "acquire", 0, false, "pass", BreakerHalfOpen},
			{99_001, "end", 0, false, "ok", BreakerClosed},
		}},
		{"lost", twoProbes, []step{
			{1020, "acquire", 0, false, "pass", BreakerHalfOpen},
			{2020, "acquire", 0, false, "pass", BreakerHalfOpen},
			{7019, "acquire", 0, false, "block", BreakerHalfOpen},
			{7020, "acquire", 0, false, "block", BreakerOpen},
			{7020, "end", 0, false, "late", BreakerOpen},
			{8019, "acquire", 0, false, "block", BreakerOpen},
			{8020, "acquire", 0, false, "pass", BreakerHalfOpen},
		}},
		{"lost, and nobody came until another was due", twoProbes, []step{
			{1020, "acquire", 0, false, "pass", BreakerHalfOpen},
			{7020, "acquire", 0, false, "pass", BreakerHalfOpen}, // lost at 6020, and open for a second since
			{7021, "end", 0, false, "late", BreakerHalfOpen},
			{7022, "end", 0, false, "ok", BreakerHalfOpen},
		}},
		{"ended when its time was up", twoProbes, []step{
			{1020, "acquire", 0, false, "pass", BreakerHalfOpen},
			{6020, "end", 0, false, "late", BreakerOpen},
			{7020, "acquire", 0, false, "pass", BreakerHalfOpen},
			{12_019, "end", 0, false, "ok", BreakerHalfOpen},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before := opening
			if breakerTermsOf(degradeRule(t, tt.rule)).reached {
				before = []step{opening[0], {10, "call", 0, true, "pass", BreakerOpen}}
			}
			replay(t, slices.Concat(before, tt.steps), breakerOf(t, tt.rule))
		})
	}
}

// TestBreakerLateEnds: the end of a call counts in the period that let it through, and in no other.
func TestBreakerLateEnds(t *testing.T) {
	t.Parallel()
	acquire := step{0, "acquire", 0, false, "pass", BreakerClosed}
	replay(t, slices.Concat([]step{acquire, acquire, acquire, acquire}, opening, []step{
		{30, "end", 0, true, "late", BreakerOpen},
		{1020, "acquire", 0, false, "pass", BreakerHalfOpen},
		{1021, "acquire", 0, false, "pass", BreakerHalfOpen},
		{1030, "end", 0, false, "late", BreakerHalfOpen}, // sent before it opened
		{1031, "end", 0, true, "late", BreakerHalfOpen},
		{1032, "acquire", 0, false, "block", BreakerHalfOpen},
		{1040, "give back", 0, false, "", BreakerHalfOpen},
		{1041, "call", 0, false, "pass", BreakerHalfOpen},
		{1042, "end", 0, true, "late", BreakerHalfOpen},
		{1043, "end", 0, false, "ok", BreakerClosed},
	}), breakerOf(t, twoProbes))

	c := breakerOf(t, twoProbes)
	if c.b.complete(noon, 0, window.Outcome{Error: true}, &c.breakerTerms) || c.b.status(noon, &c.breakerTerms).Ended.Total != 0 {
		t.Error("a call that was never let through has ended")
	}
}

// TestBreakerMoreEndsThanProbes: reports that no call stands behind close nothing.
func TestBreakerMoreEndsThanProbes(t *testing.T) {
	t.Parallel()
	c := breakerOf(t, twoProbes)
	replay(t, opening, c)
	var g grant
	c.acquire(noon+ms(1020), 1, 0, 0, &g)
	for i, want := range []bool{true, false, false} {
		if got := c.complete(noon+ms(1030), breakerPermit(g.held.n), 0, false); got != want {
			t.Errorf("end %d: got %v, want %v", i, got, want)
		}
	}
	for range 3 {
		c.refund(noon+ms(1030), &g)
	}
	if s := c.b.status(noon+ms(1030), &c.breakerTerms); s.State != BreakerHalfOpen || s.Probes != 0 || s.Ended.Total != 1 {
		t.Errorf("got %+v", s)
	}
}

// TestBreakerReload changes the terms while the breaker is open or half open.
func TestBreakerReload(t *testing.T) {
	t.Parallel()
	c := breakerOf(t, twoProbes)
	replay(t, opening, c)
	with := func(change func(t *breakerTerms)) *breakerController {
		next := &breakerController{c.b, c.breakerTerms}
		change(&next.breakerTerms)
		return next
	}
	longer := with(func(t *breakerTerms) { t.wait = time.Minute })
	if d, ok := longer.until(noon+ms(1020), 1, 0, 0); longer.peek(noon+ms(1020), ask{1, 1}, 0, 0).ok || d != 59*time.Second || !ok {
		t.Errorf("a longer wait: %v, %v", d, ok)
	}
	replay(t, []step{
		{1020, "acquire", 0, false, "pass", BreakerHalfOpen},
		{1020, "acquire", 0, false, "pass", BreakerHalfOpen},
		{1020, "acquire", 0, false, "block", BreakerHalfOpen},
		{1021, "end", 0, false, "ok", BreakerHalfOpen},
	}, c)
	three := with(func(t *breakerTerms) { t.probes = 3 })
	if !three.peek(noon+ms(1022), ask{1, 1}, 0, 0).ok || three.state(noon+ms(1022)) != BreakerHalfOpen {
		t.Error("a third probe is not let through")
	}
	hasty := with(func(t *breakerTerms) { t.timeout = time.Millisecond })
	if hasty.peek(noon+ms(1020), ask{1, 1}, 0, 0).ok || c.state(noon+ms(1020)) != BreakerHalfOpen {
		t.Error("a probe is lost before its time is up")
	}
	one := with(func(t *breakerTerms) { t.probes = 1 })
	if !one.peek(noon+ms(1022), ask{1, 1}, 0, 0).ok || c.state(noon+ms(1022)) != BreakerClosed {
		t.Error("one good probe of one is not enough")
	}
}

func TestBreakerUntil(t *testing.T) {
	t.Parallel()
	c := breakerOf(t, twoProbes)
	until := func(at int64) (time.Duration, bool) { return c.until(noon+ms(at), 1, 0, 0) }
	check := func(at int64, want time.Duration, comes bool) {
		t.Helper()
		if d, ok := until(at); d != want || ok != comes {
			t.Errorf("at %d ms: %v, %v, want %v, %v", at, d, ok, want, comes)
		}
		if got := c.peek(noon+ms(at), ask{1, 1}, 0, 0).ok; got != (comes && want == 0) {
			t.Errorf("at %d ms: peek says %v", at, got)
		}
		if got := c.reset(noon+ms(at), 0); got != 0 {
			t.Errorf("at %d ms: reset %v", at, got)
		}
	}
	check(0, 0, true)
	replay(t, opening, c)
	check(20, time.Second, true)
	check(10, time.Second+10*time.Millisecond, true) // a late caller
	check(1019, time.Millisecond, true)
	check(1020, 0, true)
	check(2000, 0, true)
	acquire := step{2000, "acquire", 0, false, "pass", BreakerHalfOpen}
	replay(t, []step{acquire}, c)
	check(2001, 0, true)
	replay(t, []step{acquire}, c)
	check(2002, 0, false)
	check(7000, time.Second, true) // the probes are lost
	c.reached = true
	check(7000, time.Second+1, true)
}

func TestBreakerTransitions(t *testing.T) {
	t.Parallel()
	c := breakerOf(t, twoProbes)
	if s := c.b.status(noon+5, &c.breakerTerms); s != (BreakerStatus{Since: noon}) {
		t.Errorf("new: %+v", s)
	}
	replay(t, slices.Concat(opening, []step{
		{1020, "acquire", 0, false, "pass", BreakerHalfOpen},
		{2000, "call", 7, false, "pass", BreakerHalfOpen},
		{7000, "", 0, false, "", BreakerOpen},
		{9999, "acquire", 0, false, "pass", BreakerHalfOpen},
		{9999, "give back", 0, false, "", BreakerHalfOpen},
		{9999, "call", 1, false, "pass", BreakerHalfOpen},
		{9998, "call", 2, false, "pass", BreakerClosed}, // a late clock
	}), c)
	want := []BreakerTransition{
		{1, noon + ms(20), BreakerClosed, BreakerOpen, window.Tally{Total: 3, Errors: 3}},
		{2, noon + ms(1020), BreakerOpen, BreakerHalfOpen, window.Tally{}},
		{3, noon + ms(7000), BreakerHalfOpen, BreakerOpen, window.Tally{Total: 1, RT: 7 * time.Millisecond}},
		{4, noon + ms(9999), BreakerOpen, BreakerHalfOpen, window.Tally{}},
		{5, noon + ms(9999), BreakerHalfOpen, BreakerClosed, window.Tally{Total: 2, RT: 3 * time.Millisecond}},
	}
	for after := range uint64(7) {
		if got := c.b.transitions(after, nil); !slices.Equal(got, want[min(after, 5):]) {
			t.Errorf("after %d:\ngot  %+v\nwant %+v", after, got, want[min(after, 5):])
		}
	}
	if s := c.b.status(noon+ms(10_000), &c.breakerTerms); s != (BreakerStatus{State: BreakerClosed, Since: noon + ms(9999), Transitions: 5}) {
		t.Errorf("at last: %+v", s)
	}

	for i := range int64(20) {
		c.b.enter(BreakerOpen, noon+ms(20_000+i), window.Tally{Total: i})
	}
	got := c.b.transitions(5, nil)
	if len(got) != breakerHistory || got[0].Sequence != 10 || got[0].Ended.Total != 4 || got[15].Sequence != 25 || got[15].Ended.Total != 19 {
		t.Errorf("of twenty: %+v", got)
	}
}

func TestBreakerStateWords(t *testing.T) {
	t.Parallel()
	for s, want := range map[BreakerState]string{BreakerClosed: "closed", BreakerHalfOpen: "half_open", BreakerOpen: "open", 3: ""} {
		if s.String() != want {
			t.Errorf("%d is %q, want %q", s, s, want)
		}
	}
}

func TestBreakerPhaseWord(t *testing.T) {
	t.Parallel()
	for _, p := range []phase{
		{}, {1, BreakerClosed, 0, 0}, {1<<32 - 1, BreakerOpen, rule.MaxHalfOpenRequests, rule.MaxHalfOpenRequests},
		{7, BreakerHalfOpen, rule.MaxHalfOpenRequests, 0}, {7, BreakerHalfOpen, 1<<15 - 1, 1<<15 - 1},
	} {
		if got := unpackPhase(p.pack()); got != p {
			t.Errorf("%+v becomes %+v", p, got)
		}
	}
}

// TestBreakerLayout: what every decision reads lies apart from what every end writes.
func TestBreakerLayout(t *testing.T) {
	t.Parallel()
	var b breaker
	if got := unsafe.Offsetof(b.mu); got != cacheLine {
		t.Errorf("mu at offset %d, want %d", got, cacheLine)
	}
}

func TestNewBreakerShapes(t *testing.T) {
	t.Parallel()
	for _, r := range []rule.DegradeRule{{}, {SampleCount: 7, StatInterval: time.Second}, {Size: 1<<20 + 1}} {
		if _, err := newBreaker(noon, &r); err == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
	terms := breakerTermsOf(&rule.DegradeRule{HalfOpenRequests: 1 << 20})
	if terms.probes != rule.MaxHalfOpenRequests {
		t.Errorf("%d probes", terms.probes)
	}
}

func TestBreakerAllocatesNothing(t *testing.T) {
	for _, fields := range []string{twoProbes, twoProbes + `, "slidingWindow": {"type": "count", "size": 10}`} {
		c := breakerOf(t, fields)
		now := noon
		var g grant
		if got := testing.AllocsPerRun(1000, func() {
			now += ms(300)
			for i := range 5 {
				c.peek(now, ask{1, 1}, 0, 0)
				if c.acquire(now, 1, 0, 0, &g).ok {
					c.complete(now, breakerPermit(g.held.n), time.Millisecond, i < 4)
				}
				c.refund(now, &g)
				c.until(now, 1, 0, 0)
				c.b.status(now, &c.breakerTerms)
			}
		}); got != 0 {
			t.Errorf("%v allocations, want 0", got)
		}
		if s := c.b.status(now, &c.breakerTerms); s.Transitions < 100 {
			t.Errorf("%d transitions: hardly anything was tried", s.Transitions)
		}
	}
}
