package ruletest

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/engine/attr"
	"github.com/sidecard/sidecard/pkg/rule"
)

// What an engine answers when it is asked directly is what a case file that says so passes with, and no other
// answer is.
func TestRunAgainstEngine(t *testing.T) {
	t.Parallel()
	set, problems := rule.Load([]rule.File{{Name: "rules.yaml", Data: []byte(rules)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		e := engine.New(engine.Options{})
		if _, err := e.Apply(epoch, set); err != nil {
			t.Fatal(err)
		}
		var events []map[string]any
		var numbered []int // events that expect a number
		at := time.Duration(0)
		for i := range rapid.IntRange(1, 25).Draw(t, "events") {
			at += rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, 333333 * time.Nanosecond, 500 * time.Millisecond, time.Second, 3 * time.Second}).Draw(t, "step")
			event := map[string]any{
				"at":       at.String(),
				"resource": rapid.SampledFrom([]string{"orders", "queue", "huge", "none"}).Draw(t, "resource"),
				"hits":     rapid.Int64Range(1, 6).Draw(t, "hits"),
			}
			user := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "user")
			if user != "" {
				event["attrs"] = map[string]any{"header.x-user": user}
			}
			kind := rapid.SampledFrom([]engine.Kind{engine.Charge, engine.Charge, engine.Peek, engine.Refund}).Draw(t, "kind")
			switch kind {
			case engine.Peek:
				event["peek"] = true
			case engine.Refund:
				event["refund"] = true
			}
			v := ask(e, epoch+int64(at), event, user, kind)
			if expect(event, v) {
				numbered = append(numbered, i)
			}
			events = append(events, event)
		}
		if r := runEvents(t, events); !r.OK() {
			t.Fatalf("%s", lines(r))
		}
		if len(numbered) == 0 {
			return
		}
		wrong := rapid.SampledFrom(numbered).Draw(t, "wrong")
		events[wrong]["remaining"] = events[wrong]["remaining"].(int64) + 1
		r := runEvents(t, events)
		if len(r.Cases) != 1 || len(r.Cases[0].Failures) != 1 || r.Cases[0].Failures[0].Event != wrong+1 {
			t.Fatalf("event %d expects one too many, got\n%s", wrong+1, lines(r))
		}
	})
}

// ask asks the engine for what an event is.
func ask(e *engine.Engine, now int64, event map[string]any, user string, kind engine.Kind) engine.Verdict {
	var bag attr.Bag
	bag.Add("resource", event["resource"].(string))
	if user != "" {
		bag.Add("header.x-user", user)
	}
	q := engine.Request{Hits: event["hits"].(int64), Kind: kind}
	bag.Request(&q)
	c := engine.Call{Domain: "shop", Items: []engine.Request{q}, MaxWait: math.MaxInt64}
	e.Decide(now, &c)
	return c.Verdicts[0]
}

// expect writes an answer into the event that is to expect it, and says whether it has a number.
func expect(event map[string]any, v engine.Verdict) bool {
	ms := func(d time.Duration) string { return fmt.Sprint(d.Round(time.Millisecond)) }
	decides := v.Rule
	switch {
	case v.Code == engine.Block:
		event["expect"], event["reason"] = "block", v.Reason.String()
		switch {
		case v.Reset == 0:
			event["retryAfter"] = "never"
		case v.Reset >= time.Millisecond:
			event["retryAfter"] = ms(v.Reset)
		}
	case v.Wait >= time.Millisecond:
		event["expect"], event["wait"] = "wait", ms(v.Wait)
		decides = v.Queue
	case v.Wait > 0:
		event["expect"] = "wait"
		decides = v.Queue
	default:
		event["expect"] = "pass"
	}
	event["rule"] = ""
	if decides == nil {
		return false
	}
	event["rule"] = decides.ID
	if decides != v.Rule {
		return false
	}
	event["limit"], event["remaining"] = v.Limit, v.Remaining
	return true
}

func runEvents(t *rapid.T, events []map[string]any) Report {
	data, err := json.Marshal(map[string]any{"rules": "rules.yaml", "cases": []any{map[string]any{"events": events}}})
	if err != nil {
		t.Fatal(err)
	}
	return Run(rule.File{Name: "dir/case.json", Data: data}, Options{Read: files.read})
}
