package rule

import (
	"os"
	"strings"
	"testing"
)

// The page about breakers names all fields, and its example is the one of the repository, which loads
// without a warning.
func TestBreakersPage(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page, example := read("../../docs/breakers.md"), read("../../examples/breakers/degrade-rules.json")
	_, table, _ := strings.Cut(page, "\n## Fields\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for _, name := range append(degradeSchema.names(), slidingSchema.names()...) {
		if name != "limitApp" && name != "regex" && !strings.Contains(table, "`"+name+"`") && !strings.Contains(table, `"`+name+`"`) {
			t.Errorf("the field %s is not there", name)
		}
	}
	for _, e := range []*enumeration{degradeGrades, openAtChoices} {
		for _, m := range e.members {
			if !strings.Contains(table, "`"+m.name+"`") {
				t.Errorf("the value %s is not there", m.name)
			}
		}
	}
	if !strings.Contains(page, "```json\n"+example+"```\n") {
		t.Error("the example is not that of examples/breakers")
	}
	set, problems := Load([]File{{Name: "degrade-rules.json", Data: []byte(example)}}, Options{})
	if len(problems) > 0 || len(set.Degrade) != 3 {
		t.Errorf("%d rules, %v", len(set.Degrade), problems)
	}
}

// The page about flow rules names all fields, and its example loads without a warning.
func TestFlowRulesPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/flow-rules.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range flowSchema.names() {
		if !strings.Contains(string(text), "`"+name+"`") && !strings.Contains(string(text), `"`+name+`"`) {
			t.Errorf("the field %s is not there", name)
		}
	}
	_, example, _ := strings.Cut(string(text), "```json\n")
	example, _, _ = strings.Cut(example, "```\n")
	set, problems := Load([]File{{Name: "flow-rules.json", Data: []byte(example)}}, Options{})
	if len(problems) > 0 || len(set.Limits) != 5 {
		t.Errorf("%d rules, %v", len(set.Limits), problems)
	}
}

// The rules that the README shows load, and its sample of a problem is what a slip in them gives.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rules, found := strings.Cut(string(text), "`examples/rules/gw-flow-rules.json`:\n```json\n")
	rules, _, ends := strings.Cut(rules, "```\n")
	if !found || !ends {
		t.Fatal("it shows no rules")
	}
	load := func(data string) Problems {
		_, problems := Load([]File{{Name: "rules/gw-flow-rules.json", Data: []byte(data)}}, Options{})
		return problems
	}
	if problems := load(rules); len(problems) > 0 {
		t.Errorf("its rules: %v", problems)
	}
	slip := load(strings.Replace(rules, `20, "intervalSec"`, `20, "intervalsec"`, 1))
	if len(slip) != 1 || !strings.Contains(string(text), "\n"+slip[0].String()+"\n") {
		t.Errorf("it does not show %v", slip)
	}
}
