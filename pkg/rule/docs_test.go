package rule

import (
	"fmt"
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

// The page about parameters names all fields of hot-parameter rules, and shows the examples of the repository,
// which load without a warning.
func TestParametersPage(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := read("../../docs/parameters.md")
	for _, name := range append(paramFlowSchema.names(), exceptionSchema.names()...) {
		if name != "rule" && !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the field %s is not there", name)
		}
	}
	for _, m := range classTypes.members {
		if m.name != "string" && !strings.Contains(page, "`"+m.name+"`") {
			t.Errorf("the type %s is not there", m.name)
		}
	}
	var files []File
	for _, name := range []string{"param-flow-rules.json", "gw-flow-rules.json", "gw-api-definitions.json"} {
		text := read("../../examples/parameters/" + name)
		files = append(files, File{Name: name, Data: []byte(text)})
		if shown := strings.Trim(text, "[]\n"); !strings.Contains(page, shown) && name != "gw-api-definitions.json" {
			t.Errorf("%s is not shown", name)
		}
	}
	set, problems := Load(files, Options{})
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
	for _, k := range kinds {
		if row := fmt.Sprintf("\n| `%s` | `%s` | ", k.stems[0], k.bundleKey); !strings.Contains(string(text), row) {
			t.Errorf("no row begins with %s", row)
		}
	}
	slip := load(strings.Replace(rules, `20, "intervalSec"`, `20, "intervalsec"`, 1))
	if len(slip) != 1 || !strings.Contains(string(text), "\n"+slip[0].String()+"\n") {
		t.Errorf("it does not show %v", slip)
	}
}

// The pages about system and authority rules name all fields, and their examples are those of the repository, which load
// without a warning.
func TestSystemAndAuthorityPages(t *testing.T) {
	t.Parallel()
	for _, p := range []struct {
		page, example string
		fields        []string
	}{
		{"system-rules", "system/system-rules.json", systemSchema.names()},
		{"authority-rules", "authority/authority-rules.json", authoritySchema.names()},
	} {
		page, err := os.ReadFile("../../docs/" + p.page + ".md")
		if err != nil {
			t.Fatal(err)
		}
		example, err := os.ReadFile("../../examples/" + p.example)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.fields {
			if name != "regex" && !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("%s: the field %s is not there", p.page, name)
			}
		}
		if !strings.Contains(string(page), "```json\n"+string(example)+"```\n") {
			t.Errorf("%s: the example is not that of examples/%s", p.page, p.example)
		}
		set, problems := Load([]File{{Name: p.page + ".json", Data: example}}, Options{})
		if len(problems) > 0 || set.Len() != 2 {
			t.Errorf("%s: %d rules, %v", p.page, set.Len(), problems)
		}
	}
}
