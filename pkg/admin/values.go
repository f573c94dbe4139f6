package admin

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
)

const (
	// valueCounters is how many values are counted in each half of the time that is shown: what is asked for by one in
	// so many requests is never missed.
	valueCounters = 512
	// valueHalf is half of the time that is shown: the values of the last one to two halves.
	valueHalf = 30 * time.Second
	// valuePatience is how long values are collected for nobody.
	valuePatience = time.Minute
	// maxLooks is how many rules' values are collected at a time: 200 KiB each.
	maxLooks = 32
)

// seen is a parameter value as it is shown.
type seen struct {
	text   string // its first engine.MaxSampleBytes bytes
	length int
}

// ruleKey identifies a rule over reloads.
type ruleKey struct{ domain, id string }

// values collects the parameter values of the rules that somebody looks at. Its methods are safe for concurrent use.
type values struct {
	engine *engine.Engine
	wanted chan struct{} // holds a note when there is somebody who looks

	mu      sync.Mutex
	looks   map[ruleKey]*look
	samples []engine.ValueSample // working memory
}

// look is what was collected of one rule's values.
type look struct {
	rule    *engine.CompiledRule
	param   string // that the values are of
	asked   int64  // when somebody last did
	how     engine.Sampling
	dropped int64
	halves  [2]*spaceSaving // the present one and the one before it, which may be nil
	from    [2]int64        // when they began
}

func (v *values) init(e *engine.Engine) {
	v.engine, v.wanted, v.looks = e, make(chan struct{}, 1), make(map[ruleKey]*look)
}

// ask collects what has come of a rule's values, from now on if it is the first to ask, and calls show with it. It
// returns false if too many rules are looked at.
func (v *values) ask(now int64, r *engine.CompiledRule, param string, show func(*look)) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := ruleKey{r.Domain, r.ID}
	l := v.looks[key]
	if l == nil {
		if len(v.looks) >= maxLooks {
			return false
		}
		l = &look{rule: r, param: param}
		v.looks[key] = l
	}
	if l.param != param {
		l.rule.StopSampling()
		*l = look{param: param}
	}
	l.rule = r // a reload makes a new one of the same name
	l.asked = now
	v.collect(now, l)
	show(l)
	select {
	case v.wanted <- struct{}{}:
	default:
	}
	return true
}

// gather collects the values of all rules that somebody looks at, and forgets the others. It returns whether there are
// any left.
func (v *values) gather(now int64) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key, l := range v.looks {
		if now-l.asked > int64(valuePatience) {
			l.rule.StopSampling()
			delete(v.looks, key)
			continue
		}
		v.collect(now, l)
	}
	return len(v.looks) > 0
}

// stop stops all collecting.
func (v *values) stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key, l := range v.looks {
		l.rule.StopSampling()
		delete(v.looks, key)
	}
}

// collect takes what has come of one rule's values.
func (v *values) collect(now int64, l *look) {
	if l.halves[0] == nil {
		l.halves[0], l.from[0] = newSpaceSaving(valueCounters), now
	}
	for now-l.from[0] >= int64(valueHalf) {
		l.halves[1], l.from[1] = l.halves[0], l.from[0]
		l.halves[0], l.from[0] = newSpaceSaving(valueCounters), l.from[0]+int64(valueHalf)
		if now-l.from[0] >= 2*int64(valueHalf) { // nobody has gathered for long
			l.from[0] = now
		}
	}
	var how engine.Sampling
	v.samples, how, _ = l.rule.SampleValues(v.samples[:0])
	l.how = how
	l.dropped += how.Dropped
	for _, s := range v.samples {
		l.halves[0].add(s.Hash, seen{s.Text, s.Length}, s.Weight)
	}
	clear(v.samples) // the texts are the sketch's to keep
}

// total is a value in both halves.
type total struct {
	seen
	count, over int64
}

// top returns the values with the highest counts, the highest first, and how many requests were counted in all. A value
// without a counter in a half may have been there as often as the smallest one.
func (l *look) top(most int) (values []total, observed int64) {
	sums := make(map[uint64]total)
	for _, half := range l.halves {
		if half == nil {
			continue
		}
		observed += half.total
		for hash, c := range half.byHash {
			t := sums[hash]
			sums[hash] = total{c.value, t.count + c.count, t.over + c.over}
		}
	}
	for hash, t := range sums {
		for _, half := range l.halves {
			if half != nil && half.byHash[hash] == nil {
				t.count += half.floor()
				t.over += half.floor()
			}
		}
		values = append(values, t)
	}
	slices.SortFunc(values, func(a, b total) int {
		return cmp.Or(-cmp.Compare(a.count-a.over, b.count-b.over), -cmp.Compare(a.count, b.count), cmp.Compare(a.text, b.text))
	})
	return values[:min(most, len(values))], observed
}

// since is when the time that is shown began.
func (l *look) since() int64 {
	if l.halves[1] != nil {
		return l.from[1]
	}
	return l.from[0]
}
