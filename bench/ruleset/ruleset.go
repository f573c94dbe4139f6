// Package ruleset makes the rules that everything here is measured with: two that concern the calls,
// and as many as asked for that do not.
package ruleset

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sidecard/sidecard/pkg/rule"
)

// What the calls name, and the header that tells their users apart.
const (
	Domain     = "shop"
	Route      = "orders"
	UserHeader = "x-user-id"
)

// Out of reach of any load. The limit of a user is one that the small form of the key table takes.
const (
	routeCount = 1_000_000_000
	userCount  = 10_000_000
)

// Options say what differs between rule sets. The zero value is the two rules alone, of one second.
type Options struct {
	UserInterval int  // seconds for which a user is remembered; 0: 1
	Others       int  // rules that no call concerns: every other one of a route, the rest of API groups
	Generation   int  // changes the limit of every one of the others
	Closed       bool // refuse all calls of the route
}

// Files returns the rule files, valid and without warnings.
func Files(o Options) []rule.File {
	flow := []flowRule{
		{ID: "route", Resource: Route, Count: routeCount, IntervalSec: 1},
		{ID: "user", Resource: Route, Count: userCount, IntervalSec: max(o.UserInterval, 1), ParamItem: &paramItem{"header", UserHeader}},
	}
	if o.Closed {
		flow[0].Count = 0
	}
	apis := make([]apiDefinition, 0, o.Others/2)
	for i := range o.Others {
		name := fmt.Sprintf("other-%05d", i)
		r := flowRule{ID: name, Resource: name, Count: 100 + o.Generation, IntervalSec: 1}
		if i%2 == 1 {
			r.ResourceMode = 1
			apis = append(apis, apiDefinition{name, []predicateItem{{"/" + name + "/**", 1}}})
		}
		flow = append(flow, r)
	}
	return []rule.File{{Name: "gw-flow-rules.json", Data: encode(flow)}, {Name: "gw-api-definitions.json", Data: encode(apis)}}
}

// Write makes a directory of the rule files.
func Write(dir string, o Options) error {
	err := os.Mkdir(dir, 0o755)
	for _, f := range Files(o) {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644))
	}
	return err
}

// Load returns the rules of o as the engine takes them.
func Load(o Options) (rule.Set, error) {
	set, problems := rule.Load(Files(o), rule.Options{})
	return set, problems.Err()
}

// The rules as they stand in a file.
type (
	flowRule struct {
		ID           string     `json:"id"`
		Resource     string     `json:"resource"`
		ResourceMode int        `json:"resourceMode"`
		Count        int        `json:"count"`
		IntervalSec  int        `json:"intervalSec"`
		ParamItem    *paramItem `json:"paramItem,omitempty"`
	}
	paramItem struct {
		ParseStrategy string `json:"parseStrategy"`
		FieldName     string `json:"fieldName"`
	}
	apiDefinition struct {
		APIName        string          `json:"apiName"`
		PredicateItems []predicateItem `json:"predicateItems"`
	}
	predicateItem struct {
		Pattern       string `json:"pattern"`
		MatchStrategy int    `json:"matchStrategy"` // 1: an Ant-style prefix
	}
)

// encode writes what has no way to fail.
func encode(v any) []byte {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic(err)
	}
	return b
}
