package rule

import (
	"strings"
	"time"
)

// Bounds and defaults of gateway flow rules.
const (
	maxNameBytes    = 256
	maxPatternBytes = 1024
	maxIntervalSec  = 366 * 24 * 3600
	longIntervalSec = 3600 // from here on a restart is worth a warning

	maxSampleCount     = 60
	defaultSampleCount = 10 // windows of whole resources
	keyedSampleCount   = 2  // windows per parameter value: two slots fit the compact table entry

	maxMaxKeys     = 1 << 26
	defaultMaxKeys = 1 << 20
)

// gatewayDraft is a gateway flow rule as written.
type gatewayDraft struct {
	id, resource           located[string]
	mode, grade, behavior  located[int64]
	count                  located[amount]
	intervalSec            located[int64]
	interval, intervalUnit located[int64]
	burst, maxQueueing     located[int64]
	lease                  located[int64]
	param                  located[*paramDraft]
	response               located[*responseDraft]

	window, sampleCount          located[int64]
	onMissing, maxKeys, overflow located[int64]
	shadow                       located[bool]
}

var gatewaySchema = schema[gatewayDraft]{what: "a gateway flow rule", fields: append(
	[]field[gatewayDraft]{
		idField(func(d *gatewayDraft) *located[string] { return &d.id }),
		textField("resource", "the route id, or the name of an API group", maxNameBytes,
			func(d *gatewayDraft) *located[string] { return &d.resource }).require(),
		enumField("resourceMode", "what resource names", resourceModes, int64(ModeRoute),
			func(d *gatewayDraft) *located[int64] { return &d.mode }),
		enumField("grade", "what is limited", grades, gradeQPS,
			func(d *gatewayDraft) *located[int64] { return &d.grade }),
		amountField("count", "how many requests may pass per interval, or be under way at a time", "", "write 0 to block everything",
			func(d *gatewayDraft) *located[amount] { return &d.count }).require(),
		integerField("intervalSec", "the interval in seconds", 1, maxIntervalSec, 1,
			func(d *gatewayDraft) *located[int64] { return &d.intervalSec }),
		integerField("interval", "the interval in the unit that intervalUnit names", 1, maxIntervalSec, 1,
			func(d *gatewayDraft) *located[int64] { return &d.interval }),
		enumField("intervalUnit", "the unit of interval", intervalUnits, 0,
			func(d *gatewayDraft) *located[int64] { return &d.intervalUnit }),
		enumField("controlBehavior", "what happens above the limit", controlBehaviors, int64(BehaviorReject),
			func(d *gatewayDraft) *located[int64] { return &d.behavior }),
		integerField("burst", "requests above count that may pass at once", 0, 1<<31-1, 0,
			func(d *gatewayDraft) *located[int64] { return &d.burst }),
		integerField("maxQueueingTimeoutMs", "the wait of queueing from which on a request is refused; means nothing without queueing", 0, 1<<31-1, 500,
			func(d *gatewayDraft) *located[int64] { return &d.maxQueueing }),
		mappingField("paramItem", "the parameter whose values are limited one by one", &paramSchema,
			func(d *gatewayDraft) *located[*paramDraft] { return &d.param }),

		enumField("window", "how the limit holds over time", windowModes, int64(WindowAligned),
			func(d *gatewayDraft) *located[int64] { return &d.window }),
		integerField("sampleCount", "slots of the window; 2 by default with paramItem", 1, maxSampleCount, defaultSampleCount,
			func(d *gatewayDraft) *located[int64] { return &d.sampleCount }),
		enumField("onMissing", "what happens to requests without the parameter", missingChoices, int64(MissingSkip),
			func(d *gatewayDraft) *located[int64] { return &d.onMissing }),
		integerField("maxKeys", "most parameter values tracked at a time", 1, maxMaxKeys, defaultMaxKeys,
			func(d *gatewayDraft) *located[int64] { return &d.maxKeys }),
		enumField("overflow", "what happens to values beyond maxKeys", overflowChoices, int64(OverflowSketch),
			func(d *gatewayDraft) *located[int64] { return &d.overflow }),
		integerField("leaseMs", "how long a call under way counts if its end is not reported, with grade concurrency", minLeaseMs, maxLeaseMs, defaultLeaseMs,
			func(d *gatewayDraft) *located[int64] { return &d.lease }),
		mappingField("blockResponse", "what a refused request is answered with", &responseSchema,
			func(d *gatewayDraft) *located[*responseDraft] { return &d.response }),
		boolField("shadow", "only count what would be refused",
			func(d *gatewayDraft) *located[bool] { return &d.shadow }),

		customField("clusterMode", "shared limits; only false", "boolean", decodeClusterMode),
		refusedField[gatewayDraft]("clusterConfig", "cluster mode"),
		refusedField[gatewayDraft]("warmUpPeriodSec", "warm-up"),
		refusedField[gatewayDraft]("warmUpColdFactor", "warm-up"),
		refusedField[gatewayDraft]("paramFlowItemList", "paramFlowItemList"),
	},
	ignoredFields[gatewayDraft]("app", "ip", "port", "gmtCreate", "gmtModified")...,
), mistaken: map[string]string{"maxQueueingTimeMs": "maxQueueingTimeoutMs", "burstCount": "burst", "durationInSec": "intervalSec"}}

func decodeClusterMode(f *fileLoad, at spot, n *node, _ *gatewayDraft) {
	var on located[bool]
	f.boolean(at, n, &on)
	switch {
	case on.ok && on.v:
		f.fail(at, "cluster mode is not supported: each sidecard counts for itself", "write false, and divide count by the number of instances")
	case on.ok:
		f.ignore("clusterMode", at)
	}
}

// gatewayFlow reads one gateway flow rule and adds it to the set if nothing is wrong with it.
func (f *fileLoad) gatewayFlow(at spot, n *node) {
	before := f.errors
	d := &f.draft
	*d = gatewayDraft{}
	if !decodeMapping(f, &gatewaySchema, at, n, d) {
		return
	}
	r := LimitRule{
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
		f.refer(d.resource.at, r.Mode, r.Resource)
	}
	r.Param = f.checkParam(d)
	if d.response.given && d.response.ok {
		r.Response = f.checkResponse(d.response.at, d.response.v, f.errors == before)
	}
	seconds, ok := f.checkInterval(d)
	if d.grade.ok && d.grade.v == gradeConcurrency {
		f.checkConcurrency(d, &r)
	} else {
		f.checkFlow(d, seconds, ok, &r)
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
func (f *fileLoad) checkFlow(d *gatewayDraft, seconds int64, ok bool, r *LimitRule) {
	if d.grade.ok {
		f.checkNoLease(d)
	}
	if ok {
		r.Interval = time.Duration(seconds) * time.Second
		f.checkRate(d, seconds, r)
	}
	switch {
	case r.Behavior == BehaviorQueue:
		f.checkQueueing(d, r)
	case r.Window == WindowTokenBucket:
		f.checkTokenBucket(d, r)
	case ok:
		f.checkSampleCount(d, r)
	}
	if r.Behavior != BehaviorQueue {
		f.checkBurst(d, r)
	}
}

// checkName reports what cannot be the name of a resource, an API group or a domain.
func (f *fileLoad) checkName(at spot, name string) bool {
	if strings.TrimSpace(name) == "" {
		f.fail(at, "is blank", "")
		return false
	}
	if i := strings.IndexFunc(name, isControl); i >= 0 {
		f.fail(at, "holds a control character", "")
		return false
	}
	if strings.TrimSpace(name) != name {
		f.warn(at, "begins or ends with a space, which counts as part of the name", "remove the space")
	}
	return true
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
