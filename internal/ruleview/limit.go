// Package ruleview shows accepted rules as people read them: each as JSON and as short texts, and a whole set as
// tables. `sidecard check --print` and the admin API show rules in these words.
package ruleview

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sidecard/sidecard/pkg/engine"
	"github.com/sidecard/sidecard/pkg/rule"
)

// Limit is a rule that limits by a count, defaults filled in.
type Limit struct {
	ID          string `json:"id"`
	Kind        string `json:"kind"`
	Domain      string `json:"domain,omitempty"`
	Resource    string `json:"resource"`
	Mode        string `json:"mode"`
	LimitApp    string `json:"limitApp,omitempty"`    // whose calls; empty: everybody's
	RefResource string `json:"refResource,omitempty"` // whose use of the budget decides, in place of the resource's own
	Grade       string `json:"grade"`
	Count       string `json:"count"`           // as written
	Limit       *int64 `json:"limit,omitempty"` // per interval, or at a time; nil: unlimited
	Burst       int64  `json:"burst,omitempty"`
	IntervalSec int64  `json:"intervalSec,omitempty"` // 0: calls under way are counted
	LeaseMs     int64  `json:"leaseMs,omitempty"`     // how long a call counts whose end is not reported
	Behavior    string `json:"controlBehavior"`
	QueueMs     int64  `json:"maxQueueingTimeoutMs,omitempty"` // the wait that is too long, of a flow rule the longest that is not; only of a rule that queues
	WarmUpSec   int64  `json:"warmUpPeriodSec,omitempty"`
	ColdFactor  int64  `json:"coldFactor,omitempty"`
	Window      string `json:"window"`
	SampleCount int    `json:"sampleCount,omitempty"`
	Bound       *Bound `json:"bound,omitempty"` // nil: unlimited
	Param       string `json:"param,omitempty"`
	OnMissing   string `json:"onMissing,omitempty"`
	MaxKeys     int    `json:"maxKeys,omitempty"`
	Overflow    string `json:"overflow,omitempty"`
	FullBytes   int64  `json:"fullBytes,omitempty"` // memory of the key table at its full size, sketch included
	Shadow      bool   `json:"shadow,omitempty"`

	Exceptions []Exception `json:"exceptions,omitempty"` // values of the parameter with a count of their own
}

// View is a rule set. Its zero value is one without rules.
type View struct {
	Rules     []Limit     `json:"rules"`
	Breakers  []Breaker   `json:"breakers,omitempty"`
	Authority []Authority `json:"authority,omitempty"`
	System    []System    `json:"system,omitempty"`
	Regexps   int         `json:"regexItems"` // expressions over paths and routes that are tried one by one
}

// Of compiles the set as the daemon would, which also tells what the engine refuses.
func Of(set rule.Set) (View, error) {
	e := engine.New(engine.Options{})
	if _, err := e.Apply(0, set); err != nil {
		return View{}, err
	}
	view := View{Rules: make([]Limit, len(set.Limits)), Regexps: e.Regexps()}
	for i := range set.Limits {
		view.Rules[i] = OfLimit(&set.Limits[i])
	}
	for i := range set.Degrade {
		view.Breakers = append(view.Breakers, OfBreaker(&set.Degrade[i]))
	}
	for i := range set.Authority {
		view.Authority = append(view.Authority, OfAuthority(&set.Authority[i]))
	}
	for i := range set.System {
		view.System = append(view.System, OfSystem(&set.System[i]))
	}
	return view, nil
}

// OfLimit returns the view of a rule.
func OfLimit(r *rule.LimitRule) Limit {
	v := Limit{
		ID: r.ID, Kind: r.Kind.String(), Domain: r.Domain, Resource: r.Resource, Mode: r.Mode.String(),
		LimitApp: r.Origin, RefResource: r.RefResource,
		Grade: r.Grade.String(), LeaseMs: r.Lease.Milliseconds(),
		Count: r.Count, IntervalSec: int64(r.Interval / time.Second), Behavior: r.Behavior.String(),
		Window: r.Window.String(), SampleCount: r.SampleCount, Shadow: r.Shadow,
	}
	if !r.Unlimited {
		v.Limit, v.Burst, v.Bound = &r.Limit, r.Burst, boundOf(r)
		if r.RefResource != "" {
			v.Bound = nil // what the resource itself does is not counted
		}
		v.QueueMs = r.MaxQueueing.Milliseconds()
		v.WarmUpSec, v.ColdFactor = int64(r.WarmUp/time.Second), r.ColdFactor
	}
	if r.Param != nil {
		v.Param, v.OnMissing = describeParam(r.Param), r.OnMissing.String()
		v.MaxKeys, v.Overflow = r.MaxKeys, r.Overflow.String()
		v.FullBytes = engine.MaxKeyBytes(r)
		v.Exceptions = viewExceptions(r, v)
	}
	return v
}

func describeParam(p *rule.ParamItem) string {
	s := p.Source.String()
	if p.FieldName != "" {
		s += " " + p.FieldName
	}
	if p.Template != "" {
		s += " of " + p.Template
	}
	if p.Pattern != "" {
		s += fmt.Sprintf(" %s %q", p.Match, p.Pattern)
	}
	return s
}

// Write prints the rules as tables, one for each kind, and below them what concerns them all.
func (v View) Write(w io.Writer) error {
	sum := int64(0)
	if len(v.Authority) > 0 {
		if err := writeAuthority(w, v.Authority); err != nil {
			return err
		}
	}
	if len(v.System) > 0 {
		if err := writeSystem(w, v.System); err != nil {
			return err
		}
	}
	if len(v.Rules) > 0 || len(v.Breakers)+len(v.Authority)+len(v.System) == 0 {
		var err error
		if sum, err = v.writeRules(w); err != nil {
			return err
		}
		if err := v.writeExceptions(w); err != nil {
			return err
		}
	}
	if len(v.Breakers) > 0 {
		if err := writeBreakers(w, v.Breakers); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "All tables at full size: %s. Expressions over paths and routes tried one by one: %d.\n", Bytes(sum), v.Regexps)
	return err
}

// writeRules prints the rules that limit, and returns the memory of all their key tables at full size.
func (v View) writeRules(w io.Writer) (int64, error) {
	domains, sum := false, int64(0)
	for _, r := range v.Rules {
		domains = domains || r.Domain != ""
		sum += r.FullBytes
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(domain string, cells ...string) {
		if domains {
			cells = append([]string{domain}, cells...)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	row("DOMAIN", "RULE", "RESOURCE", "MODE", "LIMIT", "WINDOW", "AT MOST", "PARAM", "OVERFLOW", "FULL TABLE")
	for _, r := range v.Rules {
		param, overflow, size := "-", "-", "-"
		if r.Param != "" {
			param, overflow, size = r.Param, r.Overflow, Bytes(r.FullBytes)
		}
		domain := r.Domain
		if domain == "" {
			domain = "-"
		}
		row(domain, r.ID, r.Resource, r.Mode, r.LimitText(), r.WindowText(), r.Bound.String(), param, overflow, size)
	}
	return sum, t.Flush()
}

// LimitText says how much passes, and of what.
func (v Limit) LimitText() string {
	s := "unlimited"
	switch {
	case v.Limit == nil:
	case v.IntervalSec == 0:
		s = fmt.Sprintf("%d at a time", *v.Limit)
	default:
		s = fmt.Sprintf("%d per %ds", *v.Limit, v.IntervalSec)
	}
	if v.Burst > 0 {
		s += fmt.Sprintf(", burst %d", v.Burst)
	}
	if v.QueueMs > 0 && *v.Limit > 0 {
		pace := time.Duration(v.IntervalSec) * time.Second / time.Duration(*v.Limit)
		longest := "below"
		if v.Kind == rule.LimitFlow.String() {
			longest = "up to"
		}
		s += fmt.Sprintf(", one every %v, waiting %s %v", pace, longest, time.Duration(v.QueueMs)*time.Millisecond)
	}
	if v.WarmUpSec > 0 {
		s += fmt.Sprintf(", warming up in %ds from 1/%d", v.WarmUpSec, v.ColdFactor)
	}
	switch v.LimitApp {
	case "":
	case rule.OriginOther:
		s += ", of other origins"
	default:
		s += ", of origin " + v.LimitApp
	}
	if v.RefResource != "" {
		s += ", by the use of " + v.RefResource
	}
	if v.Shadow {
		s += ", shadow"
	}
	return s
}

// WindowText says how the rule counts.
func (v Limit) WindowText() string {
	switch {
	case v.Grade == rule.GradeConcurrency.String():
		return v.Grade
	case v.Behavior == rule.BehaviorQueue.String(), v.Behavior == rule.BehaviorWarmUpQueue.String():
		return v.Behavior
	case v.SampleCount == 0:
		return v.Window
	}
	return fmt.Sprintf("%s, %d slots", v.Window, v.SampleCount)
}
