package rule

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
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
			func(d *limitDraft) *located[string] { return &d.resource }).require().sentinel(alike),
		modeField(func(d *limitDraft) *located[int64] { return &d.mode }).
			sentinel("both modes under one name switch all rules of that name off").here("each rule goes by its own mode"),
		gradeField().sentinel(alike),
		countField("how many requests may pass per interval, or be under way at a time"),
		intervalField("intervalSec").
			sentinel("a bucket per value, which is filled again once more than the interval has passed").
			here("a window that slides by slots, see `window`"),
		integerField("interval", "the interval in the unit that `intervalUnit` names", 1, maxIntervalSec, 1,
			func(d *limitDraft) *located[int64] { return &d.interval }).
			sentinel("only its dashboard knows it; a gateway that is given it counts per second").here("understood with `intervalUnit`; an error by itself, or if it contradicts `intervalSec`").quiet(),
		enumField("intervalUnit", "the unit of `interval`", intervalUnits, 0,
			func(d *limitDraft) *located[int64] { return &d.intervalUnit }).sentinel("as `interval`").quiet(),
		enumField("controlBehavior", "what happens above the limit", controlBehaviors, int64(BehaviorReject),
			func(d *limitDraft) *located[int64] { return &d.behavior }).
			sentinel("1 and 3 act as 0").here("all four; 1 and 3 not with `paramItem`"),
		burstField("burst", "requests above `count` that may pass at once").
			sentinel("tokens above `count` in the bucket").here("the window's limit is `count` + `burst`, and a bucket of both, filled at the rate, stands beside it"),
		queueingField("maxQueueingTimeoutMs", "the wait of queueing from which on a request is refused", 500).sentinel(alike),
		mappingField("paramItem", "the parameter whose values are limited one by one", &paramSchema,
			func(d *limitDraft) *located[*paramDraft] { return &d.param }).sentinel(alike),
		exceptionsField().extension(),

		windowField(),
		sampleCountField("slots of the window; 2 by default with `paramItem`", defaultSampleCount),
		enumField("onMissing", "what happens to requests without the parameter", missingChoices, int64(MissingSkip),
			func(d *limitDraft) *located[int64] { return &d.onMissing }).sentinel("they are not limited"),
		maxKeysField(),
		overflowField(),
		leaseField("how long a call under way counts if its end is not reported, with grade concurrency",
			func(d *limitDraft) *located[int64] { return &d.lease }),
		responseField(func(d *limitDraft) *located[*responseDraft] { return &d.response }),
		shadowField(func(d *limitDraft) *located[bool] { return &d.shadow }),

		clusterField().sentinel("not of gateway rules"),
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
	if r := invisible(name); r >= 0 {
		f.warn(at, fmt.Sprintf("holds U+%04X, which nobody sees and which counts as part of the name", r), "remove it")
	}
	if strings.TrimSpace(name) != name {
		f.warn(at, "begins or ends with a space, which counts as part of the name", "remove the space")
	}
	return true
}

// invisible finds a character in a name that looks as if it were not there; negative if there is none.
func invisible(name string) rune {
	for _, r := range name {
		if unseen(r) && !unicode.IsSpace(r) {
			return r
		}
	}
	return -1
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }
