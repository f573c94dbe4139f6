package golden

import (
	"encoding/json"
	"fmt"
	"path"
	"strconv"
)

// CaseFile is the name of the case file among the Files of a trace.
const CaseFile = "case.json"

// rulesFolder holds the rules of a trace.
const rulesFolder = "rules"

// Files returns the case file of a trace and the rule files that it names, by their paths below one folder. Each
// trace needs a folder of its own. It fails for a trace that cannot be told in a case file.
func (t *Trace) Files() (map[string][]byte, error) {
	files := make(map[string][]byte)
	if t.Group == "apimatch" {
		return files, t.matchFiles(files)
	}
	rules, reloads := t.Rules, [][]map[string]any(nil)
	var events []caseEvent
	if t.refusal() != "" {
		// Rules that are refused are told by a reload, before which there are none.
		rules, reloads = nil, [][]map[string]any{t.Rules}
		events = []caseEvent{{"at": "0ms", "reload": reloadFolder(1), "expect": "error", "reason": t.refusal()}}
	} else {
		c := converter{trace: t}
		var err error
		if events, err = c.convert(t.expected()); err != nil {
			return nil, err
		}
		reloads = c.reloads
	}
	if err := t.addRules(files, rulesFolder, rules); err != nil {
		return nil, err
	}
	for i, rules := range reloads {
		if err := t.addRules(files, reloadFolder(i+1), rules); err != nil {
			return nil, err
		}
	}
	return files, t.addCase(files, events)
}

// refusal is a part of the error that the trace's rules are; empty: they are none.
func (t *Trace) refusal() string {
	if len(t.Events) == 1 && t.Events[0].Op == "new" { // a window that cannot be made
		return "sampleCount"
	}
	return t.Refused
}

func (t *Trace) addRules(files map[string][]byte, folder string, rules []map[string]any) error {
	lists, err := t.ruleFiles(rules)
	if err != nil {
		return err
	}
	if len(lists) == 0 {
		lists["gw-flow-rules.json"] = []map[string]any{}
	}
	for name, list := range lists {
		if files[path.Join(folder, name)], err = json.MarshalIndent(list, "", "  "); err != nil {
			return err
		}
	}
	return nil
}

func (t *Trace) addCase(files map[string][]byte, events []caseEvent) error {
	if len(events) == 0 {
		return fmt.Errorf("%s: nothing is asserted", t.ID)
	}
	var err error
	files[CaseFile], err = json.MarshalIndent(map[string]any{
		"rules": rulesFolder,
		"cases": []any{map[string]any{"name": t.ID, "events": events}},
	}, "", "  ")
	return err
}

// matchFiles turns the matches of a trace into API groups that are closed, one for each pattern: a request that
// enters the group is refused by its rule.
func (t *Trace) matchFiles(files map[string][]byte) error {
	var groups, rules []map[string]any
	var events []caseEvent
	for i, e := range t.expected() {
		id := "match-" + strconv.Itoa(i)
		domain := "d" + strconv.Itoa(i) // so that one path does not enter the groups of other patterns
		groups = []map[string]any{{"apiName": id, "predicateItems": []any{map[string]any{"pattern": e.Pattern, "matchStrategy": 1}}}}
		rules = []map[string]any{{"id": id, "resource": id, "resourceMode": 1, "count": 0}}
		bundle, err := json.MarshalIndent(map[string]any{"domain": domain, "apiDefinitions": groups, "gatewayFlowRules": rules}, "", "  ")
		if err != nil {
			return err
		}
		files[path.Join(rulesFolder, id+".json")] = bundle
		event := caseEvent{"at": "0ms", "domain": domain, "attrs": map[string]any{"path": e.Path}, "expect": "pass", "rule": ""}
		if e.Expect == "match" {
			event["expect"], event["rule"] = "block", id
		}
		events = append(events, event)
	}
	return t.addCase(files, events)
}
