package rule

import (
	"fmt"
	"math/big"
	"strings"
	"time"
)

// SystemInputs say what a daemon can tell of the system that it runs in. The zero value says that this is not
// known: rules that need more than calls tell are then accepted with a warning.
type SystemInputs struct {
	Known bool
	Load  bool // the load average
	CPU   bool // the use of the processors that the application may have
}

// Unchecked is the value of a figure of a SystemRule that is not looked at.
const Unchecked = -1

// SystemRule is one accepted rule of a system-rules file: it refuses calls while the system as a whole has too much
// to do. It is for the calls of every domain, and at least one of its figures is not Unchecked.
type SystemRule struct {
	Pos       Position
	ID        string // as written, or derived; unique and safe inside a header
	DerivedID bool

	QPS       string        // as written, for views; empty: unchecked
	Limit     int64         // calls that may pass per Interval, with their hits; Unchecked, or above MaxLimit, not
	Interval  time.Duration // whole seconds: 1 s, more where QPS is a fraction
	MaxThread int64         // refused while more calls than this are under way, so that one more than this can be
	AvgRT     time.Duration // refused while calls take longer on average
	Load      float64       // refused while the load average is higher and calls are more than the system copes with
	CPU       float64       // refused while the use of the processors is higher, from 0 to 1

	Lease    time.Duration  // how long a call counts whose end nobody reports
	Response *BlockResponse // what a refused request is answered with; nil: what the daemon answers anyway
	Shadow   bool
}

// NeedsOutcomes says whether the rule looks at how calls end, so that all calls must report it.
func (r *SystemRule) NeedsOutcomes() bool {
	return r.MaxThread != Unchecked || r.AvgRT != Unchecked || r.Load != Unchecked
}

// systemDraft is a system rule as written.
type systemDraft struct {
	id                               located[string]
	load, cpu, qps, avgRT, maxThread located[amount]
	lease                            located[int64]
	response                         located[*responseDraft]
	shadow                           located[bool]
}

var systemSchema = schema[systemDraft]{what: "a system rule", fields: append(
	[]field[systemDraft]{
		idField(func(d *systemDraft) *located[string] { return &d.id }),
		figureField("highestSystemLoad", "refuse while the load average of a minute is above it, and more calls are under way than the system copes with",
			func(d *systemDraft) *located[amount] { return &d.load }).here("needs `systemStat.load` in the daemon's configuration"),
		figureField("highestCpuUsage", "refuse while the use of the processors is above it, from 0 to 1",
			func(d *systemDraft) *located[amount] { return &d.cpu }).
			sentinel("of the machine, or of the process if that is more").here("of the cgroup that `systemStat.cgroup` names in the daemon's configuration"),
		figureField("qps", "how many calls may pass per second, with their hits",
			func(d *systemDraft) *located[amount] { return &d.qps }).in("calls per s").here("exact fractions"),
		wholeField("avgRt", "refuse while calls took more on average over the last second",
			func(d *systemDraft) *located[amount] { return &d.avgRT }).in("ms"),
		wholeField("maxThread", "refuse while more calls than this are under way",
			func(d *systemDraft) *located[amount] { return &d.maxThread }).in("calls"),
		leaseField("how long a call counts if its end is not reported",
			func(d *systemDraft) *located[int64] { return &d.lease }),
		responseField(func(d *systemDraft) *located[*responseDraft] { return &d.response }),
		shadowField(func(d *systemDraft) *located[bool] { return &d.shadow }),
	},
	ignoredFields[systemDraft]("resource", "limitApp", "regex", "grade", "app", "ip", "port", "gmtCreate", "gmtModified")...,
), mistaken: map[string]string{"load": "highestSystemLoad", "cpu": "highestCpuUsage", "avgRT": "avgRt", "maxThreads": "maxThread", "concurrency": "maxThread"}}

// figureField takes a number of which a negative one, which Sentinel's dashboard writes, is none.
func figureField(name, doc string, into func(*systemDraft) *located[amount]) field[systemDraft] {
	return anyFigure(name, doc, typeFigure, into)
}

func anyFigure(name, doc string, typ fieldType, into func(*systemDraft) *located[amount]) field[systemDraft] {
	return customField(name, doc+"; a negative number is none", typ, func(f *fileLoad, at spot, n *node, d *systemDraft) {
		l := into(d)
		l.invalid(at)
		if !f.isNumber(at, n) {
			return
		}
		exact, reason := parseNumber(n.text)
		if reason != "" {
			f.fail(at, clip(n.text)+" "+reason, plainFix(n.text))
			return
		}
		if typ == typeWhole && !exact.IsInt() {
			f.fail(at, clip(n.text)+" is not a whole number", "")
			return
		}
		if exact.Sign() < 0 {
			*l = located[amount]{}
			return
		}
		l.set(at, amount{text: n.text, exact: exact})
	}).sentinel(alike)
}

// wholeField is a figure that must be whole.
func wholeField(name, doc string, into func(*systemDraft) *located[amount]) field[systemDraft] {
	return anyFigure(name, doc, typeWhole, into).atMost(maxFigure)
}

// system reads one system rule and adds it to the set if nothing is wrong with it.
func (f *fileLoad) system(at spot, n *node) {
	before := f.errors
	var d systemDraft
	if !decodeMapping(f, &systemSchema, at, n, &d) {
		return
	}
	if f.domain != "" {
		f.fail(at, fmt.Sprintf("is for the calls of every domain, but its file claims the domain %q", clip(f.domain)), "move it to a file without domain")
	}
	r := SystemRule{
		Pos: f.position(at), ID: d.id.v, Lease: time.Duration(d.lease.v) * time.Millisecond, Shadow: d.shadow.v || f.options.Shadow,
		Limit: Unchecked, MaxThread: Unchecked, AvgRT: Unchecked, Load: Unchecked, CPU: Unchecked,
	}
	figures := []*located[amount]{&d.load, &d.cpu, &d.qps, &d.avgRT, &d.maxThread}
	if f.errors == before && !anyGiven(figures) {
		f.fail(at, "looks at nothing", "write qps, maxThread, avgRt, highestSystemLoad or highestCpuUsage, or remove the rule: in Sentinel one like it at the end of the list switches all others off")
	}
	f.checkSystemQPS(&d.qps, &r)
	if ms, ok := f.wholeFigure(&d.avgRT); ok {
		r.AvgRT = time.Duration(ms) * time.Millisecond
	}
	if n, ok := f.wholeFigure(&d.maxThread); ok {
		r.MaxThread = n
	}
	f.checkSystemInputs(&d, &r)
	if d.response.given && d.response.ok {
		r.Response = f.checkResponse(d.response.at, d.response.v, f.errors == before)
	}
	if f.errors > before {
		return
	}
	if !d.id.given {
		r.ID, r.DerivedID = deriveSystemID(&r), true
	}
	if f.claimID(at, &d.id, r.ID, "looks at") {
		f.set.System = append(f.set.System, r)
	}
}

func anyGiven(figures []*located[amount]) bool {
	for _, l := range figures {
		if l.given {
			return true
		}
	}
	return false
}

// checkSystemQPS makes a rate of whole calls of qps.
func (f *fileLoad) checkSystemQPS(qps *located[amount], r *SystemRule) {
	if !qps.ok {
		return
	}
	r.QPS = qps.v.text
	if qps.v.exact.Cmp(big.NewRat(MaxLimit, 1)) > 0 {
		f.warn(qps.at, fmt.Sprintf("is above %d, so unlimited", int64(MaxLimit)), "")
		r.Limit, r.Interval = MaxLimit+1, time.Second
		return
	}
	rate, ok := windowScale.wholeRate(qps.v.exact, 1)
	if !ok {
		f.fail(qps.at, clip(qps.v.text)+" calls a second cannot be counted in an interval of at most 60 s", "write a fraction with a denominator up to 60, such as 0.5")
		return
	}
	r.Limit, r.Interval = rate.limit, time.Duration(rate.seconds)*time.Second
}

// maxFigure bounds whole figures, so that no sum overflows.
const maxFigure = 1<<31 - 1

// wholeFigure returns a figure that must be whole; false if there is none.
func (f *fileLoad) wholeFigure(l *located[amount]) (int64, bool) {
	switch {
	case !l.ok:
		return 0, false
	case l.v.exact.Cmp(big.NewRat(maxFigure, 1)) > 0:
		f.fail(l.at, fmt.Sprintf("is %s; it must be at most %d", clip(l.v.text), maxFigure), "")
		return 0, false
	}
	return l.v.exact.Num().Int64(), true
}

// checkSystemInputs fills in the figures that calls do not tell, if the daemon can.
func (f *fileLoad) checkSystemInputs(d *systemDraft, r *SystemRule) {
	if d.load.ok {
		r.Load, _ = d.load.v.exact.Float64()
		f.needInput(d.load.at, f.options.System.Load, "the load average", "systemStat.load: true")
	}
	if d.cpu.ok {
		if r.CPU, _ = d.cpu.v.exact.Float64(); r.CPU > 1 {
			f.fail(d.cpu.at, clip(d.cpu.v.text)+" is above 1, which means all processors, all the time", "write 0.8 for 80 %")
			return
		}
		f.needInput(d.cpu.at, f.options.System.CPU, "the use of the processors", "systemStat.cgroup")
	}
}

func (f *fileLoad) needInput(at spot, has bool, what, key string) {
	switch {
	case !f.options.System.Known:
		f.warn(at, fmt.Sprintf("needs %s, which the daemon is told only with %s in its configuration; without it it refuses the rule", what, key), "")
	case !has:
		f.fail(at, fmt.Sprintf("needs %s, which the daemon is not told", what), fmt.Sprintf("write %s in its configuration, or remove the field", key))
	}
}

// deriveSystemID names a rule by what it looks at, without the figures, so that the name stays when they change:
// system/qps+thread+rt+load+cpu.
func deriveSystemID(r *SystemRule) string {
	var looks []string
	for _, l := range []struct {
		name string
		at   bool
	}{{"qps", r.Limit != Unchecked}, {"thread", r.MaxThread != Unchecked}, {"rt", r.AvgRT != Unchecked}, {"load", r.Load != Unchecked}, {"cpu", r.CPU != Unchecked}} {
		if l.at {
			looks = append(looks, l.name)
		}
	}
	return "system/" + strings.Join(looks, "+")
}
