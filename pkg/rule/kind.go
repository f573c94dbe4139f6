package rule

import (
	"path"
	"strings"
)

// kind is what a list of rules holds.
type kind uint8

const (
	kindGatewayFlow kind = iota
	kindAPIDefinition
	kindFlow
	kindParamFlow
	kindDegrade
	kindSystem
	kindAuthority
	numKinds
)

// kindInfo is what a kind is known by.
type kindInfo struct {
	item      string   // one of its rules
	stems     []string // suffixes of file names, the usual one first
	bundleKey string
	// marks are fields that no other kind has: they tell a rule in the wrong place.
	marks []string
}

func (k kind) info() *kindInfo { return &kinds[k] }

func (k kind) stem() string { return kinds[k].stems[0] }

var kinds = [numKinds]kindInfo{
	kindGatewayFlow: {
		item: "a gateway flow rule", stems: []string{"gw-flow-rules", "gateway-flow-rules"}, bundleKey: "gatewayFlowRules",
		marks: []string{"resourceMode", "paramItem", "intervalSec", "interval", "intervalUnit", "maxQueueingTimeoutMs", "burst"},
	},
	kindAPIDefinition: {
		item: "an API definition", stems: []string{"gw-api-definitions", "gw-api-group-rules", "gateway-api-definitions"}, bundleKey: "apiDefinitions",
		marks: []string{"apiName", "predicateItems"},
	},
	kindFlow: {
		item: "a flow rule", stems: []string{"flow-rules"}, bundleKey: "flowRules",
		marks: []string{"limitApp", "strategy", "refResource", "clusterMode", "clusterConfig", "maxQueueingTimeMs", "tokenCalculateStrategy", "relationStrategy", "statIntervalInMs"},
	},
	kindParamFlow: {
		item: "a hot-parameter rule", stems: []string{"param-flow-rules", "param-rules"}, bundleKey: "paramFlowRules",
		marks: []string{"paramIdx", "paramKey", "durationInSec", "burstCount"},
	},
	kindDegrade: {
		item: "a degrade rule", stems: []string{"degrade-rules"}, bundleKey: "degradeRules",
		marks: []string{"timeWindow", "minRequestAmount", "slowRatioThreshold", "statIntervalMs", "slidingWindow", "halfOpenRequests", "halfOpenTimeoutMs", "openAt"},
	},
	kindSystem: {
		item: "a system rule", stems: []string{"system-rules"}, bundleKey: "systemRules",
		marks: []string{"highestSystemLoad", "highestCpuUsage", "avgRt", "maxThread", "qps"},
	},
	// Its fields are a flow rule's as well; classify tells the two apart by count.
	kindAuthority: {item: "an authority rule", stems: []string{"authority-rules"}, bundleKey: "authorityRules"},
}

// kindOfStem finds the kind that a file's stem ends in, the longest suffix first, so that
// gw-flow-rules is not taken for flow-rules. Upper and lower case are one.
func kindOfStem(stem string) (found kind, ok bool) {
	stem = strings.ToLower(stem)
	longest := 0
	for k := range numKinds {
		for _, s := range k.info().stems {
			if len(s) > longest && strings.HasSuffix(stem, s) {
				found, ok, longest = k, true, len(s)
			}
		}
	}
	return found, ok
}

// NamesKind reports whether a file of that name is meant to hold rules of one kind: its name without
// the extension, if it has any, ends as such a file's does, in whatever case.
func NamesKind(name string) bool {
	stem, _ := splitName(name)
	_, ok := kindOfStem(stem)
	return ok
}

// splitName returns the stem of a file's name and its extension, in lower case.
func splitName(name string) (stem, ext string) {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	ext = path.Ext(base)
	return strings.TrimSuffix(base, ext), strings.ToLower(ext)
}

// classify says what one rule looks like by its fields, and which fields say so.
func classify(n *node) (found kind, marks []string) {
	for k := range numKinds {
		if held := n.having(k.info().marks...); len(held) > len(marks) {
			found, marks = k, held
		}
	}
	if found == kindFlow && len(n.having("limitApp", "strategy")) == 2 && n.get("count") == nil {
		found = kindAuthority
	}
	return found, marks
}

// byItsNumbers tells what has only fields of flow rules, but a resourceMode by number, which Sentinel's gateway
// rules have. Written by name it is a flow rule.
func byItsNumbers(n *node) bool {
	return len(n.having("paramItem", "maxQueueingTimeoutMs", "intervalUnit")) == 0
}

// surelyGateway tells a gateway flow rule from a flow rule that has some of its fields too.
func surelyGateway(n *node) bool {
	mode := n.get("resourceMode")
	return !byItsNumbers(n) ||
		mode != nil && mode.kind == numberNode && len(n.having("intervalSec", "interval")) > 0 // as Sentinel writes them
}

// misplaced tells a rule of another kind in a list of k, if its fields leave no doubt.
func (k kind) misplaced(n *node) (other kind, marks []string, yes bool) {
	other, marks = classify(n)
	if k == kindGatewayFlow && len(marks) == 1 && gatewaySchema.likely(marks[0]) || k == kindParamFlow && len(marks) == 1 && paramFlowSchema.likely(marks[0]) {
		return 0, nil, false
	}
	if (k == kindFlow || k == kindParamFlow) && other == kindGatewayFlow && !surelyGateway(n) {
		return 0, nil, false
	}
	if k == kindAuthority && (other == kindFlow || other == kindGatewayFlow) && n.get("count") == nil {
		return 0, nil, false
	}
	if len(marks) == 0 || other == k || len(n.having(k.info().marks...)) > 0 {
		return 0, nil, false
	}
	return other, marks, true
}
