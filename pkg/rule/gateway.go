package rule

import (
	"slices"
	"strings"
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

var gatewaySchema = schema[limitDraft]{what: "a gateway flow rule", fields: slices.Concat(
	[]field[limitDraft]{
		idField(func(d *limitDraft) *located[string] { return &d.id }),
		textField("resource", "the route id, or the name of an API group", maxNameBytes,
			func(d *limitDraft) *located[string] { return &d.resource }).require(),
		enumField("resourceMode", "what resource names", resourceModes, int64(ModeRoute),
			func(d *limitDraft) *located[int64] { return &d.mode }),
		enumField("grade", "what is limited", grades, gradeQPS,
			func(d *limitDraft) *located[int64] { return &d.grade }),
		amountField("count", "how many requests may pass per interval, or be under way at a time", "", "write 0 to block everything",
			func(d *limitDraft) *located[amount] { return &d.count }).require(),
		integerField("intervalSec", "the interval in seconds", 1, maxIntervalSec, 1,
			func(d *limitDraft) *located[int64] { return &d.intervalSec }),
		integerField("interval", "the interval in the unit that intervalUnit names", 1, maxIntervalSec, 1,
			func(d *limitDraft) *located[int64] { return &d.interval }),
		enumField("intervalUnit", "the unit of interval", intervalUnits, 0,
			func(d *limitDraft) *located[int64] { return &d.intervalUnit }),
		enumField("controlBehavior", "what happens above the limit", controlBehaviors, int64(BehaviorReject),
			func(d *limitDraft) *located[int64] { return &d.behavior }),
		integerField("burst", "requests above count that may pass at once", 0, 1<<31-1, 0,
			func(d *limitDraft) *located[int64] { return &d.burst }),
		integerField("maxQueueingTimeoutMs", "the wait of queueing from which on a request is refused; means nothing without queueing", 0, 1<<31-1, 500,
			func(d *limitDraft) *located[int64] { return &d.maxQueueing }),
		mappingField("paramItem", "the parameter whose values are limited one by one", &paramSchema,
			func(d *limitDraft) *located[*paramDraft] { return &d.param }),
		exceptionsField(),

		enumField("window", "how the limit holds over time", windowModes, int64(WindowAligned),
			func(d *limitDraft) *located[int64] { return &d.window }),
		integerField("sampleCount", "slots of the window; 2 by default with paramItem", 1, maxSampleCount, defaultSampleCount,
			func(d *limitDraft) *located[int64] { return &d.sampleCount }),
		enumField("onMissing", "what happens to requests without the parameter", missingChoices, int64(MissingSkip),
			func(d *limitDraft) *located[int64] { return &d.onMissing }),
		integerField("maxKeys", "most parameter values tracked at a time", 1, maxMaxKeys, defaultMaxKeys,
			func(d *limitDraft) *located[int64] { return &d.maxKeys }),
		enumField("overflow", "what happens to values beyond maxKeys", overflowChoices, int64(OverflowSketch),
			func(d *limitDraft) *located[int64] { return &d.overflow }),
		integerField("leaseMs", "how long a call under way counts if its end is not reported, with grade concurrency", minLeaseMs, maxLeaseMs, defaultLeaseMs,
			func(d *limitDraft) *located[int64] { return &d.lease }),
		mappingField("blockResponse", "what a refused request is answered with", &responseSchema,
			func(d *limitDraft) *located[*responseDraft] { return &d.response }),
		boolField("shadow", "only count what would be refused",
			func(d *limitDraft) *located[bool] { return &d.shadow }),

		customField("clusterMode", "shared limits; only false", "boolean", decodeClusterMode),
		refusedField[limitDraft]("clusterConfig", "cluster mode"),
	},
	warmUpFields(),
	ignoredFields[limitDraft]("app", "ip", "port", "gmtCreate", "gmtModified"),
), mistaken: map[string]string{"maxQueueingTimeMs": "maxQueueingTimeoutMs", "burstCount": "burst", "durationInSec": "intervalSec", "warmUpColdFactor": "coldFactor"}}

func decodeClusterMode(f *fileLoad, at spot, n *node, _ *limitDraft) {
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
	*d = limitDraft{}
	if decodeMapping(f, &gatewaySchema, at, n, d) {
		f.limit(LimitGateway, at, d, before)
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
