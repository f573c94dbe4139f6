package metrics

import (
	"testing"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

func newEngine(t testing.TB, bundle string) *engine.Engine {
	t.Helper()
	e := engine.New(engine.Options{})
	apply(t, e, bundle)
	return e
}

func apply(t testing.TB, e *engine.Engine, bundle string) {
	t.Helper()
	set, problems := rule.Load([]rule.File{{Name: "rules.json", Data: []byte(bundle)}}, rule.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Apply(now, set); err != nil {
		t.Fatal(err)
	}
}

// ask decides one request of a resource.
func ask(e *engine.Engine, resource string) engine.Code {
	c := engine.Call{Items: []engine.Request{{Resource: resource, Hits: 1}}}
	e.Decide(now, &c)
	return c.Overall
}

// ended decides one request of a resource and reports its end.
func ended(e *engine.Engine, resource string, rt time.Duration, failed bool) {
	c := engine.Call{Items: []engine.Request{{Resource: resource, Hits: 1}}}
	e.Decide(now, &c)
	e.Complete(now, c.Token, engine.Outcome{RT: rt, Error: failed})
}
