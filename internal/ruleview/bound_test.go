package ruleview

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// What is shown as a bound holds, of fractions as well, whatever clients do.
func TestBoundsHold(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{
		`"window": "aligned", "sampleCount": 2`,
		`"window": "aligned", "sampleCount": 2, "burst": 3`,
		`"window": "strict", "sampleCount": 2`,
		`"window": "strict", "sampleCount": 2, "burst": 3`,
		`"window": "token-bucket"`,
		`"window": "token-bucket", "burst": 1`,
		`"window": "token-bucket", "burst": 9`,
		`"controlBehavior": "queue", "maxQueueingTimeoutMs": 1700`,
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				count := rapid.SampledFrom([]string{"1", "2", "5", "1.5", "2.25", "3.2"}).Draw(t, "count")
				set, problems := rule.Load([]rule.File{{Name: "gw-flow-rules.json", Data: fmt.Appendf(nil, `[{"resource": "r", "count": %s, "intervalSec": 2, %s}]`, count, mode)}}, rule.Options{})
				if err := problems.Err(); err != nil {
					t.Fatal(err)
				}
				b := boundOf(&set.Limits[0])
				if got := mostWithin(passed(t, set), time.Duration(b.IntervalSec)*time.Second); got > b.Most {
					t.Errorf("%d passed, the bound is %v", got, b)
				}
			})
		})
	}
}

// passed asks for the resource r at times of rapid's choice and returns when requests passed.
func passed(t *rapid.T, set rule.Set) []int64 {
	const start = 1_700_000_000e9
	e := engine.New(engine.Options{})
	if _, err := e.Apply(start, set); err != nil {
		t.Fatal(err)
	}
	c := engine.Call{Items: []engine.Request{{Resource: "r", Hits: 1}}, MaxWait: time.Hour}
	var times []int64
	pauses := rapid.OneOf(
		rapid.SampledFrom([]int64{0, 1, 1e6, 1e9 - 1, 1e9, 2e9 - 1, 2e9, 2e9 + 1, 2001e6, 4e9}),
		rapid.Int64Range(0, 3e9),
	)
	now := int64(start)
	for range rapid.IntRange(1, 20).Draw(t, "bursts") {
		now += pauses.Draw(t, "pause")
		for range rapid.SampledFrom([]int{1, 2, 20}).Draw(t, "requests") {
			if e.Decide(now, &c); c.Overall == engine.Pass {
				times = append(times, now+int64(c.Wait))
			}
		}
	}
	return times
}

// mostWithin returns how many of the times lie in the fullest interval of that length, ends included.
func mostWithin(times []int64, interval time.Duration) int64 {
	slices.Sort(times)
	most := 0
	for i, first := range times {
		n, _ := slices.BinarySearch(times[i:], first+int64(interval)+1)
		most = max(most, n)
	}
	return int64(most)
}
