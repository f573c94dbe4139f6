package rule

import (
	"fmt"
	"time"
)

// Bounds and defaults of degrade rules.
const (
	defaultMinAmount   = 5
	defaultStatMs      = 1000
	maxStatMs          = 1<<31 - 1
	defaultStatSamples = 10

	defaultRingSize = 100
	maxRingSize     = 1 << 20

	maxWaitMs = maxLeaseMs // of a probe, and for more calls
)

// degradeDraft is a degrade rule as written.
type degradeDraft struct {
	id, resource              located[string]
	mode, grade               located[int64]
	count, slowRatio          located[amount]
	openAt                    located[int64]
	minAmount                 located[int64]
	statInterval, sampleCount located[int64]
	sliding                   located[*slidingDraft]

	timeWindow           located[int64]
	probes, probeTimeout located[int64]
	lease                located[int64]

	response located[*responseDraft]
	shadow   located[bool]
}

// slidingDraft is a slidingWindow as written.
type slidingDraft struct{ kind, size, maxWait located[int64] }

var degradeSchema = schema[degradeDraft]{what: "a degrade rule", fields: append(
	[]field[degradeDraft]{
		idField(func(d *degradeDraft) *located[string] { return &d.id }),
		textField("resource", "the route id, or the name of an API group", maxNameBytes,
			func(d *degradeDraft) *located[string] { return &d.resource }).require().sentinel("also `*`, a default for all").here("`*` is refused"),
		modeField(func(d *degradeDraft) *located[int64] { return &d.mode }).extension(),
		enumField("grade", "what calls are judged by", degradeGrades, int64(GradeSlowRatio),
			func(d *degradeDraft) *located[int64] { return &d.grade }).
			sentinel("before 1.8, 0 was the average RT").here("0 is the share of slow calls, with a warning if `slowRatioThreshold` is missing; the average is `avg_rt`"),
		amountField("count", "the threshold: milliseconds, a share from 0 to 1, or a number of errors, as grade has it", "", "",
			func(d *degradeDraft) *located[amount] { return &d.count }).require().
			sentinel("rounds milliseconds, and opens at the first error with 0.2 errors").here("exact milliseconds; a fraction of an error is refused"),
		amountField("slowRatioThreshold", "the share of slow calls, from 0 to 1, that opens the breaker; for grade slow_ratio", "1", "",
			func(d *degradeDraft) *located[amount] { return &d.slowRatio }).sentinel(alike),
		enumField("openAt", "how the threshold is compared with", openAtChoices, int64(OpenAbove),
			func(d *degradeDraft) *located[int64] { return &d.openAt }).sentinel("opens above"),
		integerField("minRequestAmount", "with fewer calls nothing is judged", 1, MaxLimit, defaultMinAmount,
			func(d *degradeDraft) *located[int64] { return &d.minAmount }).in("calls").sentinel(alike),
		integerField("statIntervalMs", "the calls of this last time are judged", 1, maxStatMs, defaultStatMs,
			func(d *degradeDraft) *located[int64] { return &d.statInterval }).in("ms").
			sentinel("one slot: at each multiple it is empty").here("slides by `sampleCount` slots"),
		integerField("sampleCount", "slots that `statIntervalMs` is cut into; by default 10, or the most below that divide it", 1, maxSampleCount, defaultStatSamples,
			func(d *degradeDraft) *located[int64] { return &d.sampleCount }).in("slots").sentinel("always 1"),
		mappingField("slidingWindow", "which calls are judged, if not those of the last `statIntervalMs`", &slidingSchema,
			func(d *degradeDraft) *located[*slidingDraft] { return &d.sliding }).extension(),

		integerField("timeWindow", "how long the breaker stays open", 1, maxIntervalSec, 1,
			func(d *degradeDraft) *located[int64] { return &d.timeWindow }).require().in("s").sentinel(alike),
		integerField("halfOpenRequests", "how many calls probe at a time, after that", 1, MaxHalfOpenRequests, 1,
			func(d *degradeDraft) *located[int64] { return &d.probes }).in("calls").sentinel("always 1"),
		integerField("halfOpenTimeoutMs", "a probe that takes longer has failed; by default `leaseMs`", 1, maxWaitMs, defaultLeaseMs,
			func(d *degradeDraft) *located[int64] { return &d.probeTimeout }).in("ms").sentinel("waits for the probe for ever"),
		leaseField("a call of which nothing is heard for so long is forgotten",
			func(d *degradeDraft) *located[int64] { return &d.lease }),

		responseField(func(d *degradeDraft) *located[*responseDraft] { return &d.response }),
		shadowField(func(d *degradeDraft) *located[bool] { return &d.shadow }),

		customField("limitApp", "means nothing in degrade rules", typeText, decodeLimitApp).
			atMost(maxNameBytes).sentinel("ignores it").here("the same, with a warning"),
		customField("regex", "`resource` is a regular expression", typeFalse, decodeResourceRegex[degradeDraft]).
			sentinel("breakers for all resources that match").here("refused"),
		oldAverageRT(),
	},
	ignoredFields[degradeDraft]("app", "ip", "port", "gmtCreate", "gmtModified")...,
)}

var slidingSchema = schema[slidingDraft]{what: "a sliding window", fields: []field[slidingDraft]{
	enumField("type", "`time`, as without slidingWindow; or `count`, for the last calls however long ago they were", slidingTypes, slidingTime,
		func(d *slidingDraft) *located[int64] { return &d.kind }).require().extension(),
	integerField("size", "how many calls; for type count", 1, maxRingSize, defaultRingSize,
		func(d *slidingDraft) *located[int64] { return &d.size }).in("calls").extension(),
	integerField("maxWaitMs", "fewer calls than `minRequestAmount` are judged once the first of them ended so long ago, and never if it is 0; for type count", 0, maxWaitMs, 0,
		func(d *slidingDraft) *located[int64] { return &d.maxWait }).in("ms").extension(),
}}

// decodeLimitApp leaves out whose calls a breaker is for, which Sentinel does not look at either.
func decodeLimitApp(f *fileLoad, at spot, n *node, _ *degradeDraft) {
	var app located[string]
	f.text(at, n, maxNameBytes, &app)
	switch {
	case !app.ok:
	case app.v == "" || app.v == "default":
		f.ignore("limitApp", at)
	default:
		f.warn(at, "is ignored, as Sentinel does in degrade rules: the breaker is for the calls of all", "")
	}
}

func decodeResourceRegex[T any](f *fileLoad, at spot, n *node, _ *T) {
	var on located[bool]
	f.boolean(at, n, &on)
	switch {
	case on.ok && on.v:
		f.fail(at, "a resource by regular expression is not supported by this version", "write a rule for each resource, or for an API group")
	case on.ok:
		f.ignore("regex", at)
	}
}

// oldAverageRT is the field by which a rule is known that was written for Sentinel before 1.8.
func oldAverageRT() field[degradeDraft] {
	fd := refusedField[degradeDraft]("rtSlowRequestAmount", "the average RT of Sentinel before 1.8")
	fd.decode = func(f *fileLoad, at spot, _ *node, _ *degradeDraft) {
		f.fail(at, "is not supported: since Sentinel 1.8 grade 0 is the share of slow calls, no average RT", "remove it, and with grade 0 write grade avg_rt and minRequestAmount in its place")
	}
	return fd
}

// degrade reads one degrade rule and adds it to the set if nothing is wrong with it.
func (f *fileLoad) degrade(at spot, n *node) {
	before := f.errors
	var d degradeDraft
	if !decodeMapping(f, &degradeSchema, at, n, &d) {
		return
	}
	r := DegradeRule{
		Pos:              f.position(at),
		Domain:           f.domain,
		ID:               d.id.v,
		Resource:         d.resource.v,
		Mode:             ResourceMode(d.mode.v),
		Grade:            gradeOf(d.grade.v),
		Count:            d.count.v.text,
		OpenAt:           OpenAt(d.openAt.v),
		MinRequestAmount: d.minAmount.v,
		TimeWindow:       time.Duration(d.timeWindow.v) * time.Second,
		HalfOpenRequests: int(d.probes.v),
		HalfOpenTimeout:  time.Duration(d.probeTimeout.v) * time.Millisecond,
		Lease:            time.Duration(d.lease.v) * time.Millisecond,
		Shadow:           d.shadow.v || f.options.Shadow,
	}
	if d.resource.ok {
		f.checkPlainResource(d.resource.at, r.Mode, r.Resource)
	}
	if d.response.given && d.response.ok {
		r.Response = f.checkResponse(d.response.at, d.response.v, f.errors == before)
	}
	f.checkLease(&d, &r)
	f.checkOutcomes(&d, &r)
	if d.grade.ok {
		f.checkThreshold(&d, &r)
	}
	if f.errors > before {
		return
	}
	if !d.id.given {
		r.ID, r.DerivedID = deriveDegradeID(&r, d.count.v.exact), true
	}
	if f.claimID(at, &d.id, r.ID, "watches") {
		f.set.Degrade = append(f.set.Degrade, r)
	}
}

func gradeOf(number int64) DegradeGrade {
	if number == noNumber {
		return GradeAverageRT
	}
	return DegradeGrade(number)
}

// checkPlainResource checks what is neither an expression nor all resources.
func (f *fileLoad) checkPlainResource(at spot, mode ResourceMode, name string) {
	if name == "*" {
		f.fail(at, "a default rule for every resource, *, is not supported by this version", "write a rule for each resource, or for an API group whose items match them")
		return
	}
	f.checkName(at, name)
	f.refer(at, mode, name)
}

// checkLease fills in how long a probe may take, which is of no use beyond the lease.
func (f *fileLoad) checkLease(d *degradeDraft, r *DegradeRule) {
	if !d.lease.ok || !d.probeTimeout.ok {
		return
	}
	switch {
	case !d.probeTimeout.given:
		r.HalfOpenTimeout = r.Lease
	case r.HalfOpenTimeout > r.Lease:
		f.warn(d.probeTimeout.at, fmt.Sprintf("is above leaseMs, %d: of a probe nothing is heard after that", d.lease.v), fmt.Sprintf("write leaseMs %d", d.probeTimeout.v))
	}
}
