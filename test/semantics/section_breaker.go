package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

// breakerRules are the breakers of the plot.
var breakerRules = []struct {
	title, fields string
	slow          bool // bad answers are slow ones, not failures
}{
	{"more than half failed, one probe", `"grade": "error_ratio", "count": 0.5, "timeWindow": 5`, false},
	{"more than half failed, four probes at a time", `"grade": "error_ratio", "count": 0.5, "timeWindow": 5, "halfOpenRequests": 4`, false},
	{"more than half slower than 100 ms, one probe", `"grade": "slow_ratio", "count": 100, "slowRatioThreshold": 0.5, "timeWindow": 5`, true},
}

const (
	breakerRate   = 20                    // requests a second
	usualAnswer   = 10 * time.Millisecond // of the application
	slowAnswer    = 300 * time.Millisecond
	breakerLength = 30 // seconds
)

// breakerSection shows what circuit breakers do while an application fails and recovers.
func breakerSection(d *document, _ *lab) error {
	d.say(`
## What a circuit breaker does over time

%d requests a second. From the 5th to the 17th second all that reach the application fail, or, in the last plot, take
%d ms instead of %d. The breakers judge the calls of the last second (~statIntervalMs~ 1000, ~minRequestAmount~ 5) and
stay open for 5 seconds. The first line is how many requests reach the application in each half second, the second how many
are refused; below is the state: 0 closed, 1 half open, 2 open.
`, breakerRate, slowAnswer.Milliseconds(), usualAnswer.Milliseconds())
	c := chart{
		title:       "What a circuit breaker does over time",
		description: "What circuit breakers do while the application fails and recovers: they open soon, let probes through every five seconds, and close when the probes succeed",
		x:           axis{name: "seconds", to: breakerLength * int64(second), every: int64(second) * 5, unit: int64(second)},
		height:      900,
	}
	lines := [][]string{}
	for _, r := range breakerRules {
		run, err := runBreaker(`[{"resource": "r", `+r.fields+`}]`, r.slow)
		if err != nil {
			return fmt.Errorf("%s: %w", r.title, err)
		}
		c.panels = append(c.panels,
			panel{title: r.title, y: axis{name: "requests in half a second", to: 12, every: 4, unit: 1}, series: []series{run.reach, run.refused}},
			panel{title: "its state", y: axis{to: 2, every: 1, unit: 1}, series: []series{run.state}})
		lines = append(lines, []string{r.title, inSeconds(run.opened), fmt.Sprint(run.suffered), fmt.Sprint(run.probes), inSeconds(run.closed)})
	}
	if err := d.show("breakers", c); err != nil {
		return err
	}
	d.table([]string{"breaker", "opens at", "bad answers before", "bad answers after", "closes at last at"}, 1, lines)
	d.say(`
A breaker opens with the call that makes it more than the threshold, and not before ~minRequestAmount~ of them have ended. While it
is open the application gets nothing, and then as many probes as the rule says. [breakers.md](breakers.md) has all fields.
`)
	return nil
}

func inSeconds(at int64) string { return fmt.Sprintf("%.2f s", time.Duration(at).Seconds()) }

// breakerRun is what came of one breaker.
type breakerRun struct {
	reach, refused, state series
	opened, closed        int64 // the first and the last time
	suffered, probes      int   // bad answers before it opened first, and after
}

// ended is a call on its way back from the application.
type ended struct {
	at    int64
	token engine.Token
	bad   bool
}

// runBreaker sends requests evenly to an application that fails or is slow for a while, behind a
// breaker.
func runBreaker(rules string, slow bool) (breakerRun, error) {
	run := breakerRun{reach: series{name: "reach the application", step: true}, refused: series{name: "refused", step: true}, state: series{step: true}}
	e, err := flowEngine("degrade-rules.json", rules)
	if err != nil {
		return run, err
	}
	var under []ended
	state := engine.BreakerClosed
	look := func(at int64) {
		b, _ := e.Rules()[0].Breaker(origin + at)
		if b.State != state {
			run.state.points = append(run.state.points, point{at, int64(b.State)})
			if state = b.State; state == engine.BreakerOpen && run.opened == 0 {
				run.opened = at
			}
			if state == engine.BreakerClosed {
				run.closed = at
			}
		}
	}
	complete := func(until int64) {
		for len(under) > 0 && under[0].at <= until {
			look(under[0].at - 1)
			e.Complete(origin+under[0].at, under[0].token, engine.Outcome{Error: under[0].bad && !slow})
			look(under[0].at)
			under = under[1:]
		}
	}
	run.state.points = []point{{0, 0}}
	reach, refused := int64(0), int64(0)
	for i := range int64(breakerLength * breakerRate) {
		at := i * int64(second) / breakerRate
		complete(at)
		if half := int64(second) / 2; at%half == 0 && at > 0 {
			run.reach.points = append(run.reach.points, point{at - half, reach})
			run.refused.points = append(run.refused.points, point{at - half, refused})
			reach, refused = 0, 0
		}
		c := engine.Call{Items: []engine.Request{{Resource: "r", Hits: 1}}}
		e.Decide(origin+at, &c)
		look(at)
		if c.Overall != engine.Pass {
			refused++
			continue
		}
		reach++
		call := ended{token: c.Token, at: at + int64(usualAnswer)}
		call.bad = at >= 5*int64(second) && at < 17*int64(second)
		switch {
		case call.bad && run.opened == 0:
			run.suffered++
		case call.bad:
			run.probes++
		}
		if call.bad && slow {
			call.at = at + int64(slowAnswer)
		}
		under = append(under, call)
		slices.SortStableFunc(under, func(a, b ended) int { return cmp.Compare(a.at, b.at) })
	}
	complete(breakerLength * int64(second))
	run.state.points = append(run.state.points, point{breakerLength * int64(second), int64(state)})
	return run, nil
}
