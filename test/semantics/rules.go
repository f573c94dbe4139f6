package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/engine/attr"
	"github.com/sidecard/sidecard/pkg/rule"
)

// patience is how long the callers of a rule wait for an answer: as long as it takes.
const patience = time.Hour

// fields are those of a rule that makes the subject, for a whole resource or for every value of a
// header.
func (s subject) fields(perValue bool) string {
	fields := []string{`"resource": "orders"`, fmt.Sprintf(`"count": %d, "intervalSec": %d`, count, s.interval/second), s.mode.fields()}
	if s.slots > 0 {
		fields = append(fields, fmt.Sprintf(`"sampleCount": %d`, s.slots))
	}
	if s.mode == queue || s.mode == queueHits {
		fields = append(fields, fmt.Sprintf(`"maxQueueingTimeoutMs": %d`, s.maxWait().Milliseconds()))
	}
	if perValue {
		fields = append(fields, `"paramItem": {"parseStrategy": "header", "fieldName": "x-user-id"}`)
	}
	return strings.Join(fields, ", ")
}

// ruleLimiter is a budget behind a rule file and the engine, as the daemon has it.
type ruleLimiter struct {
	engine *engine.Engine
	bag    attr.Bag
	call   engine.Call
}

func newRuleLimiter(s subject, perValue bool) (*ruleLimiter, error) {
	file := rule.File{Name: "gw-flow-rules.json", Data: []byte("[{" + s.fields(perValue) + "}]")}
	set, problems := rule.Load([]rule.File{file}, rule.Options{})
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	l := &ruleLimiter{engine: engine.New(engine.Options{})}
	if _, err := l.engine.Apply(origin, set); err != nil {
		return nil, fmt.Errorf("%s: %w", s, err)
	}
	l.call.MaxWait = patience
	return l, nil
}

func (l *ruleLimiter) acquire(now, n int64) (time.Duration, bool) {
	l.bag.Reset()
	l.bag.Add("resource", "orders")
	l.bag.Add("header.x-user-id", "bob")
	q := engine.Request{Hits: n}
	l.bag.Request(&q)
	l.call.Items = append(l.call.Items[:0], q)
	l.engine.Decide(now, &l.call)
	return l.call.Wait, l.call.Overall == engine.Pass
}

func (l *ruleLimiter) until(int64, int64) (time.Duration, bool) {
	d := l.call.Verdicts[0].Reset
	return d, d > 0
}

// agree sends the same arrivals to two budgets, and is an error at the first answer that differs.
func agree(a, b limiter, arrivals []arrival) (calls int64, err error) {
	for _, p := range arrivals {
		for i := int64(0); i < p.times; i++ {
			calls++
			now := origin + p.at
			aWait, aOK := a.acquire(now, p.hits)
			bWait, bOK := b.acquire(now, p.hits)
			if aOK != bOK || aWait != bWait {
				return calls, fmt.Errorf("call %d, %d hits after %s: %t after %s, and %t after %s", calls, p.hits, time.Duration(p.at), aOK, aWait, bOK, bWait)
			}
			if aOK {
				continue
			}
			aAfter, aEver := a.until(now, p.hits)
			bAfter, bEver := b.until(now, p.hits)
			if aEver != bEver || aEver && aAfter != bAfter {
				return calls, fmt.Errorf("call %d, %d hits after %s: refused for %s, and for %s", calls, p.hits, time.Duration(p.at), aAfter, bAfter)
			}
			break
		}
	}
	return calls, nil
}

// behindRules sends the worst that was found, and a steady overload, to the subject made by a rule
// file, and is an error if an answer differs from that of the bare budget.
func (s subject) behindRules(worst found, perValue bool) (calls int64, err error) {
	for _, arrivals := range [][]arrival{worst.arrivals, evenly(s, overload, 1, horizon)} {
		bare, err := s.limiter(origin)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", s, err)
		}
		ruled, err := newRuleLimiter(s, perValue)
		if err != nil {
			return 0, err
		}
		n, err := agree(bare, ruled, arrivals)
		if err != nil {
			return 0, fmt.Errorf("%s, bare and behind a rule file: %w", s, err)
		}
		calls += n
	}
	return calls, nil
}
