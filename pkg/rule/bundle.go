package rule

import (
	"fmt"
	"slices"
	"strings"
)

// loadNamed reads a file whose name says the kind of its rules.
func (f *fileLoad) loadNamed(k kind, root *node) {
	at := rootSpot(root)
	if root.kind == listNode {
		f.list(k, at, root)
		return
	}
	if what, fix := foreign(root); what != "" {
		f.fail(at, what, fix)
		return
	}
	message, fix := fmt.Sprintf("is %s, not a list, as the name …%s asks for", root.kind, k.stem()), ""
	switch {
	case len(root.having(bundleKeys()...)) > 0:
		fix = "give the file a name that is no kind of rules, such as rules.yaml, to make it a bundle"
	case len(root.having("resource", "apiName")) > 0 || len(root.having(k.info().marks...)) > 0:
		fix = "put the rule in [ ]"
	case root.kind == stringNode:
		fix = "write the list itself, without quotes around it"
	}
	f.fail(at, message, fix)
}

// list reads a list of one kind.
func (f *fileLoad) list(k kind, at spot, n *node) {
	if k == kindGatewayFlow || k == kindParamFlow || k == kindFlow {
		const most = 1 << 14 // there may be as many mistakes as items, which take no room
		more := min(len(n.items), most)
		f.set.Limits = slices.Grow(f.set.Limits, more)
		f.references = slices.Grow(f.references, more)
	}
	for i, item := range n.items {
		if f.full() {
			f.unread = true // so that nothing is said of groups that come later
			break
		}
		f.rule = ruleName(item)
		where := at.item(i, item)
		if other, marks, yes := k.misplaced(item); yes {
			fix := fmt.Sprintf("move it to a file named …%s", other.stem())
			if k == kindFlow && other == kindGatewayFlow && byItsNumbers(item) {
				fix += ", or write resourceMode by name if a flow rule is meant"
			}
			f.fail(where, fmt.Sprintf("looks like %s (it has %s), not %s", other.info().item, strings.Join(marks, ", "), k.info().item), fix)
			continue
		}
		if inner := k.recorded(item); inner != nil {
			f.fail(where.member(inner), "the rule is inside the record that Sentinel's dashboard keeps of it", "write what stands under rule in the record's place")
			continue
		}
		switch k {
		case kindGatewayFlow:
			f.gatewayFlow(where, item)
		case kindParamFlow:
			f.paramFlow(where, item)
		case kindFlow:
			f.flow(where, item)
		case kindAPIDefinition:
			f.apiDefinition(where, item)
		case kindDegrade:
			f.degrade(where, item)
		case kindSystem:
			f.system(where, item)
		case kindAuthority:
			f.authority(where, item)
		}
	}
	f.rule = ""
}

// ruleName finds what a user knows a rule by.
func ruleName(n *node) string {
	for _, key := range []string{"id", "resource", "apiName"} {
		if v := n.get(key); v != nil && v.kind == stringNode {
			return clip(v.text)
		}
	}
	return ""
}

// bundle is a file that holds lists of several kinds.
type bundle struct {
	lists  [numKinds]located[*node]
	codes  located[int64]
	domain located[string]
}

var bundleSchema = schema[bundle]{what: "a bundle", fields: append(bundleLists(),
	enumField("paramCodes", "the table that the numbers of parseStrategy follow in this file", paramCodeTables, int64(ParamCodesSentinel),
		func(b *bundle) *located[int64] { return &b.codes }).extension(),
	textField("domain", "the domain that the rules of this file serve alone", maxNameBytes,
		func(b *bundle) *located[string] { return &b.domain }).extension(),
)}

func bundleLists() []field[bundle] {
	var fields []field[bundle]
	for k := range numKinds {
		key := k.info().bundleKey
		fd := customField(key, "rules as in a file named …"+k.stem(), typeMappings,
			func(f *fileLoad, at spot, n *node, b *bundle) {
				if n.kind != listNode {
					f.fail(at, fmt.Sprintf("is %s, not a list", n.kind), "")
					b.lists[k].invalid(at)
					return
				}
				b.lists[k].set(at, n)
			}).of(k.object, 0).extension()
		fd.notNull = true
		fields = append(fields, fd)
	}
	return fields
}

// bundleKeys are the keys that hold lists.
func bundleKeys() []string {
	var keys []string
	for k := range numKinds {
		keys = append(keys, k.info().bundleKey)
	}
	return keys
}

// loadBundle reads a file whose name says nothing.
func (f *fileLoad) loadBundle(root *node) {
	at := rootSpot(root)
	if root.kind == listNode {
		fix := "end the file's name in gw-flow-rules or gw-api-definitions, or put the list under a key such as gatewayFlowRules"
		if len(root.items) > 0 {
			if k, marks := classify(root.items[0]); len(marks) > 0 {
				fix = fmt.Sprintf("its first entry looks like %s: end the file's name in %s, or put the list under the key %s", k.info().item, k.stem(), k.info().bundleKey)
			}
		}
		f.fail(at, "is a list, but its name does not say of what", fix)
		return
	}
	if what, fix := foreign(root); what != "" {
		f.fail(at, what, fix)
		return
	}
	if k, marks := classify(root); len(marks) > 0 && len(root.having(bundleKeys()...)) == 0 {
		f.fail(at, fmt.Sprintf("looks like %s by itself (it has %s)", k.info().item, strings.Join(marks, ", ")), "put it in a list, in a file whose name ends in "+k.stem())
		return
	}
	f.nullLists(at, root)
	var b bundle
	if !decodeMapping(f, &bundleSchema, at, root, &b) {
		return
	}
	if b.codes.given && b.codes.ok {
		f.codes = ParamCodes(b.codes.v)
	}
	if b.domain.given && b.domain.ok && f.checkName(b.domain.at, b.domain.v) {
		f.domain = b.domain.v
		f.set.Claimed = append(f.set.Claimed, f.domain)
	}
	held := 0
	for k := range numKinds {
		if b.lists[k].given {
			held++
		}
		if b.lists[k].ok {
			f.list(k, b.lists[k].at, b.lists[k].v)
		}
	}
	if held == 0 && len(root.having(bundleKeys()...)) == 0 && !anyNullList(root) {
		f.fail(at, emptyFile("holds no list of rules"), "write gatewayFlowRules: [] to remove all its rules")
	}
}

// nullLists reports the lists that were left empty in a way that could be an accident.
func (f *fileLoad) nullLists(at spot, root *node) {
	for i := range root.members {
		if m := &root.members[i]; isNullList(m) {
			f.fail(at.member(m), emptyFile("is null"), "write [] to remove all its rules")
		}
	}
}

func anyNullList(root *node) bool {
	for i := range root.members {
		if isNullList(&root.members[i]) {
			return true
		}
	}
	return false
}

func isNullList(m *member) bool {
	if m.value.kind != nullNode {
		return false
	}
	for k := range numKinds {
		if k.info().bundleKey == m.name {
			return true
		}
	}
	return false
}
