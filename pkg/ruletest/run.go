package ruletest

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sidecard/sidecard/internal/calls"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/engine/attr"
	"github.com/sidecard/sidecard/pkg/rule"
)

// epoch is the time 0 of every case: a moment at which slots begin of every interval that is a whole part
// of a second or of 1001 days, which are 7 × 11 × 13. It is 22 July 2027, 00:00 UTC.
const epoch = 1_816_214_400 * int64(time.Second)

// defaultDomain is that of requests which name none.
const defaultDomain = "sidecard"

// runner runs the cases of one file, one after the other.
type runner struct {
	options Options
	folder  string // of the case file

	engine *engine.Engine
	now    int64
	call   engine.Call
	bags   []attr.Bag
	held   map[string][]engine.Token // of the calls under way, the oldest first
	report *CaseReport
	number int // of the event, from 1
}

func (r *runner) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.folder, path)
}

// load reads the rules at the paths as the daemon would.
func (r *runner) load(paths []string) (set rule.Set, unread, refused rule.Problems) {
	var files []rule.File
	for _, path := range paths {
		read, err := r.options.Read(path)
		if err != nil {
			unread = append(unread, rule.Problem{Message: err.Error()})
		}
		files = append(files, read...)
	}
	if len(unread) > 0 {
		return rule.Set{}, unread, nil
	}
	set, problems := rule.Load(files, r.options.Load)
	return set, nil, problems.Errors()
}

// run runs one case under the rules.
func (r *runner) run(c *testCase, set rule.Set) CaseReport {
	report := CaseReport{Name: c.name, Pos: c.at, Events: len(c.events)}
	r.engine, r.now, r.report, r.held = engine.New(engine.Options{}), epoch, &report, make(map[string][]engine.Token)
	if _, err := r.engine.Apply(r.now, set); err != nil {
		r.number = 1
		r.fail(&c.events[0], c.at, "rules", Answer{Outcome: outcomeOK}, Answer{Outcome: outcomeError}, err.Error())
		return report
	}
	for i := range c.events {
		r.number = i + 1
		r.do(&c.events[i])
	}
	return report
}

// advance lets time pass. The daemon ends expired calls each second and maintains the engine each minute; once at
// the end of the time that has passed comes to the same.
func (r *runner) advance(to int64) {
	due := func(every time.Duration) (at int64, passed bool) {
		at = to - to%int64(every)
		return at, at > r.now
	}
	if at, ok := due(time.Second); ok {
		r.engine.Expire(at)
	}
	if at, ok := due(time.Minute); ok {
		r.engine.Maintain(at)
	}
	r.now = to
}

func (r *runner) do(e *event) {
	r.advance(epoch + int64(e.at))
	switch e.action {
	case actDecide:
		r.decide(e)
	case actComplete:
		r.complete(e)
	case actReload:
		r.reload(e)
	case actBreaker:
		r.breaker(e)
	case actSystem:
		r.engine.SetSystem(e.system)
	}
}

func (r *runner) fail(e *event, pos rule.Position, what string, expected, got Answer, note string) {
	r.report.Failures = append(r.report.Failures, Failure{
		Pos: pos, Event: r.number, At: e.at, What: what, Expected: expected, Got: got,
		Note: strings.ReplaceAll(note, "\n", "; "), // each failure is one line
	})
}

// decide makes a call as often as the event says.
func (r *runner) decide(e *event) {
	r.prepare(e)
	for n := 1; n <= e.times; n++ {
		r.engine.Decide(r.now, &r.call)
		if !r.judge(e, n) {
			r.end(e) // the first time tells enough
			return
		}
		r.end(e)
	}
}

// prepare makes the call of an event.
func (r *runner) prepare(e *event) {
	if len(r.bags) < len(e.items) {
		r.bags = make([]attr.Bag, len(e.items))
	}
	r.call.Domain, r.call.Items = e.domain, r.call.Items[:0]
	r.call.MaxWait = math.MaxInt64
	if e.deadline != noDeadline {
		r.call.MaxWait = max(e.deadline-calls.AnswerTime, 0)
	}
	for i := range e.items {
		it := &e.items[i]
		bag := &r.bags[i]
		bag.Reset()
		for _, a := range it.attrs {
			bag.Add(a.key, a.value)
		}
		q := engine.Request{Hits: it.hits, Kind: it.kind}
		bag.Request(&q)
		r.call.Items = append(r.call.Items, q)
	}
}

// judge compares the answer with what is expected, the nth time of several.
func (r *runner) judge(e *event, n int) bool {
	ok, last := true, n == e.times
	note := ""
	if e.times > 1 {
		note = fmt.Sprintf("time %d of %d", n, e.times)
	}
	for i := range e.items {
		it := &e.items[i]
		got := answerOf(&r.call.Verdicts[i], r.call.Overall)
		if !it.expect.meets(&got, last) {
			ok = false
			r.fail(e, it.pos, it.what(), it.expect, got, joined(note, r.unknownRule(it.expect.Rule)))
		}
	}
	if got := overallOf(&r.call); e.together && !e.expect.meets(&got, last) {
		ok = false
		r.fail(e, e.pos, "call", e.expect, got, note)
	}
	return ok
}

// end ends a call that is not held, at once and well, and keeps one that is.
func (r *runner) end(e *event) {
	switch {
	case e.hold != "" && r.call.Overall == engine.Pass:
		r.held[e.hold] = append(r.held[e.hold], r.call.Token)
	case r.call.Token != engine.Token{}:
		r.engine.Complete(r.now, r.call.Token, engine.Outcome{})
	}
}

// complete ends as many of the calls that are held under a name as the event says, the oldest first.
func (r *runner) complete(e *event) {
	expected := e.expect
	if expected.Outcome == "" {
		expected.Outcome = outcomeOK
	}
	for range e.times {
		got, note := r.completeOne(e)
		if !expected.meets(&got, true) {
			r.fail(e, e.pos, "complete "+e.complete, expected, got, note)
			return
		}
	}
}

func (r *runner) completeOne(e *event) (got Answer, note string) {
	held := r.held[e.complete]
	if len(held) == 0 {
		return Answer{Outcome: outcomeError}, "no call is under way under this name: it was refused"
	}
	token := held[0]
	r.held[e.complete] = held[1:]
	switch {
	case token == engine.Token{}:
		return Answer{Outcome: outcomeError}, "no rule wanted to know of the end of the call"
	case !r.engine.Complete(r.now, token, e.outcome):
		return Answer{Outcome: outcomeLate}, "the lease had ended the call before"
	}
	return Answer{Outcome: outcomeOK}, ""
}

func (r *runner) reload(e *event) {
	expected, got, note := e.expect, Answer{Outcome: outcomeOK}, ""
	if expected.Outcome == "" {
		expected.Outcome = outcomeOK
	}
	if err := r.apply(r.resolve(e.reload)); err != nil {
		got.Outcome, note = outcomeError, err.Error()
		got.Reason = reasonWithin(expected.Reason, note)
	}
	if !expected.meets(&got, true) {
		r.fail(e, e.pos, "reload "+e.reload, expected, got, note)
	}
}

// apply puts the rules of a path into force, or leaves those before them.
func (r *runner) apply(path string) error {
	set, unread, refused := r.load([]string{path})
	if err := append(unread, refused...).Err(); err != nil {
		return err
	}
	_, err := r.engine.Apply(r.now, set)
	return err
}

func (r *runner) breaker(e *event) {
	note := fmt.Sprintf("no circuit breaker in force has the id %q", e.breaker)
	got := Answer{Outcome: outcomeError}
	var known []string
	for _, s := range r.engine.Rules() {
		status, ok := s.Breaker(r.now)
		if !ok {
			continue
		}
		known = append(known, s.Rule.ID)
		if s.Rule.ID == e.breaker && (s.Rule.Domain == "" || s.Rule.Domain == e.domain) {
			got.Outcome, note = status.State.String(), ""
		}
	}
	if note != "" && len(known) > 0 {
		note += rule.DidYouMean(e.breaker, known)
	}
	if !e.expect.meets(&got, true) {
		r.fail(e, e.pos, "breaker "+e.breaker, e.expect, got, note)
	}
}

// unknownRule says that an expected rule is none of those in force.
func (r *runner) unknownRule(id *string) string {
	if id == nil || *id == "" {
		return ""
	}
	var known []string
	for _, s := range r.engine.Rules() {
		known = append(known, s.Rule.ID)
	}
	if len(known) == 0 || slices.Contains(known, *id) {
		return ""
	}
	return fmt.Sprintf("no rule in force has the id %q%s", *id, rule.DidYouMean(*id, known))
}
