package rule

import "time"

// limitDraft is a rule that limits as written, of whichever kind: each kind has names and defaults of
// its own for the same fields.
type limitDraft struct {
	id, resource           located[string]
	mode, grade, behavior  located[int64]
	count                  located[amount]
	intervalSec            located[int64]
	interval, intervalUnit located[int64]
	burst, maxQueueing     located[int64]
	warmUp, coldFactor     located[int64]
	lease                  located[int64]
	param                  located[*paramDraft]
	response               located[*responseDraft]

	window, sampleCount          located[int64]
	onMissing, maxKeys, overflow located[int64]
	shadow                       located[bool]

	// Of rules with a parameter.
	exceptions located[[]exceptionDraft]
	paramIdx   located[int64]
	paramKey   located[string]

	// Of flow rules alone.
	regex                 located[bool]
	limitApp, refResource located[string]
	relation              located[int64]
}

// limitWords are the names that the kinds have for the same fields.
var limitWords = [...]struct{ interval, queueing string }{
	LimitGateway: {"intervalSec", "maxQueueingTimeoutMs"},
	LimitParam:   {"durationInSec", "maxQueueingTimeMs"},
	LimitFlow:    {"intervalSec", "maxQueueingTimeMs"},
}

// limit turns a rule that was decoded into its meaning, and adds it to the set if there has been no
// error since before of them.
func (f *fileLoad) limit(kind LimitKind, at spot, d *limitDraft, before int) {
	r := LimitRule{
		Kind:      kind,
		Pos:       f.position(at),
		Domain:    f.domain,
		ID:        d.id.v,
		Resource:  d.resource.v,
		Mode:      ResourceMode(d.mode.v),
		Count:     d.count.v.text,
		Scale:     1,
		Behavior:  ControlBehavior(d.behavior.v),
		Window:    WindowMode(d.window.v),
		OnMissing: OnMissing(d.onMissing.v),
		MaxKeys:   int(d.maxKeys.v),
		Overflow:  Overflow(d.overflow.v),
		Shadow:    d.shadow.v || f.options.Shadow,
	}
	if d.resource.ok {
		f.checkName(d.resource.at, r.Resource)
		if !d.regex.v {
			f.refer(d.resource.at, r.Mode, r.Resource)
		}
	}
	switch kind {
	case LimitFlow:
		f.checkExpression(d, &r)
		f.checkOrigin(d, &r)
		f.checkRelation(d, &r)
	case LimitParam:
		r.Param = f.checkHotParam(at, d)
	default:
		r.Param = f.checkParam(d)
	}
	if d.response.given && d.response.ok {
		r.Response = f.checkResponse(d.response.at, d.response.v, f.errors == before)
	}
	seconds, ok := f.checkInterval(d)
	if d.grade.ok && d.grade.v == gradeConcurrency {
		f.checkConcurrency(d, &r)
	} else {
		f.checkFlow(d, seconds, ok, &r)
	}
	if f.errors == before {
		f.checkExceptions(d, &r)
	}
	if f.errors > before {
		return
	}
	if !d.id.given {
		r.ID, r.DerivedID = deriveID(&r, seconds), true
	}
	if f.claimID(at, &d.id, r.ID, "limits") {
		f.set.Limits = append(f.set.Limits, r)
	}
}

// checkFlow fills in how a rule counts requests over time: in an interval of so many seconds, unless
// that could not be read.
func (f *fileLoad) checkFlow(d *limitDraft, seconds int64, ok bool, r *LimitRule) {
	if d.grade.ok {
		f.checkNoLease(d)
	}
	if ok {
		r.Interval = time.Duration(seconds) * time.Second
		f.checkRate(d, seconds, r)
	}
	switch {
	case r.queues():
		f.checkQueueing(d, r)
	case r.Window == WindowTokenBucket:
		f.checkTokenBucket(d, r)
	case ok:
		f.checkSampleCount(d, r)
	}
	if !r.queues() {
		f.checkBurst(d, r)
	}
	if r.WarmsUp() {
		f.checkWarmUp(d, r)
	}
}
