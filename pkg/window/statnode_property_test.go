package window

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	twin "github.com/sidecard/sidecard/internal/testkit/window"
)

// passed is a pass that may be withdrawn.
type passed struct{ at, n int64 }

// TestStatisticNodeTwin compares every figure with the naive twin's, after each of some events.
func TestStatisticNodeTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := new(StatisticNode), new(twin.StatisticNode)
		now := epoch + rapid.Int64Range(0, int64(time.Minute)).Draw(t, "start")
		if rapid.Bool().Draw(t, "spread") {
			a.spreadOut()
		}
		newest := int64(0) // what either has seen
		var passes []passed
		var ever, withdrawn Statistic
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now += int64(time.Millisecond) * rapid.OneOf(rapid.Int64Range(-700, 1200), rapid.SampledFrom([]int64{0, 1, 499, 500, 59_000, 60_000, 90_000})).Draw(t, "ms")
			newest = max(newest, now)
			hint := rapid.Uint32().Draw(t, "hint")
			n := rapid.Int64Range(0, 5).Draw(t, "n")
			switch rapid.SampledFrom([]string{"pass", "pass", "block", "begin", "complete", "complete", "end", "withdraw", "maintain"}).Draw(t, "op") {
			case "pass":
				a.Pass(now, hint, n)
				b.Add(now, twin.Statistic{Pass: n})
				passes = append(passes, passed{newest, n})
				ever.Pass += n
			case "block":
				a.Block(now, hint, n)
				b.Add(now, twin.Statistic{Block: n})
				ever.Block += n
			case "begin":
				a.Begin(hint)
				b.InFlight++
			case "complete":
				rt := time.Duration(rapid.Int64Range(1, 9_000_000).Draw(t, "us")) * time.Microsecond
				failed := rapid.Bool().Draw(t, "failed")
				a.Begin(hint + 1)
				a.Complete(now, hint, rt, failed)
				e := twin.Statistic{Success: 1, RT: rt, MinRT: rt}
				if failed {
					e.Exception = 1
				}
				b.Add(now, e)
				ever.Success, ever.RT, ever.Exception = ever.Success+1, ever.RT+rt, ever.Exception+e.Exception
			case "end":
				if b.InFlight > 0 {
					a.End(hint)
					b.InFlight--
				}
			case "withdraw":
				if len(passes) > 0 {
					p := passes[len(passes)-1]
					passes = passes[:len(passes)-1]
					a.Withdraw(now, p.at, p.n)
					b.Withdraw(now, p.at, p.n)
					withdrawn.Pass += p.n
				}
			case "maintain":
				a.Maintain(now)
				b.Advance(now)
			}
			compareStatistics(t, now, a, b)
			total := a.Total()
			if total.Pass > ever.Pass || total.Pass < ever.Pass-withdrawn.Pass {
				t.Fatalf("%d passed ever, want %d, of which %d were withdrawn", total.Pass, ever.Pass, withdrawn.Pass)
			}
			if total.Pass = ever.Pass; total != ever {
				t.Fatalf("ever: got %+v, want %+v", total, ever)
			}
		}
	})
}

func compareStatistics(t *rapid.T, now int64, a *StatisticNode, b *twin.StatisticNode) {
	want, most := b.LastSecond(now)
	got := a.LastSecond(now)
	if twin.Statistic(got.Statistic) != want || got.MaxSuccess != most || got.InFlight != b.InFlight {
		t.Fatalf("last second at %v:\n got %+v\nwant %+v, most %d, in flight %d", time.Unix(0, now), got, want, most, b.InFlight)
	}
	if n := a.PassedLastSecond(now); n != want.Pass {
		t.Fatalf("passed in the last second: %d, want %d", n, want.Pass)
	}
	minute := b.Minute(now)
	seconds := a.Minute(now, nil)
	if len(seconds) != len(minute) {
		t.Fatalf("a minute of %d seconds", len(seconds))
	}
	for i, m := range minute {
		if s := seconds[i]; twin.Statistic(s.Statistic) != m {
			t.Fatalf("second %d of %d at %v:\n got %+v\nwant %+v", i+1, len(minute), time.Unix(0, now), s, m)
		}
	}
	if n := a.PreviousPass(now); n != minute[len(minute)-2].Pass {
		t.Fatalf("previous second: %d passed, want %d", n, minute[len(minute)-2].Pass)
	}
}
