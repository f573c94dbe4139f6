package rule

import (
	"fmt"
	"slices"
	"strings"
)

// flowSchema declares flow rules: Sentinel's fields, and those of gateway rules that make sense of any
// resource. Slots and interval are Sentinel's unless they are written.
var flowSchema = schema[limitDraft]{what: "a flow rule", fields: slices.Concat(
	[]field[limitDraft]{
		idField(func(d *limitDraft) *located[string] { return &d.id }),
		textField("resource", "the route id, the name of an API group, or an expression over route ids", maxPatternBytes,
			func(d *limitDraft) *located[string] { return &d.resource }).require().sentinel(alike),
		modeField(func(d *limitDraft) *located[int64] { return &d.mode }).extension(),
		boolField("regex", "`resource` is a regular expression, and the rule is for every route whose whole id matches it",
			func(d *limitDraft) *located[bool] { return &d.regex }).
			sentinel("Java's expressions, each matching resource by itself").here("the same, in RE2; with queueing, warm-up or relate one budget for all of them"),
		textDefault("limitApp", "whose calls are limited: an origin, `other` for those that no flow rule of the resource names, or `default` for all", maxNameBytes, allOrigins,
			func(d *limitDraft) *located[string] { return &d.limitApp }).sentinel(alike),
		gradeField().sentinel("0 ignores controlBehavior").here("0 with another behaviour than reject is refused"),
		countField("how many requests may pass per interval, or be under way at a time"),
		enumField("strategy", "whose use of the budget is looked at: the resource's own, or that of `refResource`", relations, relationDirect,
			func(d *limitDraft) *located[int64] { return &d.relation }).
			sentinel("2, chain, limits what came in by one entrance").here("chain is refused, with what to write"),
		textField("refResource", "with strategy relate: the resource that is used up", maxNameBytes,
			func(d *limitDraft) *located[string] { return &d.refResource }).sentinel(alike),
		enumField("controlBehavior", "what happens above the limit", controlBehaviors, int64(BehaviorReject),
			func(d *limitDraft) *located[int64] { return &d.behavior }).sentinel(alike),
		queueingField("maxQueueingTimeMs", "the longest wait of queueing", 500).sentinel(alike),

		intervalField("intervalSec").sentinel("always a second"),
		windowField(),
		sampleCountField("slots of the window", flowSampleCount),
		burstField("burst", "requests above `count` that may pass at once").extension(),
		enumField("onMissing", "what happens to requests without an origin, if `limitApp` asks for one", originChoices, int64(MissingSkip),
			func(d *limitDraft) *located[int64] { return &d.onMissing }).sentinel("they are not limited by that rule"),
		leaseField("how long a call under way counts if its end is not reported, with grade concurrency",
			func(d *limitDraft) *located[int64] { return &d.lease }),
		responseField(func(d *limitDraft) *located[*responseDraft] { return &d.response }),
		shadowField(func(d *limitDraft) *located[bool] { return &d.shadow }),

		clusterField(),
	},
	warmUpFields(),
	ignoredFields[limitDraft]("clusterConfig", "app", "ip", "port", "gmtCreate", "gmtModified"),
), mistaken: map[string]string{
	"maxQueueingTimeoutMs": "maxQueueingTimeMs", "maxQueueingTimeMS": "maxQueueingTimeMs", "burstCount": "burst",
	"interval": "intervalSec", "durationInSec": "intervalSec", "statIntervalInMs": "intervalSec", "origin": "limitApp",
	"threshold": "count", "relationStrategy": "strategy", "warmUpColdFactor": "coldFactor",
}}

// flowSampleCount is Sentinel's number of slots in a second.
const flowSampleCount = 2

// expressionRoutes is how many routes that an expression matches are told apart: Sentinel has as many resources, and
// checks no rule of more.
const expressionRoutes = 6000

// allOrigins is how a limitApp is written that is for everybody's calls.
const allOrigins = "default"

// flow reads one flow rule and adds it to the set if nothing is wrong with it.
func (f *fileLoad) flow(at spot, n *node) {
	before := f.errors
	d := &f.draft
	*d = limitDraft{}
	d.interval.preset(0) // as intervalUnit it is a gateway rule's alone
	d.intervalUnit.preset(0)
	if decodeMapping(f, &flowSchema, at, n, d) {
		f.limit(LimitFlow, at, d, before)
	}
}

// checkExpression fills in what makes a resource an expression over route ids.
func (f *fileLoad) checkExpression(d *limitDraft, r *LimitRule) {
	if !d.regex.v {
		if d.resource.ok && len(r.Resource) > maxNameBytes {
			f.fail(d.resource.at, fmt.Sprintf("is %d bytes long; at most %d are allowed in a name", len(r.Resource), maxNameBytes), "")
		}
		return
	}
	if d.mode.ok && r.Mode != ModeRoute {
		f.fail(d.regex.at, "is for routes; an API group has expressions in its items", "remove regex, or write resourceMode route")
	}
	r.Mode = ModeRegex
	if d.resource.ok && r.Resource != "" {
		f.checkRegex(d.resource.at, r.Resource)
	}
}

// checkRelation fills in whose use of the budget counts, and refuses what would then mean nothing.
func (f *fileLoad) checkRelation(d *limitDraft, r *LimitRule) {
	if !d.relation.ok || !d.refResource.ok {
		return
	}
	ref := strings.TrimSpace(d.refResource.v) // dashboards write a blank one
	switch d.relation.v {
	case relationDirect:
		if ref != "" {
			f.warn(d.refResource.at, "means nothing with strategy direct", "remove it, or write strategy relate")
		}
		return
	case relationChain:
		f.fail(d.relation.at, "chain limits what came in by one entrance, and no request tells by which it came", "write strategy direct, and limitApp with the origin that calls")
		return
	}
	switch {
	case ref == "":
		at := d.refResource.at
		if !d.refResource.given {
			at = d.relation.at
		}
		f.fail(at, "strategy relate needs a refResource, whose use decides", "")
		return
	case !f.checkName(d.refResource.at, d.refResource.v):
		return
	case r.Mode != ModeRegex && d.refResource.v == r.Resource:
		f.fail(d.refResource.at, "is the rule's own resource", "write strategy direct")
		return
	}
	r.RefResource = d.refResource.v
	f.refer(d.refResource.at, refMode(r.Mode), r.RefResource)
	if d.behavior.ok && r.queues() {
		f.fail(d.behavior.at, fmt.Sprintf("%s is not for strategy relate: Sentinel lets the resource wait at count, whatever refResource does", r.Behavior), "write strategy direct to mean that, or controlBehavior reject")
	}
	if d.burst.ok && d.burst.v > 0 {
		f.fail(d.burst.at, "is not for strategy relate, which takes nothing from a budget of its own", "write 0")
	}
	if d.window.ok && r.Window == WindowTokenBucket {
		f.fail(d.window.at, "token-bucket is not for strategy relate, which takes nothing from a bucket of its own", "write aligned or strict")
	}
}

// refMode is what the refResource of a rule names: what its resource does, if that is one.
func refMode(mode ResourceMode) ResourceMode {
	if mode == ModeAPI {
		return ModeAPI
	}
	return ModeRoute
}

// checkOrigin fills in whose calls the rule is for. Sentinel counts each origin that no rule names by
// itself, but makes them wait in one queue.
func (f *fileLoad) checkOrigin(d *limitDraft, r *LimitRule) {
	r.MaxKeys, r.Overflow = 0, OverflowSketch
	if !d.limitApp.ok || !d.onMissing.ok {
		return
	}
	if app := d.limitApp.v; app != allOrigins && strings.TrimSpace(app) != "" && f.checkName(d.limitApp.at, app) {
		r.Origin = app
		if strings.Contains(app, ",") {
			f.warn(d.limitApp.at, "is one origin with a comma in its name; flow rules, unlike authority rules, take no list", "write a rule for each")
		}
	}
	switch {
	case d.onMissing.given && r.Origin == "":
		f.fail(d.onMissing.at, "is for rules whose limitApp asks for an origin", "remove it, or write the limitApp")
	case r.OnMissing == MissingLimit:
		f.fail(d.onMissing.at, "limit is for parameters", "write skip or block")
	}
	if d.relation.v == relationDirect && r.Behavior == BehaviorReject {
		r.countApart()
	}
}

// countApart gives every origin that no rule names a budget of its own, and every route that an expression
// matches: Sentinel counts a rule at the node of the resource, or of its origin. What waits or warms up has one
// place for all in Sentinel too.
func (r *LimitRule) countApart() {
	switch {
	case r.Origin == OriginOther: // by an expression: of each route
		r.Param, r.MaxKeys = &ParamItem{Source: SourceOrigin}, defaultMaxKeys
	case r.Mode == ModeRegex:
		r.Param, r.MaxKeys = &ParamItem{Source: SourceRoute}, expressionRoutes
	}
}
