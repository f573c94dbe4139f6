package golden

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// caseEvent is an event as a case file has it.
type caseEvent = map[string]any

// converter writes the events of one trace.
type converter struct {
	trace   *Trace
	events  []timed
	reloads [][]map[string]any // the rules of each reload
	calls   int                // that were made
	last    int64              // when the last call ends
}

// timed is an event with its time, so that ends can be put between the calls that come before them.
type timed struct {
	at    int64
	event caseEvent
}

func (c *converter) add(at int64, e caseEvent) {
	e["at"] = strconv.FormatInt(at, 10) + "ms"
	c.events = append(c.events, timed{at, e})
}

// convert returns the events of a case, in the order of time.
func (c *converter) convert(events []Event) ([]caseEvent, error) {
	for i := range events {
		if err := c.event(&events[i]); err != nil {
			return nil, fmt.Errorf("%s: event %d: %w", c.trace.ID, i+1, err)
		}
	}
	slices.SortStableFunc(c.events, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	var out []caseEvent
	for _, e := range c.events {
		out = append(out, e.event)
	}
	return out, nil
}

func (c *converter) event(e *Event) error {
	op, name, _ := strings.Cut(e.Op, ":")
	switch op {
	case "", "enter+exit":
		return c.request(e, "")
	case "hold", "acquire":
		return c.request(e, cmp.Or(name, "held"))
	case "exit", "release one", "ok_result", "err_result":
		c.add(e.At, caseEvent{"complete": cmp.Or(name, "held"), "error": e.Error || op == "err_result"})
		c.state(e.At, e.State)
	case "ok", "err": // of which the time is told at once
		e := *e
		e.RT, e.Error = new(int64), op == "err"
		return c.request(&e, "")
	case "reload":
		c.reloads = append(c.reloads, e.Rules)
		c.add(e.At, caseEvent{"reload": reloadFolder(len(c.reloads))})
	case "sweep":
		return c.sweep(e)
	case "add":
		c.add(e.At, caseEvent{"resource": resource, "hits": e.Amount, "expect": "pass"})
	case "current_then_values_sum":
		return c.sum(e)
	case "values_sum_without_current": // no window is read without being moved to now
	default:
		return fmt.Errorf("op %q", e.Op)
	}
	return nil
}

// request writes a request, and its end.
func (c *converter) request(e *Event, hold string) error {
	out, err := c.decision(e)
	if err != nil {
		return err
	}
	c.calls++
	passes := e.Expect != "block"
	if e.RT != nil && passes {
		hold = fmt.Sprintf("call %d", c.calls)
	}
	if hold != "" && passes {
		out["hold"] = hold
	}
	c.add(e.At, out)
	switch {
	case e.RT != nil && passes:
		end, took := e.At+*e.RT, e.Duration
		if c.trace.AtOnce {
			end, took = e.At, *e.RT
		}
		done := caseEvent{"complete": hold, "error": e.Error}
		if took > 0 {
			done["rt"] = strconv.FormatInt(took, 10) + "ms"
		}
		c.add(end, done)
		c.state(end, e.State)
		c.last = max(c.last, end)
	case e.At >= c.last: // a trace of one thread tells the state after calls that end later
		c.state(e.At, e.State)
	}
	return nil
}

// decision writes a request and what becomes of it.
func (c *converter) decision(e *Event) (caseEvent, error) {
	out := caseEvent{}
	attrs := map[string]any{}
	if e.API {
		attrs["path"] = apiPath
	} else {
		out["resource"] = cmp.Or(e.Resource, resource)
	}
	for key, value := range e.Request {
		attrs[attribute(key)] = value
	}
	if len(attrs) > 0 {
		out["attrs"] = attrs
	}
	if e.Param != nil {
		out["args"] = []any{e.Param}
	}
	if e.Origin != nil {
		out["origin"] = *e.Origin
	}
	if e.Repeat > 1 {
		out["times"] = e.Repeat
	}
	if e.Acquire > 1 {
		out["hits"] = e.Acquire
	}
	expect, ok := e.Expect.(string)
	if wait, waits := strings.CutPrefix(expect, "wait:"); waits {
		out["expect"], out["wait"] = "wait", wait+"ms"
	} else if ok && (expect == "pass" || expect == "block") {
		out["expect"] = expect
	} else {
		return nil, fmt.Errorf("expects %v", e.Expect)
	}
	return out, nil
}

// attribute is what a key of a trace's request is called in a descriptor.
func attribute(key string) string {
	kind, name, _ := strings.Cut(key, ".")
	switch {
	case key == "ip":
		return "remote_address"
	case strings.EqualFold(key, "h.host"):
		return "host"
	case kind == "h":
		return "header." + name
	case kind == "q":
		return "query." + name
	case kind == "c":
		return "cookie." + name
	}
	return key
}

// state writes what the breakers are expected to be. One that is open stands for all of a trace, whose limiter has
// one for what are several rules here.
func (c *converter) state(at int64, state string) {
	if state == "" {
		return
	}
	n := 1
	if state == "CLOSED" && c.trace.Group == "resilience4j" {
		n = len(c.trace.resilience4j(c.trace.Rules[0]))
	}
	for i := range n {
		c.add(at, caseEvent{"breaker": c.trace.breaker(i), "expect": strings.ToLower(state)})
	}
}

// sum writes how much a window holds.
func (c *converter) sum(e *Event) error {
	sum, err := strconv.ParseInt(fmt.Sprint(e.Expect), 10, 64)
	if err != nil {
		return err
	}
	c.add(e.At, caseEvent{"resource": resource, "peek": true, "expect": "pass", "limit": leapArrayCount, "remaining": leapArrayCount - sum})
	return nil
}

// sweep writes a request for each of many values.
func (c *converter) sweep(e *Event) error {
	first, last, ok := strings.Cut(e.Values, "..")
	from, err1 := strconv.Atoi(strings.TrimPrefix(first, "v"))
	to, err2 := strconv.Atoi(strings.TrimPrefix(last, "v"))
	if !ok || err1 != nil || err2 != nil {
		return fmt.Errorf("sweeps %q", e.Values)
	}
	for n := from; n <= to; n++ {
		c.add(e.At, caseEvent{"resource": resource, "args": []any{"v" + strconv.Itoa(n)}, "expect": "pass"})
	}
	return nil
}

func reloadFolder(n int) string { return "reload-" + strconv.Itoa(n) }
