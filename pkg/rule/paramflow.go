package rule

import (
	"fmt"
	"strconv"
	"strings"
)

// paramFlowSchema declares hot-parameter rules: Sentinel's fields, and those of gateway rules that make
// sense of any resource. Slots and waiting time are Sentinel's unless they are written.
var paramFlowSchema = schema[limitDraft]{what: "a hot-parameter rule", fields: append(
	[]field[limitDraft]{
		idField(func(d *limitDraft) *located[string] { return &d.id }),
		textField("resource", "the route id, or the name of an API group", maxNameBytes,
			func(d *limitDraft) *located[string] { return &d.resource }).require().sentinel(alike),
		modeField(func(d *limitDraft) *located[int64] { return &d.mode }).extension(),
		gradeField().sentinel(alike),
		countField("how many requests of each value may pass in `durationInSec`, or be under way at a time"),
		integerField("paramIdx", "the place of the argument whose values are limited, from 0 on; -1 is the last one", -MaxArguments, MaxArguments-1, 0,
			func(d *limitDraft) *located[int64] { return &d.paramIdx }).optional().
			sentinel("required").here("either this or `paramKey`"),
		textField("paramKey", "in place of `paramIdx`: the attribute whose values are limited", maxFieldNameBytes,
			func(d *limitDraft) *located[string] { return &d.paramKey }).extension(),
		intervalField("durationInSec").
			sentinel("a bucket per value, which is filled again once more than the interval has passed").
			here("a window that slides by slots, see `window`"),
		burstField("burstCount", "requests of a value above `count` that may pass at once").
			sentinel("tokens above `count` in the bucket").here("the window's limit is `count` + `burstCount`, and a bucket of both, filled at the rate, stands beside it"),
		enumField("controlBehavior", "what happens above the limit", paramBehaviors, int64(BehaviorReject),
			func(d *limitDraft) *located[int64] { return &d.behavior }).sentinel("1 and 3 act as 0").here("1 and 3 are refused"),
		queueingField("maxQueueingTimeMs", "the wait of queueing from which on a request is refused", 0).sentinel(alike),
		exceptionsField().sentinel("leaves out items that it cannot read").here("refuses them"),

		windowField(),
		sampleCountField("slots of the window", keyedSampleCount),
		enumField("onMissing", "what happens to requests without the parameter", missingChoices, int64(MissingSkip),
			func(d *limitDraft) *located[int64] { return &d.onMissing }).sentinel("they are not limited"),
		maxKeysField(),
		overflowField(),
		leaseField("how long a call under way counts if its end is not reported, with grade concurrency",
			func(d *limitDraft) *located[int64] { return &d.lease }),
		responseField(func(d *limitDraft) *located[*responseDraft] { return &d.response }),
		shadowField(func(d *limitDraft) *located[bool] { return &d.shadow }),

		clusterField(),
		customField("limitApp", "whose calls are limited: `default`, which is everybody's", typeText, decodeEverybody).
			atMost(maxNameBytes).sentinel("reads it, and limits everybody's").here("refuses another"),
		customField("regex", "`resource` is a regular expression", typeFalse, decodeNoExpression).
			sentinel("reads it, and takes `resource` for a name"),
		recordField[limitDraft](),
	},
	ignoredFields[limitDraft]("clusterConfig", "app", "ip", "port", "gmtCreate", "gmtModified")...,
), mistaken: map[string]string{
	"intervalSec": "durationInSec", "interval": "durationInSec", "burst": "burstCount", "maxQueueingTimeoutMs": "maxQueueingTimeMs",
	"paramItem": "paramKey", "paramIndex": "paramIdx", "threshold": "count", "metricType": "grade", "specificItems": "paramFlowItemList",
}}

// paramFlow reads one hot-parameter rule and adds it to the set if nothing is wrong with it.
func (f *fileLoad) paramFlow(at spot, n *node) {
	before := f.errors
	d := &f.draft
	*d = limitDraft{}
	d.interval.preset(0) // as intervalUnit it is a gateway rule's alone
	d.intervalUnit.preset(0)
	if decodeMapping(f, &paramFlowSchema, at, n, d) {
		f.limit(LimitParam, at, d, before)
	}
}

func decodeEverybody(f *fileLoad, at spot, n *node, _ *limitDraft) {
	var app located[string]
	f.text(at, n, maxNameBytes, &app)
	if app.ok && app.v != allOrigins && strings.TrimSpace(app.v) != "" {
		f.fail(at, "is not for hot-parameter rules: Sentinel reads it and limits everybody's calls", "remove it, or write a paramKey of origin to limit each caller")
	}
}

func decodeNoExpression(f *fileLoad, at spot, n *node, _ *limitDraft) {
	var on located[bool]
	f.boolean(at, n, &on)
	if on.ok && on.v {
		f.fail(at, "is not for hot-parameter rules: Sentinel reads it and takes resource for a name", "write a rule for each resource, or an API group")
	}
}

// checkHotParam fills in the parameter of a hot-parameter rule; nil if it is missing or wrong. It also
// refuses the behaviours that there are for resources alone.
func (f *fileLoad) checkHotParam(at spot, d *limitDraft) *ParamItem {
	if b := ControlBehavior(d.behavior.v); d.behavior.ok && (b == BehaviorWarmUp || b == BehaviorWarmUpQueue) {
		f.fail(d.behavior.at, fmt.Sprintf("%s is not for parameters: Sentinel takes it for reject", b), "write controlBehavior reject, or queue")
	}
	switch {
	case d.paramIdx.given && d.paramKey.given && d.paramKey.ok:
		f.fail(d.paramKey.at, "stands beside paramIdx, and both name the parameter", "remove one of the two")
	case d.paramIdx.given:
		return &ParamItem{Source: SourceArgument, FieldName: strconv.FormatInt(d.paramIdx.v, 10)}
	case !d.paramKey.given:
		f.fail(at.missing("paramIdx"), "is missing: which parameter is limited", "write paramIdx for an argument, or paramKey for an attribute, such as header.x-user-id")
	case d.paramKey.ok:
		return f.keyedParam(d.paramKey.at, d.paramKey.v)
	}
	return nil
}

// keyedParam turns the key of an attribute into a parameter. Keys of the same thing are one parameter.
func (f *fileLoad) keyedParam(at spot, key string) *ParamItem {
	item := &ParamItem{Source: SourceAttribute, FieldName: key}
	kind, name, dotted := strings.Cut(key, ".")
	switch {
	case key == "remote_address" || key == "masked_remote_address":
		return &ParamItem{Source: SourceClientIP}
	case key == "host" || key == ":authority":
		return &ParamItem{Source: SourceHost}
	case key == "origin":
		return &ParamItem{Source: SourceOrigin}
	case key == "path" || key == ":path":
		item.FieldName = "path"
		return item
	case key == "method" || key == ":method":
		item.FieldName = "method"
		return item
	case key == "cookie":
		f.fail(at, "cookie is the whole Cookie header, which clients write in any order", "write cookie. and the name of one")
		return nil
	case !dotted && key != "" && strings.IndexFunc(key, isControl) < 0:
		return item
	}
	switch sources := map[string]ParamSource{"header": SourceHeader, "query": SourceURLParam, "cookie": SourceCookie}; {
	case dotted && kind == "arg" && name != "":
		f.fail(at, fmt.Sprintf("%q is an argument", clip(key)), "write paramIdx "+clip(name)+" in its place")
		return nil
	default:
		source, known := sources[kind]
		if !dotted || !known || name == "" {
			f.fail(at, fmt.Sprintf("%q is no attribute", clip(key)), "write header.NAME, query.NAME, cookie.NAME, remote_address, host, origin, method, path, or the name of a descriptor entry, which has no dot")
			return nil
		}
		item.Source, item.FieldName = source, name
	}
	f.checkFieldName(at, item)
	return item
}
