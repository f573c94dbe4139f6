package inprocess

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sidecard/sidecard/bench/ruleset"
	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// epoch is when the virtual time of the measurements begins: in 2026.
const epoch = 1_780_000_000_000_000_000

// step is the virtual time between two decisions: 50 000 a second.
const step = 20_000

// decider decides call after call, each with a path and a user of its own.
type decider struct {
	engine *engine.Engine
	call   engine.Call
	user   oneUser
	paths  []string
	users  []string
	now    int64
	passed int64
}

// oneUser is the least that can stand behind a request: what it costs to read attributes is not
// part of a decision.
type oneUser struct{ name string }

// Param implements engine.Attrs.
func (u *oneUser) Param(rule.ParamSource, string) (string, engine.Presence) {
	return u.name, engine.Present
}

func newDecider(keys int, o ruleset.Options) (*decider, error) {
	d := &decider{engine: engine.New(engine.Options{}), now: epoch}
	for i := range keys {
		d.paths = append(d.paths, fmt.Sprintf("/orders/%06d", i))
		d.users = append(d.users, fmt.Sprintf("user-%06d", i))
	}
	d.call = engine.Call{Domain: ruleset.Domain, Items: []engine.Request{{
		Resource: ruleset.Route, Method: "GET", Host: "shop.example.com", ClientIP: "10.0.0.1", Attrs: &d.user, Hits: 1,
	}}}
	set, err := ruleset.Load(o)
	if err == nil {
		_, err = d.engine.Apply(d.now, set)
	}
	return d, err
}

func (d *decider) decide(i int) {
	i %= len(d.paths)
	d.call.Items[0].Path, d.user.name = d.paths[i], d.users[i]
	d.now += step
	d.engine.Decide(d.now, &d.call)
	if d.call.Overall == engine.Pass && d.call.Verdicts[0].Rule != nil {
		d.passed++
	}
}

func decisions(ctx context.Context, o Options, f *Figures) error {
	few, err := newDecider(o.Keys, ruleset.Options{Others: 10})
	if err != nil {
		return err
	}
	many, err := newDecider(o.Keys, ruleset.Options{Others: 10 * o.Rules})
	if err != nil {
		return err
	}
	if err := series(ctx, o, map[*[]float64]func(int){&f.Decide: few.decide, &f.DecideAmong: many.decide}); err != nil {
		return err
	}
	if want := int64(o.Rounds) * int64(o.Calls); few.passed != want || many.passed != want {
		return errors.New("a decision did not pass, or no rule took part in it")
	}
	i := 0
	f.DecideAllocs = testing.AllocsPerRun(o.Calls, func() {
		few.decide(i)
		i++
	})
	return nil
}
