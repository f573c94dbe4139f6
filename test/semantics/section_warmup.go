package main

import (
	"fmt"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// warmUpSection shows how the limit of a rule climbs, and how the distance of a queue's answers shrinks.
func warmUpSection(d *document, _ *lab) error {
	d.say(`
## How a limit warms up

Count %d per second, and ~"controlBehavior": "warm_up"~ with a ~warmUpPeriodSec~ of 10. The lines are how many requests pass in
each second. Three times count come evenly; in the second plot half of count for 10 seconds, then three times count, and nobody
from the 25th second to the 35th. What passes goes by the rules of a file, as in the daemon.
`, count)
	c := chart{
		title:       "How a limit warms up",
		description: "How a limit warms up: from a third of count, or less, it climbs slowly and then fast to count; requests that are no more than half of count warm it as well, silence makes it cold",
		x:           axis{name: "seconds", to: 45 * int64(second), every: 5 * int64(second), unit: int64(second)},
		height:      1500,
	}
	first := panel{title: "three times count, evenly", y: axis{name: "requests in a second", to: 120, every: 20, unit: 1}, below: true}
	for _, cold := range []int64{3, 5, 10} {
		passed, err := eachSecond(warmUpRule(1, cold), func(int64) int64 { return overload }, 45)
		if err != nil {
			return err
		}
		first.series = append(first.series, curve(fmt.Sprintf("coldFactor %d", cold), passed))
	}
	load := func(s int64) int64 {
		switch {
		case s < 10:
			return count / 2
		case s >= 25 && s < 35:
			return 0
		}
		return overload
	}
	passed, err := eachSecond(warmUpRule(1, 3), load, 45)
	if err != nil {
		return err
	}
	first.bounds = []bound{{count, "count"}}
	c.panels = []panel{first, {title: "half of count, then three times count, with a silence", y: first.y, series: []series{curve("", passed)}, bounds: first.bounds}}
	if err := d.show("warm-up", c); err != nil {
		return err
	}
	if err := d.sayWarmUp(); err != nil {
		return err
	}
	return d.showWarmUpQueue()
}

// sayWarmUp is the table of the first curve, and what there is to see.
func (d *document) sayWarmUp() error {
	head, lines := []string{"second"}, [][]string{}
	for _, cold := range []int64{3, 5, 10} {
		passed, err := eachSecond(warmUpRule(1, cold), func(int64) int64 { return overload }, 20)
		if err != nil {
			return err
		}
		line := []string{fmt.Sprintf("coldFactor %d", cold)}
		for i, n := range passed {
			if i == 0 || i%2 == 1 {
				if len(lines) == 0 {
					head = append(head, fmt.Sprint(i+1))
				}
				line = append(line, fmt.Sprint(n))
			}
		}
		lines = append(lines, line)
	}
	d.table(head, 1, lines)
	d.say(`
The window is that of any rule: what is said of ~aligned~ and ~strict~ above holds, with what is allowed in place of count. The
climb is Sentinel's, whose formula [flow-rules.md](flow-rules.md#warm-up) has: it takes longer the larger ~coldFactor~ is, because a larger
one lets fewer requests pass that could warm it.
`)
	return nil
}

// showWarmUpQueue plots how far apart the answers of a queue are while it warms up.
func (d *document) showWarmUpQueue() error {
	d.say(`
With ~"controlBehavior": "warm_up_queue"~ requests wait for their turn, and turns come as often as is allowed. Under three times
count, how far apart two answers are, and how long requests wait that come evenly at half of count:
`)
	c := chart{
		title:       "How a queue warms up",
		description: "How a queue warms up: answers that are 30 ms apart at first come every 10 ms in the end; where half of count come, they wait until the queue is warm enough for them",
		x:           axis{name: "seconds", to: 30 * int64(second), every: 5 * int64(second), unit: int64(second)},
		height:      1500,
	}
	apart := panel{title: "three times count, evenly", y: axis{name: "milliseconds between two answers", to: 40, every: 10, unit: 1}}
	waits := panel{title: "half of count, evenly", y: axis{name: "milliseconds of waiting", to: 600, every: 100, unit: 1}, bounds: []bound{{500, "maxQueueingTimeMs"}}}
	answers, err := answered(warmUpRule(3, 3), overload, 30)
	if err != nil {
		return err
	}
	var line series
	for i, a := range answers[1:] {
		if due := a.at + int64(a.wait); due <= c.x.to {
			gap := time.Duration(due - answers[i].at - int64(answers[i].wait))
			line.points = append(line.points, point{due, gap.Milliseconds()})
		}
	}
	apart.series = []series{line}
	if answers, err = answered(warmUpRule(3, 3), count/2, 30); err != nil {
		return err
	}
	line = series{}
	for _, a := range answers {
		line.points = append(line.points, point{a.at, a.wait.Milliseconds()})
	}
	waits.series = []series{line}
	c.panels = []panel{apart, waits}
	return d.show("warm-up-queue", c)
}

func warmUpRule(behavior, cold int64) string {
	return fmt.Sprintf(`[{"resource": "r", "count": %d, "controlBehavior": %d, "warmUpPeriodSec": 10, "coldFactor": %d}]`, count, behavior, cold)
}

// answer is a request that passed, and how long it waited.
type answer struct {
	at   int64
	wait time.Duration
}

// answered sends n requests a second evenly to the flow rules of a file, and returns those that pass.
func answered(rules string, n, seconds int64) ([]answer, error) {
	e, err := flowEngine("flow-rules.json", rules)
	if err != nil {
		return nil, err
	}
	var all []answer
	for i := range n * seconds {
		at := i * int64(second) / n
		if passed, wait := ask(e, at); passed {
			all = append(all, answer{at, wait})
		}
	}
	return all, nil
}

// eachSecond sends as many requests in each second as load says, evenly, and returns how many pass.
func eachSecond(rules string, load func(second int64) int64, seconds int64) ([]int64, error) {
	e, err := flowEngine("flow-rules.json", rules)
	if err != nil {
		return nil, err
	}
	all := make([]int64, seconds)
	for s := range seconds {
		for i := range load(s) {
			if passed, _ := ask(e, s*int64(second)+i*int64(second)/load(s)); passed {
				all[s]++
			}
		}
		if all[s] > count {
			return nil, fmt.Errorf("%d pass in second %d", all[s], s)
		}
	}
	return all, nil
}

// curve is the line of what passes in each second.
func curve(name string, passed []int64) series {
	s := series{name: name, step: true}
	for i, n := range passed {
		s.points = append(s.points, point{int64(i) * int64(second), n})
	}
	s.points = append(s.points, point{int64(len(passed)) * int64(second), passed[len(passed)-1]})
	return s
}

// flowEngine loads a file of rules whose name says what they are.
func flowEngine(name, rules string) (*engine.Engine, error) {
	set, problems := rule.Load([]rule.File{{Name: name, Data: []byte(rules)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		return nil, err
	}
	e := engine.New(engine.Options{})
	_, err := e.Apply(origin, set)
	return e, err
}

// ask sends one request for the resource r.
func ask(e *engine.Engine, at int64) (passed bool, wait time.Duration) {
	c := engine.Call{MaxWait: patience, Items: []engine.Request{{Resource: "r", Hits: 1}}}
	e.Decide(origin+at, &c)
	return c.Overall == engine.Pass, c.Wait
}
